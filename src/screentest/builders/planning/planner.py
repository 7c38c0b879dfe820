"""The planner: what a build or an evaluation will take, before a single call is paid for."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean

from screentest.builders.benchmark import Benchmark
from screentest.builders.config import Config
from screentest.builders.ingredients import Ingredients
from screentest.builders.planning.assumptions import (
    SCENARIOS,
    Assumptions,
    Measured,
    Scenario,
    Stage,
    default_assumptions,
)
from screentest.builders.planning.coverage import CellPlan
from screentest.builders.planning.notes import assumptions, notes, shortfall
from screentest.builders.planning.plan import Plan, Precision, Range, StageTime, Total
from screentest.builders.planning.rehearsal import Manner, Part, Tape, rehearse_item
from screentest.builders.planning.sample import Sample, samples
from screentest.builders.planning.sheet import Entry, Sheet
from screentest.builders.planning.times import stage_time
from screentest.errors import InputError
from screentest.randomness import generator

_ITEMS = 60
_WIDTH = 2 * 1.96


async def plan_build(
    config: Config, *, run: Path | None = None, tested: Sequence[str] = (), concurrency: int = 32
) -> Plan:
    """What building a benchmark will take, and evaluating models on it.

    Prompts are the real ones: some of the pool's scenes are rehearsed with stand-ins, by the real conversation loop.

    Args:
        config: What to build.
        run: A run directory to learn from: tokens per call, lines per scene, items per test line.
        tested: Labels of the models to test; those of the configuration by default.
        concurrency: The most calls in flight.

    Returns:
        The plan, with the stages ``build`` and ``eval``.

    Raises:
        InputError: Something in the configuration cannot be used, or ``run`` holds no run.
    """
    planner = _Planner.of(config, run, tested, concurrency)
    ingredients = Ingredients.gather(config)
    for sample in (await samples(config, ingredients, planner.measured)).values():
        for source in config.roles.sources:
            planner.cells(sample, source)
    found = shortfall(config, planner.short, len(ingredients.cells))
    return planner.plan(planner.times("build", "eval"), planner.precision(), found, build=True)


async def plan_evaluation(
    benchmark: Benchmark,
    config: Config,
    *,
    run: Path | None = None,
    tested: Sequence[str] = (),
    concurrency: int = 32,
) -> Plan:
    """What evaluating models on an emitted benchmark will take; prompts are those of a sample of its items.

    Args:
        benchmark: The benchmark.
        config: Names the models, the base and the judge.
        run: A run directory to learn tokens per call from.
        tested: Labels of the models to test; those of the configuration by default.
        concurrency: The most calls in flight.

    Raises:
        InputError: A label names no model, the benchmark has no items, or ``run`` holds no run.
    """
    planner = _Planner.of(config, run, tested, concurrency)
    items = list(benchmark.items())
    if not items:
        raise InputError("the benchmark has no items", where=str(benchmark.path))
    rules = config.rules
    expected = Manner.expected(planner.assumed, rules, turns=None, test_share=0.0)
    manners = {"low": expected, "expected": expected, "worst": Manner.worst(planner.assumed, rules)}
    sample = generator(config.seed, "plan").sample(items, min(_ITEMS, len(items)))
    for scenario in SCENARIOS:
        tape = Tape()
        for item in sample:
            dimension = benchmark.dimension(item.language, item.dimension)
            told = dimension.model_copy(update={"strategy": item.strategy})
            await rehearse_item(item, told, manner=manners[scenario], tape=tape)
        planner.items(scenario, tape, len(items), speaks="tested")
    per_dimension = list(Counter(item.dimension for item in items).values())
    width = _width(planner.assumed, per_dimension, len({item.conversation for item in items}))
    precision = Precision(
        items=Range[int](low=len(items), expected=len(items), worst=len(items)),
        width=Range[float](low=width, expected=width, worst=width),
    )
    return planner.plan(planner.times("eval"), precision, (), build=False)


@dataclass(slots=True)
class _Planner:
    """Collects what is asked for.

    Attributes:
        short: Cells expected to miss their quota.
        kept: Items of the benchmark to be, per scenario.
        dialogues: Conversations they come from.
        chains: Seconds of the longest chain of calls that wait for each other, in a build.
    """

    config: Config
    labels: tuple[str, ...]
    concurrency: int
    assumed: Assumptions
    measured: Measured
    sheet: Sheet
    short: float = 0.0
    kept: Counter[Scenario] = field(default_factory=Counter[Scenario])
    dialogues: Counter[Scenario] = field(default_factory=Counter[Scenario])
    chains: dict[Scenario, float] = field(default_factory=lambda: defaultdict[Scenario, float](float))

    @classmethod
    def of(cls, config: Config, run: Path | None, tested: Sequence[str], concurrency: int) -> _Planner:
        labels = tuple(dict.fromkeys(tested or config.roles.tested))
        if unknown := [label for label in labels if label not in config.models]:
            hint = f"models are: {', '.join(config.models)}"
            raise InputError(f"unknown model {unknown[0]!r}", where="--model", hint=hint)
        assumed, measured = default_assumptions(), Measured() if run is None else Measured.of(run)
        return cls(config, labels, concurrency, assumed, measured, Sheet(config.models, assumed, measured))

    def cells(self, sample: Sample, source: str) -> None:
        """Ask for the cells of one source model in one language, and for the evaluation of their items."""
        measured, many = self.measured, len(sample.characters)
        default = self.assumed.kept if measured.kept is None else measured.kept
        cell = CellPlan(
            settings=self.config.build,
            assumed=self.assumed,
            kept=measured.kept_by_source.get(source, default),
            dimensions=sample.dimensions,
            auditions=sample.expected.auditions,
            seed=self.config.seed,
        )
        for scenario, covered in cell.cover().items():
            tape, kept = sample.tape(scenario), round(covered.items * many)
            self.scenes(scenario, tape, source, covered.conversations * many)
            self.items(scenario, tape, kept, speaks="base")
            self.kept[scenario] += kept
            self.dialogues[scenario] += round(covered.conversations * many * self.assumed.graded_high)
            rounds = math.ceil(covered.conversations / self.config.build.lag)
            self.chains[scenario] = max(self.chains[scenario], rounds * self._chain(scenario, tape, source))
            self.short += covered.short * many if scenario == "expected" else 0.0

    def scenes(self, scenario: Scenario, tape: Tape, source: str, conversations: float) -> None:
        """Ask for conversations."""
        each = conversations / len(tape.auditions)
        for part, calls in tape.calls.items():
            entry = Entry("build", part.role, played_by(self.config, part.role, source), part.purpose)
            self.sheet.add(scenario, entry, each * calls, each * tape.input[part])

    def items(self, scenario: Scenario, tape: Tape, items: int, *, speaks: str) -> None:
        """Ask for the base's line on each item, once, and for a line and two verdicts of each tested model."""
        roles = self.config.roles
        line, verdict = Part(speaks, "play.test"), Part("judge", "judge.pairwise")
        asked = [(Entry("eval", "base", roles.base, line.purpose), line, items)]
        asked += [(Entry("eval", "tested", label, line.purpose), line, items) for label in self.labels]
        asked += [(Entry("eval", "judge", roles.judge, verdict.purpose), verdict, 2 * items * len(self.labels))]
        for entry, part, calls in asked:
            if tape.calls[part]:
                self.sheet.add(scenario, entry, calls, calls * tape.input[part] / tape.calls[part])

    def times(self, *stages: Stage) -> tuple[StageTime, ...]:
        """How long stages take."""
        return tuple(
            stage_time(self.sheet, stage, self.concurrency, self.chains if stage == "build" else {}) for stage in stages
        )

    def precision(self) -> Precision:
        """How sure the headline on the benchmark to be will be."""
        width = {
            name: _width(self.assumed, [self.kept[name]], self.dialogues[name]) for name in SCENARIOS if self.kept[name]
        }
        return Precision(
            items=Range[int](**{name: self.kept[name] for name in SCENARIOS}),
            width=Range[float](**width) if len(width) == len(SCENARIOS) else None,
        )

    def plan(self, times: tuple[StageTime, ...], precision: Precision, found: tuple[str, ...], *, build: bool) -> Plan:
        """The plan."""
        rows = self.sheet.rows()
        return Plan(
            rows=rows,
            total=Total.over(rows),
            times=times,
            precision=precision,
            assumptions=assumptions(self.assumed, self.measured, build=self.config.build.staging if build else None),
            notes=(*found, *notes(self.config, rows)),
        )

    def _chain(self, scenario: Scenario, tape: Tape, source: str) -> float:
        """Seconds of one conversation, whose calls wait for each other; source and base answer at once."""

        def seconds(part: Part) -> float:
            calls = tape.waits[part] / len(tape.auditions) * (1 + self.assumed.again(part.purpose, scenario))
            entry = Entry("build", part.role, played_by(self.config, part.role, source), part.purpose)
            return calls * self.sheet.seconds(entry, scenario)

        each = {part: seconds(part) for part in tape.calls}
        at_once = min(each[part] for part in each if part.role in ("sources", "base"))
        return sum(each.values()) - at_once


def played_by(config: Config, role: str, source: str) -> str:
    """The model that plays a role in the cells of one source model."""
    if role == "embedder":
        return config.embeddings or ""
    return source if role == "sources" else getattr(config.roles, role)


def _width(assumed: Assumptions, per_dimension: Sequence[int], conversations: int) -> float:
    """Width of the 95 % interval of an unweighted mean over dimensions, for items clustered in conversations."""
    together = sum(per_dimension) / max(1, conversations)
    clustering = 1 + max(0.0, together - 1) * assumed.alike
    variance = fmean(assumed.item_deviation**2 / items for items in per_dimension) / len(per_dimension)
    return min(100.0, _WIDTH * math.sqrt(variance * clustering))
