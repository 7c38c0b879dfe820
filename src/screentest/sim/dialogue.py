"""Dialogue: a director gives the word, line by line (FURINA §3.3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass

from screentest.agents import Cue, Director, Narrator
from screentest.llms import remaining
from screentest.randomness import Place
from screentest.sim.events import Ending, Event, SpeakerChosen
from screentest.sim.stage import Stage
from screentest.sim.view import view


@dataclass(frozen=True, slots=True)
class Dialogue:
    """Plays a scene as a dialogue.

    Attributes:
        stage: What the scene is played on.
        director: Who gives the word.
        narrator: Says what comes of actions; ``None`` without one.
    """

    stage: Stage
    director: Director
    narrator: Narrator | None

    @property
    def ending(self) -> Ending:
        """What ended it, once :meth:`events` has ended."""
        return "turn_limit" if len(self.stage.state.speakers) >= self.stage.rules.turns else "director"

    async def events(self) -> AsyncIterator[Event]:
        """Everything from the next turn on."""
        stage, state = self.stage, self.stage.state
        while len(state.speakers) < stage.rules.turns:
            remaining.set(stage.rules.turns - len(state.speakers) - 1)
            turn = state.turn + 1
            place = stage.turn(turn)
            chosen = await self._choose_speaker(turn, place)
            if chosen is None:
                return
            yield stage.tell(chosen)
            async for event in stage.perform(chosen.speaker, Cue(), place):
                yield event
            deed = state.history[-1]
            if self.narrator and deed.action:
                async for event in stage.resolve(self.narrator, deed, None, place):
                    yield event
            if turn % len(state.characters) == 0 and len(state.speakers) < stage.rules.turns:
                async for event in stage.renew(place):
                    yield event

    async def _choose_speaker(self, turn: int, place: Place) -> SpeakerChosen | None:
        stage, state, rules = self.stage, self.stage.state, self.stage.rules
        speakers, emphasis = self._eligible(), stage.emphasis()
        named = emphasis.id if emphasis else ""
        may_end = turn > rules.min_turns and (state.test is None or state.test_lines >= rules.min_test_lines)
        if len(speakers) == 1 and not may_end:
            return SpeakerChosen(turn=turn, speaker=speakers[0], by="rule", reason="", emphasis=named)
        direction = await self.director.direct(
            view(state, "director"),
            speakers=speakers,
            spoken=Counter(state.speakers),
            may_end=may_end,
            turn=turn,
            turns=rules.turns,
            place=place,
        )
        if direction.speaker is None:
            return None
        return SpeakerChosen(
            turn=turn, speaker=direction.speaker, by="director", reason=direction.reason, emphasis=named
        )

    def _eligible(self) -> tuple[str, ...]:
        """Who may speak next: nobody too often in a row, and the test character alone when it is overdue."""
        state, rules = self.stage.state, self.stage.rules
        names, recent = [character.name for character in state.characters], state.speakers[-rules.in_a_row :]
        tired = recent[0] if len(recent) == rules.in_a_row and len(set(recent)) == 1 and len(names) > 1 else None
        if state.test is not None:
            test = state.test.name
            if test != tired and (state.silence_of(test) >= len(names) + 1 or self._turns_run_out()):
                return (test,)
        return tuple(name for name in names if name != tired)

    def _turns_run_out(self) -> bool:
        """Whether the test character needs all turns that are left, with breaks, to have its fewest lines."""
        state, rules = self.stage.state, self.stage.rules
        owed, left = rules.min_test_lines - state.test_lines, rules.turns - len(state.speakers)
        return owed > 0 and left <= owed + owed // rules.in_a_row
