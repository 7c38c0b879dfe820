"""A clock that is a day off, ahead or behind: batches are found, and nothing is handed in twice."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from batch.stage import Protocol, batched, config, killed, outcome
from fakes import FakeProvider
from screentest.builders import Benchmark

DAY = 86_400.0
real = time.time

days = pytest.mark.parametrize("days", [1, -1])


def _off(patch: pytest.MonkeyPatch, seconds: Callable[[], float]) -> None:
    """Let our clock, but not the server's, be off."""
    wrong = SimpleNamespace(time=lambda: real() + seconds(), perf_counter=time.perf_counter)
    for module in ("batch_courier", "wire"):
        patch.setattr(f"screentest.llms.{module}.time", wrong)


@days
@pytest.mark.parametrize("protocol", ["openai", "anthropic"])
async def test_batches_are_found_and_fetched(
    benchmark: Benchmark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, protocol: Protocol, days: int
) -> None:
    async with FakeProvider() as server:
        settings = config(server, protocol)
        await batched(benchmark, settings, tmp_path / "steady")
        needed = server.batches.handed_in.total()
        server.batches.gone()
        _off(monkeypatch, lambda: days * DAY if server.batches.handed else 0.0)
        server.batches.deaf = 2
        async with asyncio.timeout(20):
            await batched(benchmark, settings, tmp_path / "jumped")
        assert outcome(tmp_path / "jumped") == outcome(tmp_path / "steady")
        assert set(server.batches.handed_in.values()) == {1}, "a batch that seemed lost was found, not handed in again"
        assert server.batches.handed_in.total() == needed


@days
@pytest.mark.parametrize("protocol", ["openai", "anthropic"])
async def test_batches_of_a_killed_session_whose_clock_was_wrong_are_found(
    benchmark: Benchmark, tmp_path: Path, protocol: Protocol, days: int
) -> None:
    async with FakeProvider() as server:
        settings = config(server, protocol)
        await batched(benchmark, settings, tmp_path / "steady")
        server.batches.gone()
        submitted = 0
        for at in range(4, 14):
            with pytest.MonkeyPatch.context() as patch:
                _off(patch, lambda: days * DAY)
                assert not await killed(lambda: batched(benchmark, settings, tmp_path / str(at)), at)  # noqa: B023
            submitted += bool(server.batches.handed)
            await batched(benchmark, settings, tmp_path / str(at))
            assert outcome(tmp_path / str(at)) == outcome(tmp_path / "steady")
            assert set(server.batches.handed_in.values()) == {1}, f"handed in twice after a kill at step {at}"
            server.batches.gone()
        assert submitted > 3
