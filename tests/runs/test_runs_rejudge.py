"""Judging again: every stored reply is reused, the judge alone is asked, and what was there stays as it was."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from builders.projects import generous
from cli.terminal import failed, screentest
from fakes import Fails, FakeProvider
from runs.theatre import evaluated, states, written
from screentest.builders.comparison import read_comparisons


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    """The key that the projects name."""
    monkeypatch.setenv("SENTINEL_KEY", "sk-1")


def test_no_line_is_generated_and_the_original_is_untouched(tmp_path: Path) -> None:
    run = tmp_path / "eval"
    with FakeProvider.threaded(generous) as server:
        file = written(tmp_path, server)
        assert screentest("build", file, "--run", tmp_path / "run").exit_code == 0
        common = ("eval", tmp_path / "run", "--config", file, "--run", run)
        assert "nothing was evaluated in it" in failed(screentest(*common, "--rejudge", "other"))
        assert screentest(*common, "--model", "alice", "--model", "bob").exit_code == 0
        before, stored, seen = evaluated(run), states(run), len(server.requests)
        judged = screentest(*common, "--rejudge", "other")
        assert judged.exit_code == 0, judged.output
        new = server.requests[seen:]
        assert {request.body["model"] for request in new} == {"other"}
        comparisons = list(read_comparisons(run / "evaluations.jsonl"))
        assert len(new) == 2 * len(comparisons)
        assert all("score" in (request.schema or {})["properties"] for request in new)
        assert evaluated(run) == before
        again = list(read_comparisons(run / "evaluations.other.jsonl"))
        assert [(c.item, c.model, c.tested, c.base) for c in again] == [
            (c.item, c.model, c.tested, c.base) for c in comparisons
        ]
        results = orjson.loads((run / "results.other.json").read_bytes())
        assert results["judge"] == "other" and set(results["models"]) == {"alice", "bob"}
        seen = len(server.requests)
        assert screentest(*common, "--rejudge", "other").exit_code == 0
        assert len(server.requests) == seen, "what the other judge said is kept too"
        assert states(run)["done"] == stored["done"] + len(new)
        assert screentest("verify", run).exit_code == 0
        assert screentest("resume", run).exit_code == 0
        assert (evaluated(run), len(server.requests)) == (before, seen)
        assert "unknown model 'nobody'" in failed(screentest(*common, "--rejudge", "nobody"))


def test_judging_again_by_the_same_judge_costs_nothing_and_changes_nothing(tmp_path: Path) -> None:
    run = tmp_path / "eval"
    with FakeProvider.threaded(generous) as server:
        file = written(tmp_path, server)
        assert screentest("build", file, "--run", tmp_path / "run").exit_code == 0
        common = ("eval", tmp_path / "run", "--config", file, "--run", run)
        assert screentest(*common).exit_code == 0
        seen = len(server.requests)
        assert screentest(*common, "--rejudge", "judge").exit_code == 0
        assert len(server.requests) == seen
        assert (run / "evaluations.judge.jsonl").read_bytes() == (run / "evaluations.jsonl").read_bytes()
        assert (run / "results.judge.json").read_bytes() == (run / "results.json").read_bytes()


def test_a_line_that_failed_stays_failed_and_a_judge_that_failed_is_asked_again(tmp_path: Path) -> None:
    run = tmp_path / "eval"
    with FakeProvider.threaded(generous) as server:
        file = written(tmp_path, server, evaluate={"resamples": 100, "max_failures": 1})
        assert screentest("build", file, "--run", tmp_path / "run").exit_code == 0
        common = ("eval", tmp_path / "run", "--config", file, "--run", run)
        broken = ("bob", "judge")
        server.behaviour = lambda seen: Fails(500) if seen.body["model"] in broken else generous(seen)
        assert screentest(*common, "--model", "alice", "--model", "bob").exit_code == 0
        before = list(read_comparisons(run / "evaluations.jsonl"))
        assert {failure.stage for c in before for failure in c.failures} == {"tested", "judge"}
        seen = len(server.requests)
        assert screentest(*common, "--rejudge", "other").exit_code == 0
        assert {body["model"] for body in server.bodies[seen:]} == {"other"}
        for comparison in read_comparisons(run / "evaluations.other.jsonl"):
            assert (comparison.points is None) == (comparison.model == "bob")
