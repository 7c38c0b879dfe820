"""The evaluation: eqs. 2 and 3 by hand, what is asked of whom, and what happens to failures."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from builders.projects import load_with, offline, parts, records, served
from fakes import Behaviour, Fails, FakeProvider, Says, Seen, improvise, says
from screentest.builders import Benchmark, Config, Results, evaluate
from screentest.errors import InputError, TooManyFailures
from screentest.sim import Session

_BASE, _TESTED = "(nods) The base has spoken.", "(waves) The tested one has spoken."
Verdicts = Callable[[str], tuple[int, int]]
"""From a dimension's id to the raw scores: with the tested line as A, and with the base line as A."""


def _judge(verdicts: Verdicts) -> Behaviour:
    def rate(seen: Seen) -> Says:
        told = seen.prompt
        (dimension,) = [name for name in ("CR", "FR", "RR", "CA", "PA") if f"({name})" in told or f"（{name}）" in told]
        tested_first = told.rindex(_TESTED) < told.rindex(_BASE)
        score = verdicts(dimension)[0 if tested_first else 1]
        return Says(json.dumps({"explanation": f"on {dimension}", "score": score}))

    return rate


def _config(benchmark: Benchmark, server: FakeProvider, **changes: Any) -> Config:
    roles = {"base": "base", "judge": "judge", "sources": ["base"], "tested": ["tested", "other"]}
    models = served(server, "base", "judge", "tested", "other")
    return load_with(models=models, roles=roles, seed=7, evaluate={"resamples": 100, **changes})


async def _evaluate(benchmark: Benchmark, run: Path, behaviours: dict[str, Behaviour], **changes: Any) -> Results:
    said: dict[str, Behaviour] = {"base": says(_BASE), "tested": says(_TESTED), "other": says(_TESTED)}
    async with FakeProvider(parts({**said, **behaviours})) as server:
        config = _config(benchmark, server, **changes)
        return await evaluate(benchmark, config, run)


async def test_equations_2_and_3_by_hand(benchmark: Benchmark, tmp_path: Path) -> None:
    raw = {
        "CR": (1, 5),  # f(1) = 3 and f(6-5) = 3: 3 points, 100 %
        "FR": (3, 3),  # ½ and ½: ½ point, 16.67 %
        "RR": (2, 3),  # f(2) = 1 and f(3) = ½: ¾ point, 25 %
        "CA": (5, 1),  # 0
        "PA": (4, 4),  # f(4) = 0 and f(2) = 1: ½ point, 16.67 %
    }
    results = await _evaluate(benchmark, tmp_path / "eval", {"judge": _judge(lambda dimension: raw[dimension])})
    overall, dimensions = results.models["tested"].overall, results.models["tested"].dimensions
    percent = {"CR": 100.0, "FR": 100 / 6, "RR": 25.0, "CA": 0.0, "PA": 100 / 6}
    assert {name: score.headline for name, score in dimensions.items()} == pytest.approx(percent)
    assert overall.headline == pytest.approx(sum(percent.values()) / 5)
    counted = Counter(item.dimension for item in benchmark.items())
    assert overall.item_mean == pytest.approx(sum(percent[d] * n for d, n in counted.items()) / counted.total())
    assert overall.clustered is not None and overall.headline is not None
    assert overall.clustered.low <= overall.headline <= overall.clustered.high
    assert list(dimensions) == ["CR", "FR", "RR", "CA", "PA"]


async def test_the_base_answers_once_an_item_and_both_orders_are_judged(benchmark: Benchmark, tmp_path: Path) -> None:
    async with FakeProvider(parts({"base": says(_BASE), "tested": says(_TESTED), "other": says(_TESTED)})) as server:
        await evaluate(benchmark, _config(benchmark, server), tmp_path / "eval")
        asked = Counter(seen.body["model"] for seen in server.requests)
        judged = [seen.messages[-1][1] for seen in server.requests if seen.body["model"] == "judge"]
    n = benchmark.manifest.items
    assert asked == {"base": n, "tested": n, "other": n, "judge": 4 * n}
    first = Counter(told.rindex(_TESTED) < told.rindex(_BASE) for told in judged)
    assert first == {True: 2 * n, False: 2 * n}
    for told in judged:
        assert "tested" not in told.replace(_TESTED, "") and "base" not in told.replace(_BASE, ""), "not anonymous"
    for record in records(tmp_path / "eval/evaluations.jsonl"):
        assert [verdict["order"] for verdict in record["verdicts"]] == ["challenger_first", "reference_first"]
        assert record["tested"]["text"] == _TESTED and record["base"]["text"] == _BASE


async def test_results_add_up_to_the_evaluations_beside_them(benchmark: Benchmark, tmp_path: Path) -> None:
    def sometimes(seen: Seen) -> Says | Fails:
        luck = seen.generator.random()
        return Fails(400, "no") if luck < 0.1 else Says("no JSON") if luck < 0.2 else improvise(seen)

    results = await _evaluate(benchmark, tmp_path / "eval", {"judge": sometimes}, max_failures=1)
    rows = records(tmp_path / "eval/evaluations.jsonl")
    assert len(rows) == 2 * benchmark.manifest.items
    for label, result in results.models.items():
        own = [row for row in rows if row["model"] == label]
        scored = [row for row in own if row["points"] is not None]
        assert result.items == len(own) == result.overall.scored + result.unscored
        assert result.overall.scored == len(scored) < len(own), "the scenario must have failures"
        assert result.unparsed == sum(
            f["stage"] == "judge" and f["kind"] == "invalid" for r in own for f in r["failures"]
        )
        assert result.failures == Counter(f"{f['stage']}.{f['kind']}" for row in own for f in row["failures"])
        for table, field in ((result.dimensions, "dimension"), (result.languages, "language"), (result.kinds, "kind")):
            assert {name: score.items for name, score in table.items()} == Counter(row[field] for row in own)
            for name, score in table.items():
                points = [row["points"] for row in scored if row[field] == name]
                assert score.scored == len(points)
                if points:
                    assert score.item_mean == pytest.approx(100 * sum(points) / (3 * len(points)))
        means = [score.headline for score in result.dimensions.values() if score.headline is not None]
        assert result.overall.headline == pytest.approx(sum(means) / len(means))
        established, synthesized = (result.kinds[kind].headline for kind in ("established", "synthesized"))
        assert established is not None and synthesized is not None
        assert result.gap == pytest.approx(established - synthesized)


@pytest.mark.parametrize(
    ("who", "answer", "failure"),
    [
        ("judge", says("no JSON at all"), "judge.invalid"),
        ("judge", says('{"explanation": "x", "score": 7}'), "judge.invalid"),
        ("judge", says("I would rather not.", finish="refusal"), "judge.refused"),
        ("tested", says("[I would rather think.]"), "tested.empty"),
        ("tested", says("(nods", finish="length"), "tested.truncated"),
        ("base", lambda _: Fails(400, "not with me"), "base.rejected"),
    ],
)
async def test_a_failure_is_counted_by_its_class_and_never_scored(
    benchmark: Benchmark, tmp_path: Path, who: str, answer: Behaviour, failure: str
) -> None:
    with pytest.raises(TooManyFailures, match=r"have no score; evaluate\.max_failures allows 5%") as caught:
        await _evaluate(benchmark, tmp_path / "eval", {who: answer})
    assert "\n" not in str(caught.value)
    result = Results.model_validate_json((tmp_path / "eval/results.json").read_bytes()).models["tested"]
    orders = 2 if who == "judge" else 1
    assert result.failures == {failure: orders * benchmark.manifest.items}
    assert result.unscored == result.items == benchmark.manifest.items
    assert result.overall.headline is result.overall.clustered is result.gap is None
    assert result.unparsed == (2 * result.items if who == "judge" else 0)


async def test_one_verdict_of_two_is_no_score(benchmark: Benchmark, tmp_path: Path) -> None:
    def half(seen: Seen) -> Says:
        told = seen.prompt
        return Says("no JSON") if told.rindex(_TESTED) < told.rindex(_BASE) else improvise(seen)

    results = await _evaluate(benchmark, tmp_path / "eval", {"judge": half}, max_failures=1)
    result = results.models["tested"]
    assert (result.overall.scored, result.unparsed) == (0, result.items)
    assert all(len(row["verdicts"]) == 1 for row in records(tmp_path / "eval/evaluations.jsonl"))


async def test_concurrency_does_not_show(benchmark: Benchmark, tmp_path: Path) -> None:
    config = offline(tmp_path / "again")
    for concurrency in (1, 8, 64):
        await evaluate(benchmark, config, tmp_path / str(concurrency), session=Session(concurrency=concurrency))
    for file in ("results.json", "evaluations.jsonl"):
        alone = (tmp_path / "1" / file).read_bytes()
        assert (tmp_path / "8" / file).read_bytes() == alone
        assert (tmp_path / "64" / file).read_bytes() == alone


async def test_a_model_nobody_named_is_refused_before_any_call(benchmark: Benchmark, tmp_path: Path) -> None:
    config = offline(tmp_path / "again")
    with pytest.raises(InputError, match=r"--model: unknown model 'gtp'; models are: adept, novice, expert"):
        await evaluate(benchmark, config, tmp_path / "eval", tested=["gtp"])
    assert not (tmp_path / "eval/results.json").exists()


async def test_results_have_this_shape(benchmark: Benchmark, tmp_path: Path) -> None:
    await evaluate(benchmark, offline(tmp_path / "again"), tmp_path / "eval")
    results = json.loads((tmp_path / "eval/results.json").read_bytes())
    scores = ["items", "scored", "conversations", "headline", "item_mean", "clustered", "plain"]
    dimensions = ["CR", "FR", "RR", "CA", "PA"]
    assert list(results) == (
        ["benchmark", "content_hash", "base", "judge", "understudy", "seed", "resamples", "versions", "models"]
    )
    assert (results["benchmark"], results["base"], results["judge"]) == ("tiny", "adept", "adept")
    assert (results["understudy"], results["seed"], results["resamples"]) == (True, 7, 100)
    assert results["content_hash"] == benchmark.manifest.content_hash
    assert list(results["models"]) == ["novice", "expert"]
    expert = results["models"]["expert"]
    assert list(expert) == [
        *("items", "unscored", "unparsed", "failures", "overall", "languages", "dimensions", "language_dimensions"),
        *("kinds", "language_kinds", "gap"),
    ]
    assert (expert["unscored"], expert["unparsed"], expert["failures"]) == (0, 0, {})
    assert list(expert["overall"]) == scores
    assert list(expert["languages"]) == list(expert["language_dimensions"]) == ["en", "zh"]
    assert list(expert["dimensions"]) == list(expert["language_dimensions"]["zh"]) == dimensions
    assert list(expert["kinds"]) == ["established", "synthesized"]
    assert list(expert["language_kinds"]["en"]) == ["synthesized"]
    assert list(expert["languages"]["en"]) == scores and len(expert["overall"]["clustered"]) == 2
