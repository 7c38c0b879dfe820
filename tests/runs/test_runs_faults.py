"""A failed call is an outcome: a build that is repeated pays neither for it again nor for what follows."""

from __future__ import annotations

from pathlib import Path

import pytest

from builders.projects import generous
from fakes import Fails, FakeProvider, Says, Seen
from runs.theatre import written
from screentest.builders import Benchmark, build, load_config
from screentest.builders.resumption import emitted
from screentest.errors import TooManyFailures
from screentest.sim import Session


async def test_a_build_with_faults_is_the_same_when_repeated_and_makes_no_call(tmp_path: Path) -> None:
    out_of_order = True

    def moody(seen: Seen) -> Says | Fails:
        """While it is out of order the server refuses one call in the middle of the build."""
        refused = out_of_order and len(server.requests) == 40
        return Fails(400, "not this one") if refused else generous(seen)

    async with FakeProvider(moody) as server:
        config = load_config(
            written(tmp_path, server, build={"scenes": 5, "turns": 8, "lag": 1, "quota": 3, "max_failures": 1.0})
        )
        session = Session(environment={"SENTINEL_KEY": "sk-test"})
        first = await build(config, tmp_path / "run", session=session)
        assert first.manifest.report.faults, "the server refused one call"
        paid, files = len(server.requests), emitted(tmp_path / "run")

        out_of_order = False
        await build(config, tmp_path / "run", session=Session(environment={"SENTINEL_KEY": "sk-test"}))
        assert len(server.requests) == paid
        assert emitted(tmp_path / "run") == files

        retried = Session(environment={"SENTINEL_KEY": "sk-test"}, retry_failed=True)
        again = await build(config, tmp_path / "run", session=retried)
        assert len(server.requests) > paid
        assert not again.manifest.report.faults


async def test_a_cell_gives_up_after_three_failed_conversations_and_says_so(tmp_path: Path) -> None:
    async with FakeProvider(lambda seen: Fails(400, "not today")) as server:
        config = load_config(written(tmp_path, server, build={"scenes": 40, "turns": 8, "lag": 1}))
        with pytest.raises(TooManyFailures, match="--retry-failed makes failed calls again"):
            await build(config, tmp_path / "run", session=Session(environment={"SENTINEL_KEY": "sk-test"}))
        (cell,) = Benchmark.open(tmp_path / "run").manifest.report.cells
        assert (cell.scenes, cell.failed) == (3, 3)
        assert "3 conversations in a row failed" in cell.stopped and "not today" in cell.stopped
        assert cell.shortfall == dict.fromkeys(cell.kept, config.build.quota)
        assert len(server.requests) == 3, "a refused call is not retried"
