"""What it costs to keep every call: time while playing, time to read the calls back, bytes on disk.

The same conversations are played at once without and with the journal, in turns, against a model of fixed, fake
latency; the better of each counts. Then every call is answered from the store, and the file is weighed.

``python benchmarks/journal.py`` exits with 1 if the journal slows the makespan by more than 2 % or answers fewer than
20,000 calls a second. ``python benchmarks/journal.py DIR`` keeps the store on the disk that DIR is on.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path

from concurrency import Clock, Latent, Lean, pairings

from screentest.llms import Gate, Gated, Journaled, Model, Noted, Reply, Request
from screentest.pools import starter_pool
from screentest.sim import Players, Rules, Store, group, play, record

CONVERSATIONS, LATENCY, ROUNDS = 64, 0.2, 2
SLOWEST, FEWEST = 1.02, 20_000
RULES = Rules(turns=20)
IDENTITY = {"provider": "benchmark", "model": "lean"}


@dataclass(frozen=True)
class Listening:
    """A model that remembers what it was asked."""

    model: Model
    heard: list[Request]

    @property
    def name(self) -> str:
        """The model's label."""
        return self.model.name

    async def reply(self, request: Request) -> Reply:
        """Remember, and pass on."""
        self.heard.append(request)
        return await self.model.reply(request)


@dataclass(frozen=True)
class Played:
    """One performance: ``makespan`` and ``cpu`` in seconds."""

    makespan: float
    cpu: float
    requests: Sequence[Request]


async def perform(store: Store | None) -> Played:
    """Play all conversations at once, keeping the calls in ``store`` if there is one."""
    heard: list[Request] = []
    model: Model = Listening(Latent(Lean(), Clock(LATENCY)), heard)
    if store:
        model = Noted(model, store, IDENTITY)
    model = Gated(model, Gate(2 * CONVERSATIONS, opens_at=2 * CONVERSATIONS))
    if store:
        model = Journaled(model, store, IDENTITY)
    players = Players(director=model, scene=model, source=model, base=model, judge=model)
    cast = islice(cycle(pairings(starter_pool())), CONVERSATIONS)
    keyed = [(f"{k:03d}", scene, test) for k, (scene, test) in enumerate(cast)]
    began, cpu = time.perf_counter(), time.process_time()
    await group(
        record(play(scene, test=test, models=players, seed=1, key=key, rules=RULES), key) for key, scene, test in keyed
    )
    return Played(time.perf_counter() - began, time.process_time() - cpu, heard)


def replay(file: Path, requests: Sequence[Request]) -> float:
    """Calls a second that the store answers."""

    async def all_of_them(store: Store) -> float:
        model = Journaled(Lean(), store, IDENTITY)
        began = time.perf_counter()
        for request in requests:
            await model.reply(request)
        return len(requests) / (time.perf_counter() - began)

    with closing(Store(file, replay=True)) as store:
        return asyncio.run(all_of_them(store))


def main(directory: Path | None = None) -> int:
    """Measure, print, judge."""
    without: list[Played] = []
    kept: list[Played] = []
    with tempfile.TemporaryDirectory(dir=directory) as place:
        for n in range(ROUNDS):
            without.append(asyncio.run(perform(None)))
            with closing(Store(Path(place) / f"{n}.db")) as store:
                kept.append(asyncio.run(perform(store)))
        rate = replay(Path(place) / "0.db", kept[0].requests)
        size = (Path(place) / "0.db").stat().st_size
    calls = len(kept[0].requests)
    plain, journalled = (min(played.makespan for played in rounds) for rounds in (without, kept))
    cpu = min(played.cpu for played in kept) - min(played.cpu for played in without)
    ratio = journalled / plain
    print(f"{CONVERSATIONS} conversations at once, {calls} calls of {1000 * LATENCY:.0f} ms, best of {ROUNDS}")
    print(f"{'makespan without the journal':<42}{plain:>12.2f} s")
    print(f"{'makespan with the journal':<42}{journalled:>12.2f} s")
    print(f"{'ratio':<42}{ratio:>12.3f}   at most {SLOWEST}")
    print(f"{'CPU the journal adds to a call':<42}{1000 * cpu / calls:>12.3f} ms")
    print(f"{'calls answered from the store':<42}{rate:>12,.0f} /s at least {FEWEST:,}")
    print(f"{'run.db':<42}{size / CONVERSATIONS / 1024:>12.1f} KB a conversation")
    return int(ratio > SLOWEST or rate < FEWEST)


if __name__ == "__main__":
    sys.exit(main(*map(Path, sys.argv[1:2])))
