"""Reading what users write: character files, and errors that say what to do."""

from __future__ import annotations

import difflib
import glob
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from screentest.errors import InputError
from screentest.pools.character import Character

_NO_VALUE = ("", "~", "null")
_SHAPE = "a character file has: name, language (en or zh), kind (established or synthesized), public, private"


class _VerbatimLoader(yaml.BaseLoader):
    """The safest YAML there is: every scalar stays the text that was written, and a repeated key is an error."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        if repeated := sorted({key for key in keys if keys.count(key) > 1}):
            raise yaml.constructor.ConstructorError(
                problem=f"the key {repeated[0]!r} is given twice", problem_mark=node.start_mark
            )
        return super().construct_mapping(node, deep=deep)


def problem(error: ValidationError) -> tuple[str, str]:
    """The first problem of a validation error: the field's path (``"cast.0.name"``) and the reason, in one line."""
    first = error.errors(include_url=False)[0]
    return ".".join(map(str, first["loc"])), " ".join(str(first["msg"]).removeprefix("Value error, ").split())


def nearest(name: str, known: Iterable[str]) -> str:
    """A hint that names what may have been meant, or lists the first few that exist."""
    names = list(known)
    if near := difflib.get_close_matches(name, names, n=3, cutoff=0.5):
        return f"did you mean {' or '.join(near)}?"
    shown = ", ".join(names[:5])
    return f"there are: {shown}{', …' if len(names) > 5 else ''}" if names else "there are none"


def load_character(path: Path) -> Character:
    """Read a user's character file.

    Every value is kept as the text that was written: ``age: 41`` is ``"41"``, ``tea: yes`` is ``"yes"``.

    Args:
        path: A YAML file with ``name``, ``language``, ``kind``, and the maps ``public`` and ``private``; it may
            also give ``id``, ``source`` and ``licence``.

    Raises:
        InputError: The file cannot be read, or a field is missing, unknown or of the wrong kind.
    """
    try:
        # A subclass of BaseLoader builds nothing but strings, lists and dicts.
        data = yaml.load(path.read_text(encoding="utf-8-sig"), Loader=_VerbatimLoader)  # noqa: S506
    except OSError as error:
        raise InputError("cannot read the character file", where=str(path), why=error.strerror or str(error)) from error
    except yaml.MarkedYAMLError as error:
        line = f":{error.problem_mark.line + 1}" if error.problem_mark else ""
        raise InputError("this is not YAML", where=f"{path}{line}", why=error.problem or str(error)) from error
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        raise InputError("this is not YAML", where=str(path), why=" ".join(str(error).split())) from error
    if not isinstance(data, dict):
        raise InputError("this is not a character", where=str(path), why="it is not a map of fields", hint=_SHAPE)
    for field, value in data.items():
        _check_field(path, field, value)
    try:
        return Character.model_validate(data)
    except ValidationError as error:
        field, why = problem(error)
        raise InputError(f"the field {field} is not usable", where=str(path), why=why, hint=_SHAPE) from error


def load_characters(patterns: Sequence[str], base: Path) -> tuple[Character, ...]:
    """Read every character file that the patterns match.

    Args:
        patterns: Paths or globs such as ``characters/*.yaml``, relative to ``base`` or absolute.
        base: The directory that relative patterns start from.

    Returns:
        The characters in the order of the patterns, files of one pattern sorted by name, each file once.

    Raises:
        InputError: A pattern matches nothing, a file is not usable, or two files describe the same id.
    """
    files: dict[Path, None] = {}
    for pattern in patterns:
        found = _matches(pattern, base)
        if not found:
            raise InputError(
                "no character file matches", where=str(base), why=f"looked for {pattern!r}", hint="check the pattern"
            )
        files.update(dict.fromkeys(found))
    origin: dict[str, Path] = {}
    characters: list[Character] = []
    for path in files:
        character = load_character(path)
        if other := origin.get(character.id):
            why = f"{other} has it already"
            raise InputError(f"the id {character.id} is taken", where=str(path), why=why, hint="give one another id")
        origin[character.id] = path
        characters.append(character)
    return tuple(characters)


def _matches(pattern: str, base: Path) -> list[Path]:
    plain = base / pattern
    if plain.is_file():
        return [plain]
    # Path.glob refuses absolute patterns.
    names = glob.glob(pattern, root_dir=base, recursive=True)  # noqa: PTH207
    return sorted(path for name in names if (path := base / name).is_file())


def _check_field(path: Path, field: str, value: object) -> None:
    if field not in Character.model_fields:
        hint = nearest(str(field), Character.model_fields)
        raise InputError(f"the field {field} is not known", where=str(path), why="characters do not have it", hint=hint)
    if field in ("public", "private"):
        if not isinstance(value, dict):
            hint = f"write it as {field}: {{age: 41, …}}"
            raise InputError(f"the field {field} must be a map", where=str(path), why="it is not", hint=hint)
        for key, inner in value.items():
            _check_text(path, f"{field}.{key}", inner)
    else:
        _check_text(path, field, value)


def _check_text(path: Path, field: str, value: object) -> None:
    if not isinstance(value, str):
        kind = "map" if isinstance(value, dict) else "list"
        raise InputError(
            f"the field {field} must be text", where=str(path), why=f"it is a {kind}", hint="write it out as a sentence"
        )
    if value.strip() in _NO_VALUE:
        raise InputError(f"the field {field} has no value", where=str(path), hint="fill it in or leave it out")
