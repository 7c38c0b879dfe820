"""Narrating: whom a deed touches, and what comes of it for people and place."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from screentest.llms.understudy.deed import Deed, answered, is_deed, read
from screentest.llms.understudy.facts import LineLike, ViewLike
from screentest.llms.understudy.ground import Ground, plain
from screentest.llms.understudy.lexicon import Frame
from screentest.llms.understudy.picking import pick
from screentest.llms.understudy.props import Prop, joined
from screentest.llms.understudy.tale import Kind

_LEAST, _MOST = 0.05, 0.98
_TOUCHED, _PLAIN = 0.8, 0.5
_AFTER = 0.6
_STIRRED = 0.5
_NOTES, _HELD = 4, 3
_SETTLING, _SETTLES, _PLAYED = frozenset(["give", "kneel", "free", "lay"]), 0.1, 16
_GAINS, _LOSES = frozenset(["take", "snatch"]), frozenset(["give", "hide", "lay", "break"])
_TELLABLE = {
    "en": re.compile(r"(?!.*\b(?:I|my|me|you|your)\b)[a-z]+(?<!s)s\b[^.!?;:]{0,60}"),
    "zh": re.compile(r"(?![他她])[^A-Za-z我你。！？；：]{2,18}"),
}
_PASSES = {"snatch": "robbed", "give": "given", "free": "freed", "push": "shaken"}


def influence(view: ViewLike, deed: LineLike, people: Mapping[str, str], rng: random.Random) -> dict[str, Any]:
    """Whom a deed touches most, and how: the one it is aimed at, else the one who is spoken to, else nobody.

    Args:
        view: What the narrator sees; the deed is the last line of its history.
        deed: What was done and said.
        people: Id to name of those whom it may touch.
        rng: The call's own generator.
    """
    ground = Ground.of(view)
    found = read(deed, ground)
    ids = {name: id_ for id_, name in people.items()}
    aimed = found.kind is not None and found.kind.name
    values = _values(ground, found)
    if found.name not in ids or not (aimed or rng.random() < _TOUCHED):
        say = _told(ground.tale.situations["nobody"], values, ground, rng, found.actor)
        return {"influence": say, "target": None}
    frames = ground.tale.situations["addressed"]
    if found.kind and (aimed or rng.random() < _PLAIN):
        frames = [frame for frame in found.kind.frames["touch"] if frame.slots <= values.keys()] or frames
    return {"influence": _told(frames, values, ground, rng, found.actor), "target": ids[found.name]}


def resolve(
    view: ViewLike, deed: LineLike, reaction: LineLike | None, people: Mapping[str, str], rng: random.Random
) -> dict[str, Any]:
    """What comes of a deed.

    Args:
        view: What the narrator sees; deed and reaction are the last lines of its history.
        deed: What was done and said.
        reaction: What was done and said in answer.
        people: Id to name of all characters.
        rng: The call's own generator.
    """
    ground = Ground.of(view)
    found = read(deed, ground)
    return _Outcome(
        ground=ground,
        deed=found,
        kind=_kind_as_things_are(found, ground),
        gesture=_gesture(deed, found, ground),
        reaction=reaction,
        ids={name: id_ for id_, name in people.items()},
        rng=rng,
    ).told()


def _kind_as_things_are(deed: Deed, ground: Ground) -> Kind | None:
    """A deed that cannot be done as things are is not told as if it could."""
    kind = deed.kind
    if kind is None or not (deed.thing or not kind.thing) or not (deed.fix or not kind.fix):
        return None
    if kind.name and (deed.name is None or deed.name not in ground.present):
        return None
    is_there = deed.actor in ground.present
    if is_there == (kind.only == "absent") or (deed.actor in ground.bound) != (kind.only == "bound"):
        return None
    return kind


@dataclass(frozen=True, slots=True, kw_only=True)
class _Outcome:
    """A deed on its way to becoming what happened."""

    ground: Ground
    deed: Deed
    kind: Kind | None
    gesture: str
    reaction: LineLike | None
    ids: Mapping[str, str]
    rng: random.Random

    def told(self) -> dict[str, Any]:
        kind, ground, rng = self.kind, self.ground, self.rng
        values, actor = _values(ground, self.deed), self.deed.actor
        answer = answered(self.reaction, ground.tale.language) if self.reaction else None
        if kind is None:
            return self._reply([self._seen(values), *self._after(answer)], rng.randint(1, 3), [], None)
        swayed = answer.base if answer else 1.0
        odds = kind.base * (swayed if kind.name else (1 + swayed) / 2)
        done = rng.random() < min(_MOST, max(_LEAST, odds))
        told = _told(kind.frames["done" if done else "failed"], values, ground, rng, actor)
        changes = self._changes(kind, done, answer)
        scenery = self._scenery(kind) if done else None
        settled = done and self._settles(kind, answer)
        end = self._after(answer)
        if settled:
            end = [_told(ground.tale.situations["closing"], values, ground, rng, actor)]
        return self._reply([told, *end], rng.randint(*kind.minutes), changes, scenery, settled)

    def _seen(self, values: dict[str, str]) -> str:
        """What others see of a deed that changes nothing: the gesture itself, where it can be told."""
        ground, situations = self.ground, self.ground.tale.situations
        if not self.gesture:
            return _told(situations["unclear"], values, ground, self.rng, self.deed.actor)
        if values.get("name", "\n") in self.gesture:
            del values["name"]
        return _told(situations["gesture"], values | {"gesture": self.gesture}, ground, self.rng, self.deed.actor)

    def _reply(
        self,
        sentences: Sequence[str],
        minutes: int,
        changes: list[dict[str, Any]],
        scenery: dict[str, str] | None,
        settled: bool = False,
    ) -> dict[str, Any]:
        gap = "" if self.ground.tale.language == "zh" else " "
        return {
            "outcome": gap.join(sentences),
            "minutes": minutes,
            "changes": changes,
            "environment": scenery,
            "concluded": settled,
        }

    def _after(self, answer: Kind | None) -> list[str]:
        """A word on the one who answered, if it is worth one."""
        if answer is None or self.reaction is None or self.rng.random() >= _AFTER:
            return []
        called = self.ground.called
        values = {"name": called[self.reaction.speaker], "actor": called[self.deed.actor]}
        return [_told(answer.frames["after"], values, self.ground, self.rng, self.reaction.speaker)]

    def _settles(self, kind: Kind, answer: Kind | None) -> bool:
        ground = self.ground
        late = len(ground.view.history) >= _PLAYED and not ground.bound - {self.deed.name}
        agreed = answer is not None and answer.id in ("accept", "soothe")
        return late and agreed and kind.id in _SETTLING and self.rng.random() < _SETTLES

    def _changes(self, kind: Kind, done: bool, answer: Kind | None) -> list[dict[str, Any]]:
        ground, deed, situations = self.ground, self.deed, self.ground.tale.situations
        if not done and deed.actor in ground.bound:
            return []
        holding = {name: list(props) for name, props in ground.held.items()}
        if done and deed.thing:
            self._pass_on(kind, deed.thing, holding)
        thwarted = {"position": (), "state": situations["empty_handed" if kind.id in _GAINS else "thwarted"]}
        changes = [self._change(deed.actor, kind.frames if done else thwarted, holding)]
        if done and kind.id in ("leave", "return"):
            changes[0]["present"] = kind.id == "return"
        if done and deed.name and kind.id in _PASSES:
            swapped = {"name": ground.called[deed.actor], "actor": ground.called[deed.actor]}
            position = {"free": kind.frames["position"], "push": situations["back"]}.get(kind.id, ())
            frames = {"position": position, "state": situations[_PASSES[kind.id]]}
            changes.append(self._change(deed.name, frames, holding, swapped))
        elif self.reaction and answer and answer.frames["state"] and self.rng.random() < _STIRRED:
            changes.append(self._change(self.reaction.speaker, answer.frames, holding))
        changes += self._left_behind(changes, kind, done)
        return [change for change in changes if change["character"] and self._is_news(change)]

    def _is_news(self, change: Mapping[str, Any]) -> bool:
        """Whether someone stands otherwise than before."""
        now = (change["position"], change["state"], change["present"])
        return not any(
            self.ids.get(name) == change["character"] and now == (before.position, before.state, before.present)
            for name, before in self.ground.view.standings.items()
        )

    def _left_behind(self, changes: Sequence[Mapping[str, Any]], kind: Kind, done: bool) -> list[dict[str, Any]]:
        """Whoever is said to be beside someone, or something, that has moved on is not there any more."""
        ground, deed = self.ground, self.deed
        moved = [ground.called[deed.actor]] if changes[0]["position"] != ground.position(deed.actor) else []
        if done and deed.thing and kind.id in _GAINS | _LOSES:
            moved.append(deed.thing.phrase)
        settled = {change["character"] for change in changes}
        apart = plain(ground.tale.situations["apart"][0].fill({"actor": ground.called[deed.actor]}))
        left = [
            (name, standing)
            for name, standing in ground.view.standings.items()
            if standing.present and self.ids.get(name) not in settled
            if (standing.position == apart if name == deed.name else any(each in standing.position for each in moved))
        ]
        return [
            {
                "character": self.ids.get(name),
                "position": apart if changes[0]["present"] and name != deed.name else ground.spot(name),
                "state": standing.state,
                "present": True,
            }
            for name, standing in left
        ]

    def _pass_on(self, kind: Kind, thing: Prop, holding: dict[str, list[Prop]]) -> None:
        """Let the thing change hands."""
        actor, other = self.deed.actor, self.deed.name
        losers = holding if kind.id in _GAINS else [actor] if kind.id in _LOSES else []
        for name in losers:
            holding[name] = [prop for prop in holding[name] if prop.noun != thing.noun]
        winner = actor if kind.id in _GAINS else other if kind.id == "give" else None
        if winner:
            holding[winner] = [*(prop for prop in holding[winner] if prop.noun != thing.noun), thing]

    def _change(
        self,
        name: str,
        frames: Mapping[str, Sequence[Frame]],
        holding: Mapping[str, Sequence[Prop]],
        values: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        """How someone stands now, by frames for its position, if that changes, and for its state."""
        ground, values = self.ground, values or _values(self.ground, self.deed)
        values = {**values, "spot": ground.spot(name)}
        before = ground.view.standings.get(name)
        state = pick(frames["state"], values, before.state.lower() if before else "", self.rng, ground.share(name))
        if held := holding[name][-_HELD:]:
            state = ground.tale.words["posture"].format(state=state, held=joined(held, ground.tale.language))
        position = pick(frames["position"], values, "", self.rng, ground.share(name)) or ground.position(name)
        present = name in ground.present
        return {"character": self.ids.get(name), "position": plain(position), "state": plain(state), "present": present}

    def _scenery(self, kind: Kind) -> dict[str, str] | None:
        """The scene with what can be seen of the deed, and without what it undid; or later, once somebody was away."""
        ground, now = self.ground, self.ground.view.situation
        scenery = {"time": now.time, "place": now.place, "description": now.description}
        if kind.id == "return":
            return scenery | {"time": self._later(now.time)}
        thing, fix = self.deed.thing, self.deed.fix
        about = fix if kind.fix and kind.id != "lay" else thing
        if about is None or not (kind.frames["note"] or (kind.thing and kind.id != "examine")):
            return None
        notes = ground.notes()
        gone = [note for note, nouns in notes if about.noun in nouns and (kind.id != "examine" or len(nouns) > 1)]
        new = [ground.note(frame, thing, fix) for frame in kind.frames["note"]][:1]
        kept = [note for note, _ in notes if note not in gone]
        gone += kept[: max(0, len(kept) + len(new) - _NOTES)]
        text = now.description
        for note in gone:
            text = text.replace(note, "")
        gap = "" if ground.tale.language == "zh" else " "
        text = gap.join(filter(None, [gap.join(text.split()) if gap else text.strip(), *new]))
        return scenery | {"description": text} if text != now.description else None

    def _later(self, time: str) -> str:
        """The time with how much later it is, after the marks that earlier times have left."""
        zh = self.ground.tale.language == "zh"
        marks = [frame.text for frame in self.ground.tale.situations["later"]]
        comma = "，" if zh else ", "
        for at, mark in enumerate(marks):
            if time.endswith(mark):
                return time.removesuffix(mark) + marks[min(at + 1, len(marks) - 1)]
        return comma.join(filter(None, [time, marks[0]])) if time else marks[0]


def _gesture(line: LineLike, deed: Deed, ground: Ground) -> str:
    """What is done in a line as it follows the actor's name; empty if it is a deed, or worded in another way."""
    text, able = plain(line.action), deed.actor in ground.present - ground.bound
    if is_deed(line, ground) or not able or (deed.name and deed.name not in ground.present):
        return ""
    return text if _TELLABLE[ground.tale.language].fullmatch(text) else ""


def _values(ground: Ground, deed: Deed) -> dict[str, str]:
    found = {
        "actor": ground.called.get(deed.actor, deed.actor),
        "name": ground.called[deed.name] if deed.name else "",
        "thing": deed.thing.phrase if deed.thing else "",
        "fix": deed.fix.phrase if deed.fix else "",
        "here": ground.here,
    }
    return {slot: value for slot, value in found.items() if value}


def _told(frames: Sequence[Frame], values: Mapping[str, str], ground: Ground, rng: random.Random, actor: str) -> str:
    """A sentence made of one of the frames."""
    heard = "\n".join(line.text for line in ground.view.history).lower()
    text = plain(pick(frames, values, heard, rng, ground.share(actor)))
    return text[:1].upper() + text[1:]
