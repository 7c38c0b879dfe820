"""The stage: what dialogue and story play share, from a character's line to what becomes of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from screentest.agents import Cue, Mind, Narrator, Player, SceneCharacter
from screentest.agents.memory import Memory
from screentest.judges import Dimension, select
from screentest.llms import Model
from screentest.pools import Character, Line
from screentest.randomness import Place
from screentest.sim.audition import Audition
from screentest.sim.events import (
    BeliefsUpdated,
    EnvironmentChanged,
    Event,
    ImportanceRated,
    Outcome,
    Reflected,
    Spoken,
    StateChanged,
)
from screentest.sim.minds import Minds
from screentest.sim.rules import Rules
from screentest.sim.scheduler import together
from screentest.sim.state import State
from screentest.sim.view import view


@dataclass(frozen=True, slots=True, kw_only=True)
class Players:
    """Which model plays which part in a scene.

    Attributes:
        director: Decides who speaks next in a dialogue.
        scene: Plays the scene characters.
        source: Plays the test character.
        base: Plays it as well, as the reference.
        judge: Compares the two.
        narrator: Says what comes of deeds, in scenes that have a narrator.
    """

    director: Model
    scene: Model
    source: Model
    base: Model
    judge: Model
    narrator: Model | None = None


@dataclass(slots=True, kw_only=True)
class Stage:
    """A scene in the course of being played.

    Attributes:
        state: The scene as it stands.
        minds: What its characters remember; ``None`` if they do not.
        rules: How it is played.
        models: Who plays which part.
        seats: Name to player, of characters that no model of ``models`` plays.
        audition: How the test character's lines are found; ``None`` without one.
        counts: How often each dimension was assigned before this conversation.
        place: The conversation's place.
        begun: The latest turn that somebody has been or is being chosen for.
    """

    state: State
    minds: Minds | None
    rules: Rules
    models: Players
    seats: Mapping[str, Player]
    audition: Audition | None
    counts: Mapping[str, int]
    place: Place
    begun: int = 0

    def tell(self, event: Event) -> Event:
        """Let an event happen."""
        self.state.apply(event)
        if self.minds:
            self.minds.apply(event, self.state)
        return event

    def turn(self, number: int) -> Place:
        """Begin a turn, and name its place."""
        self.begun = number
        return self.place / "turn" / f"{number:02d}"

    def emphasis(self) -> Dimension | None:
        """The dimension emphasised until the test character has answered (App. C); ``None`` without one."""
        if self.audition is None or self.state.test is None:
            return None
        test, dimensions = self.state.test, self.audition.dimensions
        return emphasised(self.state, test, dimensions, counts=self.counts, rules=self.rules, place=self.place)

    async def perform(self, name: str, cue: Cue, place: Place) -> AsyncIterator[Event]:
        """A character's line: what comes to its mind, the audition if it is under test, and the line itself."""
        state, emphasis, turn = self.state, self.emphasis(), self.state.turn
        if self.minds:
            for recalled in await self.minds.recall(state, name, place=place):
                yield self.tell(recalled)
        character = state.character(name)
        if self.audition and emphasis and character is state.test:
            auditioned = await self.audition.hold(
                view(state, character), view(state, "judge"), emphasis, cue, turn=turn, place=place
            )
            yield self.tell(auditioned)
            winner = auditioned.source if auditioned.winner == "source" else auditioned.base
            yield self.tell(Spoken(turn=turn, line=winner.line, model=winner.model, cue=cue.kind))
        else:
            player = self.seats.get(name) or SceneCharacter(self.models.scene)
            line = await player.speak(view(state, character), emphasis, cue=cue, place=place)
            yield self.tell(Spoken(turn=turn, line=line, model=player.name, cue=cue.kind))

    async def resolve(
        self, narrator: Narrator, deed: Line, reaction: Line | None, place: Place
    ) -> AsyncIterator[Event]:
        """What comes of a deed: the outcome, and who and what is changed by it."""
        turn = self.state.turn
        found = await narrator.resolve(view(self.state, "narrator"), deed, reaction, place=place)
        present = self.state.present
        yield self.tell(
            Outcome(
                turn=turn,
                actor=deed.speaker,
                text=found.outcome,
                minutes=found.minutes,
                concluded=found.concluded,
                arriving=tuple(
                    one.character for one in found.changes if one.standing.present and one.character not in present
                ),
            )
        )
        for change in found.changes:
            if change.standing != self.state.standings.get(change.character):
                yield self.tell(StateChanged(turn=turn, character=change.character, standing=change.standing))
        if found.situation and found.situation != self.state.situation:
            yield self.tell(EnvironmentChanged(turn=turn, situation=found.situation))

    async def renew(self, place: Place) -> AsyncIterator[Event]:
        """Between two rounds all characters at once think about what happened, and put their memories in order."""
        place /= "after"
        if self.minds and self.rules.beliefs:
            thinkers = [name for name in self.minds.memories if name not in self.seats]
            for recalled in await self.minds.recall(self.state, *thinkers, place=place):
                yield self.tell(recalled)
        for event in await together(*self._thoughts(place)):
            yield self.tell(event)

    def _thoughts(self, place: Place) -> Iterator[Awaitable[Event]]:
        for character in self.state.characters:
            name, own = character.name, self._of(character.name, place)
            if self.rules.beliefs and name not in self.seats:
                yield self._believe(name, own)
            if self.minds and (memories := self.minds.new[name]):
                yield self._weigh(name, memories, own)
            if self.minds and (memories := self.minds.memories[name].surplus()):
                yield self._reflect(name, memories, own)

    async def _believe(self, name: str, place: Place) -> Event:
        seen = view(self.state, self.state.character(name))
        beliefs = await Mind(self._thinker(name)).believe(seen, place=place)
        return BeliefsUpdated(turn=self.state.turn, character=name, beliefs=beliefs)

    async def _weigh(self, name: str, memories: Sequence[Memory], place: Place) -> Event:
        seen = view(self.state, self.state.character(name))
        rated = await Mind(self._thinker(name)).weigh(seen, memories, place=place)
        return ImportanceRated(turn=self.state.turn, character=name, importances=rated)

    async def _reflect(self, name: str, memories: Sequence[Memory], place: Place) -> Event:
        seen = view(self.state, self.state.character(name))
        found = await Mind(self._thinker(name)).reflect(seen, memories, place=place)
        return Reflected(
            turn=self.state.turn,
            character=name,
            text=found.text,
            importance=found.importance,
            sources=tuple(memory.id for memory in memories),
        )

    def _thinker(self, name: str) -> Model:
        """A character's mind is its player's; the test character's is the source's."""
        return self.models.source if self.state.test and name == self.state.test.name else self.models.scene

    def _of(self, name: str, place: Place) -> Place:
        return place / self.state.character(name).id


def emphasised(
    state: State,
    test: Character,
    dimensions: Sequence[Dimension],
    *,
    counts: Mapping[str, int],
    rules: Rules,
    place: Place,
) -> Dimension:
    """The dimension emphasised until the test character has answered (App. C).

    Args:
        state: The scene as it stands.
        test: The test character.
        dimensions: What lines are judged on.
        counts: How often each was assigned before this conversation.
        rules: How the scene is played.
        place: The conversation's place.
    """
    since = len(state.speakers) - state.silence_of(test.name) + 1
    assigned = Counter(counts) + state.assigned
    generator = (place / "emphasis" / since).generator()
    return dimensions[select([assigned[one.id] for one in dimensions], generator, rules.emphasis)]
