"""Ctrl-C: the command ends at once, says so in one line, and can be repeated."""

from __future__ import annotations

import signal
import sys
import time
from pathlib import Path

import pytest
from terminal import started

from builders.projects import project, served
from fakes import FakeProvider

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_build_is_interrupted_promptly(tmp_path: Path, number: signal.Signals) -> None:
    with FakeProvider.threaded(latency=0.2) as server:
        config = project(tmp_path, models=served(server, "gpt"))
        process = started("build", config, "--run", tmp_path / "run")
        _wait_for_calls(server)
        process.send_signal(number)
        sent = time.monotonic()
        _, err = process.communicate(timeout=20)
        took = time.monotonic() - sent
    assert process.returncode == 75, err
    assert took < 5
    assert "Traceback" not in err and "Exception" not in err
    assert err.splitlines()[-1].startswith("screentest: interrupted")
    assert not (tmp_path / "run/benchmark").exists()


def test_a_scene_that_is_watched_is_interrupted_promptly(tmp_path: Path) -> None:
    with FakeProvider.threaded(latency=0.2) as server:
        config = project(tmp_path, models=served(server, "gpt"))
        process = started("simulate", "--config", config)
        _wait_for_calls(server)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=20)
    assert process.returncode == 75, err
    assert err.splitlines()[-1].startswith("screentest: interrupted")
    assert "Traceback" not in err and "run directory" not in err


def _wait_for_calls(server: FakeProvider) -> None:
    until = time.monotonic() + 20
    while len(server.requests) < 4:
        assert time.monotonic() < until, "the command made no call"
        time.sleep(0.02)
