"""Replay: the same bytes from the store alone, faults included, and a clear error where a call is missing."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

import pytest

from builders.projects import emitted, everything, generous
from cli.terminal import failed, screentest
from fakes import Cuts, Fails, FakeProvider, Says, Seen
from fakes.behaviours import Answer
from runs.theatre import Finished, copied, edited, evaluated, states, written


def _dead(finished: Finished) -> dict[str, str]:
    """An environment without a key, in which nothing can be reached."""
    return {
        "SENTINEL_KEY": "",
        "OPENAI_API_KEY": "",
        "HTTPS_PROXY": "http://127.0.0.1:9",
        "HTTP_PROXY": "http://127.0.0.1:9",
    }


def test_a_finished_run_is_emitted_again_byte_for_byte_without_a_call(finished: Finished) -> None:
    run, seen = copied(finished.run, finished.run.parent / "spoilt"), len(finished.theatre.server.requests)
    before = emitted(run)
    shutil.rmtree(run / "benchmark")
    (run / "trajectories.jsonl").write_text("gone\n")
    result = screentest("replay", run, **_dead(finished))
    assert result.exit_code == 2, "what was there was not what the calls make, and that is said"
    assert "CHANGED    trajectories.jsonl" in result.stdout and "new        benchmark/manifest.json" in result.stdout
    assert emitted(run) == before
    again = screentest("replay", run, **_dead(finished))
    assert again.exit_code == 0, again.output
    assert again.stdout.count("identical") == 5
    assert emitted(run) == before and len(finished.theatre.server.requests) == seen


@pytest.mark.parametrize("elsewhere", ["again", "deep/er/again"])
def test_a_replay_into_another_directory_leaves_the_run_alone(
    finished: Finished, tmp_path: Path, elsewhere: str
) -> None:
    for run, emits in ((finished.run, emitted), (finished.evaluation, evaluated)):
        target = tmp_path / elsewhere / run.name
        before, seen = everything(run), len(finished.theatre.server.requests)
        result = screentest("replay", run, "--out", target, **_dead(finished))
        assert result.exit_code == 0, result.output
        assert "CHANGED" not in result.stdout and "identical" in result.stdout
        assert emits(target) == emits(run)
        after = everything(run)
        assert {name: after[name] for name in before if not name.startswith("run.db")} == {
            name: before[name] for name in before if not name.startswith("run.db")
        }
        assert len(finished.theatre.server.requests) == seen
        assert screentest("verify", target).exit_code == 0
        assert "it is not empty" in failed(screentest("replay", run, "--out", target))


def _moody(seen: Seen) -> Answer:
    """One failure or another for some of the bodies; the same for the same body."""
    kind = seen.generator.randrange(500)
    answers: dict[int, Answer] = {
        0: Fails(500, "the machine is on fire"),
        1: Fails(400, "no such thing"),
        2: Cuts("mid_body"),
        3: Says(""),
        4: Says("", finish="length"),
        5: Says("I would rather not.", finish="refusal"),
        6: Says("", finish="filtered"),
        7: Says("no JSON at all, and no story either"),
    }
    return answers.get(kind) or generous(seen)


def test_faults_are_reproduced_exactly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SENTINEL_KEY", "sk-1")
    run, evaluation = tmp_path / "run", tmp_path / "eval"
    with FakeProvider.threaded(_moody) as server:
        file = written(tmp_path, server, build={"scenes": 16, "quota": 2, "max_failures": 1})
        edited(file, lambda data: data["evaluate"].update(max_failures=1))
        built = screentest("build", file, "--run", run)
        assert built.exit_code == 0, built.output
        server.behaviour = lambda seen: _moody(seen) if seen.generator.randrange(3) else Fails(503)
        compared = screentest("eval", run, "--config", file, "--run", evaluation)
        assert compared.exit_code == 0, compared.output
    before = emitted(run) | evaluated(evaluation)
    assert states(run)["failed"] > 0 and states(evaluation)["failed"] > 0
    text = (run / "trajectories.jsonl").read_text(encoding="utf-8")
    assert {kind for kind in ("unavailable", "rejected", "truncated", "refused") if f'"kind":"{kind}"' in text}
    monkeypatch.delenv("SENTINEL_KEY")
    for directory in (run, evaluation):
        replayed = screentest("replay", directory)
        assert replayed.exit_code == 0, replayed.output
        assert screentest("verify", directory).exit_code == 0
    assert emitted(run) | evaluated(evaluation) == before


def test_a_run_that_failed_by_its_own_threshold_is_replayed_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SENTINEL_KEY", "sk-1")
    run = tmp_path / "run"
    with FakeProvider.threaded(lambda seen: Fails(500) if seen.body["model"] == "base" else generous(seen)) as server:
        file = written(tmp_path, server)
        failed(screentest("build", file, "--run", run), 4)
    before = emitted(run)
    monkeypatch.delenv("SENTINEL_KEY")
    replayed = screentest("replay", run)
    assert replayed.exit_code == 4
    assert emitted(run) == before


def test_a_missing_call_is_a_clear_error_and_nothing_is_overwritten(finished: Finished) -> None:
    run = copied(finished.run, finished.run.parent / "incomplete")
    with sqlite3.connect(run / "run.db") as connection:
        (key,) = connection.execute("SELECT key FROM calls ORDER BY key LIMIT 1 OFFSET 9").fetchone()
        connection.execute("DELETE FROM calls WHERE key = ?", (key,))
    before = emitted(run)
    why = failed(screentest("replay", run, **_dead(finished)))
    assert "a replay makes no calls" in why and key in why
    assert emitted(run) == before


def test_what_is_no_run_cannot_be_replayed(tmp_path: Path) -> None:
    assert "this is not a run" in failed(screentest("replay", tmp_path))
    assert "this is not a run" in failed(screentest("resume", tmp_path))
    assert "this is not a run" in failed(screentest("ledger", tmp_path))
    assert "run to fork" in failed(screentest("replay", tmp_path, "--out", tmp_path / "new"))
