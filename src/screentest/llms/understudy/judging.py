"""Judging by measurable features of the lines alone: which dimension, which candidate, which dialogue."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from screentest.llms.understudy.facts import DimensionLike, LineLike, ViewLike
from screentest.llms.understudy.features import Measured, Surroundings, measure
from screentest.llms.understudy.lexicon import lexicon
from screentest.llms.understudy.material import called, spoken
from screentest.llms.understudy.text import content, gathered, overlap, shape

_BASE = {
    "context": 1.0,
    "recall": 0.4,
    "persona": 0.5,
    "world": 0.3,
    "reason": 0.2,
    "question": 0.2,
    "address": 0.3,
    "emotive": 0.2,
    "specific": 0.6,
    "length": 0.5,
    "repetition": -2.0,
    "fault": -2.0,
}
_EXTRA = {
    "CR": {"recall": 1.0, "persona": 0.8},
    "FR": {"world": 1.2, "specific": 0.6},
    "RR": {"reason": 1.4, "context": 0.4},
    "CA": {"address": 1.2, "question": 0.6},
    "PA": {"emotive": 1.5, "persona": 0.3},
}
_SLIGHT, _CLEAR = 0.3, 1.1


def compare(view: ViewLike, candidates: tuple[LineLike, LineLike], dimension: DimensionLike) -> dict[str, Any]:
    """Rate two candidates, 1 (A much better) to 5 (B much better); swapping them gives 6 minus the score."""
    around = Surroundings.of(view)
    a, b = (measure(line, around) for line in candidates)
    lead = total(b, dimension.id) - total(a, dimension.id)
    step = (abs(lead) >= _SLIGHT) + (abs(lead) >= _CLEAR)
    score = 3 + step if lead > 0 else 3 - step
    return {"explanation": _explanation(a, b, dimension.id, score, view.language), "score": score}


def _weights(dimension: str) -> dict[str, float]:
    extra = _EXTRA.get(dimension, {})
    return {name: weight + extra.get(name, 0.0) for name, weight in _BASE.items()}


def total(line: Measured, dimension: str = "") -> float:
    """What a line's features come to on a dimension, or on none in particular."""
    return sum(weight * line.values[name] for name, weight in _weights(dimension).items())


def _explanation(a: Measured, b: Measured, dimension: str, score: int, language: str) -> str:
    say = lexicon(language).verdict
    weights = _weights(dimension)
    telling = sorted(weights, key=lambda name: -abs(weights[name] * (a.values[name] - b.values[name])))[:3]
    parts = [say["head"].format(dimension=dimension)]
    for name in telling:
        side, better = ("A", a) if a.values[name] >= b.values[name] else ("B", b)
        quoted = better.evidence.get(name, ())[:3]
        quotes = say["quotes"].format(side=side, words=", ".join(quoted)) if quoted else ""
        label = say["features"][name]
        parts.append(say["feature"].format(name=label, a=a.values[name], b=b.values[name], quotes=quotes))
    parts.append(say["tail"].format(a=total(a, dimension), b=total(b, dimension)))
    parts.append(say["sides"][score - 1])
    return "；".join(parts) + "。" if language == "zh" else "; ".join(parts) + "."


def assign(
    view: ViewLike, candidates: tuple[LineLike, LineLike], dimensions: Sequence[DimensionLike], rng: random.Random
) -> dict[str, Any]:
    """Choose the dimension that the moment is about, from the line to be answered and from the candidates."""
    lines = [*spoken(view)[-1:], *candidates]
    around = Surroundings.of(view)
    seen = [measure(line, around) for line in lines]
    said = gathered((line.text for line in lines), view.language)
    scores = {d.id: _fit(d, seen, said, view.language) + 0.25 * rng.random() for d in dimensions}
    best = max(scores, key=lambda id_: scores[id_])
    shown = ", ".join(f"{id_} {score:.2f}" for id_, score in scores.items())
    return {"reason": lexicon(view.language).verdict["dimension"].format(scores=shown), "dimension": best}


# How strongly each feature speaks for a dimension, and its mean and spread in ordinary moments.
_SIGNS: dict[str, dict[str, float]] = {
    "CR": {"recall": 1.0, "persona": 0.3},
    "FR": {"world": 1.0, "specific": 0.2},
    "RR": {"reason": 1.0},
    "CA": {"address": 1.0},
    "PA": {"emotive": 1.0},
}
_ORDINARY = {"CR": (0.35, 0.22), "FR": (0.55, 0.35), "RR": (0.25, 0.31), "CA": (0.35, 0.22), "PA": (0.16, 0.24)}


def _fit(dimension: DimensionLike, seen: Sequence[Measured], said: frozenset[str], language: str) -> float:
    """How much more than usual the moment speaks for a dimension; for a custom one, how much of its definition."""
    signs = _SIGNS.get(dimension.id)
    if signs is None:
        return len(content(dimension.definition, language) & said) / 2
    strength = sum(weight * sum(line.values[name] for line in seen) / len(seen) for name, weight in signs.items())
    mean, spread = _ORDINARY[dimension.id]
    return (strength - mean) / spread


def grade(view: ViewLike) -> dict[str, Any]:
    """Grade a whole dialogue ``poor``, ``moderate`` or ``high`` by interaction, coherence and progression."""
    history, language = spoken(view), view.language
    neighbours = list(pairwise(history))
    count = max(1, len(neighbours))
    alternation = sum(a.speaker != b.speaker for a, b in neighbours) / count
    profiles = (*view.others, *((view.me,) if view.me else ()))
    names = [called(profile.name, language) for profile in profiles]
    address = sum(any(name in line.text for name in names) for line in history) / max(1, len(history))
    coherence = (
        sum(
            bool(content(a.text, language) & content(b.text, language)) or called(a.speaker, language) in b.text
            for a, b in neighbours
        )
        / count
    )
    heard: Counter[str] = Counter(word for line in history for word in content(line.text, language))
    progress = len(heard) / max(1, sum(heard.values()))
    shapes = [shape(line.text) for line in history]
    closest = [max((overlap(s, t) for t in shapes[:i]), default=0.0) for i, s in enumerate(shapes)]
    repetition = sum(closest) / max(1, len(closest))
    passed = sum([alternation >= 0.8, address + coherence >= 0.7, progress >= 0.25, repetition <= 0.35])
    name = "high" if passed == 4 else "moderate" if passed >= 2 else "poor"
    reason = (
        lexicon(language)
        .verdict["filter"]
        .format(alternation=alternation, address=address, coherence=coherence, progress=progress, repetition=repetition)
    )
    return {"reason": reason, "grade": name}
