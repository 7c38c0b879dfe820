"""How well a limit on calls in flight is used: by conversations of mixed lengths, and in connections.

Conversations of 6 to 40 turns share 64 places for calls of a fixed, fake latency. They cannot end sooner than their
longest chain of dependent calls, nor sooner than all calls together, so many at a time, so that the ratio is

    makespan / max(longest chain, calls / places) x latency

Then a run with as many places plays against a server in another process, which counts the connections opened and the
most requests under way at once.

``python benchmarks/limits.py`` exits with 1 if a ratio exceeds 1.05.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from itertools import cycle, islice
from pathlib import Path

from concurrency import Clock, Latent, Lean, pairings
from serving import Traffic, serving

from screentest.llms import Gate, Gated, Meter, Model, ModelSpec
from screentest.pools import starter_pool
from screentest.sim import Players, Rules, Session, group, open_run, play, record

PLACES, LATENCY, MOST = 64, 0.1, 1.05
LENGTHS = (6, 8, 10, 15, 20, 25, 30, 40)
PLANS = (64, 128, 256)
HEAD = f"{'conversations':>13}{'calls':>8}{'chain':>7}{'calls / places':>16}{'makespan s':>12}{'ratio':>8}"


async def perform(model: Model, lengths: list[int]) -> None:
    """Play one conversation of each length, all at once."""
    players = Players(director=model, scene=model, source=model, base=model, judge=model)
    cast = cycle(pairings(starter_pool()))

    async def one(k: int, turns: int) -> None:
        scene, test = next(cast)
        key, rules = f"{k:03d}", Rules(turns=turns, min_turns=turns)
        await record(play(scene, test=test, models=players, seed=1, key=key, rules=rules), key)

    await group(one(k, turns) for k, turns in enumerate(lengths))


async def mixed(conversations: int, latency: float = LATENCY, places: int = PLACES) -> tuple[str, float]:
    """A row of the table, and the ratio."""
    clock, lengths = Clock(latency), list(islice(cycle(LENGTHS), conversations))
    began = time.perf_counter()
    await perform(Gated(Latent(Lean(), clock), Gate(places, opens_at=places)), lengths)
    makespan = time.perf_counter() - began
    rounds = clock.calls / places
    ratio = makespan / (max(clock.chain, rounds) * latency)
    return f"{conversations:>13}{clock.calls:>8}{clock.chain:>7}{rounds:>16.1f}{makespan:>12.2f}{ratio:>8.3f}", ratio


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
    print(f"{LENGTHS[0]} to {LENGTHS[-1]} turns, {PLACES} places, {LATENCY * 1000:.0f} ms a call")
    print(HEAD, flush=True)
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
