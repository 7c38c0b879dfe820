"""Composing a line: frames filled with what was found, several drafts, the best one said."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from screentest.llms.understudy.facts import ProfileLike, ViewLike
from screentest.llms.understudy.lexicon import Frame, Lexicon, lexicon
from screentest.llms.understudy.material import Material, gather, grammar, spoken
from screentest.llms.understudy.skill import Skill
from screentest.llms.understudy.text import content, gathered, overlap, shape, words
from screentest.randomness import generator

_ADDRESSES = frozenset({"name", "other"})
_MOODS = {"PA": "warm", "RR": "keen", "CA": "keen"}
_ROOM = {"en": 15, "zh": 22}
_SUBSTANCE = {"en": 7, "zh": 12}
_LONG = 32
_TOO_ALIKE = 0.5
_ATTEMPTS = 10


def compose(view: ViewLike, me: ProfileLike, *, dimension: str, side: str, skill: Skill, rng: random.Random) -> str:
    """One line for ``me``: an optional action and one sentence.

    Args:
        view: What the speaker sees.
        me: Who speaks.
        dimension: The id of the dimension that the line should show, or invite.
        side: ``"scene"`` to invite it, ``"test"`` to show it.
        skill: How far the composer looks and how often it tries.
        rng: The call's own generator.
    """
    remembered = [line.text for line in spoken(view)][-skill.span :]
    turn = _Turn(
        known=lexicon(view.language),
        material=gather(view, me, skill, rng),
        me=me.name,
        dimension=dimension,
        side=side,
        skill=skill,
        remembered=remembered,
        focus=gathered(remembered[-2:], view.language),
        self_image=gathered(list(me.attributes.values())[: skill.profile], view.language),
        rng=rng,
    )
    past_shapes = [shape(line.text) for line in view.history]
    best, least = "", 2.0
    for _ in range(_ATTEMPTS):
        line = turn.best_draft()
        alike = max((overlap(shape(line), past) for past in past_shapes), default=0.0)
        if alike < least:
            best, least = line, alike
        if alike < _TOO_ALIKE:
            break
    return best


@dataclass(frozen=True, slots=True, kw_only=True)
class _Turn:
    """Everything one line is made from."""

    known: Lexicon
    material: Material
    me: str
    dimension: str
    side: str
    skill: Skill
    remembered: Sequence[str]
    focus: frozenset[str]
    self_image: frozenset[str]
    rng: random.Random

    def best_draft(self) -> str:
        """As many drafts as the skill makes, the best by the composer's own taste."""
        drafts = [self._draft() for _ in range(self.skill.drafts)]
        return max(drafts, key=self._craft) if len(drafts) > 1 else drafts[0]

    def _craft(self, draft: str) -> float:
        """Take up what was said, stay in character, have substance, do not repeat, do not ramble."""
        language = self.known.language
        found = content(draft, language)
        stale = max((overlap(shape(draft), shape(past)) for past in self.remembered), default=0.0)
        substance = min(len(found), _SUBSTANCE[language])
        rambling = max(0, len(words(draft)) - _LONG)
        grasp = 0.8 * min(len(found & self.focus), 3) + 0.3 * min(len(found & self.self_image), 3)
        return grasp + 0.15 * substance - 4 * stale - 0.05 * rambling

    def _draft(self) -> str:
        heeds = self._chance(self.skill.heed)
        frame, values = self._filled_frame(heeds)
        body = frame.fill(values)
        if self._chance(self.skill.flourish):
            body = self._opening(frame, values) + body
        if self._chance(self.skill.flourish) and body.endswith((".", "。")) and len(words(body)) < self._room:
            tails = [tail for tail in self.known.tails if tail.slots.isdisjoint(frame.slots)]
            body = body[:-1] + self._any(tails, values)
        text = grammar(self.known.language).finished(body)
        if self._chance(self.skill.flourish):
            mood = _MOODS.get(self.dimension, "plain") if heeds else "plain"
            action = self._any(self.known.actions[mood], values)
            text = f"（{action}）{text}" if self.known.language == "zh" else f"({action}) {text}"
        return text

    @property
    def _room(self) -> int:
        return _ROOM[self.known.language]

    def _chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def _filled_frame(self, heeds: bool) -> tuple[Frame, dict[str, str]]:
        """A frame and its fillings; another frame is tried when two slots would say the same thing."""
        frames = _frames(
            self.side, self.dimension if heeds else "", self.me, self.skill.repertoire, self.known.language
        )
        usable = [frame for frame in frames if self._can_fill(frame)]
        heard = "\n".join(self.remembered).lower()
        unheard = [frame for frame in usable if frame.key not in heard] or usable
        for _ in range(4 if unheard else 0):
            frame = self.rng.choice(unheard)
            values = self._values(frame)
            if values is not None:
                return frame, values
        return self.rng.choice([frame for frame in self.known.plain if not frame.slots]), {}

    def _can_fill(self, frame: Frame) -> bool:
        fits = len(frame.slots - _ADDRESSES) <= self.skill.slots
        return fits and all(self.material.slots.get(slot) for slot in frame.slots)

    def _values(self, frame: Frame) -> dict[str, str] | None:
        core = grammar(self.known.language).core
        values: dict[str, str] = {}
        for slot in sorted(frame.slots):
            taken = list(values.values())
            options = self.material.slots[slot][:4]
            fresh = [o for o in options if not any(core(o) in value or core(value) in o for value in taken)]
            if not fresh:
                return None
            values[slot] = self.rng.choice(fresh)
        return values

    def _any(self, frames: Sequence[Frame], values: dict[str, str]) -> str:
        frame = self.rng.choice([frame for frame in frames if all(self.material.slots.get(s) for s in frame.slots)])
        return frame.fill({slot: values.get(slot) or self.material.slots[slot][0] for slot in frame.slots})

    def _opening(self, frame: Frame, values: dict[str, str]) -> str:
        comma, gap = ("，", "") if self.known.language == "zh" else (", ", " ")
        if self.material.catchphrases and self._chance(0.4):
            return self.rng.choice(self.material.catchphrases) + comma
        names_someone = "name" in frame.slots or frame.text.startswith("{other}")
        openings = [opening for opening in self.known.openings if not (names_someone and opening.slots)]
        return self._any(openings, values) + gap


@lru_cache(maxsize=4096)
def _frames(side: str, dimension: str, name: str, repertoire: float, language: str) -> tuple[Frame, ...]:
    """The frames a character has the habit of using; small talk without a dimension, all frames for a user's own."""
    known = lexicon(language)
    every = [frame for frames in known.frames[side].values() for frame in frames]
    frames = (known.frames[side].get(dimension) or every) if dimension else known.plain
    habit = generator(0, "habit", name, side, dimension)
    return tuple(habit.sample(frames, max(1, round(len(frames) * repertoire))))
