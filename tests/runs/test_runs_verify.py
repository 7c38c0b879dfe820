"""Verify finds what was changed behind the run's back; diff tells two runs apart."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from builders.projects import everything
from cli.terminal import failed, screentest
from runs.theatre import Finished, copied
from screentest.builders.difference import diff
from screentest.builders.verification import verify


def _problems(run: Path) -> dict[str, str]:
    return {check.what: check.problem for check in verify(run) if check.problem}


def test_a_finished_run_passes_and_verifying_changes_nothing(finished: Finished, tmp_path: Path) -> None:
    for run in (finished.run, finished.evaluation):
        before = {name: data for name, data in everything(run).items() if not name.startswith("run.db-")}
        result = screentest("verify", run)
        assert result.exit_code == 0 and "FAILED" not in result.stdout
        assert {name: data for name, data in everything(run).items() if not name.startswith("run.db-")} == before


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
