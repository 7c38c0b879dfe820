"""How well a limit on calls in flight is used: by conversations of mixed lengths, and in connections.

Conversations of 6 to 40 turns share 64 places for calls of a fake latency, which differs from call to call. They cannot
end sooner than their longest chain of dependent calls, nor sooner than all calls together, so many at a time, so that
the ratio is

    makespan / max(longest chain, work / places)

It is taken twice: first come first served, to compare, and in the gate's own order, the most turns remaining first.

Then a run with as many places plays against a server in another process, which counts the connections opened and the
most requests under way at once.

``python benchmarks/limits.py`` exits with 1 if a ratio in the gate's own order exceeds 1.05.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from collections import defaultdict
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path

from concurrency import Clock, Latent, Lean, pairings
from serving import Traffic, serving

from screentest.llms import Gate, Gated, Meter, Model, ModelSpec, Reply, Request, remaining
from screentest.pools import starter_pool
from screentest.randomness import generator
from screentest.sim import Players, Rules, Session, group, open_run, play, record

PLACES, LATENCY, MOST = 64, 0.1, 1.05
LENGTHS = (6, 8, 10, 15, 20, 25, 30, 40)
PLANS = (64, 128, 256)
HEAD = f"{'conversations':>13}{'calls':>8}{'chain s':>9}{'work / places s':>17}{'makespan s':>12}{'ratio':>8}"


class Uneven(Clock):
    """Latencies from half of the average to one and a half of it, for the same call always the same.

    Attributes:
        work: Seconds of all calls together.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        self.work = 0.0
        self._seconds = defaultdict[str, float](float)

    @property
    def longest(self) -> float:
        """Seconds of the longest chain of any conversation."""
        return max(self._seconds.values())

    async def wait(self, request: Request) -> None:
        """Take as long as this call takes."""
        conversation = request.key.partition("/turn/")[0]
        seconds = self.latency * generator(0, request.key).uniform(0.5, 1.5)
        before = self._seconds[conversation]
        self.calls += 1
        self.work += seconds
        await asyncio.sleep(seconds)
        self._seconds[conversation] = max(self._seconds[conversation], before + seconds)


@dataclass(frozen=True)
class FirstCome:
    """A model whose calls are all alike to the gate."""

    model: Model

    @property
    def name(self) -> str:
        """The model's label."""
        return self.model.name

    async def reply(self, request: Request) -> Reply:
        """Forget what remains, then answer."""
        remaining.set(0)
        return await self.model.reply(request)


async def perform(model: Model, lengths: list[int]) -> None:
    """Play one conversation of each length, all at once."""
    players = Players(director=model, scene=model, source=model, base=model, judge=model)
    cast = cycle(pairings(starter_pool()))

    async def one(k: int, turns: int) -> None:
        scene, test = next(cast)
        key, rules = f"{k:03d}", Rules(turns=turns, min_turns=turns)
        await record(play(scene, test=test, models=players, seed=1, key=key, rules=rules), key)

    await group(one(k, turns) for k, turns in enumerate(lengths))


async def mixed(
    conversations: int, latency: float = LATENCY, places: int = PLACES, *, first_come: bool = False
) -> tuple[str, float]:
    """A row of the table, and the ratio."""
    clock, lengths = Uneven(latency), list(islice(cycle(LENGTHS), conversations))
    model = Gated(Latent(Lean(), clock), Gate(places, opens_at=places))
    began = time.perf_counter()
    await perform(FirstCome(model) if first_come else model, lengths)
    makespan = time.perf_counter() - began
    shared = clock.work / places
    ratio = makespan / max(clock.longest, shared)
    row = f"{conversations:>13}{clock.calls:>8}{clock.longest:>9.2f}{shared:>17.2f}{makespan:>12.2f}{ratio:>8.3f}"
    return row, ratio


async def connected(url: str, conversations: int, places: int = PLACES) -> int:
    """Play against a server, as a run does; returns how many calls that made."""
    spec = ModelSpec(provider="openai", model="gpt-4.1", base_url=url, concurrency=places)
    meter = Meter()
    with tempfile.TemporaryDirectory() as place:
        session = Session(concurrency=places, environment={})
        async with open_run(Path(place), {"lean": spec}, session, meter) as run:
            await perform(run.models["lean"], [10] * conversations)
    return meter.finished


def main() -> int:
    """Measure, print, judge."""
    span = f"{LATENCY * 500:.0f} to {LATENCY * 1500:.0f} ms"
    print(f"{LENGTHS[0]} to {LENGTHS[-1]} turns, {PLACES} places, {span} a call")
    print(HEAD, flush=True)
    print("first come first served", flush=True)
    for conversations in PLANS:
        print(asyncio.run(mixed(conversations, first_come=True))[0], flush=True)
    print("most turns remaining first", flush=True)
    worst = 0.0
    for conversations in PLANS:
        row, ratio = asyncio.run(mixed(conversations))
        print(row, flush=True)
        worst = max(worst, ratio)
    with serving(LATENCY) as server:
        calls = asyncio.run(connected(server.url, 2 * PLACES))
        seen: Traffic = server.traffic()
    opened = seen.connections / seen.peak
    print(
        f"{calls} calls to a server: {seen.connections} connections, at most {seen.peak} in flight; ratio {opened:.3f}"
    )
    worst = max(worst, opened)
    print(f"worst ratio: {worst:.3f} ({'within' if worst <= MOST else 'OVER'} the limit of {MOST})")
    return int(worst > MOST)


if __name__ == "__main__":
    sys.exit(main())
