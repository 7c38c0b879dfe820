"""Places are shared fairly between models, and a storm of failures opens the circuit."""

from __future__ import annotations

import asyncio
from itertools import pairwise

import pytest

from fakes.clock import run_virtually
from fakes.models import Scripted, said
from screentest.errors import RateLimited, Unavailable
from screentest.llms import Gate, Gated, Limited, Limiter, Message, Model, ModelSpec, Reply, Request, Retrying

SPEC = ModelSpec(provider="openai", model="gpt-4.1")


def question(key: object) -> Request:
    return Request(messages=(Message("user", "Hello"),), purpose="test", key=str(key))


async def keep_asking(model: Model, calls: int) -> None:
    for key in range(calls):
        await model.reply(question(key))


def test_a_slow_model_does_not_starve_a_fast_one() -> None:
    slow, fast = Scripted("…", seconds=60), Scripted("…", seconds=1)
    slow.name, fast.name = "slow", "fast"

    async def both() -> float:
        gate = Gate(8, opens_at=8)
        sluggish = [asyncio.create_task(keep_asking(Gated(slow, gate), 3)) for _ in range(40)]
        await asyncio.sleep(0.5)
        await asyncio.gather(*(keep_asking(Gated(fast, gate), 50) for _ in range(4)))
        done = asyncio.get_running_loop().time()
        await asyncio.gather(*sluggish)
        return done

    done = run_virtually(both())
    assert len(slow.requests) == 120
    assert len(fast.requests) == 200
    assert done < 180, "places come free when the first slow calls end at 60 s; first come first served would take 360"
    assert slow.peak == 8


class Limiting(Scripted):
    """Says 429, and to come back after a minute, until it is time."""

    def __init__(self, until: float) -> None:
        super().__init__("…")
        self.name, self.refused = "limiting", list[float]()
        self._until = until

    async def reply(self, request: Request) -> Reply:
        now = asyncio.get_running_loop().time
        self.began.append(now())
        await asyncio.sleep(1)
        if now() < self._until:
            self.refused.append(now())
            raise RateLimited("slow down", model=self.name, retry_after=60)
        return said("…")


def retried(model: Model, places: Gate) -> Model:
    """A model as a run opens it."""
    return Retrying(Limited(model, Limiter(places=places), SPEC))


def test_a_model_under_429_does_not_slow_the_others() -> None:
    limiting, quick = Limiting(until=150), Scripted("…", seconds=1)
    quick.name = "quick"

    async def both() -> tuple[float, float]:
        places = Gate(4, opens_at=4)
        now = asyncio.get_running_loop().time
        model = retried(limiting, places)
        waiting = [asyncio.create_task(model.reply(question(key))) for key in range(40)]
        await asyncio.sleep(0.5)
        assert places.in_flight == 4
        await asyncio.gather(*(keep_asking(retried(quick, places), 50) for _ in range(4)))
        quick_ended = now()
        assert places.in_flight == 0, "whoever is told to wait waits outside"
        await asyncio.gather(*waiting)
        assert places.in_flight == 0
        return quick_ended, now()

    quick_ended, ended = run_virtually(both())
    assert quick_ended <= 52, "four at once, a second each: one second of sharing, and nothing of the pause"
    assert ended < 300
    told_off = [(time, time + 60) for time in limiting.refused]
    assert not [began for began in limiting.began for start, end in told_off if start < began < end], (
        "nobody calls then"
    )
    assert len(limiting.refused) <= 3 * 4, "who waited for a place as the pause began goes on waiting"


def test_a_call_that_waits_for_a_place_can_be_dropped_and_leaves_nothing_behind() -> None:
    async def main() -> None:
        places = Gate(1)
        limiter = Limiter(concurrency=8, places=places)
        limited = Limited(Scripted("…", seconds=10), limiter, SPEC)
        calls = [asyncio.create_task(limited.reply(question(key))) for key in range(5)]
        await asyncio.sleep(1)
        assert limiter.gate.in_flight == 5
        for call in calls[1:]:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        assert (limiter.gate.in_flight, places.in_flight) == (0, 0)
        assert (await limited.reply(question("another"))).text == "…"

    run_virtually(main())


def test_a_storm_of_failures_pauses_everyone_and_then_probes_one_at_a_time() -> None:
    down_until = 30.0

    class Down(Scripted):
        async def reply(self, request: Request) -> Reply:
            self.began.append(asyncio.get_running_loop().time())
            await asyncio.sleep(0.1)
            if asyncio.get_running_loop().time() < down_until:
                raise Unavailable("503", model=self.name, status=503)
            return said("back again")

    down = Down()

    async def storm() -> None:
        limited = Limited(down, Limiter(concurrency=16), SPEC)

        async def insist(key: int) -> None:
            while True:
                try:
                    await limited.reply(question(key))
                except Unavailable:
                    continue
                return

        await asyncio.gather(*(insist(key) for key in range(16)))

    run_virtually(storm())
    during = [time for time in down.began if time < down_until]
    probes = [time for time in during if time > 0.2]
    assert len(during) - len(probes) < 32, "those in flight when the storm began, and those that had failed first"
    assert 1 <= len(probes) <= 4, "then longer and longer pauses, with one probe after each"
    assert all(later - earlier >= 2 for earlier, later in pairwise(probes))


def test_a_success_closes_the_circuit() -> None:
    limiter = Limiter(concurrency=4)
    answers = [*[Unavailable("500", model="m", status=500)] * 9, None, *[Unavailable("500", model="m", status=500)] * 7]
    began: list[float] = []

    class Flaky(Scripted):
        async def reply(self, request: Request) -> Reply:
            began.append(asyncio.get_running_loop().time())
            answer = answers.pop(0)
            if answer is not None:
                raise answer
            return said("well")

    async def one_after_another() -> None:
        limited = Limited(Flaky(), limiter, SPEC)
        for key in range(17):
            try:
                await limited.reply(question(key))
            except Unavailable:
                continue

    run_virtually(one_after_another())
    pauses = [later - earlier for earlier, later in pairwise(began)]
    assert max(pauses[:7]) == 0, "seven failures are no storm yet"
    assert pauses[7] == pytest.approx(2)
    assert max(pauses[9:]) == 0, "after a success the count begins anew"
