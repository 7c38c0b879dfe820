"""One process at a time: the second is told who holds the run, and a killed one holds nothing."""

from __future__ import annotations

import signal
import socket
import threading
from pathlib import Path

from builders.projects import generous
from fakes import FakeProvider
from runs.theatre import Theatre, written


def test_a_second_process_is_told_who_is_in_and_gets_in_after_a_kill(tmp_path: Path) -> None:
    let_go = threading.Event()

    def held(seen: object) -> object:
        let_go.wait(20)
        return generous(seen)  # pyright: ignore[reportArgumentType]

    with FakeProvider.threaded(held) as server:  # pyright: ignore[reportArgumentType]
        theatre = Theatre(server, tmp_path, written(tmp_path, server))
        run = tmp_path / "run"
        first = theatre.start(theatre.building(run))
        try:
            while not server.requests and first.poll() is None:
                pass
            second = theatre.do(theatre.building(run))
            assert second.code == 5
            assert f"process {first.pid} on {socket.gethostname()} is working on this run" in second.err
            assert "Traceback" not in second.err
        finally:
            first.send_signal(signal.SIGKILL)
            first.communicate()
            let_go.set()
        server.behaviour = generous
        theatre.done(theatre.building(run))
        assert not (run / ".lock.json").exists()
