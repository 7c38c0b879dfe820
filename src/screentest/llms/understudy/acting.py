"""Acting: a deed or an answer as a line, the action in brackets and then one sentence of speech."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from screentest.llms.understudy.choosing import FRIENDLY, HOSTILE, choose, tempers
from screentest.llms.understudy.deed import ACTION, Deed, read
from screentest.llms.understudy.facts import ProfileLike, ViewLike
from screentest.llms.understudy.ground import COMPANY, Ground, plain
from screentest.llms.understudy.lexicon import Frame
from screentest.llms.understudy.material import grammar
from screentest.llms.understudy.picking import pick
from screentest.llms.understudy.props import Prop
from screentest.llms.understudy.skill import Skill
from screentest.llms.understudy.tale import Kind
from screentest.llms.understudy.text import content, gathered, overlap, shape
from screentest.randomness import generator

_SILENT = 0.06
_EMPHASIZED = 0.5

_ANSWERS: dict[str, dict[str, float]] = {
    "hostile": {"resist": 2.0, "refuse": 1.2, "withdraw": 1.0, "warn": 1.2, "expose": 0.6, "ask": 0.4, "soothe": 0.6},
    "friendly": {"accept": 2.0, "ask": 1.0, "soothe": 1.0, "refuse": 0.8, "warn": 0.3},
    "loud": {"refuse": 1.0, "warn": 1.0, "soothe": 1.0, "ask": 0.8, "withdraw": 0.8, "expose": 0.8, "accept": 0.3},
    "other": {"ask": 1.2, "accept": 1.0, "warn": 0.9, "refuse": 0.8, "expose": 0.8, "soothe": 0.7, "withdraw": 0.3},
}
_LOUD = frozenset(["break", "strike"])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """Who acts, with what skill, and what has been heard."""

    ground: Ground
    me: ProfileLike
    nature: Mapping[str, float]
    skill: Skill
    rng: random.Random
    heard: str

    @property
    def language(self) -> str:
        return self.ground.tale.language

    def line(self, kind: Kind, values: Mapping[str, str], emphasized: Callable[[], str] | None) -> str:
        """The line for a deed or an answer of ``kind``."""
        action = plain(self._fill(kind, kind.act, values))
        speech = "" if self.rng.random() < _SILENT else self._speech(kind, values, emphasized)
        return f"（{action}）{speech}" if self.language == "zh" else f"({action}) {speech}".strip()

    def _speech(self, kind: Kind, values: Mapping[str, str], emphasized: Callable[[], str] | None) -> str:
        if emphasized and self.rng.random() < _EMPHASIZED * self.skill.heed:
            return plain(ACTION.sub("", emphasized()))
        drafts = [self._draft(kind, values) for _ in range(self.skill.drafts)]
        return max(drafts, key=self._craft)

    def _draft(self, kind: Kind, values: Mapping[str, str]) -> str:
        values = {**values, "why": self._why(kind)}
        return plain(grammar(self.language).finished(self._fill(kind, kind.say, values)))

    def _craft(self, speech: str) -> float:
        heard = [line.text for line in self.ground.view.history][-self.skill.span :]
        stale = max((overlap(shape(speech), shape(text)) for text in heard), default=0.0)
        words = content(speech, self.language)
        taken_up = min(4, len(words & gathered(heard[-3:], self.language)))
        return 0.2 * taken_up + 0.05 * len(words) - 4 * stale + self.rng.random()

    def _fill(self, kind: Kind, frames: Sequence[Frame], values: Mapping[str, str]) -> str:
        """A frame of the character's habit, or any other if none of those can be filled."""
        habit = generator(0, "habit", self.me.name, kind.id)
        habitual = habit.sample(frames, max(2, round(len(frames) * self.skill.repertoire)))
        share = self.ground.share(self.me.name)
        usual = [frame for frame in frames if frame in habitual]
        return pick(usual, values, self.heard, self.rng, share) or pick(frames, values, self.heard, self.rng, share)

    def _why(self, kind: Kind) -> str:
        """A reason that suits both the deed and the one who does it."""
        temper = self.rng.choices(kind.tempers, [self.nature[temper] for temper in kind.tempers])[0]
        reasons = self.ground.tale.tempers[temper].why
        return self.rng.choice([reason for reason in reasons if reason.lower() not in self.heard] or reasons)


def act(
    view: ViewLike, me: ProfileLike, *, skill: Skill, rng: random.Random, emphasized: Callable[[], str] | None
) -> str:
    """What ``me`` does next.

    Args:
        view: What the actor sees.
        me: Who acts.
        skill: How far the composer looks and how often it tries.
        rng: The call's own generator.
        emphasized: Composes a sentence that shows the emphasised dimension, if there is one.
    """
    part = _part(view, me, skill, rng)
    choice = choose(part.ground, me.name, part.nature, rng, heeds=rng.random() < skill.heed)
    return part.line(choice.kind, _values(part.ground, choice.thing, choice.fix, choice.name), emphasized)


def react(
    view: ViewLike, me: ProfileLike, *, skill: Skill, rng: random.Random, emphasized: Callable[[], str] | None
) -> str:
    """What ``me`` does at once in answer to what someone has just done; the arguments are those of :func:`act`."""
    part = _part(view, me, skill, rng)
    last = next((line for line in reversed(view.history) if line.speaker in part.ground.called), None)
    if last is None or last.speaker == me.name:
        return act(view, me, skill=skill, rng=rng, emphasized=emphasized)
    deed = read(last, part.ground)
    kind = _answer(part, deed)
    values = _values(part.ground, deed.thing, deed.fix, None) | {"actor": part.ground.called[deed.actor]}
    return part.line(kind, values, emphasized)


def _part(view: ViewLike, me: ProfileLike, skill: Skill, rng: random.Random) -> _Part:
    ground = Ground.of(view)
    heard = "\n".join(each.text for each in (*view.history, *view.reminders)).lower()
    return _Part(ground=ground, me=me, nature=tempers(me, view, ground), skill=skill, rng=rng, heard=heard)


def _answer(part: _Part, deed: Deed) -> Kind:
    if part.me.name in part.ground.bound:
        return part.ground.tale.answers["helpless"]
    id_ = deed.kind.id if deed.kind else ""
    moods = {"hostile": HOSTILE, "loud": _LOUD, "friendly": FRIENDLY}
    mood = next((mood for mood, ids in moods.items() if id_ in ids), "other")
    weights: dict[str, float] = {}
    for name, weight in _ANSWERS[mood].items():
        kind = part.ground.tale.answers[name]
        if name == "expose" and len(part.ground.present) < COMPANY:
            continue
        suits = sum(part.nature[temper] for temper in kind.tempers) / len(kind.tempers)
        stale = any(frame.key in part.heard for frame in kind.act)
        weights[name] = weight * suits * (0.3 if stale else 1.0)
    return part.ground.tale.answers[part.rng.choices(list(weights), list(weights.values()))[0]]


def _values(ground: Ground, thing: Prop | None, fix: Prop | None, name: str | None) -> dict[str, str]:
    values = {"thing": thing.phrase if thing else "", "fix": fix.phrase if fix else ""}
    values |= {"name": ground.called[name] if name else "", "here": ground.here}
    return {slot: value for slot, value in values.items() if value}
