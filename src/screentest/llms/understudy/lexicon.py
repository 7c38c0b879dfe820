"""The words and frames of one language, read from its data file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import yaml

SLOT = re.compile(r"\{(\w+)\}")
_GAP = re.compile(r"\{\w+\}")


@dataclass(frozen=True, slots=True)
class Frame:
    """A sentence with slots to fill.

    Attributes:
        text: The sentence.
        slots: The names of its slots.
        key: Its longest stretch without a slot, lower-cased: where that was heard, the frame was used.
    """

    text: str
    slots: frozenset[str]
    key: str

    @classmethod
    def of(cls, text: str) -> Frame:
        """Read a frame as the data file writes it."""
        return cls(text, frozenset(SLOT.findall(text)), max(_GAP.split(text), key=len).lower())

    def fill(self, values: Mapping[str, str]) -> str:
        """The frame with its slots replaced, literally: what is put in is never read as a frame."""
        return SLOT.sub(lambda match: values[match[1]], self.text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lexicon:
    """All the understudy knows of one language. The data files say what each part is."""

    language: str
    stop: frozenset[str]
    common: frozenset[str]
    adjectives: frozenset[str]
    verbs: frozenset[str]
    measures: frozenset[str]
    why: frozenset[str]
    recall: frozenset[str]
    emotive: frozenset[str]
    unspoken: tuple[str, ...]
    speech_keys: tuple[str, ...]
    by_key: Mapping[str, str]
    openings: tuple[Frame, ...]
    tails: tuple[Frame, ...]
    actions: Mapping[str, tuple[Frame, ...]]
    plain: tuple[Frame, ...]
    frames: Mapping[str, Mapping[str, tuple[Frame, ...]]]
    direction: Mapping[str, str]
    verdict: Mapping[str, Any]
    critique: Mapping[str, Any]


@cache
def lexicon(language: str) -> Lexicon:
    """The lexicon of ``"en"`` or ``"zh"``, read once."""
    path = resources.files("screentest.llms.understudy") / f"{language}.yaml"
    data: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return Lexicon(
        language=language,
        **{name: _words(data.get(name, ())) for name in _WORD_LISTS},
        unspoken=tuple(data["unspoken"]),
        speech_keys=tuple(data["speech_keys"]),
        by_key=data["by_key"],
        openings=_frames(data["openings"]),
        tails=_frames(data["tails"]),
        actions={mood: _frames(texts) for mood, texts in data["actions"].items()},
        plain=_frames(data["plain"]),
        frames={side: {id_: _frames(texts) for id_, texts in data[side].items()} for side in ("scene", "test")},
        direction=data["direction"],
        verdict=data["verdict"],
        critique=data["critique"],
    )


_WORD_LISTS = ("stop", "common", "adjectives", "verbs", "measures", "why", "recall", "emotive")


def _words(value: str | list[str] | tuple[str, ...]) -> frozenset[str]:
    return frozenset(value.split() if isinstance(value, str) else value)


def _frames(texts: list[str]) -> tuple[Frame, ...]:
    return tuple(map(Frame.of, texts))
