"""The concurrency benchmark runs, and counts chains of dependent calls as it says. Times are left to the benchmark."""

from __future__ import annotations

import asyncio
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from screentest.llms import Request
from screentest.sim import Rules, together

PATH = Path(__file__).parents[2] / "benchmarks" / "concurrency.py"


@pytest.fixture(scope="module")
def benchmark() -> ModuleType:
    spec = importlib.util.spec_from_file_location("concurrency", PATH)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["concurrency"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def test_a_chain_counts_parallel_calls_once(benchmark: ModuleType):
    clock = benchmark.Clock(0.001)

    async def call(conversation: str) -> None:
        await clock.wait(Request(messages=(), purpose="filter", key=f"{conversation}/turn/01/x"))

    async def main() -> None:
        await call("a")
        await together(call("a"), call("a"), call("b"))
        await call("a")

    asyncio.run(main())
    assert (clock.calls, clock.chain) == (5, 3)


@pytest.mark.parametrize("name", ["lean", "understudy"])
def test_it_measures(benchmark: ModuleType, name: str):
    found = asyncio.run(benchmark.measure(name, benchmark.MODELS[name](), 3, 0.001, Rules(turns=6)))
    assert found.conversations == 3
    assert 6 < found.chain < found.calls
    assert found.ratio > 0.99
    assert len(found.row()) == len(benchmark.HEAD)
