"""The small world of story play: what can be done, how it is answered, and what is lying about, per language."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import yaml

from screentest.llms.understudy.lexicon import SLOT, Frame

PARTS = ("plan", "touch", "done", "failed", "state", "position", "note", "mine", "missed", "theirs", "after")


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of deed, or of answer to a deed.

    Attributes:
        id: The same in every language.
        tempers: The tempers it suits.
        thing: Which thing it takes: ``free``, ``own``, ``theirs``, or none.
        kinds: The kinds of thing it takes; all, if empty.
        fix: The kinds of fixture it takes.
        name: Whether it is aimed at someone.
        bound: Whether that someone has to be held fast.
        only: Who does it: ``bound``, ``absent``, or anyone else.
        base: How likely it succeeds; for an answer, by how much it makes the deed likelier to.
        minutes: The least and the most time that it takes.
        signs: Words by which it is known.
        act: What is done.
        say: What is said with it.
        frames: Part to frames, one part for each of ``PARTS``; see the data file.
    """

    id: str
    tempers: tuple[str, ...]
    thing: str
    kinds: tuple[str, ...]
    fix: tuple[str, ...]
    name: bool
    bound: bool
    only: str
    base: float
    minutes: tuple[int, int]
    signs: tuple[str, ...]
    act: tuple[Frame, ...]
    say: tuple[Frame, ...]
    frames: Mapping[str, tuple[Frame, ...]]


@dataclass(frozen=True, slots=True)
class Temper:
    """A way to be: the words that show it, the reasons it gives, and what it wants in the end."""

    signs: tuple[str, ...]
    why: tuple[str, ...]
    aim: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A kind of place: the words that show it, kind to nouns of what is about there, and where one may stand."""

    signs: tuple[str, ...]
    things: Mapping[str, tuple[str, ...]]
    fixtures: Mapping[str, tuple[str, ...]]
    spots: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tale:
    """All the understudy knows of acting in one language."""

    language: str
    deeds: Mapping[str, Kind]
    answers: Mapping[str, Kind]
    tempers: Mapping[str, Temper]
    settings: Mapping[str, Setting]
    nouns: Mapping[str, str]
    measures: Mapping[str, str]
    fixtures: frozenset[str]
    materials: frozenset[str]
    bound: tuple[str, ...]
    position_keys: tuple[str, ...]
    carried_keys: tuple[str, ...]
    holding: tuple[str, ...]
    situations: Mapping[str, tuple[Frame, ...]]
    beliefs: Mapping[str, Any]
    words: Mapping[str, str]
    spots: tuple[str, ...]
    reflection: Mapping[str, Any]
    company: tuple[str, ...]


@cache
def tale(language: str) -> Tale:
    """The world of ``"en"`` or ``"zh"``, read once."""
    path = resources.files("screentest.llms.understudy") / f"story.{language}.yaml"
    data: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    nouns, measures = _nouns(data)
    beliefs = data["beliefs"]
    return Tale(
        language=language,
        deeds={id_: _kind(id_, each) for id_, each in data["deeds"].items()},
        answers={id_: _kind(id_, each) for id_, each in data["answers"].items()},
        tempers={
            id_: Temper(tuple(each["signs"]), tuple(each["why"]), tuple(each["aim"]))
            for id_, each in data["tempers"].items()
        },
        settings={id_: _setting(each) for id_, each in data["settings"].items()},
        nouns=nouns,
        measures=measures,
        fixtures=frozenset(data["fixtures"]),
        materials=frozenset(data["materials"]),
        bound=tuple(data["bound"]),
        position_keys=tuple(data["position_keys"]),
        carried_keys=tuple(data["carried_keys"]),
        holding=tuple(data["holding"]),
        situations={id_: _frames(each) for id_, each in data["situations"].items()},
        beliefs={id_: _frames(each) for id_, each in beliefs.items() if id_ != "moods"} | {"moods": beliefs["moods"]},
        words={name: data[name] for name in ("posture", "and", "here")},
        spots=tuple(data["spots"]),
        reflection=data["reflection"],
        company=tuple(data["company"]),
    )


@cache
def pattern(frame: str, end: str = "") -> re.Pattern[str]:
    """What a filled frame looks like, its slots as named groups, before what matches ``end``."""
    parts, at, seen = [], 0, set[str]()
    for match in SLOT.finditer(frame):
        parts.append(re.escape(frame[at : match.start()]))
        name, at = match[1], match.end()
        parts.append(f"(?P={name})" if name in seen else f"(?P<{name}>.+?)")
        seen.add(name)
    return re.compile("".join([*parts, re.escape(frame[at:]), end]), re.IGNORECASE)


def _kind(id_: str, data: dict[str, Any]) -> Kind:
    low, high = data.get("minutes", (0, 0))
    return Kind(
        id=id_,
        tempers=tuple(data["tempers"]),
        thing=data.get("thing", ""),
        kinds=tuple(data.get("kinds", ())),
        fix=tuple(data.get("fix", ())),
        name=data.get("name", False),
        bound=data.get("bound", False),
        only=data.get("only", ""),
        base=data.get("base", data.get("give", 1.0)),
        minutes=(low, high),
        signs=tuple(data["signs"]),
        act=_frames(data["act"]),
        say=_frames(data["say"]),
        frames={part: _frames(data.get(part, [])) for part in PARTS},
    )


def _setting(data: dict[str, Any]) -> Setting:
    things, fixtures = data["things"], data["fixtures"]
    return Setting(
        signs=tuple(data["signs"]),
        things={kind: tuple(nouns) for kind, nouns in things.items()},
        fixtures={kind: tuple(nouns) for kind, nouns in fixtures.items()},
        spots=tuple(data["spots"]),
    )


def _nouns(data: dict[str, Any]) -> tuple[dict[str, str], dict[str, str]]:
    """Noun to kind, and noun to measure word; the nouns that only a setting names are known as well."""
    nouns: dict[str, str] = {}
    measures: dict[str, str] = {}
    every = [data["things"], data["fixtures"]]
    every += [setting[part] for setting in data["settings"].values() for part in ("things", "fixtures")]
    for group in every:
        for kind, listed in group.items():
            for entry in listed:
                noun, _, measure = entry.partition("/")
                nouns.setdefault(noun, kind)
                if measure:
                    measures[noun] = measure
    return nouns, measures


def _frames(texts: list[str]) -> tuple[Frame, ...]:
    return tuple(map(Frame.of, texts))
