"""A plan: what a build or an evaluation will take. Every total is the sum of its rows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict

from screentest.builders.planning.assumptions import SCENARIOS, Scenario, Stage

N = TypeVar("N", int, float)


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Range(_Record, Generic[N]):
    """A figure if all goes well, as expected, and if everything goes wrong that the plan allows for."""

    low: N
    expected: N
    worst: N

    def of(self, scenario: Scenario) -> N:
        """The figure of one scenario."""
        return getattr(self, scenario)


def added(ranges: Iterable[Range[N]], zero: N) -> Range[N]:
    """The sum of ranges."""
    found = list(ranges)
    return Range(**{name: sum((one.of(name) for one in found), zero) for name in SCENARIOS})


class Row(_Record):
    """What one model takes in one role.

    Attributes:
        stage: ``build`` or ``eval``.
        role: The role, as the configuration names it.
        model: The model's label.
        calls: Model calls, re-asks included, retries not.
        input: Prompt tokens.
        output: Reply tokens, thinking included.
        cost: US dollars, no prompt token from a cache; ``None`` if the price is not known.
    """

    stage: Stage
    role: str
    model: str
    calls: Range[int]
    input: Range[int]
    output: Range[int]
    cost: Range[float] | None


class Total(_Record):
    """The sum of some rows.

    Attributes:
        calls: Model calls.
        input: Prompt tokens.
        output: Reply tokens.
        cost: US dollars; ``None`` if any row's cost is not known.
        known_cost: The sum of the costs that are known.
    """

    calls: Range[int]
    input: Range[int]
    output: Range[int]
    cost: Range[float] | None
    known_cost: Range[float]

    @classmethod
    def over(cls, rows: Iterable[Row]) -> Total:
        """Add up rows."""
        rows = list(rows)
        known = added((row.cost for row in rows if row.cost is not None), 0.0)
        return cls(
            calls=added((row.calls for row in rows), 0),
            input=added((row.input for row in rows), 0),
            output=added((row.output for row in rows), 0),
            cost=None if any(row.cost is None for row in rows) else known,
            known_cost=known,
        )


class StageTime(_Record):
    """How long a stage takes.

    Attributes:
        stage: ``build`` or ``eval``.
        seconds: How long.
        bound_by: What decides it, as expected: a limit of some models, or the longest chain of calls that wait for each
            other.
    """

    stage: Stage
    seconds: Range[float]
    bound_by: str


class Precision(_Record):
    """How sure a tested model's headline will be.

    Attributes:
        items: Items of the benchmark.
        width: Width of the 95 % interval of the headline, in points of percent; ``None`` without items.
    """

    items: Range[int]
    width: Range[float] | None


class Assumed(_Record):
    """One assumption a plan rests on: what, and where its value comes from."""

    what: str
    value: str
    origin: Literal["default", "measured"]


class Plan(_Record):
    """What a build, an evaluation or both will take.

    Attributes:
        rows: One per stage, role and model.
        total: The sum of the rows.
        times: One per stage; stages follow one another.
        precision: Of the headline of a tested model; ``None`` when nothing is evaluated.
        assumptions: What this rests on.
        notes: What to know, and what to add to the configuration.
    """

    rows: tuple[Row, ...]
    total: Total
    times: tuple[StageTime, ...]
    precision: Precision | None
    assumptions: tuple[Assumed, ...]
    notes: tuple[str, ...]

    def stage(self, stage: Stage) -> Total:
        """The sum of one stage's rows."""
        return Total.over(row for row in self.rows if row.stage == stage)

    @property
    def unpriced(self) -> tuple[str, ...]:
        """Labels of models whose price is not known."""
        return tuple(dict.fromkeys(row.model for row in self.rows if row.cost is None))

    @property
    def seconds(self) -> Range[float]:
        """How long all stages take, one after another."""
        return added((time.seconds for time in self.times), 0.0)
