"""SIGKILL at many moments: the store opens, nothing that finished is asked again, and the bytes are the same."""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from builders.projects import emitted
from runs.theatre import CONCURRENCY, Finished, Theatre, asked, copied, evaluated, settle, states
from screentest.builders.verification import verify


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


def _verified(run: Path) -> None:
    assert not [check for check in verify(run) if check.problem]


def test_a_build_killed_at_many_moments_emits_the_same_bytes(finished: Finished, tmp_path: Path) -> None:
    theatre, run = finished.theatre, tmp_path / "run"
    before = len(theatre.server.requests)
    step = finished.built.total() // 5
    lost = _killed_again_and_again(theatre, theatre.building(run), run, (1, step, step, step))
    assert emitted(run) == emitted(finished.run)
    sent = asked(theatre.server, before)
    assert sent.keys() == finished.built.keys() and sent >= finished.built
    assert sent.total() == finished.built.total() + lost, "asked twice is what was in flight, and nothing else"
    assert states(run) == states(finished.run)
    _verified(run)


def test_an_evaluation_killed_at_many_moments_emits_the_same_bytes(finished: Finished, tmp_path: Path) -> None:
    theatre, run = finished.theatre, tmp_path / "eval"
    before = len(theatre.server.requests)
    command = theatre.evaluating(finished.run / "benchmark", run)
    lost = _killed_again_and_again(theatre, command, run, (1, finished.compared.total() // 2))
    assert evaluated(run) == evaluated(finished.evaluation)
    sent = asked(theatre.server, before)
    assert sent.keys() == finished.compared.keys()
    assert sent.total() == finished.compared.total() + lost
    _verified(run)


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
    for survived in (0, 3, 4):
        program = [sys.executable, "-c", _DIES_AT_FSYNC, str(survived), *theatre.building(run)[3:]]
        assert theatre.do(program).code == -signal.SIGKILL
    theatre.done(theatre.building(run))
    assert emitted(run) == emitted(finished.run)
    assert len(theatre.server.requests) == before
    _verified(run)


def test_a_kill_while_an_evaluation_is_emitted_loses_nothing(finished: Finished, tmp_path: Path) -> None:
    theatre, run = finished.theatre, copied(finished.evaluation, finished.evaluation.parent / "emitted")
    (run / "results.json").unlink()
    command = theatre.evaluating(finished.run / "benchmark", run)
    before = len(theatre.server.requests)
    assert theatre.do([sys.executable, "-c", _DIES_AT_FSYNC, "1", *command[3:]]).code == -signal.SIGKILL
    theatre.done(command)
    assert evaluated(run) == evaluated(finished.evaluation)
    assert len(theatre.server.requests) == before
