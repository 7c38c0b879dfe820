"""The state of a played scene: the fold of its events."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from screentest.agents import NARRATOR, Relations
from screentest.pools import Beliefs, Character, Line, Reminder, Scene, Situation, Standing
from screentest.sim.events import (
    Auditioned,
    BeliefsUpdated,
    EnvironmentChanged,
    Event,
    Influenced,
    Outcome,
    Recalled,
    SpeakerChosen,
    Spoken,
    StateChanged,
)

_TURN = 1


@dataclass(slots=True)
class Knowledge:
    """What one character has perceived.

    Attributes:
        situation: Time, place and description as it last saw them.
        history: The lines it perceived, or the latest of them; only its own carry a thought.
        turns: The turn of each of these lines.
        standings: Where and how it last saw everyone whom something moved.
    """

    situation: Situation
    history: list[Line] = field(default_factory=list[Line])
    turns: list[int] = field(default_factory=list[int])
    standings: dict[str, Standing] = field(default_factory=dict[str, Standing])

    def drop(self, count: int) -> None:
        """Drop about so many of the oldest lines.

        A turn of which any line is shown stays whole: nothing of it comes to mind, for it is taken to be shown.
        """
        count = bisect_left(self.turns, self.turns[count])
        del self.history[:count], self.turns[:count]


@dataclass(slots=True)
class State:
    """Where a played scene stands.

    Attributes:
        scene: The scene being played.
        test: The test character in it, if there is one.
        history: The lines so far, or the latest of them, thoughts included; what the narrator told is among them, under
            the narrator's name. Lines given at the start are known to all.
        window: How many of the latest lines are kept, and shown to anyone, and now and then half as many more, or the
            rest of a turn; ``None`` for all.
        turn: The latest turn, from 1; 0 before the first.
        minutes: How much story time has passed: a minute a turn, and whatever the narrator says beyond that.
        concluded: Whether the narrator finds the story's matter settled.
        situation: Time, place and description as they are now.
        standings: Where and how everyone is whom something moved.
        influences: Name to what the latest deed does to that character, until the next turn.
        beliefs: Name to beliefs, of those who have formed any.
        reminders: Name to what came to mind last.
        assigned: How often the judge assigned each dimension.
        speakers: Who spoke, in order.
        knowledge: Name to what that character perceived.
        relations: Who is near to whom.
    """

    scene: Scene
    test: Character | None = None
    history: list[Line] = field(default_factory=list[Line])
    window: int | None = None
    turn: int = 0
    minutes: int = 0
    concluded: bool = False
    situation: Situation = field(init=False)
    standings: dict[str, Standing] = field(default_factory=dict[str, Standing])
    influences: dict[str, str] = field(default_factory=dict[str, str])
    beliefs: dict[str, Beliefs] = field(default_factory=dict[str, Beliefs])
    reminders: dict[str, tuple[Reminder, ...]] = field(default_factory=dict[str, tuple[Reminder, ...]])
    assigned: Counter[str] = field(default_factory=Counter[str])
    speakers: list[str] = field(default_factory=list[str])
    knowledge: dict[str, Knowledge] = field(init=False)
    relations: Relations = field(init=False)

    def __post_init__(self) -> None:
        self.situation = self.scene.situation
        self.knowledge = {
            character.name: Knowledge(self.scene.situation, standings=dict(self.standings))
            for character in self.characters
        }
        self.relations = Relations(self.characters)
        told, self.history = self.history, []
        for line in told:
            self._hear(line, tuple(self.knowledge))

    def apply(self, event: Event) -> None:
        """Take in one event."""
        match event:
            case SpeakerChosen(turn=turn):
                self.turn = turn
                self.minutes += _TURN
                self.influences.clear()
            case Spoken(line=line):
                self._hear(line, self.witnesses(line.speaker))
            case Auditioned(dimension=dimension):
                self.assigned[dimension] += 1
            case Recalled(character=name, recollections=found):
                self.reminders[name] = tuple(
                    Reminder(text=one.memory.text, ago=self.minutes - one.memory.minutes) for one in found
                )
            case Influenced(actor=actor, target=str(target), influence=influence):
                self.relations.touch(actor, target)
                self.influences[target] = influence
            case Outcome(text=text, minutes=minutes, concluded=concluded):
                self.minutes += minutes
                self.concluded = concluded
                self._show(Line(speaker=NARRATOR[self.scene.language], text=text), self.audience(event))
            case StateChanged(character=name, standing=standing):
                self._stand(name, standing)
            case EnvironmentChanged(situation=situation):
                self.situation = situation
                for name in self.present:
                    self.knowledge[name].situation = situation
            case BeliefsUpdated(character=name, beliefs=beliefs):
                self.beliefs[name] = beliefs
            case _:
                pass

    @property
    def characters(self) -> tuple[Character, ...]:
        """Everyone in the scene, the test character last."""
        return self.scene.cast if self.test is None else (*self.scene.cast, self.test)

    def character(self, name: str) -> Character:
        """The character of this name.

        Raises:
            ValueError: The scene has none.
        """
        for character in self.characters:
            if character.name == name:
                return character
        raise ValueError(f"{name} is not in the scene")

    @property
    def present(self) -> tuple[str, ...]:
        """The names of those who are where the scene is played."""
        return tuple(name for name in self.knowledge if name not in self.standings or self.standings[name].present)

    def witnesses(self, actor: str) -> tuple[str, ...]:
        """Who perceives what ``actor`` does: all who are present, or itself alone if it is away."""
        present = self.present
        return present if actor in present or actor not in self.knowledge else (actor,)

    def audience(self, outcome: Outcome) -> tuple[str, ...]:
        """Who perceives what comes of a deed: its witnesses and, where someone comes back by it, all who are there."""
        seen = {*self.witnesses(outcome.actor), *outcome.arriving, *(self.present if outcome.arriving else ())}
        return tuple(name for name in self.knowledge if name in seen)

    @property
    def test_lines(self) -> int:
        """How many lines the test character has spoken."""
        return 0 if self.test is None else self.speakers.count(self.test.name)

    def silence_of(self, name: str) -> int:
        """How many lines were spoken since ``name`` last spoke, or since the beginning."""
        for distance, speaker in enumerate(reversed(self.speakers)):
            if speaker == name:
                return distance
        return len(self.speakers)

    def _hear(self, line: Line, witnesses: Sequence[str]) -> None:
        if line.speaker in self.knowledge:
            self._relate(line)
            self.speakers.append(line.speaker)
        self._show(line, witnesses)

    def _relate(self, line: Line) -> None:
        """Whoever is named is addressed; if nobody is, the one who spoke last."""
        named = [name for name in self.knowledge if name != line.speaker and self.relations.names(line.text, name)]
        for name in named or [name for name in self.speakers[-1:] if name != line.speaker]:
            self.relations.speak(line.speaker, name)

    def _show(self, line: Line, witnesses: Sequence[str]) -> None:
        self.history.append(line)
        del self.history[: self._surplus(self.history)]
        for name in witnesses:
            if perceived := line.perceived_by(name):
                knowledge = self.knowledge[name]
                knowledge.history.append(perceived)
                knowledge.turns.append(self.turn)
                knowledge.drop(self._surplus(knowledge.history))

    def _surplus(self, lines: Sequence[Line]) -> int:
        """How many lines to drop: now and then, not one by one, so that prompts begin alike, which providers cache."""
        return 0 if self.window is None or len(lines) <= self.window * 3 // 2 else len(lines) - self.window

    def _stand(self, name: str, standing: Standing) -> None:
        """A change is seen by those who are there, before or after it: who leaves is seen to leave."""
        witnesses = {*self.witnesses(name), name}
        self.standings[name] = standing
        for witness in {*witnesses, *self.witnesses(name)}:
            self.knowledge[witness].standings[name] = standing
        if standing.present:
            self.knowledge[name].situation = self.situation
            seen = {one: self.standings[one] for one in self.present if one in self.standings}
            self.knowledge[name].standings |= seen
