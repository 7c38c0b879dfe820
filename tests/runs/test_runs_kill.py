"""SIGKILL at many moments: the store opens, nothing that finished is asked again, and the bytes are the same."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from builders.projects import emitted
from runs.conftest import Finished
from runs.theatre import CONCURRENCY, Theatre, asked, copied, evaluated, settle, states


def _killed_again_and_again(theatre: Theatre, command: Sequence[str], run: Path, moments: Sequence[int]) -> int:
    """Kill a command at these requests, then let it end; returns how many calls were lost in all."""
    lost = 0
    for after in moments:
        kept = states(run)["done"]
        ended, seen = theatre.cut(command, after, signal.SIGKILL)
        assert ended.code == -signal.SIGKILL
        in_flight = seen - (states(run)["done"] - kept)
        assert 0 <= in_flight <= CONCURRENCY
        lost += in_flight
    theatre.done(command)
    settle(theatre.server)
    return lost


def test_a_build_killed_at_many_moments_emits_the_same_bytes(finished: Finished, tmp_path: Path) -> None:
    theatre, run = finished.theatre, tmp_path / "run"
    before = len(theatre.server.requests)
    step = finished.built // 7
    lost = _killed_again_and_again(theatre, theatre.building(run), run, (1, 2, step, step, step, step, step))
    assert emitted(run) == emitted(finished.run)
    assert len(theatre.server.requests) - before == finished.built + lost
    assert asked(theatre.server, before).keys() == asked(theatre.server).keys() & asked(theatre.server, before).keys()
    assert states(run) == states(finished.run)
    theatre.done(theatre.command("verify", run))


def test_an_evaluation_killed_at_many_moments_emits_the_same_bytes(finished: Finished, tmp_path: Path) -> None:
    theatre, run = finished.theatre, tmp_path / "eval"
    before = len(theatre.server.requests)
    step = finished.compared // 4
    command = theatre.evaluating(finished.run / "benchmark", run)
    lost = _killed_again_and_again(theatre, command, run, (1, step, step))
    assert evaluated(run) == evaluated(finished.evaluation)
    assert len(theatre.server.requests) - before == finished.compared + lost
    theatre.done(theatre.command("verify", run))


_DIES_AT_FSYNC = """
import os, signal, sys
left, fsync = int(sys.argv.pop(1)), os.fsync
def dying(handle):
    global left
    left -= 1
    if left < 0:
        os.kill(os.getpid(), signal.SIGKILL)
    fsync(handle)
os.fsync = dying
from screentest.cli import main
main()
"""


def test_a_kill_while_files_are_emitted_loses_none_and_leaves_no_litter(finished: Finished, tmp_path: Path) -> None:
    theatre, run = finished.theatre, copied(finished.run, tmp_path / "run")
    for file in ("trajectories.jsonl", "review.jsonl"):
        (run / file).unlink()
    before = len(theatre.server.requests)
    for survived in range(5):
        program = [sys.executable, "-c", _DIES_AT_FSYNC, str(survived), *theatre.building(run)[3:]]
        assert theatre.do(program).code == -signal.SIGKILL
    theatre.done(theatre.building(run))
    assert emitted(run) == emitted(finished.run)
    assert len(theatre.server.requests) == before
    theatre.done(theatre.command("verify", run))


def test_a_kill_while_an_evaluation_is_emitted(finished: Finished, tmp_path: Path) -> None:
    theatre, run = finished.theatre, tmp_path / "eval"
    run = copied(finished.evaluation, run)
    (run / "results.json").unlink()
    command: Callable[[], list[str]] = lambda: theatre.evaluating(finished.run / "benchmark", run)  # noqa: E731
    before = len(theatre.server.requests)
    for survived in range(2):
        program = [sys.executable, "-c", _DIES_AT_FSYNC, str(survived), *command()[3:]]
        assert theatre.do(program).code == -signal.SIGKILL
    theatre.done(command())
    assert evaluated(run) == evaluated(finished.evaluation)
    assert len(theatre.server.requests) == before
