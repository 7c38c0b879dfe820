"""Plans: they add up, never put 0 where nothing is known, and come true."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from advice.counter import PRICE, screentest
from builders.projects import emit, generous, offline, project, served
from fakes import FakeProvider
from screentest.builders import Config, build, evaluate, load_config, understudies
from screentest.builders.planning import Measured, Plan, Range, plan_build, plan_evaluation
from screentest.errors import InputError
from screentest.llms import Meter

REAL = {
    "gpt": {"provider": "openai", "model": "gpt-4.1", "price": PRICE},
    "sonnet": {"provider": "anthropic", "model": "claude-4-sonnet", "price": {"input": 3.0, "output": 15.0}},
}


def planned(config: Config, **arguments: Any) -> Plan:
    return asyncio.run(plan_build(config, **arguments))


def ordered(values: Range[Any]) -> bool:
    return 0 <= values.low <= values.expected <= values.worst


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Config:
    """A project with two priced models."""
    return load_config(project(tmp_path_factory.mktemp("real"), models=REAL))


def changed(config: Config, **build: Any) -> Config:
    return config.model_copy(update={"build": config.build.model_copy(update=build)})


def test_totals_are_the_sums_of_their_rows(real: Config) -> None:
    plan = planned(real)
    assert plan.total.cost is not None
    for name in ("low", "expected", "worst"):
        for part in ("calls", "input", "output", "cost"):
            rows = sum(getattr(getattr(row, part), name) for row in plan.rows)
            stages = sum(getattr(getattr(plan.stage(stage), part), name) for stage in ("build", "eval"))
            assert getattr(getattr(plan.total, part), name) == pytest.approx(rows) == pytest.approx(stages)
    assert plan.total.known_cost == plan.total.cost
    assert {(row.stage, row.role, row.model) for row in plan.rows} >= {
        ("build", "sources", "gpt"),
        ("build", "sources", "sonnet"),
        ("build", "filter", "gpt"),
        ("eval", "tested", "sonnet"),
        ("eval", "judge", "gpt"),
    }


@settings(max_examples=5)
@given(quota=st.integers(1, 12), scenes=st.integers(1, 30), turns=st.integers(4, 14), more=st.integers(1, 8))
@example(quota=12, scenes=1, turns=14, more=1)
def test_worse_is_never_less_and_a_larger_quota_never_takes_fewer_calls(
    real: Config, quota: int, scenes: int, turns: int, more: int
) -> None:
    plan = planned(changed(real, quota=quota, scenes=scenes, turns=turns))
    for row in plan.rows:
        assert row.cost is not None
        assert all(map(ordered, (row.calls, row.input, row.output, row.cost))), row
    assert ordered(plan.total.calls) and all(ordered(time.seconds) for time in plan.times)
    larger = planned(changed(real, quota=quota + more, scenes=scenes, turns=turns))
    for name in ("low", "expected", "worst"):
        assert getattr(larger.total.calls, name) >= getattr(plan.total.calls, name)


def test_an_unknown_price_is_an_unknown_cost_never_zero(tmp_path: Path) -> None:
    models = {**REAL, "sonnet": {"provider": "anthropic", "model": "claude-4-sonnet"}}
    file = project(tmp_path, models=models)
    plan = planned(load_config(file))
    assert plan.total.cost is None and plan.unpriced == ("sonnet",)
    assert plan.total.known_cost.expected == sum(row.cost.expected for row in plan.rows if row.cost is not None) > 0
    assert all((row.cost is None) == (row.model == "sonnet") for row in plan.rows)
    told = screentest("plan", file)
    assert told.exit_code == 0 and "unknown" in told.stdout and "to models.sonnet" in " ".join(told.stdout.split())
    assert json.loads(screentest("plan", file, "--json").stdout)["total"]["cost"] is None


def test_a_plan_for_understudies_comes_true(tmp_path: Path) -> None:
    config = understudies(
        seed=3,
        build={"quota": 2, "turns": 12},
        pool={"languages": ["en"]},
        roles={"sources": ["expert"], "tested": ["novice"]},
    )
    plan, meter, verdicts = planned(config), Meter(), Meter()
    benchmark = asyncio.run(build(config, tmp_path / "run", meter=meter))
    calls = plan.stage("build").calls
    assert calls.low <= meter.finished <= calls.worst
    assert meter.finished / 2 <= calls.expected <= meter.finished * 2
    assert plan.precision is not None
    assert plan.precision.items.low <= benchmark.manifest.items <= plan.precision.items.worst
    evaluation = asyncio.run(plan_evaluation(benchmark, config))
    results = asyncio.run(evaluate(benchmark, config, tmp_path / "eval", meter=verdicts))
    assert evaluation.total.calls.low == verdicts.finished <= evaluation.total.calls.expected
    interval, precision = results.models["novice"].overall.clustered, evaluation.precision
    assert interval is not None and precision is not None and precision.width is not None
    assert precision.width.expected / 3 <= interval.high - interval.low <= precision.width.expected * 3
    assert all(row.cost is not None and row.cost.worst == 0 for row in (*plan.rows, *evaluation.rows))


def test_a_run_is_learnt_from(tmp_path: Path) -> None:
    with FakeProvider.threaded(generous) as server:
        models = served(server, "gpt", "qwen", price=PRICE)
        config = load_config(project(tmp_path, models=models, build={"quota": 2, "scenes": 12}))
        meter = Meter()
        report = asyncio.run(build(config, tmp_path / "run", meter=meter)).manifest.report
        asked = len(server.requests)
        measured = Measured.of(tmp_path / "run")
        plan = planned(config, run=tmp_path / "run")
        assert len(server.requests) == asked, "a plan makes no call"
    assert measured.kept == pytest.approx(report.items / report.auditions)
    assert measured.kept_by_source.keys() == {"gpt", "qwen"}
    assert sum(count for name, count in measured.calls.items() if name.startswith("build/")) == meter.finished
    assert {one.what: one.origin for one in plan.assumptions}["test lines that become items"] == "measured"
    assert {one.what: one.origin for one in plan.assumptions}["tokens of prompts and replies"] == "measured"
    part = plan.stage("build")
    assert meter.finished / 1.5 <= part.calls.expected <= meter.finished * 1.5
    assert meter.input / meter.finished == pytest.approx(part.input.expected / part.calls.expected, rel=0.25)
    assert meter.output / meter.finished == pytest.approx(part.output.expected / part.calls.expected, rel=0.25)


def test_there_must_be_a_run_to_learn_from(real: Config, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no run to measure"):
        planned(real, run=tmp_path)
    assert not list(tmp_path.iterdir())


def test_the_tightest_limit_decides_the_time(tmp_path: Path) -> None:
    models = {name: {**spec, "rpm": 5} if name == "gpt" else spec for name, spec in REAL.items()}
    plan = planned(load_config(project(tmp_path, models=models)))
    calls = sum(row.calls.expected for row in plan.rows if row.stage == "build" and row.model == "gpt")
    (time,) = [time for time in plan.times if time.stage == "build"]
    assert time.bound_by == "rpm 5 of gpt"
    assert time.seconds.expected == pytest.approx(12 * calls, rel=0.01)
    assert plan.seconds.expected == pytest.approx(sum(time.seconds.expected for time in plan.times))


def test_a_cap_that_is_too_low_is_said(real: Config) -> None:
    assert any("raise build.scenes" in note for note in planned(changed(real, quota=50, scenes=2)).notes)
    assert not any("raise build.scenes" in note for note in planned(changed(real, quota=1, scenes=60)).notes)


def test_more_items_make_a_narrower_interval(real: Config) -> None:
    few, many = (planned(changed(real, quota=quota, scenes=200)).precision for quota in (1, 10))
    assert few and many and few.width and many.width
    assert many.width.expected < few.width.expected / 2


def test_thinking_is_paid_for(tmp_path: Path) -> None:
    thinker = {**REAL["sonnet"], "thinking": 4000}
    plan = planned(load_config(project(tmp_path, models={**REAL, "sonnet": thinker})))
    (row,) = [row for row in plan.rows if (row.stage, row.role, row.model) == ("eval", "tested", "sonnet")]
    assert 2000 * row.calls.expected < row.output.expected < 2100 * row.calls.expected
    assert any("tokens of thought are assumed for sonnet" in note for note in plan.notes)


def test_the_table_fits_a_hundred_columns(tmp_path: Path) -> None:
    told = screentest("plan", project(tmp_path, models=REAL, build={"quota": 10, "turns": 20, "scenes": 50}))
    assert told.exit_code == 0
    assert max(map(len, told.stdout.splitlines())) <= 100


def test_a_benchmark_is_planned_by_the_command(tmp_path: Path) -> None:
    config = offline(tmp_path, build={"scenes": 8})
    benchmark = asyncio.run(emit(config, tmp_path / "run"))
    told = screentest("plan", tmp_path / "config.yaml", "--benchmark", benchmark.path, "--model", "novice", "--json")
    plan = Plan.model_validate_json(told.stdout)
    assert {(row.stage, row.role, row.model) for row in plan.rows} == {
        ("eval", "base", config.roles.base),
        ("eval", "tested", "novice"),
        ("eval", "judge", config.roles.judge),
    }
    assert plan.total.calls.low == 4 * benchmark.manifest.items


def test_an_unknown_label_is_one_line(tmp_path: Path) -> None:
    told = screentest("plan", project(tmp_path), "--model", "nobody")
    assert told.exit_code == 2 and "unknown model 'nobody'" in told.stderr
