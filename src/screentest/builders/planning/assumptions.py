"""What a plan rests on where it cannot count: a small table of defaults, or what an earlier run came to."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict

from screentest.builders.benchmark import Benchmark
from screentest.builders.report import BuildReport
from screentest.errors import InputError
from screentest.llms import ModelSpec, Sampling, Usage
from screentest.llms.capabilities import capabilities
from screentest.sim import STORE, LedgerRow, ledger

Scenario = Literal["low", "expected", "worst"]
Stage = Literal["build", "eval"]
SCENARIOS: tuple[Scenario, ...] = ("low", "expected", "worst")


class Assumptions(BaseModel):
    """The defaults; ``defaults.yaml`` says what each one means."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    turns: float
    test_lines: float
    reacts: float
    follows: float
    wins: float
    graded_high: float
    clean: float
    best_wins: float
    output: dict[str, int]
    reply_length: dict[Scenario, float]
    reasks: dict[Scenario, float]
    reasoning: dict[str, int]
    first_token: float
    speed: float
    understudy: float
    item_deviation: float
    alike: float

    @property
    def kept(self) -> float:
        """The share of test lines that become items."""
        return self.wins * self.graded_high * self.clean

    def again(self, purpose: str, scenario: Scenario) -> float:
        """Re-asks of a call; only replies that must fit a schema are asked for again."""
        return 0.0 if purpose.startswith("play.") or purpose == "embed" else self.reasks[scenario]

    def reply(self, spec: ModelSpec, purpose: str, scenario: Scenario) -> Usage:
        """The tokens of one reply, thinking included; ``input`` is 0."""
        longest = spec.longest_output(Sampling())
        thought = min(self._thought(spec, scenario), longest)
        text = round(self.output[purpose] * self.reply_length[scenario])
        return Usage(output=min(thought + text, longest), reasoning=thought)

    @staticmethod
    def thinks(spec: ModelSpec) -> bool:
        """Whether a model is expected to think before it replies."""
        if spec.provider == "understudy" or spec.effort == "none":
            return False
        reasons = spec.provider == "openai" and not capabilities("openai", spec.model).sampling
        return spec.thinking is not None or spec.effort is not None or reasons

    def _thought(self, spec: ModelSpec, scenario: Scenario) -> int:
        if not self.thinks(spec):
            return 0
        if spec.thinking is not None:
            return spec.thinking if scenario == "worst" else spec.thinking // 2
        return round(self.reasoning[spec.effort or "unsaid"] * self.reply_length[scenario])


@cache
def default_assumptions() -> Assumptions:
    """What is assumed without a run to learn from."""
    text = (resources.files("screentest.builders.planning") / "defaults.yaml").read_text(encoding="utf-8")
    return Assumptions.model_validate(yaml.safe_load(text))


class Measured(BaseModel):
    """What an earlier run came to; what it cannot tell is ``None`` or missing.

    Attributes:
        turns: Lines of a conversation.
        test_share: The test character's share of them.
        kept: The share of test lines that became items.
        kept_by_source: The same for each source model.
        calls: Calls with a reply, by purpose.
        tokens: Mean tokens of a call whose usage is known, by ``stage/purpose/model``.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    turns: float | None = None
    test_share: float | None = None
    kept: float | None = None
    kept_by_source: dict[str, float] = {}
    calls: dict[str, int] = {}
    tokens: dict[str, tuple[float, float, float]] = {}

    @classmethod
    def of(cls, run: Path) -> Measured:
        """Measure a run directory. How scenes went is known once its benchmark was emitted.

        Raises:
            InputError: The directory holds no run.
        """
        if not (run / STORE).is_file():
            hint = "give a directory that `screentest build` worked in"
            raise InputError("there is no run to measure", where=str(run), why=f"it has no {STORE}", hint=hint)
        rows = [row for row in ledger(run / STORE) if row.calls]
        calls: dict[str, int] = defaultdict(int)
        for row in rows:
            calls[f"{row.stage}/{row.purpose}"] += row.calls
        measured = cls(calls=dict(calls), tokens={f"{r.stage}/{r.purpose}/{r.model}": _mean(r) for r in _metered(rows)})
        if not (run / "benchmark" / "manifest.json").is_file():
            return measured
        report = Benchmark.open(run).manifest.report
        return measured.model_copy(update=_scenes(report, calls["build/play.scene"]))

    def usage(self, stage: Stage, purpose: str, model: str) -> tuple[float, float, float] | None:
        """Mean input, output and reasoning tokens of a call: of this model, or of all models that made such calls."""
        if (own := self.tokens.get(f"{stage}/{purpose}/{model}")) is not None:
            return own
        others = [tokens for name, tokens in self.tokens.items() if name.startswith(f"{stage}/{purpose}/")]
        if not others:
            return None
        given, out, thought = (sum(part) / len(others) for part in zip(*others, strict=True))
        return given, out, thought


def _metered(rows: Iterable[LedgerRow]) -> list[LedgerRow]:
    return [row for row in rows if row.calls > row.unmetered]


def _mean(row: LedgerRow) -> tuple[float, float, float]:
    calls = row.calls - row.unmetered
    return row.usage.input / calls, row.usage.output / calls, row.usage.reasoning / calls


def _scenes(report: BuildReport, scene_lines: int) -> dict[str, object]:
    if not report.conversations or not report.auditions:
        return {}
    lines = scene_lines + report.auditions
    kept: dict[str, int] = defaultdict(int)
    played: dict[str, int] = defaultdict(int)
    for cell in report.cells:
        kept[cell.source] += sum(cell.kept.values())
        played[cell.source] += sum(cell.assigned.values())
    return {
        "turns": lines / report.conversations,
        "test_share": report.auditions / lines,
        "kept": report.items / report.auditions,
        "kept_by_source": {source: kept[source] / count for source, count in played.items() if count},
    }
