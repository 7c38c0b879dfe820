"""Story play: all act in turn, round by round, and the world answers (CharacterBox §3.2, Algorithm 1).

A turn takes four calls that wait for each other: the deed (action and speech in one), whom it affects, that
character's reaction, and what comes of it (outcome, character updates and environment update in one). Between
two rounds all characters form their beliefs at once, self-belief and environment belief in one call each.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass

from screentest.agents import Cue, Narrator
from screentest.llms import remaining
from screentest.pools import Line
from screentest.randomness import Place
from screentest.sim.events import Ending, Event, Influenced, SpeakerChosen
from screentest.sim.stage import Stage
from screentest.sim.view import view


@dataclass(frozen=True, slots=True)
class Story:
    """Plays a scene as a story.

    Attributes:
        stage: What the scene is played on.
        narrator: Says what comes of deeds; ``None`` without one, and then nobody reacts out of turn.
    """

    stage: Stage
    narrator: Narrator | None

    @property
    def ending(self) -> Ending:
        """What ended it, once :meth:`events` has ended."""
        return "turn_limit" if self.stage.state.turn >= self._last_turn else "narrator"

    async def events(self) -> AsyncIterator[Event]:
        """Everything from the next turn on."""
        stage, state = self.stage, self.stage.state
        names = [character.name for character in state.characters]
        while not self._over:
            remaining.set(self._last_turn - state.turn - 1)
            turn, actor = state.turn + 1, names[state.turn % len(names)]
            place, emphasis = stage.turn(turn), stage.emphasis()
            yield stage.tell(
                SpeakerChosen(turn=turn, speaker=actor, by="round", reason="", emphasis=emphasis.id if emphasis else "")
            )
            async for event in stage.perform(actor, Cue(kind="act"), place):
                yield event
            deed = state.history[-1]
            if self.narrator and deed.text:
                async for event in self._answer(self.narrator, deed, place):
                    yield event
            if turn % len(names) == 0 and not self._over:
                async for event in stage.renew(place):
                    yield event

    @property
    def _last_turn(self) -> int:
        return self.stage.rules.rounds * len(self.stage.state.characters)

    @property
    def _over(self) -> bool:
        state, size = self.stage.state, len(self.stage.state.characters)
        concluded = state.concluded and state.turn % size == 0 and state.turn >= self.stage.rules.min_rounds * size
        return concluded or state.turn >= self._last_turn

    async def _answer(self, narrator: Narrator, deed: Line, place: Place) -> AsyncIterator[Event]:
        """The world answers a deed: whoever it affects reacts, without using up a turn, and something comes of it."""
        stage, state = self.stage, self.stage.state
        reaction: Line | None = None
        if near := tuple(name for name in state.witnesses(deed.speaker) if name != deed.speaker):
            found = await narrator.influence(view(state, "narrator"), deed, present=near, place=place)
            yield stage.tell(
                Influenced(turn=state.turn, actor=deed.speaker, target=found.target, influence=found.influence)
            )
            if found.target:
                cue = Cue(kind="reaction", influence=found.influence)
                async for event in stage.perform(found.target, cue, place / "reaction"):
                    yield event
                reaction = state.history[-1]
        async for event in stage.resolve(narrator, deed, reaction, place):
            yield event
