"""Verify finds what was changed behind the run's back; diff tells two runs apart."""

from __future__ import annotations

import hashlib
import json
import signal
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from builders.projects import everything
from cli.terminal import failed, screentest
from runs.theatre import CONCURRENCY, Finished, copied, states
from screentest.builders.difference import diff
from screentest.builders.resumption import remainder
from screentest.builders.verification import verify
from screentest.sim import locked


def _problems(run: Path) -> dict[str, str]:
    return {check.what: check.problem for check in verify(run) if check.problem}


def test_a_finished_run_passes_and_verifying_changes_nothing(finished: Finished, tmp_path: Path) -> None:
    for run in (finished.run, finished.evaluation):
        before = {name: data for name, data in everything(run).items() if not name.startswith("run.db-")}
        result = screentest("verify", run)
        assert result.exit_code == 0 and "FAILED" not in result.stdout
        assert {name: data for name, data in everything(run).items() if not name.startswith("run.db-")} == before


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_a_run_that_was_stopped_is_sound_and_not_finished(
    finished: Finished, tmp_path: Path, how: signal.Signals
) -> None:
    theatre, run, evaluation = finished.theatre, tmp_path / "run", tmp_path / "eval"
    commands = (theatre.building(run), run), (theatre.evaluating(finished.run / "benchmark", evaluation), evaluation)
    for (command, directory), after in zip(commands, (30, 6), strict=True):
        theatre.cut(command, after, how)
        now = states(directory)
        result = screentest("verify", directory)
        assert result.exit_code == 75, result.output
        assert result.stdout.splitlines() == [
            "ok      the store is sound",
            f"not finished: {now['done'] + now['failed']} calls kept, {now['begun']} in flight; "
            f"`screentest resume {directory}` goes on",
        ]
        assert now["begun"] <= (CONCURRENCY if how == signal.SIGKILL else 0)
        theatre.done(theatre.command("resume", directory))
        assert screentest("verify", directory).exit_code == 0
        assert remainder(directory) is None


def test_a_run_that_was_stopped_and_is_damaged_is_damaged(finished: Finished, tmp_path: Path) -> None:
    run = tmp_path / "run"
    finished.theatre.cut(finished.theatre.building(run), 30, signal.SIGTERM)
    _cut_the_store(run)
    assert "1 of 1 checks failed" in failed(screentest("verify", run))


def test_calls_in_flight_are_no_damage(finished: Finished, tmp_path: Path) -> None:
    run = copied(finished.run, tmp_path / "run")
    with closing(sqlite3.connect(run / "run.db")) as connection, connection:
        connection.execute("UPDATE calls SET state = 'begun' WHERE digest IN (SELECT digest FROM calls LIMIT 2)")
    result = screentest("verify", run)
    assert result.exit_code == 75 and "FAILED" not in result.stdout
    assert f"not finished: {states(run)['done']} calls kept, 2 in flight;" in result.stdout


def test_an_extension_that_was_stopped_is_not_finished(finished: Finished, tmp_path: Path) -> None:
    run = copied(finished.run, tmp_path / "run")
    identity = run / "build.identity.json"
    data = json.loads(identity.read_bytes())
    data["build"]["quota"]["growing"] += 1
    identity.write_text(json.dumps(data))
    result = screentest("verify", run)
    assert result.exit_code == 75 and "FAILED" not in result.stdout
    assert "lines for review match the report" in result.stdout, "what was emitted before is checked all the same"
    assert result.stdout.splitlines()[-1].startswith("not finished: ")


def test_a_run_that_is_at_work_is_left_to_it(finished: Finished, tmp_path: Path) -> None:
    run = copied(finished.run, tmp_path / "run")
    with locked(run):
        assert "is working on this run" in failed(screentest("verify", run), code=5)
    assert screentest("verify", run).exit_code == 0


@pytest.mark.parametrize("as_json", [False, True])
def test_nothing_is_said_of_a_run_that_is_refused(finished: Finished, as_json: bool) -> None:
    theatre, more = finished.theatre, ["--json-progress"] if as_json else []
    benchmark = finished.run / "benchmark"
    other = (
        theatre.building(finished.run, "--seed", 99, *more),
        theatre.evaluating(benchmark, finished.evaluation, "--seed", 99, *more),
        theatre.evaluating(benchmark, finished.evaluation, "--model", "nobody", *more),
        theatre.evaluating(benchmark, finished.evaluation, "--rejudge", "nobody", *more),
    )
    for command in other:
        ended = theatre.do(command)
        assert ended.code == 2 and len(ended.err.splitlines()) == 1, ended.err
    for directory, command in ((finished.run, theatre.building), (finished.evaluation, None)):
        job = command(directory, *more) if command else theatre.evaluating(benchmark, directory, *more)
        with locked(directory):
            ended = theatre.do(job)
        assert ended.code == 5 and len(ended.err.splitlines()) == 1, ended.err


def test_a_directory_with_an_odd_name_is_verified(finished: Finished, tmp_path: Path) -> None:
    run = copied(finished.run, tmp_path / "50% #1?mode=rw&x")
    assert not _problems(run)


def _tamper_with_an_item(run: Path) -> None:
    file = run / "benchmark/data/test.jsonl"
    file.write_bytes(file.read_bytes().replace(b"Miriam", b"Myriam", 1))


def _drop_an_item_and_mend_the_hash(run: Path) -> None:
    file, manifest = run / "benchmark/data/test.jsonl", run / "benchmark/manifest.json"
    file.write_bytes(b"".join(file.read_bytes().splitlines(keepends=True)[1:]))
    data = json.loads(manifest.read_bytes())
    data["content_hash"] = hashlib.sha256(file.read_bytes()).hexdigest()
    manifest.write_text(json.dumps(data))


def _drop_a_trajectory(run: Path) -> None:
    file = run / "trajectories.jsonl"
    file.write_bytes(b"".join(file.read_bytes().splitlines(keepends=True)[:-1]))


def _spoil_a_trajectory(run: Path) -> None:
    file = run / "trajectories.jsonl"
    file.write_bytes(file.read_bytes()[:-40] + b"\n")


def _lose_the_review(run: Path) -> None:
    (run / "review.jsonl").unlink()


def _cut_the_store(run: Path) -> None:
    file = run / "run.db"
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def _spoil_the_store(run: Path) -> None:
    file = run / "run.db"
    data = bytearray(file.read_bytes())
    data[4096 * 2 : 4096 * 3] = b"\xa5" * 4096
    file.write_bytes(data)


def _empty_the_store(run: Path) -> None:
    (run / "run.db").write_bytes(b"")


@pytest.mark.parametrize(
    ("tamper", "found"),
    [
        (_tamper_with_an_item, "items are those that were emitted"),
        (_drop_an_item_and_mend_the_hash, "items in the file = manifest = report"),
        (_drop_a_trajectory, "trajectories match the report"),
        (_spoil_a_trajectory, "trajectories match the report"),
        (_lose_the_review, "lines for review"),
        (_cut_the_store, "the store is sound"),
        (_spoil_the_store, "the store is sound"),
        (_empty_the_store, "the store is sound"),
    ],
)
def test_what_was_changed_in_a_build_is_found(
    finished: Finished, tmp_path: Path, tamper: Callable[[Path], None], found: str
) -> None:
    run = copied(finished.run, tmp_path / "run")
    tamper(run)
    assert any(found in what for what in _problems(run))
    if "store" not in found:
        assert any("build: files are those that were emitted" in what for what in _problems(run))
    assert "checks failed" in failed(screentest("verify", run))


def _raise_a_score(run: Path) -> None:
    file = run / "results.json"
    data = json.loads(file.read_bytes())
    data["models"]["alice"]["overall"]["headline"] += 1
    file.write_text(json.dumps(data))


def _drop_a_comparison(run: Path) -> None:
    file = run / "evaluations.jsonl"
    file.write_bytes(b"".join(file.read_bytes().splitlines(keepends=True)[:-1]))


def _change_a_verdict(run: Path) -> None:
    file = run / "evaluations.jsonl"
    first, *rest = file.read_bytes().splitlines(keepends=True)
    data = json.loads(first)
    data["points"] = 3.0 if data["points"] == 0 else 0.0
    file.write_bytes(json.dumps(data).encode() + b"\n" + b"".join(rest))


@pytest.mark.parametrize("tamper", [_raise_a_score, _drop_a_comparison, _change_a_verdict, _cut_the_store])
def test_what_was_changed_in_an_evaluation_is_found(
    finished: Finished, tmp_path: Path, tamper: Callable[[Path], None]
) -> None:
    evaluation = copied(finished.evaluation, finished.evaluation.parent / f"tampered{tamper.__name__}")
    assert not _problems(evaluation)
    tamper(evaluation)
    assert _problems(evaluation)


def test_what_is_no_run_cannot_be_verified(tmp_path: Path) -> None:
    assert "this is not a run" in failed(screentest("verify", tmp_path))


def test_a_run_does_not_differ_from_its_copy(finished: Finished, tmp_path: Path) -> None:
    copy = copied(finished.run, tmp_path / "copy")
    found = diff(finished.run, copy)
    assert found.none and found.same > 0
    assert diff(finished.run, finished.run / "benchmark").none, "a benchmark has its settings with it"
    result = screentest("diff", finished.run, copy)
    assert result.exit_code == 0


def test_other_settings_items_and_scores_are_told(finished: Finished, tmp_path: Path) -> None:
    copy = copied(finished.run, tmp_path / "copy")
    data, manifest = copy / "benchmark/data/test.jsonl", copy / "benchmark/manifest.json"
    first, *rest = data.read_bytes().splitlines(keepends=True)
    data.write_bytes(first.replace(b"Miriam Vale", b"Myriam Vale") + b"".join(rest[1:]))
    changed = json.loads(manifest.read_bytes())
    changed["content_hash"] = hashlib.sha256(data.read_bytes()).hexdigest()
    manifest.write_text(json.dumps(changed))
    identity = copy / "build.identity.json"
    identity.write_text(json.dumps(json.loads(identity.read_bytes()) | {"seed": 99}))
    found = diff(finished.run, copy)
    assert len(found.only_a) == 1 and not found.only_b
    assert len(found.changed) == 1
    assert [str(change) for change in found.settings] == ["build.seed: 7 → 99"]
    shown = screentest("diff", finished.run, copy).stdout
    assert "build.seed: 7 → 99" in shown

    scores = copied(finished.evaluation, tmp_path / "scores")
    _raise_a_score(scores)
    found = diff(finished.evaluation, scores)
    before, now = found.headlines["alice"]
    assert before is not None and now == pytest.approx(before + 1) and not found.none


def test_what_is_neither_run_nor_benchmark_cannot_be_compared(finished: Finished, tmp_path: Path) -> None:
    assert "neither a run nor a benchmark" in failed(screentest("diff", finished.run, tmp_path))
