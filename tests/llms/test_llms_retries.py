"""What is tried again, how often, and after how long."""

from __future__ import annotations

import asyncio
import logging

import pytest

from fakes.clock import run_virtually
from fakes.models import Scripted, said
from screentest.errors import (
    CallError,
    Disconnected,
    EmptyReply,
    RateLimited,
    Rejected,
    ScreentestError,
    TimedOut,
    TruncatedReply,
    Unavailable,
)
from screentest.llms import Attempted, Limited, Limiter, Message, Meter, Metered, ModelSpec, Request, Retrying

SPEC = ModelSpec(provider="openai", model="gpt-4.1")


def question(key: str = "scene/1") -> Request:
    return Request(messages=(Message("user", "Who goes there?"),), purpose="test", key=key, seed=7)


class Naps(list[float]):
    async def __call__(self, seconds: float) -> None:
        self.append(seconds)


@pytest.mark.parametrize("error", [Unavailable("x"), TimedOut("x"), Disconnected("x"), RateLimited("x")], ids=repr)
async def test_what_may_pass_is_tried_again(error: CallError) -> None:
    naps, model = Naps(), Scripted(error, error, "a")
    retrying = Retrying(model, attempts=3, sleep=naps)
    assert (await retrying.reply(question())).text == "a"
    assert retrying.retries == {error.kind: 2}
    assert len(naps) == 2


@pytest.mark.parametrize("error", [Rejected("x"), TruncatedReply("x")], ids=repr)
async def test_what_cannot_be_helped_is_not(error: ScreentestError) -> None:
    naps, model = Naps(), Scripted(error)
    with pytest.raises(type(error)):
        await Retrying(model, sleep=naps).reply(question())
    assert (len(model.requests), naps) == (1, [])


async def test_the_last_attempts_error_is_raised() -> None:
    model = Scripted(Unavailable("1"), Unavailable("2"), TimedOut("3"))
    with pytest.raises(TimedOut, match="3"):
        await Retrying(model, attempts=3, sleep=Naps()).reply(question())
    assert len(model.requests) == 3


async def test_an_empty_reply_is_tried_again_once() -> None:
    model = Scripted(EmptyReply("x"))
    with pytest.raises(EmptyReply):
        await Retrying(model, attempts=6, sleep=Naps()).reply(question())
    assert len(model.requests) == 2


async def test_waits_double_and_are_the_same_in_every_run() -> None:
    async def waits(key: str) -> list[float]:
        naps = Naps()
        with pytest.raises(Unavailable):
            await Retrying(Scripted(Unavailable("x")), attempts=10, sleep=naps).reply(question(key))
        return naps

    first, other = await waits("scene/1"), await waits("scene/2")
    assert first == await waits("scene/1")
    assert first != other
    for number, wait in enumerate(first):
        span = min(30.0, 0.5 * 2**number)
        assert span / 2 <= wait <= span


async def test_a_429_waits_at_least_as_long_as_asked() -> None:
    naps = Naps()
    await Retrying(Scripted(RateLimited("x", retry_after=20), "a"), sleep=naps).reply(question())
    assert 20 <= naps[0] <= 21


async def test_a_429_that_asks_for_an_hour_is_given_up() -> None:
    naps = Naps()
    with pytest.raises(RateLimited):
        await Retrying(Scripted(RateLimited("x", retry_after=3600)), sleep=naps).reply(question())
    assert naps == []


async def test_cancelling_goes_through_and_frees_the_slot() -> None:
    limiter, model = Limiter(concurrency=1), Scripted("a", seconds=60)
    retrying = Retrying(Limited(model, limiter, SPEC))
    task = asyncio.create_task(retrying.reply(question()))
    await asyncio.sleep(0.01)
    assert limiter.gate.in_flight == 1
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (limiter.gate.in_flight, len(model.requests), retrying.retries) == (0, 1, {})


async def test_no_slot_is_held_while_waiting_for_the_next_attempt() -> None:
    limiter, seen = Limiter(), []

    async def nap(_: float) -> None:
        seen.append(limiter.gate.in_flight)

    await Retrying(Limited(Scripted(Unavailable("x"), "a"), limiter, SPEC), sleep=nap).reply(question())
    assert seen == [0]


async def test_every_retry_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "screentest")
    await Retrying(Scripted(Unavailable("503 busy", model="m"), "a"), sleep=Naps()).reply(question())
    assert "m: 503 busy [scene/1]: attempt 1 failed" in caplog.text
    assert "Who goes there?" not in caplog.text


async def test_a_meter_counts_everything() -> None:
    meter = Meter()
    model = Scripted(
        "a", said("b", usage=None, cost=None), Unavailable("x"), "c", Rejected("x"), EmptyReply("x", reply=said(""))
    )
    metered = Metered(Retrying(model, attempts=2, sleep=Naps()), meter)
    for _ in range(3):
        await metered.reply(question())
    for error in (Rejected, EmptyReply):
        with pytest.raises(error):
            await metered.reply(question())
    assert (meter.started, meter.finished, meter.in_flight, meter.cancelled) == (5, 3, 0, 0)
    assert meter.failed == {"rejected": 1, "empty": 1}
    assert (meter.input, meter.output, meter.unmetered) == (40, 20, 1)
    assert (meter.cost, meter.unpriced) == (1.0, 1)
    assert meter.retries == 2


def test_a_meter_sees_calls_under_way_and_cancelled() -> None:
    meter = Meter()
    model = Scripted(Unavailable("x"), "a", seconds=60)
    napping = asyncio.Event()

    async def nap(_: float) -> None:
        napping.set()
        await asyncio.sleep(60)

    async def watch() -> None:
        task = asyncio.create_task(Metered(Retrying(Attempted(model, meter), sleep=nap), meter).reply(question()))
        await asyncio.sleep(1)
        assert (meter.started, meter.in_flight) == (1, 1)
        await napping.wait()
        assert (meter.started, meter.in_flight) == (1, 0), "between two attempts nothing is under way"
        await asyncio.sleep(61)
        assert (meter.started, meter.in_flight) == (1, 1)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    run_virtually(watch())
    assert (meter.in_flight, meter.cancelled) == (0, 1)
