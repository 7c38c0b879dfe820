"""The scheduler: fixed knowledge whatever the timing, errors as they are, bounded calls."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doubles import Improviser
from fakes.clock import run_virtually
from screentest.llms import Gate, Gated, Request
from screentest.sim import group, staggered, together

durations = st.lists(st.sampled_from((0.0, 0.0, 0.1, 1.0, 5.0, 60.0)), max_size=20)


class Jobs:
    """A series of jobs that take their time; job ``k`` results in ``k``, unless it fails."""

    def __init__(self, seconds: Sequence[float], failing: frozenset[int] = frozenset()) -> None:
        self.seconds, self.failing = seconds, failing
        self.known: list[tuple[int, ...]] = []
        self.running = self.peak = 0

    def start(self, k: int, known: Sequence[int]) -> Any:
        """The next job."""
        if k >= len(self.seconds):
            return None
        self.known.append(tuple(known))
        return self._run(k)

    async def _run(self, k: int) -> int:
        self.running += 1
        self.peak = max(self.peak, self.running)
        try:
            await asyncio.sleep(self.seconds[k])
        finally:
            self.running -= 1
        if k in self.failing:
            raise ValueError(f"job {k}")
        return k


@given(durations, st.integers(1, 25))
def test_a_job_knows_the_same_forerunners_whatever_the_timing(seconds: list[float], lag: int):
    jobs = Jobs(seconds)
    assert run_virtually(staggered(jobs.start, lag=lag)) == tuple(range(len(seconds)))
    assert jobs.known == [tuple(range(max(0, k - lag + 1))) for k in range(len(seconds))]
    assert jobs.peak <= lag


@given(st.integers(1, 12), st.integers(0, 12))
def test_lag_many_jobs_run_at_once(lag: int, number: int):
    jobs = Jobs([1.0] * number)
    run_virtually(staggered(jobs.start, lag=lag))
    assert jobs.peak == min(lag, number)


@given(durations, st.integers(1, 25), st.frozensets(st.integers(0, 19), min_size=1))
def test_an_error_is_raised_as_it_is_and_nothing_runs_on(seconds: list[float], lag: int, failing: frozenset[int]):
    jobs = Jobs(seconds, failing)

    async def main() -> None:
        if any(k < len(seconds) for k in failing):
            with pytest.raises(ValueError, match=r"job \d+"):
                await staggered(jobs.start, lag=lag)
        else:
            await staggered(jobs.start, lag=lag)
        assert asyncio.all_tasks() == {asyncio.current_task()}

    run_virtually(main())
    assert jobs.running == 0
    assert jobs.known == [tuple(range(max(0, k - lag + 1))) for k in range(len(jobs.known))]


def test_an_error_of_the_series_itself_ends_its_jobs():
    jobs = Jobs([60.0] * 5)

    def start(k: int, known: Sequence[int]) -> Any:
        if k == 3:
            raise ValueError("no more scenes")
        return jobs.start(k, known)

    async def main() -> None:
        with pytest.raises(ValueError, match="no more scenes"):
            await staggered(start, lag=5)
        assert asyncio.all_tasks() == {asyncio.current_task()}
        assert asyncio.get_running_loop().time() == 0

    run_virtually(main())
    assert jobs.running == 0


def test_an_empty_series_has_no_results():
    assert run_virtually(staggered(Jobs([]).start, lag=3)) == ()


def test_a_group_returns_results_in_order_and_raises_an_error_as_it_is():
    async def job(k: int) -> int:
        await asyncio.sleep(5 - k)
        if k == 4:
            raise ValueError("job 4")
        return k

    assert run_virtually(group(job(k) for k in range(4))) == (0, 1, 2, 3)
    with pytest.raises(ValueError, match="job 4"):
        run_virtually(group(job(k) for k in range(5)))


def test_together_waits_for_all_and_raises_the_first_error_in_order():
    ended: list[int] = []

    async def job(k: int, seconds: float) -> int:
        await asyncio.sleep(seconds)
        ended.append(k)
        if k:
            raise ValueError(f"job {k}")
        return k

    with pytest.raises(ValueError, match="job 1"):
        run_virtually(together(job(0, 3), job(1, 2), job(2, 1)))
    assert ended == [2, 1, 0]


def test_the_gate_bounds_the_calls_in_flight_of_all_models_together():
    running = peak = 0

    class Slow(Improviser):
        async def reply(self, request: Request) -> Any:
            nonlocal running, peak
            running += 1
            peak = max(peak, running)
            await asyncio.sleep(1)
            running -= 1
            return await super().reply(request)

    async def main() -> float:
        gate = Gate(3, opens_at=3)
        models = [Gated(Slow(name), gate) for name in ("one", "other")]
        assert [model.name for model in models] == ["one", "other"]
        request = Request(messages=(), purpose="play.scene", key="k")
        await group(model.reply(request) for model in models * 6)
        return asyncio.get_running_loop().time()

    assert run_virtually(main()) == 4
    assert peak == 3


def test_a_failed_call_gives_its_place_back():
    class Failing(Improviser):
        async def reply(self, request: Request) -> Any:
            raise ValueError("down")

    async def main() -> None:
        model = Gated(Failing(), Gate(1))
        for _ in range(3):
            with pytest.raises(ValueError, match="down"):
                await asyncio.wait_for(model.reply(Request(messages=(), purpose="filter", key="k")), 1)

    run_virtually(main())


def test_who_gives_up_waiting_takes_no_place_with_it():
    async def main() -> None:
        gate, ended = Gate(1), asyncio.Event()

        class Slow(Improviser):
            async def reply(self, request: Request) -> Any:
                await ended.wait()
                return await super().reply(request)

        model = Gated(Slow(), gate)
        request = Request(messages=(), purpose="play.scene", key="k")
        calls = [asyncio.ensure_future(model.reply(request)) for _ in range(4)]
        await asyncio.sleep(1)
        calls[1].cancel()
        await asyncio.sleep(1)
        ended.set()
        calls[2].cancel()
        await asyncio.wait_for(asyncio.gather(calls[0], calls[3]), 1)
        assert gate.in_flight == 0

    run_virtually(main())
