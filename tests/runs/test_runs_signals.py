"""Ctrl-C and SIGTERM: what is in flight is waited for and kept; a second one stops at once."""

from __future__ import annotations

import signal
import sys
import time
from pathlib import Path

import pytest

from builders.projects import emitted
from fakes import FakeProvider
from runs.theatre import CONCURRENCY, Finished, Theatre, states, written

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_calls_in_flight_are_kept_and_none_is_repeated(finished: Finished, tmp_path: Path, how: signal.Signals) -> None:
    theatre, run = finished.theatre, tmp_path / "run"
    before = len(theatre.server.requests)
    ended, seen = theatre.cut(theatre.building(run), finished.built.total() // 2, how)
    assert ended.code == 75
    assert ended.err.splitlines()[-1].startswith("screentest: interrupted; every finished call is kept")
    assert "Traceback" not in ended.err and "never retrieved" not in ended.err
    assert states(run) == {"done": seen}, "what was in flight is kept, what was not yet sent has left no trace"
    again = theatre.done(theatre.building(run))
    assert f"Going on: {seen} finished calls are in the store, 0 were in flight" in again.err
    assert len(theatre.server.requests) - before == finished.built.total()
    assert emitted(run) == emitted(finished.run)


def test_calls_that_wait_for_their_turn_are_not_made_any_more(tmp_path: Path) -> None:
    with FakeProvider.threaded(latency=0.3) as server:
        theatre = Theatre(server, tmp_path, written(tmp_path, server, build={"lag": 6, "scenes": 6}))
        command = [*theatre.building(tmp_path / "run"), "--concurrency", "1"]
        ended, seen = theatre.cut(command, 1, signal.SIGTERM)
    assert (ended.code, seen) == (75, 1)
    assert states(tmp_path / "run") == {"done": 1}


def test_a_second_signal_stops_at_once(tmp_path: Path) -> None:
    with FakeProvider.threaded(latency=30) as server:
        theatre = Theatre(server, tmp_path, written(tmp_path, server))
        process = theatre.start(theatre.building(tmp_path / "run"))
        while not server.requests and process.poll() is None:
            time.sleep(0.02)
        process.send_signal(signal.SIGTERM)
        time.sleep(0.5)
        assert process.poll() is None, "the first one waits for the call in flight"
        began = time.monotonic()
        process.send_signal(signal.SIGTERM)
        ended = theatre.finish(process)
        assert time.monotonic() - began < 3
    assert ended.code == 75
    assert "Traceback" not in ended.err and "Exception" not in ended.err
    assert ended.err.splitlines()[-1].startswith("screentest: interrupted")
    assert 1 <= states(tmp_path / "run")["begun"] <= CONCURRENCY
