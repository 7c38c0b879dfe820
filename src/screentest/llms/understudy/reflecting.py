"""Reflecting: what lexical features tell of one's own lines, and other words for those that come off badly."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from screentest.llms.understudy.composer import compose
from screentest.llms.understudy.deed import ACTION, Told
from screentest.llms.understudy.facts import LineLike, ProfileLike, ViewLike
from screentest.llms.understudy.features import Measured, Surroundings, measure
from screentest.llms.understudy.ground import plain
from screentest.llms.understudy.judging import total
from screentest.llms.understudy.lexicon import lexicon
from screentest.llms.understudy.skill import Skill
from screentest.llms.understudy.text import overlap, shape

_STALE = 0.2
_CLOSE = 0.5
_TELLING = ("context", "recall", "persona", "world", "reason", "address", "emotive")
_NAMED, _QUOTED = 2, 3
_QUOTE = {"en": 48, "zh": 16}


@dataclass(frozen=True, slots=True)
class _Found:
    """A line, and what was found of it."""

    number: int
    line: LineLike
    measured: Measured
    weaknesses: tuple[str, ...]


def criticise(view: ViewLike, numbers: Mapping[int, int]) -> dict[str, Any]:
    """What features tell for and against each numbered line, and what follows from that.

    Args:
        view: What the actor saw, its own lines included.
        numbers: Position in the history to number.
    """
    say = lexicon(view.language).critique
    found = [_found(view, at, number) for at, number in numbers.items()]
    weak = [one for one in found if one.weaknesses]
    kinds = [kind for kind in say["advice"] if any(kind in one.weaknesses for one in weak)] or ["none"]
    return {
        "strengths": _told(
            [_named(one, strong, view.language) for one in found if (strong := _strengths(one, view.language))],
            say["strengths"]["none"],
            say,
        ),
        "weaknesses": _told(
            [_named(one, [say["weaknesses"][kind] for kind in one.weaknesses], view.language) for one in weak],
            say["weaknesses"]["none"],
            say,
        ),
        "advice": _told([say["advice"][kind] for kind in kinds], "", say),
    }


def rewrite(
    view: ViewLike, me: ProfileLike, numbers: Mapping[int, int], *, skill: Skill, rng: random.Random
) -> dict[str, Any]:
    """Each numbered line: as it was where nothing was found against it, or where no other words measure better.

    The criticism is not read: its findings are made again, by the same measures.
    What is done in a line stays, for the others have seen it.

    Args:
        view: What the actor saw, its own lines included.
        me: The actor.
        numbers: Position in the history to number.
        skill: How far the composer looks and how often it tries.
        rng: The call's own generator.
    """
    weak = {at for at, number in numbers.items() if _found(view, at, number).weaknesses}
    lines: list[dict[str, Any]] = []
    for at, number in numbers.items():
        if at in weak:
            better = Told.of(me.name, _better(view, at, me, skill, rng))
            view = replace(view, history=(*view.history[:at], better, *view.history[at + 1 :]))
        lines.append({"number": number, "line": view.history[at].text})
    return {"lines": lines}


def _before(view: ViewLike, at: int) -> ViewLike:
    """The view as it was before a line: what came of it later is not known."""
    return replace(view, history=view.history[:at], standings={}, beliefs=None, reminders=())


def _found(view: ViewLike, at: int, number: int) -> _Found:
    measured = measure(view.history[at], Surroundings.of(_before(view, at)))
    values = measured.values
    signs = {
        "fault": values["fault"] > 0,
        "repetition": values["repetition"] >= _STALE,
        "context": at > 0 and not values["context"] and not values["address"],
        "specific": not values["specific"],
        "persona": not values["persona"] and not values["world"],
    }
    return _Found(number, view.history[at], measured, tuple(kind for kind, shown in signs.items() if shown))


def _better(view: ViewLike, at: int, me: ProfileLike, skill: Skill, rng: random.Random) -> str:
    """The best of a line and other words for it; what is close to another line comes last, and silence never."""
    then, line = _before(view, at), view.history[at]
    around = Surroundings.of(then)
    rest = [shape(other.text) for place, other in enumerate(view.history) if place != at]

    def worth(text: str) -> tuple[bool, float]:
        close = max((overlap(shape(text), past) for past in rest), default=0.0) >= _CLOSE
        return not close, total(measure(Told.of(me.name, text), around))

    drafts = [
        _draft(then, me, line, dimension, skill=skill, rng=rng) for dimension in lexicon(view.language).frames["test"]
    ]
    return max(filter(None, (line.text, *drafts)), key=worth)


def _draft(view: ViewLike, me: ProfileLike, line: LineLike, dimension: str, *, skill: Skill, rng: random.Random) -> str:
    """Something else said, behind the line's own action if it has one."""
    composed = compose(view, me, dimension=dimension, side="test", skill=skill, rng=rng)
    action = plain(line.action)
    if not action:
        return composed
    speech = ACTION.sub("", composed)
    return f"（{action}）{speech}" if view.language == "zh" else f"({action}) {speech}"


def _strengths(one: _Found, language: str) -> list[str]:
    """What a line that nothing was found against does most, with the words that show it."""
    if one.weaknesses:
        return []
    say = lexicon(language)
    shown = [name for name in _TELLING if one.measured.values[name]]
    best = sorted(shown, key=lambda name: -one.measured.values[name])[:_NAMED]
    words = {name: say.critique["part"].join(one.measured.evidence[name][:_QUOTED]) for name in best}
    return [say.critique["of"].format(name=say.verdict["features"][name], words=words[name]) for name in best]


def _named(one: _Found, findings: Sequence[str], language: str) -> str:
    say, text, most = lexicon(language).critique, one.line.text, _QUOTE[language]
    quote = text if len(text) <= most else text[: most - 1].rstrip() + "…"
    return say["line"].format(number=one.number, quote=quote, findings=say["part"].join(findings))


def _told(parts: Sequence[str], none: str, say: Mapping[str, Any]) -> str:
    return say["head"] + say["join"].join(parts or [none]) + say["end"]
