"""Composing a line: frames filled with what was found, several drafts, the best one said."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import lru_cache

from screentest.llms.understudy.facts import DimensionLike, ProfileLike, ViewLike
from screentest.llms.understudy.lexicon import Frame, Lexicon, lexicon
from screentest.llms.understudy.material import Material, gather, grammar
from screentest.llms.understudy.skill import Skill
from screentest.llms.understudy.text import content, gathered, overlap, shape, words
from screentest.randomness import generator

_ADDRESSES = frozenset({"name", "other"})
_MOODS = {"PA": "warm", "RR": "keen", "CA": "keen"}
_TOO_ALIKE = 0.5
_ATTEMPTS = 10
_ROOM = {"en": 15, "zh": 22}


def compose(
    view: ViewLike, me: ProfileLike, dimension: DimensionLike, side: str, skill: Skill, rng: random.Random
) -> str:
    """One line for ``me``: an optional action and one sentence.

    Args:
        view: What the speaker sees.
        me: Who speaks.
        dimension: What the line should show, or invite.
        side: ``"scene"`` to invite it, ``"test"`` to show it.
        skill: How far the composer looks and how often it tries.
        rng: The call's own generator.
    """
    material = gather(view, me, skill, rng)
    remembered = [line.text for line in view.history][-skill.span :]
    focus = gathered(remembered[-2:], view.language)
    heard = "\n".join(remembered).lower()
    spoken = [shape(line.text) for line in view.history]
    best, least = "", 2.0
    for _ in range(_ATTEMPTS):
        drafts = [_draft(material, me, dimension.id, side, skill, view.language, heard, rng) for _ in range(skill.drafts)]
        line = max(drafts, key=lambda draft: _craft(draft, remembered, focus, view.language)) if skill.drafts > 1 else drafts[0]
        alike = max((overlap(shape(line), past) for past in spoken), default=0.0)
        if alike < least:
            best, least = line, alike
        if alike < _TOO_ALIKE:
            break
    return best


def _craft(draft: str, remembered: Sequence[str], focus: frozenset[str], language: str) -> float:
    """The composer's own taste: take up what was said, say something of substance, do not say it again."""
    found = content(draft, language)
    stale = max((overlap(shape(draft), shape(past)) for past in remembered), default=0.0)
    substance = min(len(found), 12 if language == "zh" else 7)
    length = len(words(draft))
    return 0.5 * min(len(found & focus), 3) + 0.15 * substance - 4 * stale - 0.05 * max(0, length - 32)


def _draft(
    material: Material,
    me: ProfileLike,
    dimension: str,
    side: str,
    skill: Skill,
    language: str,
    heard: str,
    rng: random.Random,
) -> str:
    known = lexicon(language)
    heeds = rng.random() < skill.heed
    frames = _frames(side, dimension if heeds else "", me.name, skill.repertoire, language)
    usable = [f for f in frames if len(f.slots - _ADDRESSES) <= skill.slots and f.slots <= _filled(material)]
    unheard = [f for f in usable if f.key not in heard] or usable or [f for f in known.plain if not f.slots]
    frame, values = _filled_frame(unheard, material, language, rng)
    body = frame.fill(values)
    if rng.random() < skill.flourish:
        body = _opening(material, known, values, rng) + body
    if rng.random() < skill.flourish and body.endswith((".", "。")) and len(words(body)) < _ROOM[language]:
        tail = _any(known.tails, values, material, rng)
        body = body[:-1] + tail
    text = grammar(language).finished(body)
    if rng.random() < skill.flourish:
        mood = _MOODS.get(dimension, "plain") if heeds else "plain"
        action = _any(known.actions[mood], values, material, rng)
        text = f"（{action}）{text}" if language == "zh" else f"({action}) {text}"
    return text


@lru_cache(maxsize=4096)
def _frames(side: str, dimension: str, name: str, repertoire: float, language: str) -> tuple[Frame, ...]:
    """The frames this character has the habit of using; for a dimension of the user's own, those of all dimensions."""
    known = lexicon(language)
    by_dimension = known.frames[side]
    frames = by_dimension.get(dimension) or [f for each in by_dimension.values() for f in each]
    if not dimension:
        frames = known.plain
    habit = generator(0, "habit", name, side, dimension)
    return tuple(habit.sample(frames, max(1, round(len(frames) * repertoire))))


def _filled(material: Material) -> set[str]:
    return {slot for slot, options in material.slots.items() if options}


def _filled_frame(
    frames: Sequence[Frame], material: Material, language: str, rng: random.Random
) -> tuple[Frame, dict[str, str]]:
    """A frame and its fillings; another frame is tried when two slots would say the same thing."""
    for _ in range(4):
        frame = rng.choice(frames)
        if (values := _values(frame, material, language, rng)) is not None:
            return frame, values
    return rng.choice([f for f in lexicon(language).plain if not f.slots]), {}


def _values(frame: Frame, material: Material, language: str, rng: random.Random) -> dict[str, str] | None:
    core = grammar(language).core
    values: dict[str, str] = {}
    for slot in sorted(frame.slots):
        options = material.slots[slot][:4]
        taken = list(values.values())
        fresh = [o for o in options if not any(core(o) in value or core(value) in o for value in taken)]
        if not fresh:
            return None
        values[slot] = rng.choice(fresh)
    return values


def _any(frames: Sequence[Frame], values: dict[str, str], material: Material, rng: random.Random) -> str:
    usable = [frame for frame in frames if frame.slots <= _filled(material)]
    frame = rng.choice(usable)
    return frame.fill({slot: rng.choice(options) for slot, options in material.slots.items() if options} | values)


def _opening(material: Material, known: Lexicon, values: dict[str, str], rng: random.Random) -> str:
    if material.catchphrases and rng.random() < 0.5:
        return rng.choice(material.catchphrases) + ("，" if known.language == "zh" else ", ")
    openings = [frame for frame in known.openings if "name" not in values or "name" not in frame.slots]
    return _any(openings, values, material, rng) + ("" if known.language == "zh" else " ")

