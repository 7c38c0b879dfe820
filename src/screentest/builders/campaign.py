"""A campaign: plays every (test character × source model) cell until each dimension has its quota (FURINA §4.2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic import BaseModel, ConfigDict

from screentest.agents import NARRATOR
from screentest.agents.memory import Embedder
from screentest.builders.formatting import FormattingFault, formatting_faults
from screentest.builders.item import Item
from screentest.builders.report import CellReport
from screentest.builders.settings import BuildSettings
from screentest.errors import HOPELESS, BadReply, CallError
from screentest.judges import DialogueFilter, Dimension
from screentest.llms import Model
from screentest.pools import Character, Language, Pool, Scene
from screentest.randomness import Place
from screentest.sim import (
    Auditioned,
    Event,
    Fault,
    Players,
    Rules,
    State,
    Trajectory,
    group,
    play,
    record,
    staggered,
    view,
)

_IN_A_ROW = 3


@dataclass(frozen=True, slots=True)
class Cell:
    """A test character to be played by a source model."""

    character: Character
    source: str

    @property
    def key(self) -> str:
        """The cell's place in the run."""
        return f"{self.character.id}/{self.source}"


class Flagged(BaseModel):
    """A would-be item with formatting faults, for a person to review.

    Attributes:
        faults: What is wrong with its line.
        item: The item it would be.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    faults: tuple[FormattingFault, ...]
    item: Item


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one conversation came to: its trajectory, and what the filters made of its auditions."""

    trajectory: Trajectory
    items: tuple[Item, ...] = ()
    flagged: tuple[Flagged, ...] = ()


@dataclass(frozen=True, slots=True)
class CellOutcome:
    """What one cell came to."""

    report: CellReport
    outcomes: tuple[Outcome, ...]


@dataclass(slots=True)
class Progress:
    """A campaign as it goes, for whoever watches; it influences nothing.

    Attributes:
        quota: Items wanted per dimension of a cell.
        cells: All cells.
        kept: Items so far per (cell key, dimension).
        playing: Conversations under way.
        finished: Conversations finished.
        failed: Those among them that ended in a fault.
        closed: Cells that have ended.
    """

    quota: int = 0
    cells: tuple[Cell, ...] = ()
    dimensions: dict[Language, tuple[Dimension, ...]] = field(default_factory=dict[Language, tuple[Dimension, ...]])
    kept: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    playing: int = 0
    finished: int = 0
    failed: int = 0
    closed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Campaign:
    """A build in progress.

    Attributes:
        pool: Where scenes come from.
        models: Label to model.
        players: Who plays which part; the source is set per cell.
        grader: The dialogue filter's model.
        dimensions: What lines are judged on, per language.
        settings: How to build.
        rules: How scenes are played.
        embedder: Makes memories comparable.
        seed: The run's seed.
        licence: The benchmark's licence; empty to keep each scene's.
        understudies: The labels of stand-in models.
        progress: Told how it goes.
    """

    pool: Pool
    models: Mapping[str, Model]
    players: Players
    grader: Model
    dimensions: Mapping[Language, tuple[Dimension, ...]]
    settings: BuildSettings
    rules: Rules
    embedder: Embedder
    seed: int
    licence: str
    understudies: frozenset[str]
    progress: Progress

    async def run(self, cells: Sequence[Cell]) -> tuple[CellOutcome, ...]:
        """Play all cells at once and return what they came to, in the order given."""
        return await group(self._run_cell(cell) for cell in cells)

    async def _run_cell(self, cell: Cell) -> CellOutcome:
        scenes = self._order_of_scenes(cell)
        stopped = "quota met"

        def start(k: int, known: Sequence[Outcome]) -> Coroutine[Any, Any, Outcome] | None:
            nonlocal stopped
            if not self._missing(cell, known):
                return None
            if not scenes:
                stopped = "no scene in the pool that the character can enter"
                return None
            if hopeless := [fault for outcome in known for fault in outcome.trajectory.faults if _is_hopeless(fault)]:
                stopped = f"the provider rejects the calls: {hopeless[0].detail}"
                return None
            if len(known) >= _IN_A_ROW and all(outcome.trajectory.faults for outcome in known[-_IN_A_ROW:]):
                stopped = f"{_IN_A_ROW} conversations in a row failed, at last: {known[-1].trajectory.faults[0].detail}"
                return None
            if k >= self.settings.scenes:
                stopped = f"the cap of {self.settings.scenes} scenes was reached"
                return None
            counts = Counter[str]()
            for outcome in known:
                counts.update(audition.dimension for audition in outcome.trajectory.auditions)
            return self._converse(cell, k, scenes[k % len(scenes)], counts)

        outcomes = await staggered(start, lag=self.settings.lag)
        self.progress.closed += 1
        missing = self._missing(cell, outcomes)
        return CellOutcome(
            _report(cell, outcomes, missing, self._ids(cell), stopped if missing else "quota met"), outcomes
        )

    def _order_of_scenes(self, cell: Cell) -> list[str]:
        scenes = enterable(self.pool, cell.character, self.rules)
        (Place(self.seed, cell.key) / "scenes").generator().shuffle(scenes)
        return scenes

    def _ids(self, cell: Cell) -> list[str]:
        return [dimension.id for dimension in self.dimensions[cell.character.language]]

    def _missing(self, cell: Cell, outcomes: Sequence[Outcome]) -> dict[str, int]:
        kept = Counter(item.dimension for outcome in outcomes for item in outcome.items)
        return {name: self.settings.quota - kept[name] for name in self._ids(cell) if kept[name] < self.settings.quota}

    async def _converse(self, cell: Cell, k: int, scene_id: str, counts: Counter[str]) -> Outcome:
        conversation = f"{cell.key}/{k:03d}"
        scene = self.pool[scene_id]
        self.progress.playing += 1
        try:
            outcome = await self._play(cell, conversation, scene, counts)
        finally:
            self.progress.playing -= 1
        self.progress.finished += 1
        self.progress.failed += bool(outcome.trajectory.faults)
        self.progress.kept.update((cell.key, item.dimension) for item in outcome.items)
        return outcome

    async def _play(self, cell: Cell, conversation: str, scene: Scene, counts: Counter[str]) -> Outcome:
        state, whole = State(scene=scene, test=cell.character, window=self.rules.shown), State(scene, cell.character)
        candidates: list[tuple[Item, tuple[FormattingFault, ...]]] = []

        def watch(event: Event) -> None:
            if isinstance(event, Auditioned) and event.score <= 2:
                item = self._item(cell, event, conversation, state)
                faults = formatting_faults(event.source.line, whole.history, scene.language)
                candidates.append((item, faults))
            state.apply(event)
            whole.apply(event)

        stream = play(
            scene,
            test=cell.character,
            models=replace(self.players, source=self.models[cell.source]),
            seed=self.seed,
            key=conversation,
            rules=self.rules,
            dimensions=self.dimensions[scene.language],
            counts=counts,
            embedder=self.embedder,
        )
        events = await record(stream, conversation, watch)
        trajectory = Trajectory(
            conversation=conversation,
            scene=scene.id,
            character=cell.character.id,
            source=cell.source,
            counts={name: counts[name] for name in self._ids(cell)},
            events=events,
        )
        if trajectory.faults or not candidates:
            return Outcome(trajectory)
        try:
            grading = await DialogueFilter(self.grader).grade(
                view(whole, "filter"), place=Place(self.seed, conversation)
            )
        except (BadReply, CallError) as error:
            fault = Fault(turn=0, kind=error.kind, detail=str(error), status=getattr(error, "status", None))
            return Outcome(trajectory.model_copy(update={"events": (*events, fault)}))
        trajectory = trajectory.model_copy(update={"grade": grading.grade, "grade_reason": grading.reason})
        if grading.grade != "high":
            return Outcome(trajectory)
        return Outcome(
            trajectory,
            items=tuple(item for item, faults in candidates if not faults),
            flagged=tuple(Flagged(faults=faults, item=item) for item, faults in candidates if faults),
        )

    def _item(self, cell: Cell, audition: Auditioned, conversation: str, state: State) -> Item:
        players = self.players
        playing = (players.director, players.scene, players.base, players.judge, players.narrator, self.grader)
        labels = {model.name for model in playing if model}
        dimensions = self.dimensions[state.scene.language]
        return Item.of(
            audition,
            conversation=conversation,
            state=state,
            dimension=next(dimension for dimension in dimensions if dimension.id == audition.dimension),
            understudy=bool((labels | {cell.source}) & self.understudies),
            licence=self.licence,
        )


def enterable(pool: Pool, character: Character, rules: Rules) -> list[str]:
    """The ids of the scenes a test character can enter: of its language, and where nobody has its name.

    Where there is a narrator, nobody may have the narrator's name either, the test character included.
    """
    taken = {character.name, *([NARRATOR[character.language]] if rules.narrator else ())}
    if rules.narrator and character.name == NARRATOR[character.language]:
        return []
    return [scene for scene in pool.ids(character.language) if taken.isdisjoint(pool.cast_names(scene))]


def _is_hopeless(fault: Fault) -> bool:
    return fault.kind == "rejected" and fault.status in HOPELESS


def _report(
    cell: Cell, outcomes: Sequence[Outcome], missing: Mapping[str, int], ids: Sequence[str], stopped: str
) -> CellReport:
    auditions = [audition for outcome in outcomes for audition in outcome.trajectory.auditions]
    kept = Counter(item.dimension for outcome in outcomes for item in outcome.items)
    assigned = Counter(audition.dimension for audition in auditions)
    emphasised = Counter(audition.emphasis for audition in auditions)
    return CellReport(
        character=cell.character.id,
        name=cell.character.name,
        source=cell.source,
        scenes=len(outcomes),
        failed=sum(bool(outcome.trajectory.faults) for outcome in outcomes),
        kept={name: kept[name] for name in ids},
        assigned={name: assigned[name] for name in ids},
        emphasised={name: emphasised[name] for name in ids},
        shortfall=dict(missing),
        stopped=stopped,
    )
