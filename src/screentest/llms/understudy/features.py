"""What can be measured of a line: lexical features, each 0 to 1."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from screentest.llms.understudy.facts import LineLike, ViewLike
from screentest.llms.understudy.material import called, spoken
from screentest.llms.understudy.text import content, faults, gathered, marks, overlap, shape, words

_RECENT, _BACK = 2, 12
_ENOUGH = {"en": 2, "zh": 3}
_LENGTHS = {"en": (6, 34), "zh": (9, 52)}


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a line is measured against, gathered once for both candidates."""

    language: str
    recent: frozenset[str]
    earlier: frozenset[str]
    persona: frozenset[str]
    world: frozenset[str]
    names: tuple[str, ...]
    past: tuple[frozenset[str], ...]

    @classmethod
    def of(cls, view: ViewLike) -> Surroundings:
        """Read a view."""
        language, history = view.language, spoken(view)
        recent = gathered((line.text for line in history[-_RECENT:]), language)
        earlier = gathered((line.text for line in history[-_BACK:-_RECENT]), language)
        names = tuple(called(profile.name, language) for profile in view.others)
        own_names = gathered((*names, view.me.name if view.me else ""), language)
        persona = gathered(view.me.attributes.values(), language) if view.me else frozenset[str]()
        place = view.situation
        world = gathered((view.world, place.time, place.place, place.description), language)
        return cls(
            language=language,
            recent=recent - own_names,
            earlier=earlier - recent - own_names,
            persona=persona - own_names,
            world=world - own_names,
            names=names,
            past=tuple(shape(line.text) for line in history),
        )


@dataclass(frozen=True, slots=True)
class Measured:
    """The features of one line, and the words that show some of them."""

    values: Mapping[str, float]
    evidence: Mapping[str, tuple[str, ...]]


def measure(line: LineLike, around: Surroundings) -> Measured:
    """Measure one line against its surroundings. Who composed it, and how, is not known here."""
    language, text = around.language, line.text
    found = content(text, language)
    evidence = {
        "context": found & around.recent,
        "recall": found & around.earlier | marks(text, "recall", language),
        "persona": found & (around.persona - around.recent),
        "world": found & around.world,
        "reason": marks(text, "why", language),
        "address": frozenset(name for name in around.names if name in text),
        "emotive": marks(text, "emotive", language),
        "specific": found & (around.recent | around.earlier | around.persona | around.world),
    }
    enough = _ENOUGH[language]
    full = {"context": enough, "recall": enough, "persona": enough, "world": enough, "specific": 2 * enough}
    values = {name: min(1.0, len(shown) / full.get(name, 2)) for name, shown in evidence.items()}
    values["reason"] = min(1.0, len(evidence["reason"]))
    values["question"] = 1.0 if text.rstrip().endswith(("?", "？")) else 0.0
    values["length"] = _length(text, language)
    values["repetition"] = max((overlap(shape(text), past) for past in around.past), default=0.0)
    values["fault"] = min(1.0, len(faults(text, language)) / 2)
    return Measured(values, {name: tuple(sorted(shown)) for name, shown in evidence.items()})


def _length(text: str, language: str) -> float:
    low, high = _LENGTHS[language]
    count = len(words(text))
    if count < low:
        return count / low
    return min(1.0, high / count)
