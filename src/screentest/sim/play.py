"""The conversation loop: plays one scene as a stream of events (FURINA §3.3–3.4)."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Literal

from screentest.agents import Director, SceneCharacter, TestCharacter
from screentest.errors import BadReply, CallError, InputError
from screentest.judges import Dimension, Order, Pair, PairwiseJudge, SelectionMode, furina_dimensions, select
from screentest.llms import Model
from screentest.pools import Character, Scene
from screentest.randomness import Place
from screentest.sim.events import (
    Auditioned,
    Candidate,
    Ending,
    Event,
    Fault,
    SceneClosed,
    SceneOpened,
    SpeakerChosen,
    Spoken,
)
from screentest.sim.scheduler import together
from screentest.sim.state import State, view


@dataclass(frozen=True, slots=True, kw_only=True)
class Players:
    """Which model plays which part in a scene."""

    director: Model
    scene: Model
    source: Model
    base: Model
    judge: Model


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """How a scene is played.

    Attributes:
        turns: The most lines a scene may have.
        min_turns: The fewest lines before the director may end it.
        min_test_lines: The fewest lines of the test character; a scene that closes with fewer is a fault.
        in_a_row: How often the same speaker may speak in a row.
        emphasis: How the emphasised dimension is selected (App. C).
        orders: ``one`` judges in an order drawn per turn; ``both`` judges both and averages.
    """

    turns: int = 20
    min_turns: int = 6
    min_test_lines: int = 2
    in_a_row: int = 2
    emphasis: SelectionMode = "argmax"
    orders: Literal["one", "both"] = "one"

    def __post_init__(self) -> None:
        for name in ("turns", "min_turns", "min_test_lines", "in_a_row"):
            if getattr(self, name) < 1:
                raise InputError(f"a rule is not usable: {name}", why=f"{getattr(self, name)} is less than 1")


async def play(
    scene: Scene,
    *,
    test: Character,
    models: Players,
    seed: int = 0,
    key: str | None = None,
    rules: Rules | None = None,
    dimensions: tuple[Dimension, ...] | None = None,
    counts: Mapping[str, int] | None = None,
) -> AsyncIterator[Event]:
    """Play one scene with the test character in it.

    A model call that fails closes the scene: the stream then ends with a :class:`Fault` and a :class:`SceneClosed`.

    Args:
        scene: Where it is played.
        test: The test character; joins the scene's cast.
        models: Who plays which part.
        seed: The run's seed.
        key: The conversation's key, unique in its run; the scene's and character's ids by default.
        rules: How it is played.
        dimensions: What lines are judged on; FURINA's five by default.
        counts: How often each dimension was assigned before this conversation.

    Yields:
        The events, in order, from :class:`SceneOpened` to :class:`SceneClosed`.

    Raises:
        InputError: The test character cannot enter this scene.
    """
    if test.language != scene.language:
        why = f"{test.name} speaks {test.language}, the scene is {scene.language}"
        raise InputError("the test character cannot enter this scene", where=scene.id, why=why)
    if test.name in {member.name for member in scene.cast}:
        raise InputError("the scene's cast already has a character of this name", where=scene.id, why=test.name)
    conversation = _Conversation(
        state=State(scene=scene, test=test),
        models=models,
        rules=rules or Rules(),
        dimensions=dimensions or furina_dimensions(scene.language),
        counts=Counter(counts or {}),
        place=Place(seed, key or f"{scene.id}/{test.id}"),
    )
    async for event in conversation.events():
        yield event


@dataclass(slots=True)
class _Conversation:
    state: State
    models: Players
    rules: Rules
    dimensions: tuple[Dimension, ...]
    counts: Counter[str]
    place: Place

    async def events(self) -> AsyncIterator[Event]:
        names = tuple(character.name for character in self.state.characters)
        yield SceneOpened(
            conversation=self.place.path, scene=self.state.scene.id, test=self.state.test.name, cast=names
        )
        turn = 1
        try:
            async for event in self._turns():
                turn = event.turn
                self.state.apply(event)
                yield event
        except (BadReply, CallError) as error:
            yield Fault(
                turn=len(self.state.history) + 1,
                kind=error.kind,
                detail=str(error),
                status=getattr(error, "status", None),
            )
            yield self._closed("fault")
            return
        if self.state.test_lines < self.rules.min_test_lines:
            detail = f"{self.state.test.name} spoke {self.state.test_lines} times in {turn} turns"
            yield Fault(turn=turn, kind="too_few_test_lines", detail=detail)
            yield self._closed("fault")
            return
        yield self._closed("turn_limit" if len(self.state.history) >= self.rules.turns else "director")

    async def _turns(self) -> AsyncIterator[SpeakerChosen | Spoken | Auditioned]:
        emphasis = self._emphasise(1)
        for turn in range(1, self.rules.turns + 1):
            place = self.place / "turn" / f"{turn:02d}"
            chosen = await self._choose_speaker(turn, emphasis, place)
            if chosen is None:
                return
            yield chosen
            if chosen.speaker == self.state.test.name:
                auditioned = await self._audition(turn, emphasis, place)
                yield auditioned
                winner = auditioned.source if auditioned.winner == "source" else auditioned.base
                yield Spoken(turn=turn, line=winner.line, model=winner.model)
                emphasis = self._emphasise(turn + 1)
            else:
                speaker = next(member for member in self.state.scene.cast if member.name == chosen.speaker)
                player = SceneCharacter(self.models.scene)
                line = await player.speak(view(self.state, speaker), emphasis, place=place)
                yield Spoken(turn=turn, line=line, model=self.models.scene.name)

    def _emphasise(self, turn: int) -> Dimension:
        used = [self.counts[dimension.id] + self.state.assigned[dimension.id] for dimension in self.dimensions]
        generator = (self.place / "emphasis" / turn).generator()
        return self.dimensions[select(used, generator, self.rules.emphasis)]

    async def _choose_speaker(self, turn: int, emphasis: Dimension, place: Place) -> SpeakerChosen | None:
        speakers = self._eligible()
        may_end = turn > self.rules.min_turns and self.state.test_lines >= self.rules.min_test_lines
        if len(speakers) == 1 and not may_end:
            return SpeakerChosen(turn=turn, speaker=speakers[0], by="rule", reason="", emphasis=emphasis.id)
        direction = await Director(self.models.director).direct(
            view(self.state, "director"),
            speakers=speakers,
            may_end=may_end,
            turn=turn,
            turns=self.rules.turns,
            place=place,
        )
        if direction.speaker is None:
            return None
        return SpeakerChosen(
            turn=turn, speaker=direction.speaker, by="director", reason=direction.reason, emphasis=emphasis.id
        )

    def _eligible(self) -> tuple[str, ...]:
        """Who may speak next: nobody too often in a row, and the test character alone when it is overdue."""
        names, test = [character.name for character in self.state.characters], self.state.test.name
        recent = [line.speaker for line in self.state.history[-self.rules.in_a_row :]]
        tired = recent[0] if len(recent) == self.rules.in_a_row and len(set(recent)) == 1 else None
        if test != tired and (self.state.silence_of(test) >= len(names) + 1 or self._turns_run_out()):
            return (test,)
        return tuple(name for name in names if name != tired)

    def _turns_run_out(self) -> bool:
        """Whether the test character needs all turns that are left, with breaks, to have its fewest lines."""
        owed = self.rules.min_test_lines - self.state.test_lines
        left = self.rules.turns - len(self.state.history)
        return owed > 0 and left <= owed + owed // self.rules.in_a_row

    async def _audition(self, turn: int, emphasis: Dimension, place: Place) -> Auditioned:
        seen = view(self.state, self.state.test)
        source, base = await together(
            TestCharacter(self.models.source).speak(seen, emphasis, place=place / "source"),
            TestCharacter(self.models.base).speak(seen, emphasis, place=place / "base"),
        )
        pair = Pair(challenger=source, reference=base)
        judge, watched = PairwiseJudge(self.models.judge), view(self.state, "judge")
        order: Order = (place / "order").generator().choice(("challenger_first", "reference_first"))
        choice = await judge.choose_dimension(watched, pair, self.dimensions, order=order, place=place)
        dimension = next(dimension for dimension in self.dimensions if dimension.id == choice.dimension)
        first = judge.compare(watched, pair, dimension, order=order, place=place)
        if self.rules.orders == "both":
            other: Order = "reference_first" if order == "challenger_first" else "challenger_first"
            second = judge.compare(watched, pair, dimension, order=other, place=place)
            verdicts = await together(first, second)
        else:
            verdicts = (await first,)
        score = sum(verdict.score for verdict in verdicts) / len(verdicts)
        return Auditioned(
            turn=turn,
            source=Candidate(model=self.models.source.name, line=source),
            base=Candidate(model=self.models.base.name, line=base),
            emphasis=emphasis.id,
            dimension=dimension.id,
            reason=choice.reason,
            verdicts=verdicts,
            score=score,
            winner="source" if score <= 3 else "base",
        )

    def _closed(self, reason: Ending) -> SceneClosed:
        return SceneClosed(reason=reason, turns=len(self.state.history))
