"""Which parameters a model takes: a table, first match wins.

Sources: the providers' model and migration pages as of November 2026. Since version 2026-10-21 of its API, Anthropic
takes no sampling parameters at all; models up to the 4.6 generation still do under version 2023-06-01. From 4.7 on,
Claude decides itself how long to think (``adaptive``) and refuses a budget.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cache
from typing import Literal

from screentest.llms.spec import Rung


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a model takes.

    Attributes:
        sampling: ``temperature`` and ``top_p``.
        effort: A reasoning effort.
        max_tokens: The name of the parameter that limits the reply.
        thinking: How thinking is asked for.
        rungs: The ways to a structured reply, best first.
    """

    sampling: bool = True
    effort: bool = True
    max_tokens: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    thinking: Literal["budget", "adaptive"] = "budget"
    rungs: tuple[Rung, ...] = ("native", "tool", "text")


_ANY = Capabilities()
_CHAT = Capabilities(max_tokens="max_completion_tokens", effort=False)
_REASONING = Capabilities(max_tokens="max_completion_tokens", sampling=False)
_NO_SCHEMA = Capabilities(rungs=("tool", "text"))
_CLAUDE_EARLY = Capabilities(effort=False, rungs=("tool", "text"))
_CLAUDE_45 = Capabilities(effort=False)
_CLAUDE_46 = Capabilities()
_CLAUDE = Capabilities(sampling=False, thinking="adaptive")

_OPENAI: tuple[tuple[str, Capabilities], ...] = (
    ("gpt-3.5*", replace(_CHAT, rungs=("tool", "text"))),
    ("gpt-4-*", replace(_CHAT, rungs=("tool", "text"))),
    ("gpt-4", replace(_CHAT, rungs=("tool", "text"))),
    ("gpt-4*", _CHAT),
    ("chatgpt-*", _CHAT),
    ("gpt-5*-chat*", _CHAT),
    ("gpt-oss*", _ANY),
    ("gpt-[5-9]*", _REASONING),
    ("o[1-9]", _REASONING),
    ("o[1-9]-*", _REASONING),
    ("deepseek-reasoner*", Capabilities(sampling=False, rungs=("text",))),
    ("deepseek-*", _NO_SCHEMA),
    ("*", _ANY),
)

_ANTHROPIC: tuple[tuple[str, Capabilities], ...] = (
    ("claude-[123]*", _CLAUDE_EARLY),
    ("claude-instant*", _CLAUDE_EARLY),
    ("claude-4-*", _CLAUDE_EARLY),
    ("claude-*-4-1*", _CLAUDE_45),
    ("claude-*-4-5*", _CLAUDE_45),
    ("claude-*-4-6*", _CLAUDE_46),
    ("claude-*-4-[789]*", _CLAUDE),
    ("claude-*-4-*", _CLAUDE_EARLY),
    ("claude-*-4", _CLAUDE_EARLY),
    ("*", _CLAUDE),
)

_TABLES = {"openai": _OPENAI, "anthropic": _ANTHROPIC}


@cache
def capabilities(provider: Literal["openai", "anthropic"], model: str) -> Capabilities:
    """The row of ``model``; a vendor prefix (``openai/gpt-4.1``) does not matter."""
    name = model.rsplit("/", 1)[-1].lower()
    return next(row for pattern, row in _TABLES[provider] if fnmatchcase(name, pattern))
