"""Places are shared fairly between models, the most urgent first, and a storm of failures opens the circuit."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from itertools import cycle, islice, pairwise
from math import inf
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doubles import Improviser, Wrapped, heroine, stage
from fakes.clock import run_virtually
from fakes.models import Scripted, said
from screentest.errors import RateLimited, Unavailable
from screentest.llms import (
    Gate,
    Gated,
    Limited,
    Limiter,
    Message,
    Model,
    ModelSpec,
    Reply,
    Request,
    Retrying,
    remaining,
    wave,
)
from screentest.llms.limits import RequestRate, TokenBucket
from screentest.randomness import generator
from screentest.sim import Players, Rules, group, play, record, staggered

SPEC = ModelSpec(provider="openai", model="gpt-4.1")
MIXED = list(islice(cycle((6, 8, 10, 15, 20, 25, 30, 40)), 64))


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


@asynccontextmanager
async def full(gate: Gate) -> AsyncIterator[None]:
    """Every place of a gate is taken, and whoever has come by now waits."""
    for _ in range(gate.width):
        await gate.acquire("before")
    yield
    await asyncio.sleep(0)
    for _ in range(gate.width):
        gate.release("before")


Caller = Callable[[int], Coroutine[Any, Any, None]]


def urgent(call: Caller, number: int, left: float, waves: int = 0) -> asyncio.Task[None]:
    """A task that makes a call of a conversation that still has to go so far."""

    async def converse() -> None:
        wave.set(waves)
        remaining.set(left)
        await asyncio.create_task(call(number))

    return asyncio.create_task(converse())


@given(st.lists(st.tuples(st.integers(0, 2), st.sampled_from((0, 1, 5, inf))), max_size=12))
def test_the_earliest_wave_and_then_the_most_turns_remaining_go_first(calls: list[tuple[int, float]]) -> None:
    served: list[int] = []

    async def main() -> None:
        gate = Gate(1)

        async def call(number: int) -> None:
            async with gate.place():
                served.append(number)

        async with full(gate):
            tasks = [urgent(call, number, left, waves) for number, (waves, left) in enumerate(calls)]
            await asyncio.sleep(0.1)
        await asyncio.gather(*tasks)
        assert gate.in_flight == 0

    run_virtually(main())
    assert served == sorted(range(len(calls)), key=lambda number: (calls[number][0], -calls[number][1], number))


def test_whoever_says_nothing_of_what_remains_goes_first_in_order_of_arrival() -> None:
    served: list[int] = []

    async def main() -> None:
        gate = Gate(1)

        async def call(number: int) -> None:
            async with gate.place():
                served.append(number)

        async with full(gate):
            tasks = [urgent(call, 0, 100), *(asyncio.create_task(call(number)) for number in (1, 2, 3))]
            await asyncio.sleep(0.1)
        await asyncio.gather(*tasks)

    run_virtually(main())
    assert served == [1, 2, 3, 0]


def test_an_urgent_model_cannot_take_all_places_from_another() -> None:
    served: list[str] = []

    async def main() -> None:
        gate = Gate(4)

        async def call(number: int) -> None:
            model = "long" if number < 40 else "short"
            async with gate.place(model):
                served.append(model)
                await asyncio.sleep(1)

        async with full(gate):
            tasks = [urgent(call, number, 100 if number < 40 else 1) for number in range(50)]
            await asyncio.sleep(0.1)
        await asyncio.gather(*tasks)

    run_virtually(main())
    assert Counter(served[:20]) == {"long": 10, "short": 10}


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans()), min_size=1, max_size=12), st.booleans())
def test_whoever_is_dropped_while_waiting_keeps_nobody_from_a_place(
    calls: list[tuple[int, bool]], as_it_comes_free: bool
) -> None:
    served: list[int] = []

    async def main() -> None:
        gate = Gate(2)

        async def call(number: int) -> None:
            async with gate.place():
                served.append(number)
                await asyncio.sleep(1)

        def drop() -> None:
            for task, (_, dropped) in zip(tasks, calls, strict=True):
                if dropped:
                    task.cancel()

        async with full(gate):
            tasks = [urgent(call, number, left) for number, (left, _) in enumerate(calls)]
            await asyncio.sleep(0.1)
            if not as_it_comes_free:
                drop()
        if as_it_comes_free:
            drop()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert gate.in_flight == 0
        await asyncio.wait_for(gate.acquire("another"), 1)

    run_virtually(main())
    staying = [number for number, (_, dropped) in enumerate(calls) if not dropped]
    assert served == sorted(staying, key=lambda number: (-calls[number][0], number))


@pytest.mark.parametrize("limit", ["requests", "tokens"])
def test_limits_a_minute_let_the_most_urgent_pass_first(limit: str) -> None:
    served: list[int] = []

    async def main() -> None:
        requests, tokens = RequestRate(30), TokenBucket(6000)

        async def call(number: int) -> None:
            await (requests.acquire() if limit == "requests" else tokens.reserve(1500))
            served.append(number)

        tasks = [urgent(call, number, left) for number, left in enumerate((1, 2, 3, 3, 9))]
        await asyncio.gather(*tasks)

    run_virtually(main())
    assert served == [0, 1, 4, 2, 3], "the first found the limit free, the second was at its head as the others came"


def test_later_waves_of_a_series_wait_for_earlier_ones() -> None:
    found: list[tuple[int, int]] = []

    async def job(k: int) -> None:
        found.append((k, wave.get()))
        remaining.set(k)

    async def main() -> None:
        await staggered(lambda k, _: job(k) if k < 5 else None, lag=2)
        assert (wave.get(), remaining.get()) == (0, inf), "what a job sets is its own"

    run_virtually(main())
    assert found == [(0, 0), (1, 0), (2, 1), (3, 1), (4, 2)]


class Uneven(Improviser):
    """A model whose calls take from half a second to one and a half, always the same for the same call.

    Attributes:
        work: Seconds of all calls.
        chains: Seconds of the longest chain of calls that depend on each other, by conversation.
    """

    def __init__(self) -> None:
        super().__init__()
        self.work, self.chains = 0.0, defaultdict[str, float](float)

    async def reply(self, request: Request) -> Reply:
        conversation, seconds = request.key.partition("/")[0], generator(0, request.key).uniform(0.5, 1.5)
        before = self.chains[conversation]
        self.work += seconds
        await asyncio.sleep(seconds)
        self.chains[conversation] = max(self.chains[conversation], before + seconds)
        return await super().reply(request)


def makespan(lengths: Sequence[int], places: int, before: Callable[[Request], object] | None = None) -> float:
    """How long conversations of these lengths take, over the least that they could take; ``before`` comes before a call
    reaches the gate."""
    uneven = Uneven()

    async def main() -> float:
        gated: Model = Gated(uneven, Gate(places, opens_at=places))
        model = Wrapped(gated, before) if before else gated
        players = Players(director=model, scene=model, source=model, base=model, judge=model)

        async def one(key: str, turns: int) -> None:
            rules = Rules(turns=turns, min_turns=turns)
            await record(play(stage(), test=heroine(), models=players, key=key, rules=rules), key)

        await group(one(f"{k:03d}", turns) for k, turns in enumerate(lengths))
        return asyncio.get_running_loop().time()

    took = run_virtually(main())
    return took / max(uneven.work / places, *uneven.chains.values())


@pytest.mark.parametrize("places", [16, 32, 64])
def test_conversations_of_mixed_lengths_take_hardly_longer_than_they_must(places: int) -> None:
    assert makespan(MIXED, places) <= 1.05


def test_first_come_first_served_would_take_longer() -> None:
    def all_alike(_: Request) -> None:
        remaining.set(0)

    assert makespan(MIXED, 32, all_alike) > 1.25
