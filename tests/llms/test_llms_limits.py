"""Limits, on a virtual clock."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakes.clock import run_virtually
from fakes.models import Scripted, said
from screentest.errors import RateLimited, Unavailable
from screentest.llms import Limited, Limiter, Message, ModelSpec, Request, Sampling, Usage
from screentest.llms.gate import Gate
from screentest.llms.limits import RequestRate, TokenBucket, estimate

SPEC = ModelSpec(provider="openai", model="gpt-4.1")


def question(key: int = 0, text: str = "Hello", max_tokens: int | None = None) -> Request:
    sampling = Sampling(max_tokens=max_tokens)
    return Request(messages=(Message("user", text),), purpose="test", key=str(key), sampling=sampling)


def play(model: Scripted, calls: int, **limits: Any) -> Limiter:
    """Make so many calls at once through one limiter; the order must be that of arrival."""
    limiter = Limiter(**limits)
    limited = Limited(model, limiter, SPEC)

    async def all_at_once() -> None:
        await asyncio.gather(*(limited.reply(question(key)) for key in range(calls)))

    run_virtually(all_at_once())
    assert [request.key for request in model.requests] == [str(key) for key in range(calls)]
    return limiter


def most_within(seconds: float, times: list[float]) -> int:
    return max(sum(start <= other < start + seconds for other in times) for start in times)


def test_without_limits_nothing_waits_and_the_gate_widens() -> None:
    model = Scripted("a", seconds=1)
    limiter = play(model, 200, concurrency=64)
    assert model.began[:17] == [0.0] * 16 + [1.0]
    assert model.peak == limiter.gate.width == 64
    assert max(model.began) <= 5
    assert limiter.gate.in_flight == 0


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 600), st.integers(1, 60))
def test_requests_per_minute_hold_in_every_minute_and_are_used(rpm: int, calls: int) -> None:
    async def knock() -> list[float]:
        rate, times = RequestRate(rpm), []

        async def one() -> None:
            await rate.acquire()
            times.append(asyncio.get_running_loop().time())

        await asyncio.gather(*(one() for _ in range(calls)))
        return times

    times = run_virtually(knock())
    assert most_within(60, times) <= rpm
    assert most_within(0.001, times) <= max(1, round(rpm / 60))
    assert max(times) <= calls * 60 / rpm * 1.12 + 0.2


def test_requests_per_minute_through_a_limiter() -> None:
    model = Scripted("a")
    play(model, 30, rpm=60)
    assert 27 <= max(model.began) <= 33


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 3000), st.floats(0, 1)), min_size=1, max_size=30), st.integers(600, 60_000))
def test_tokens_per_minute_are_never_overspent(calls: list[tuple[int, float]], tpm: int) -> None:
    spent: list[tuple[float, int]] = []

    async def call(bucket: TokenBucket, reserved: int, used: float) -> None:
        await bucket.reserve(reserved)
        await asyncio.sleep(0.5)
        spent.append((asyncio.get_running_loop().time(), int(reserved * used)))
        bucket.settle(reserved, int(reserved * used))

    async def all_at_once() -> None:
        bucket = TokenBucket(tpm)
        await asyncio.gather(*(call(bucket, *one) for one in calls))

    run_virtually(all_at_once())
    assert len(spent) == len(calls)
    largest = max(reserved for reserved, _ in calls)
    for end, _ in spent:
        total = sum(tokens for at, tokens in spent if at <= end)
        assert total <= tpm / 60 * (end + 15) + largest


def test_a_reservation_is_settled_to_what_was_used() -> None:
    model = Scripted(said("a", usage=Usage(input=10, output=10)))
    frugal = Limited(model, Limiter(tpm=6000), SPEC)
    greedy_model = Scripted(said("a", usage=None))
    greedy = Limited(greedy_model, Limiter(tpm=6000), SPEC)

    async def in_a_row(limited: Limited) -> float:
        for key in range(20):
            await limited.reply(question(key, max_tokens=1000))
        return asyncio.get_running_loop().time()

    assert run_virtually(in_a_row(frugal)) == 0
    assert run_virtually(in_a_row(greedy)) > 150


def test_a_failed_call_gives_its_tokens_back() -> None:
    limited = Limited(Scripted(Unavailable("no"), "a"), Limiter(tpm=6000), SPEC)

    async def fail_then_ask() -> float:
        with pytest.raises(Unavailable):
            await limited.reply(question(max_tokens=1490))
        await limited.reply(question(max_tokens=1490))
        return asyncio.get_running_loop().time()

    assert run_virtually(fail_then_ask()) == 0


def test_a_429_cools_everyone_down_for_as_long_as_it_asks() -> None:
    model = Scripted(RateLimited("slow down", retry_after=7), "a")
    limited = Limited(model, Limiter(), SPEC)

    async def hit_then_ask() -> None:
        with pytest.raises(RateLimited):
            await limited.reply(question())
        await asyncio.gather(*(limited.reply(question(key)) for key in range(5)))

    run_virtually(hit_then_ask())
    assert model.began == [0.0] + [7.0] * 5


def test_one_wave_of_429s_narrows_the_gate_once() -> None:
    gate = Gate(64)
    assert [gate.narrow(0.0, now) for now in (1.0, 1.1, 1.2)] == [True, False, False]
    assert gate.width == 8
    assert gate.narrow(2.0, 3.0)
    assert gate.width == 4
    for _ in range(10):
        gate.widen()
    assert gate.width == 6, "after a 429 the gate widens by one a round, not by one a call"


def test_a_cancelled_waiter_leaves_no_trace() -> None:
    async def scene() -> tuple[int, list[str]]:
        limiter, model = Limiter(concurrency=1), Scripted("a", seconds=1)
        limited = Limited(model, limiter, SPEC)
        tasks = [asyncio.create_task(limited.reply(question(key))) for key in range(4)]
        await asyncio.sleep(0.5)
        tasks[0].cancel()
        tasks[1].cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return limiter.gate.in_flight, [request.key for request in model.requests]

    assert run_virtually(scene()) == (0, ["0", "2", "3"])


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_whoever_is_cancelled_the_gate_stays_sound(data: st.DataObject) -> None:
    async def scene() -> None:
        limiter, model = Limiter(concurrency=3, rpm=600, tpm=60_000), Scripted("a", seconds=0.3)
        limited = Limited(model, limiter, SPEC)
        tasks = [asyncio.create_task(limited.reply(question(key))) for key in range(12)]
        for _ in range(data.draw(st.integers(0, 12))):
            await asyncio.sleep(data.draw(st.sampled_from([0, 0.05, 0.1, 0.3])))
            tasks[data.draw(st.integers(0, 11))].cancel()
        done = await asyncio.gather(*tasks, return_exceptions=True)
        assert model.peak <= 3
        assert limiter.gate.in_flight == 0
        assert all(not isinstance(one, Exception) for one in done)
        assert (await limited.reply(question())).text == "a"

    run_virtually(scene())


def test_an_open_limiter_costs_next_to_nothing() -> None:
    async def many(limited: Limited, calls: int) -> float:
        started = time.process_time()
        for _ in range(calls):
            await limited.reply(asked)
        return (time.process_time() - started) / calls

    asked = question(text="x" * 6000)
    assert run_virtually(many(Limited(Scripted("a"), Limiter(), SPEC), 2000)) < 100e-6


@pytest.mark.parametrize(("text", "tokens"), [("", 4), ("x" * 400, 104), ("月" * 100, 104), ("月" * 10 + "x" * 40, 24)])
def test_tokens_are_estimated_by_script(text: str, tokens: int) -> None:
    assert estimate([Message("user", text)]) == tokens
