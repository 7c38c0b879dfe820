"""Killed at any step, an evaluation in batches goes on, hands nothing in twice, and ends as if nothing had happened."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from batch.stage import Protocol, batched, config, killed, outcome
from fakes import FakeProvider
from screentest.builders import Benchmark, Config

PROTOCOLS: tuple[Protocol, ...] = ("openai", "anthropic")


def _needed(benchmark: Benchmark) -> int:
    """A line of the base and of the tested model, and two verdicts, for each item."""
    return 4 * len(list(benchmark.items()))


async def _uninterrupted(benchmark: Benchmark, settings: Config, server: FakeProvider, directory: Path) -> None:
    await batched(benchmark, settings, directory)
    server.batches.gone()


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_killed_once_at_every_step(benchmark: Benchmark, tmp_path: Path, protocol: Protocol) -> None:
    async with FakeProvider() as server:
        settings = config(server, protocol)
        await _uninterrupted(benchmark, settings, server, tmp_path / "whole")
        at, came_through = 0, False
        while not came_through:
            at += 1
            directory = tmp_path / str(at)
            came_through = await killed(lambda: batched(benchmark, settings, directory), at)  # noqa: B023
            await batched(benchmark, settings, directory)
            assert outcome(directory) == outcome(tmp_path / "whole")
            assert set(server.batches.handed_in.values()) == {1}, f"handed in twice after a kill at step {at}"
            assert server.batches.handed_in.total() == _needed(benchmark)
            server.batches.gone()
        assert at > 40, "there must be many steps to be killed at"


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("stride", [9, 16])
async def test_killed_again_and_again(benchmark: Benchmark, tmp_path: Path, protocol: Protocol, stride: int) -> None:
    async with FakeProvider() as server:
        settings, kills = config(server, protocol), 0
        await _uninterrupted(benchmark, settings, server, tmp_path / "whole")
        while not await killed(lambda: batched(benchmark, settings, tmp_path / "run"), stride + kills % 3):
            kills += 1
            assert kills < 200, "it must get on between kills"
        assert kills > 2
        assert outcome(tmp_path / "run") == outcome(tmp_path / "whole")
        assert set(server.batches.handed_in.values()) == {1}
        assert server.batches.handed_in.total() == _needed(benchmark)


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_stopped_politely_a_submission_is_brought_to_its_end(
    benchmark: Benchmark, tmp_path: Path, protocol: Protocol
) -> None:
    async with FakeProvider(latency=0.02) as server:
        settings = config(server, protocol)
        task = asyncio.create_task(batched(benchmark, settings, tmp_path / "run"))
        while not server.batches.handed:  # noqa: ASYNC110 - it is the server that is watched
            await asyncio.sleep(0.001)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        first = len(server.batches.handed)
        await batched(benchmark, settings, tmp_path / "run")
        assert set(server.batches.handed_in.values()) == {1}
        assert len(server.batches.handed) > first
