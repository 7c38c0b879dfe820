"""A retelling: who was shown what before each line, and what the narrator was asked, from a trajectory's events.

The state of a scene is the fold of its events, so that every prompt can be written again exactly as it was sent.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

from screentest.agents import Cue, Matter, SceneCharacter, TestCharacter
from screentest.builders.exports.performance import Performance
from screentest.judges import Dimension
from screentest.llms import Message
from screentest.pools import Character, Line, View
from screentest.sim import (
    Auditioned,
    EnvironmentChanged,
    Event,
    Influenced,
    Outcome,
    Spoken,
    State,
    StateChanged,
    emphasised,
    view,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What a character perceived, and what it then did (CharacterBox: ``o_i``, ``a_i``).

    Attributes:
        turn: From 1.
        minutes: How much story time had passed.
        character: Whose line.
        line: The line.
        model: The label of the model that wrote it, or of whoever else played the character.
        cue: What kind of line was asked for, and for a reaction what the deed did to the character.
        emphasis: The dimension that was emphasised.
        shown: What the player was shown.
        position: Which line of all that the character perceived this one is, from 0.
        audition: How the line was found, if it was the test character's.
    """

    turn: int
    minutes: int
    character: Character
    line: Line
    model: str
    cue: Cue
    emphasis: Dimension
    shown: View
    position: int
    audition: Auditioned | None

    @property
    def coaching(self) -> str:
        """What the emphasis told the player to bring out: ``S(d)`` or ``I(d)``."""
        return self.emphasis.strategy if self.audition else self.emphasis.instruction

    @property
    def prompt(self) -> tuple[Message, ...]:
        """What the player was asked."""
        player = TestCharacter if self.audition else SceneCharacter
        return player.prompt(self.shown, self.emphasis, self.cue)


@dataclass(frozen=True, slots=True)
class Narration:
    """What the narrator was asked, and what was taken of its answer.

    Attributes:
        turn: From 1.
        matter: The question.
        answer: The answer, with the fields in the order asked for.
    """

    turn: int
    matter: Matter
    answer: dict[str, Any]


@dataclass(slots=True)
class Retelling:
    """A performance told again.

    Attributes:
        performance: What is told.
        steps: All lines of all characters, in order.
        narrations: All that the narrator told, in order.
        whole: The scene at its end, with every line.
    """

    performance: Performance
    steps: list[Step] = field(default_factory=list[Step])
    narrations: list[Narration] = field(default_factory=list[Narration])
    whole: State = field(init=False)
    _shown: State = field(init=False)
    _told: Influenced | None = None
    _audition: Auditioned | None = None
    _deed: Line | None = None
    _reaction: Line | None = None

    def __post_init__(self) -> None:
        told = self.performance
        self.whole = State(scene=told.scene, test=told.test)
        self._shown = State(scene=told.scene, test=told.test, window=told.rules.shown)
        events = told.trajectory.events
        for place, event in enumerate(events):
            self._take(event, events[place + 1 :] if isinstance(event, Outcome) else ())
            self._shown.apply(event)
            self.whole.apply(event)

    def acts(self) -> Iterator[tuple[Character, list[Step]]]:
        """Everyone with their lines, those who had none included."""
        for character in self.performance.characters:
            yield character, [step for step in self.steps if step.character is character]

    def between(self, before: Step | None, step: Step) -> tuple[Line, ...]:
        """What the character of ``step`` perceived before it and after an earlier line of its own, or ever before."""
        start = before.position + 1 if before else 0
        return tuple(self.whole.knowledge[step.character.name].history[start : step.position])

    def _take(self, event: Event, after: Sequence[Event]) -> None:
        match event:
            case Auditioned():
                self._audition = event
            case Spoken(line=line, cue=kind):
                self.steps.append(self._step(event))
                self._deed, self._reaction = (self._deed, line) if kind == "reaction" else (line, None)
                self._audition = None
            case Influenced(actor=actor):
                self._told = event
                self.narrations.append(self._influence(event, self._lately(actor)))
            case Outcome(actor=actor):
                self.narrations.append(self._resolution(event, self._lately(actor), after))
            case _:
                pass

    def _step(self, event: Spoken) -> Step:
        name, audition = event.line.speaker, self._audition
        character = self._shown.character(name)
        influence = self._told.influence if self._told and event.cue == "reaction" else ""
        return Step(
            turn=event.turn,
            minutes=self.whole.minutes,
            character=character,
            line=event.line,
            model=event.model,
            cue=audition.cue if audition else Cue(kind=event.cue, influence=influence),
            emphasis=self._emphasis(audition),
            shown=view(self._shown, character),
            position=len(self.whole.knowledge[name].history),
            audition=audition,
        )

    def _emphasis(self, audition: Auditioned | None) -> Dimension:
        told = self.performance
        if audition:
            return next(dimension for dimension in told.dimensions if dimension.id == audition.emphasis)
        counts = told.trajectory.counts
        return emphasised(self._shown, told.test, told.dimensions, counts=counts, rules=told.rules, place=told.place)

    def _influence(self, event: Influenced, deed: Line) -> Narration:
        near = tuple(name for name in self._shown.witnesses(event.actor) if name != event.actor)
        matter = Matter.influence(view(self._shown, "narrator"), deed, present=near)
        target = event.target and self._shown.character(event.target).id
        return Narration(event.turn, matter, {"influence": event.influence, "target": target})

    def _resolution(self, event: Outcome, deed: Line, after: Sequence[Event]) -> Narration:
        """A change that changes nothing leaves no event, and so is not in the answer."""
        came = list(takewhile(lambda one: isinstance(one, StateChanged | EnvironmentChanged), after))
        answer = {
            "outcome": event.text,
            "minutes": event.minutes,
            "changes": [
                {"character": self._shown.character(one.character).id, **one.standing.model_dump()}
                for one in came
                if isinstance(one, StateChanged)
            ],
            "environment": next(
                (one.situation.model_dump() for one in came if isinstance(one, EnvironmentChanged)), None
            ),
            "concluded": event.concluded,
        }
        matter = Matter.resolve(view(self._shown, "narrator"), deed, self._reaction)
        return Narration(event.turn, matter, answer)

    def _lately(self, actor: str) -> Line:
        assert self._deed is not None and self._deed.speaker == actor, "an outcome follows its deed"  # noqa: S101
        return self._deed
