"""The benchmarks of what calls cost run, and measure what they say. Times and sizes are left to the benchmarks."""

from __future__ import annotations

import asyncio
import importlib
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from builders.projects import offline
from fakes import FakeProvider

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module", autouse=True)
def found_by_name() -> Iterator[None]:
    """They import one another by name, as scripts of one directory do."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(BENCHMARKS)
        yield


def module(name: str) -> Any:
    return importlib.import_module(name)


class TestOverhead:
    @pytest.mark.parametrize("size", [6, 30])
    def test_fills_prompts_up_to_a_size(self, size: int):
        overhead = module("overhead")
        cast = overhead.filled(overhead.english(3), size)
        assert overhead.kilobytes(overhead.rehearse(cast)) == pytest.approx(size, abs=0.1)

    def test_makes_the_same_calls_in_every_way(self):
        overhead = module("overhead")
        with FakeProvider.threaded() as server:
            bench = overhead.prepared(server.openai_url, 6, 2)
            assert asyncio.run(bench.engine()) == asyncio.run(bench.journal()) == len(bench.heard)
            assert server.requests == []
            for way in ("create", "post", "model", "all"):
                before = len(server.requests)
                assert asyncio.run(overhead.WAYS[way](bench)) == len(server.requests) - before > 50

    def test_prints_a_row_for_every_way(self):
        overhead = module("overhead")
        with FakeProvider.threaded() as server:
            found = overhead.measure(overhead.prepared(server.openai_url, 6, 1), 1)
        assert list(found) == list(overhead.WAYS)
        assert min(found.values()) > 0
        assert len(overhead.row("all", [found, found])) == len(overhead.HEAD)


class TestServing:
    def test_is_a_server_elsewhere_that_tells_its_traffic(self):
        limits, serving = module("limits"), module("serving")
        with serving.serving(0.005) as server:
            calls = asyncio.run(limits.connected(server.url, 4, 3))
            assert calls > 50
            assert server.traffic() == (3, 3)


class TestLimits:
    def test_no_ratio_is_better_than_the_bound(self):
        row, ratio = asyncio.run(module("limits").mixed(4, 0.001, 2))
        assert ratio > 0.99
        assert len(row) == len(module("limits").HEAD)


class TestMemory:
    def test_holds_every_conversation_after_its_tenth_turn(self):
        memory = module("footprint")
        heard: list[str] = []

        class Hearing:
            name = "lean"

            async def reply(self, request: Any) -> Any:
                heard.append(request.key)
                return await memory.Lean().reply(request)

        async def hold() -> None:
            halting = memory.Halting(Hearing())
            players = memory.Players(director=halting, scene=halting, source=halting, base=halting, judge=halting)
            scene, test = memory.pairings(memory.starter_pool())[0]
            stream = memory.play(scene, test=test, models=players, seed=1, key="000", rules=memory.RULES)
            playing = asyncio.create_task(memory.record(stream, "000"))
            await halting.wait_for(1)
            assert not playing.done()
            playing.cancel()

        asyncio.run(hold())
        assert {key.split("/")[2] for key in heard} == {f"{turn:02d}" for turn in range(1, 11)}

    def test_weighs_them(self):
        assert all(isinstance(kilobytes, float) for kilobytes in module("footprint").weighed("resident", 2, 1))


class TestResume:
    def test_goes_on_without_a_call_and_emits_the_same(self, tmp_path: Path):
        resume = module("resume")
        config, run = offline(tmp_path), tmp_path / "run"
        first, again = resume.session(run, config), resume.session(run, config, True)
        assert first.made == again.reused > 50
        assert (first.reused, again.made) == (0, 0)
        assert first.emitted == again.emitted
        assert resume.read_bare(run).seconds > 0
        assert resume.read_store(run).seconds > 0

    def test_plans_about_as_many_calls_as_asked_for(self):
        resume = module("resume")
        build = resume.configured(100_000).build
        assert build.scenes * resume.CELLS * resume.CALLS_A_SCENE == pytest.approx(100_000, rel=0.05)


def test_sampling_finds_who_computes():
    sampling = module("sampling")

    def busy() -> None:
        end = time.process_time() + 0.1
        while time.process_time() < end:
            pass

    with sampling.sampled({"busy": busy, "idle": sampling.shares}) as found:
        busy()
    assert found["busy"] > 0.8 * found.total() > 0
    assert found["idle"] == 0
