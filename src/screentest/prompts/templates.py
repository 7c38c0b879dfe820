"""Templates: from structured inputs to the messages of a prompt."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from importlib import resources
from types import BuiltinMethodType, MethodType
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from jinja2.runtime import Context, Macro
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import missing

if TYPE_CHECKING:
    from screentest.llms.model import Message, Role
    from screentest.pools import Line, Profile

Block = Callable[[Context], Iterator[str]]
_ROLES: tuple[Role, ...] = ("system", "user")
_METHODS = (MethodType, BuiltinMethodType)
_SCOPES = {"_block_vars", "_loop_vars"}


def render(name: str, language: str, /, **context: object) -> tuple[Message, ...]:
    """Fill in a template.

    What is filled in is data: template syntax inside it comes out verbatim.

    Args:
        name: The template's file name without ``.j2``: ``"judge_pairwise"``.
        language: The language of the prompt, ``"en"`` or ``"zh"``.
        context: The template's variables, all of them.

    Returns:
        One message for each block of the template that is not empty, the system message first.

    Raises:
        jinja2.TemplateNotFound: There is no such template.
        jinja2.UndefinedError: The template uses a variable that ``context`` lacks.
    """
    from screentest.llms.model import Message  # here, since llms/ itself fills in templates

    template, blocks = _compiled(f"{language}/{name}.j2")
    variables = template.new_context(context)
    messages = [Message(role, "".join(block(variables)).strip()) for role, block in blocks]
    return tuple(message for message in messages if message.content)


def fence(place: str, *contents: str) -> str:
    """A delimiter for untrusted text, which that text cannot contain.

    Args:
        place: What the fence is derived from. A conversation's key, rather than a turn's, gives every turn of the
            conversation the same fence, and so the same prompt prefix.
        contents: Every untrusted text that the prompt shows.

    Returns:
        A token such as ``⟦7f3a9c0b12de⟧``, the same for the same arguments, that occurs in none of ``contents``.
    """
    digest, length = hashlib.sha256(place.encode()).hexdigest(), 12
    shown = "\n".join(contents)
    while f"⟦{digest[:length]}⟧" in shown:
        length += 1
        if length > len(digest):
            digest += hashlib.sha256(digest.encode()).hexdigest()
    return f"⟦{digest[:length]}⟧"


def _dialogue(lines: Iterable[Line], colon: str, thinks: str) -> str:
    """A line of text for each line spoken, and one for each thought it carries if ``thinks`` says how to put it."""
    texts: list[str] = []
    for line in lines:
        if thinks and line.thought:
            texts.append(f"{line.speaker}{thinks}{line.thought}")
        if line.text:
            texts.append(f"{line.speaker}{colon}{line.text}")
    return "\n".join(texts)


def _profiles(people: Iterable[Profile], name: str, colon: str) -> str:
    """A paragraph for each profile: the name, labelled ``name``, then a line of text for each attribute."""
    return "\n\n".join(
        "\n".join([f"{key}{colon}{value}" for key, value in ((name, who.name), *who.attributes.items())])
        for who in people
    )


class _Sandbox(ImmutableSandboxedEnvironment):
    """Jinja's sandbox, which remembers what it allows: that depends on an object's type and the attribute alone.

    A value that is a method is looked at each time, and so is every call but that of a template's own macro.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._allowed: set[tuple[type, str]] = set()

    def getattr(self, obj: object, attribute: str) -> Any:
        if (type(obj), attribute) in self._allowed:
            value = getattr(obj, attribute, missing)
            if value is not missing and type(value) not in _METHODS:
                return value
        return super().getattr(obj, attribute)

    def is_safe_attribute(self, obj: object, attr: str, value: object) -> bool:
        allowed = super().is_safe_attribute(obj, attr, value)
        if allowed:
            self._allowed.add((type(obj), attr))
        return allowed

    def call(self, context: Context, obj: object, /, *args: Any, **options: Any) -> Any:
        if type(obj) is Macro and options.keys() <= _SCOPES:
            return obj(*args)
        return super().call(context, obj, *args, **options)


@cache
def prompts_digest() -> str:
    """A hash of every template and of the dimensions that ship with the package: of all text meant for a model."""
    digest = hashlib.sha256()
    for language in ("en", "zh"):
        folder = resources.files("screentest.prompts") / language
        for file in sorted(folder.iterdir(), key=lambda file: file.name):
            digest.update(f"{language}/{file.name}\n".encode() + file.read_bytes())
    return digest.hexdigest()[:16]


@cache
def environment() -> Environment:
    """The environment every template is compiled in."""
    env = _Sandbox(
        loader=PackageLoader("screentest", "prompts"),
        undefined=StrictUndefined,
        autoescape=False,  # a prompt is plain text that no browser reads: escaping would only corrupt it
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    env.filters |= {"dialogue": _dialogue, "profiles": _profiles}
    env.globals.clear()  # no template uses them, and every import would compare them
    return env


@cache
def _compiled(path: str) -> tuple[Template, tuple[tuple[Role, Block], ...]]:
    template = environment().get_template(path)
    return template, tuple((role, template.blocks[role]) for role in _ROLES if role in template.blocks)
