"""Believing: what a character makes of itself and the world, said in the first person and only with what it knows."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from screentest.llms.understudy.choosing import Choice, choose, tempers
from screentest.llms.understudy.deed import Deed, is_deed, read
from screentest.llms.understudy.facts import LineLike, ProfileLike, ViewLike
from screentest.llms.understudy.ground import Ground, plain
from screentest.llms.understudy.lexicon import Frame
from screentest.llms.understudy.material import grammar
from screentest.llms.understudy.picking import pick
from screentest.llms.understudy.props import Prop
from screentest.llms.understudy.tale import pattern
from screentest.randomness import generator

_ME = {"en": "me", "zh": "我"}
_BARE = re.compile(
    r"(?:to )?(?:be|keep|find|get|make|confess|take|save|win|protect|prove|see|hold|learn|bring|leave|stop|help|hide|"
    r"sell|buy|tell|reach|escape|return|marry|catch|show|have|go|stay|give|put|let|set|turn|talk|persuade|convince|"
    r"guard|defend|end)\b"
)
_SENTENCE = re.compile(r"[.!?;。！？；]")
_WANTS = re.compile(r"^(?:想|要|必须|希望|盼|打算)")
_THIRD = re.compile(r"\b(?:he|she|his|her|him)\b|[他她](?!们)")
_HERS = {"her": "my", "his": "my", "herself": "myself", "himself": "myself", "he": "I", "she": "I", "him": "me"}
_AM, _HAVE = re.compile(r"\bs?he is\b"), re.compile(r"\bs?he has\b")
_LONG = {"en": 22, "zh": 40}
_NAMED = 0.6
_SHARES = 2


def believe(view: ViewLike, me: ProfileLike, rng: random.Random) -> dict[str, str]:
    """A character's mind after a round.

    Args:
        view: What the character sees, its former beliefs included.
        me: The character.
        rng: The call's own generator.
    """
    ground = Ground.of(view)
    return _Mind(ground, me, tempers(me, view, ground), rng).made_up()


@dataclass(frozen=True, slots=True)
class _Mind:
    ground: Ground
    me: ProfileLike
    nature: Mapping[str, float]
    rng: random.Random

    @property
    def language(self) -> str:
        return self.ground.tale.language

    def made_up(self) -> dict[str, str]:
        choice = choose(self.ground, self.me.name, self.nature, self.rng, heeds=False)
        values = self._values(choice)
        frames = self.ground.tale.beliefs
        plan = self._fill(choice.kind.frames["plan"], values)
        obstacle = self._fill(frames["obstacle"], values)
        return {
            "belief": self._say("belief", values | {"deed": self._own_deed(values)}),
            "desire": self._say("desire", values),
            "intention": self._say("intention", {"plan": plan, "obstacle": obstacle}),
            "others": self._say("others" if self.ground.people[1:] else "alone", values | self._others()),
            "scene": self._say("scene", values),
            "influence": self._say("influence", values),
        }

    def _values(self, choice: Choice) -> dict[str, str]:
        ground, rng = self.ground, self.rng
        temper = rng.choices(list(self.nature), list(self.nature.values()))[0]
        known, first = ground.tale.tempers[temper], max(self.nature, key=lambda each: self.nature[each])
        others = [name for name in ground.people if name != self.me.name]
        name = choice.name or next(
            (line.speaker for line in reversed(ground.view.history) if line.speaker in others), ""
        )
        thing = choice.thing or next(iter((*ground.held[self.me.name], *ground.free)), None)
        notes = [note for note, _ in ground.notes()]
        values = {
            "name": ground.called.get(name, ""),
            "thing": thing.phrase if thing else "",
            "fix": choice.fix.phrase if choice.fix else "",
            "here": ground.here if rng.random() < _NAMED else ground.tale.words["here"],
            "at": self._at(name, thing) if name else "",
            "why": self._new(known.why),
            "aim": generator(0, "aim", self.me.name).choice(ground.tale.tempers[first].aim),
            "mood": self._new(ground.tale.beliefs["moods"][temper]),
            "avowal": self._new(self._avowals()),
            "drive": self._drive(),
            "note": notes[-1] if notes else "",
        }
        values = {slot: value for slot, value in values.items() if value}
        about = "thing" if choice.kind.thing else "name"
        goals = [frame for frame in ground.tale.beliefs["goal"] if about in frame.slots or not frame.slots]
        return values | {"goal": self._fill(goals, values)}

    def _at(self, name: str, thing: Prop | None) -> str:
        """Where someone else is, as the character would say it of itself."""
        text, me = self.ground.known_position(name), self.ground.called[self.me.name]
        if not text or (thing and thing.phrase in text):
            return ""
        if self.language == "zh":
            return text.replace(me, "我")
        return re.sub(rf"\b{re.escape(me)}\b", "me", re.sub(rf"\b{re.escape(me)}['’]s\b", "my", text))

    def _avowals(self) -> list[str]:
        skipped = {*self.ground.tale.carried_keys, *self.ground.tale.position_keys}
        pairs = [(key, value) for key, value in self.me.attributes.items() if key.lower() not in skipped]
        found = [said for key, value in pairs for said in grammar(self.language).avowals(key, value, self.me.name)]
        return [said[:1].lower() + said[1:] if said.startswith(("The ", "A ")) else said for said in found]

    def _drive(self) -> str:
        """What drove the character at first, as far as that can be said in the first person."""
        text = _SENTENCE.split(self.ground.view.motivations.get(self.me.name, ""))[0].strip()
        if _THIRD.search(text) and self.ground.mentioned(text, self.me.name):
            return ""
        if self.language == "zh":
            fits = bool(_WANTS.match(text)) and len(text) <= _LONG["zh"]
            return plain("我" + re.sub("[他她](?!们)", "我", text)) if fits else ""
        text = text[:1].lower() + text[1:]
        if not _BARE.match(text) or len(text.split()) > _LONG["en"]:
            return ""
        words = [
            _HERS.get(word, word) for word in _AM.sub("I am", _HAVE.sub("I have", text.removeprefix("to "))).split()
        ]
        return plain(f"I want to {' '.join(words)}")

    def _own_deed(self, values: Mapping[str, str]) -> str:
        """What the character did last, and whether it came off."""
        for deed, told in reversed(_deeds(self.ground)):
            if deed.actor == self.me.name and deed.kind:
                freed = deed.kind.only == "bound" and deed.actor not in self.ground.bound
                part = "missed" if _failed(deed, told) and not freed else "mine"
                return self._fill(deed.kind.frames[part], self._of(deed))
        return self._new(self.ground.tale.beliefs["nothing"], values)

    def _others(self) -> dict[str, str]:
        """What someone else's deed shows, and whoever else is there."""
        ground, me = self.ground, self.me.name
        others = [name for name in ground.people if name != me]
        if not others:
            return {}
        deeds = [
            deed for deed, told in _deeds(ground) if deed.actor in others and deed.kind and not _failed(deed, told)
        ]
        if deeds:
            deed = self.rng.choice(deeds[-2:])
            theirs = self._fill(deed.kind.frames["theirs"], self._of(deed)) if deed.kind else ""
            actor = deed.actor
        else:
            actor = self.rng.choice(others)
            theirs = self._fill(ground.tale.beliefs["stranger"], {"actor": ground.called[actor]})
        rest = [ground.called[name] for name in others if name not in (actor,)]
        return {"theirs": theirs} | ({"other": self.rng.choice(rest)} if rest else {})

    def _of(self, deed: Deed) -> dict[str, str]:
        ground = self.ground
        name = _ME[self.language] if deed.name == self.me.name else ground.called.get(deed.name or "", "")
        found = {
            "actor": ground.called[deed.actor],
            "name": name,
            "thing": deed.thing.phrase if deed.thing else "",
            "fix": deed.fix.phrase if deed.fix else "",
        }
        return {slot: value for slot, value in found.items() if value}

    def _say(self, part: str, values: Mapping[str, str]) -> str:
        return plain(grammar(self.language).finished(self._fill(self.ground.tale.beliefs[part], values)))

    def _fill(self, frames: Sequence[Frame], values: Mapping[str, str]) -> str:
        return pick(frames, values, self._before(), self.rng, self.ground.share(self.me.name, _SHARES))

    def _new(self, options: Sequence[str | Frame], values: Mapping[str, str] | None = None) -> str:
        texts = [option.fill(values or {}) if isinstance(option, Frame) else option for option in options]
        before = self._before()
        return self.rng.choice([text for text in texts if text.lower() not in before] or texts or [""])

    def _before(self) -> str:
        beliefs = self.ground.view.beliefs
        if beliefs is None:
            return ""
        parts = (beliefs.belief, beliefs.desire, beliefs.intention, beliefs.others, beliefs.scene, beliefs.influence)
        return "\n".join(parts).lower()


def _deeds(ground: Ground) -> list[tuple[Deed, str]]:
    """The deeds that are remembered, each with what the narrator told of it, if that is remembered too."""
    lines, found = list(ground.view.history), list[tuple[Deed, str]]()
    for at, line in enumerate(lines):
        if is_deed(line, ground):
            found.append((read(line, ground), _told_after(lines[at + 1 :], ground)))
    return found


def _told_after(lines: Sequence[LineLike], ground: Ground) -> str:
    return next((line.text for line in lines[:2] if line.speaker not in ground.called), "")


def _failed(deed: Deed, told: str) -> bool:
    frames = deed.kind.frames["failed"] if deed.kind else ()
    return any(pattern(frame.text).match(told) for frame in frames)
