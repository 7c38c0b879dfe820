"""The kill harness of ``benchmarks/kills.py``: a handful of its kills, and what it says of a program that cheats."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from random import Random
from typing import Any

import pytest

from runs.theatre import Finished

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
kills: Any = importlib.import_module("kills")

_CHEATS = """
import atexit, sqlite3, sys
from contextlib import closing
from pathlib import Path
run = Path(sys.argv[sys.argv.index("--run") + 1])
if (run / "run.db").exists():
    with closing(sqlite3.connect(run / "run.db", isolation_level=None)) as connection:
        connection.execute("DELETE FROM calls")
atexit.register(lambda: [file.write_bytes(file.read_bytes() + b" ") for file in run.glob("results.json")])
"""


class _Last(Random):
    """Draws the last of a range, so that a process is killed when it has made all its calls."""

    def randrange(self, start: int, stop: int | None = None, step: int = 1) -> int:
        return (start if stop is None else stop) - step


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where all runs are, one beside the other: what they freeze names their project relatively."""
    return tmp_path_factory.mktemp("killed")


@pytest.fixture(scope="module")
def whole(finished: Finished, runs: Path) -> Any:
    """An evaluation of the finished build that nobody interrupts, as the harness sees it."""
    work = kills.works(finished.theatre, finished.run / "benchmark")[1]
    return kills.uninterrupted(finished.theatre, work, runs / "whole")


@pytest.fixture(autouse=True)
def twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """A round kills twice."""
    monkeypatch.setattr(kills, "FEWEST", 2)
    monkeypatch.setattr(kills, "MOST", 2)


def _played(finished: Finished, whole: Any, run: Path, draw: Random, cheat: str = "") -> Any:
    work = kills.works(finished.theatre, finished.run / "benchmark")[1]
    work = kills.Work(work.name, cheat + work.program, work.arguments, work.server)
    one = kills.Round(finished.theatre, work, whole, run, draw)
    one.play()
    return one


def test_a_round_of_kills_finds_every_promise_kept(finished: Finished, whole: Any, runs: Path) -> None:
    one = _played(finished, whole, runs / "honest", Random(5))
    assert one.violations == []
    assert one.figures["kills"] == len(one.moments) > 0
    needed, in_flight = finished.compared.total(), one.figures["calls in flight at the kills"]
    assert needed <= one.figures["calls received"] <= needed + in_flight


def test_a_program_that_pays_twice_and_spoils_its_files_is_found_out(
    finished: Finished, whole: Any, runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kills, "MOMENTS", (kills.AT_A_FILE,) * len(kills.MOMENTS))
    one = _played(finished, whole, runs / "cheating", _Last(), _CHEATS)
    assert one.figures["kills"] == 2
    needed = finished.compared.total()
    assert one.figures["calls received beyond that"] == needed
    assert f"calls received beyond that: {needed}" in one.violations
    assert "outputs that are not the same: results.json" in one.violations
    assert one.figures["checks of `verify` that fail"] > 0
