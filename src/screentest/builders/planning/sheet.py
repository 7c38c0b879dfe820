"""The sheet a plan is worked out on: calls and prompts go in, rows with tokens, prices and times come out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from screentest.builders.config import Roles
from screentest.builders.planning.assumptions import SCENARIOS, Assumptions, Measured, Scenario, Stage
from screentest.builders.planning.plan import Range, Row
from screentest.llms import ModelSpec, Usage
from screentest.llms.limits import estimate
from screentest.prompts import render


class Entry(NamedTuple):
    """What calls are made for: one model, in one role, for one purpose."""

    stage: Stage
    role: str
    model: str
    purpose: str


class Need(NamedTuple):
    """Calls, their prompt tokens, and their reply tokens, of which some are thoughts."""

    calls: float = 0.0
    input: float = 0.0
    output: float = 0.0
    reasoning: float = 0.0

    def plus(self, other: Need) -> Need:
        """The sum."""
        return Need(*(a + b for a, b in zip(self, other, strict=True)))


@dataclass(frozen=True, slots=True)
class Sheet:
    """What is needed, by scenario and entry.

    Attributes:
        models: Label to model.
        assumed: The table of defaults.
        measured: What an earlier run came to.
    """

    models: Mapping[str, ModelSpec]
    assumed: Assumptions
    measured: Measured
    _asked: dict[tuple[Scenario, Entry], Need] = field(
        default_factory=lambda: defaultdict[tuple[Scenario, Entry], Need](Need)
    )

    def add(self, scenario: Scenario, entry: Entry, calls: float, prompts: float) -> None:
        """Ask for so many calls with so many prompt tokens altogether, re-asks not counted."""
        self._asked[scenario, entry] = self._asked[scenario, entry].plus(Need(calls, prompts))

    def reply(self, entry: Entry, scenario: Scenario) -> Usage:
        """The tokens of one reply."""
        if (usage := self.measured.usage(entry.stage, entry.purpose, entry.model)) is None:
            return self.assumed.reply(self.models[entry.model], entry.purpose, scenario)
        factor = self.assumed.reply_length[scenario]
        return Usage(output=round(usage[1] * factor), reasoning=round(usage[2] * factor))

    def seconds(self, entry: Entry, scenario: Scenario) -> float:
        """How long one reply takes."""
        if self.models[entry.model].provider == "understudy":
            return self.assumed.understudy
        return self.assumed.first_token + self.reply(entry, scenario).output / self.assumed.speed

    def needs(self, scenario: Scenario) -> Iterator[tuple[Entry, Need]]:
        """Everything that is needed, re-asks included."""
        for (name, entry), asked in self._asked.items():
            if name == scenario and asked.calls:
                yield entry, self._need(entry, asked, scenario)

    def rows(self) -> tuple[Row, ...]:
        """One row per stage, role and model, whole numbers throughout."""
        sums: dict[tuple[Stage, str, str], dict[Scenario, Need]] = {}
        for scenario in SCENARIOS:
            for entry, need in self.needs(scenario):
                found = sums.setdefault((entry.stage, entry.role, entry.model), dict.fromkeys(SCENARIOS, Need()))
                found[scenario] = found[scenario].plus(need)
        return tuple(self._row(*place, _ordered(needs)) for place, needs in sorted(sums.items(), key=_place))

    def _need(self, entry: Entry, asked: Need, scenario: Scenario) -> Need:
        prompts = asked.input * self._calibration(entry)
        reply = self.reply(entry, scenario)
        again = self.assumed.again(entry.purpose, scenario) * asked.calls
        longer = prompts / asked.calls + reply.output - reply.reasoning + _reask_prompt()
        calls = asked.calls + again
        return Need(calls, prompts + again * longer, calls * reply.output, calls * reply.reasoning)

    def _calibration(self, entry: Entry) -> float:
        """Measured prompt tokens over those counted here, for the tokenizer of a model that was measured."""
        usage = self.measured.usage(entry.stage, entry.purpose, entry.model)
        expected = self._asked.get(("expected", entry), Need())
        if usage is None or not expected.input:
            return 1.0
        return usage[0] / (expected.input / expected.calls)

    def _row(self, stage: Stage, role: str, model: str, whole: Mapping[Scenario, Need]) -> Row:
        spec = self.models[model]
        cost = {name: _cost(spec, need) for name, need in whole.items()}
        known = {name: amount for name, amount in cost.items() if amount is not None}
        return Row(
            stage=stage,
            role=role,
            model=model,
            calls=Range[int](**{name: int(need.calls) for name, need in whole.items()}),
            input=Range[int](**{name: int(need.input) for name, need in whole.items()}),
            output=Range[int](**{name: int(need.output) for name, need in whole.items()}),
            cost=Range[float](**known) if len(known) == len(cost) else None,
        )


def _ordered(needs: Mapping[Scenario, Need]) -> dict[Scenario, Need]:
    """Whole numbers, none of them less in a worse scenario: where the test character speaks most, others speak less."""
    low, expected, worst = (Need(*map(round, needs[name])) for name in SCENARIOS)
    return {
        "low": Need(*map(min, low, expected)),
        "expected": expected,
        "worst": Need(*map(max, worst, expected)),
    }


def _place(row: tuple[tuple[Stage, str, str], object]) -> tuple[Stage, int]:
    """Rows in the order of the configuration's roles; models in the order they were asked for."""
    (stage, role, _), _ = row
    return stage, [*Roles.model_fields, "embedder"].index(role)


def _cost(spec: ModelSpec, need: Need) -> float | None:
    if spec.provider == "understudy":
        return 0.0
    if spec.price is None:
        return None
    return spec.price.cost(Usage(input=int(need.input), output=int(need.output), reasoning=int(need.reasoning)))


def _reask_prompt() -> int:
    return estimate(render("reask", "en", error="a field is missing, or does not hold what it should"))
