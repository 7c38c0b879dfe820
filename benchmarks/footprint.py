"""What an open conversation takes in memory: many are played to their eleventh turn, and held there.

Every conversation then has ten lines, its events and a call in flight, its prompt included, and every finished call is
in a store. The same number is opened twice in one process; what the second half adds to the resident set is what one
more conversation takes. Beside it stands what Python has allocated for it, by tracemalloc, in another process.

``python benchmarks/footprint.py`` exits with 1 if a conversation adds more than 64 KB. It reads ``/proc``, and so needs
Linux.
"""

from __future__ import annotations

import asyncio
import gc
import multiprocessing
import os
import sys
import tempfile
import tracemalloc
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from itertools import cycle, islice
from pathlib import Path

from concurrency import Lean, pairings

from screentest.llms import Journaled, Model, Noted, Reply, Request
from screentest.pools import starter_pool
from screentest.sim import Players, Rules, Store, play, record

HELD, WARMING_UP = (500, 1000), 50
TURNS, MOST = 10, 64
RULES = Rules(turns=20, min_turns=TURNS + 1)
IDENTITY = {"provider": "benchmark", "model": "lean"}


@dataclass
class Halting:
    """A model that answers nothing after the tenth turn."""

    model: Model
    name: str = "lean"
    held: set[str] = field(default_factory=set)
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    async def reply(self, request: Request) -> Reply:
        """Answer, or hold the conversation for good."""
        conversation, _, place = request.key.partition("/turn/")
        if int(place[:2]) > TURNS:
            self.held.add(conversation)
            self.changed.set()
            await asyncio.Event().wait()
        return await self.model.reply(request)

    async def wait_for(self, conversations: int) -> None:
        """Wait until so many are held."""
        while len(self.held) < conversations:
            self.changed.clear()
            await self.changed.wait()


def resident() -> int:
    """Bytes of this process that are in memory."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")


def allocated() -> int:
    """Bytes that Python has allocated."""
    return tracemalloc.get_traced_memory()[0]


async def _weigh(weight: Callable[[], int], count: int, warming_up: int, file: Path) -> tuple[float, float]:
    halting = Halting(Lean())
    with closing(Store(file)) as store:
        model = Journaled(Noted(halting, store, IDENTITY), store, IDENTITY)
        players = Players(director=model, scene=model, source=model, base=model, judge=model)
        cast = cycle(pairings(starter_pool()))
        tasks: list[asyncio.Task[object]] = []

        async def hold(more: int) -> int:
            for scene, test in islice(cast, more):
                key = f"{len(tasks):04d}"
                stream = play(scene, test=test, models=players, seed=1, key=key, rules=RULES)
                tasks.append(asyncio.create_task(record(stream, key)))
            await halting.wait_for(len(tasks))
            gc.collect()
            return weight()

        before = await hold(warming_up)
        first = await hold(count)
        second = await hold(count)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await store.drain(0)
    return (first - before) / count / 1024, (second - first) / count / 1024


def weighed(how: str, count: int, warming_up: int = WARMING_UP) -> tuple[float, float]:
    """KB a conversation, of the first ``count`` and of as many more.

    Args:
        how: ``resident`` or ``allocated``.
        count: How many conversations.
        warming_up: How many are opened before them.
    """
    if how == "allocated":
        tracemalloc.start()
    with tempfile.TemporaryDirectory() as place:
        weight = {"resident": resident, "allocated": allocated}[how]
        return asyncio.run(_weigh(weight, count, warming_up, Path(place) / "run.db"))


def apart(how: str, count: int) -> tuple[float, float]:
    """The same, in a process of its own."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as process:
        return process.submit(weighed, how, count).result()


HEAD = f"{'held':>6}{'resident KB each':>18}{'then as many more':>19}{'allocated KB each':>19}{'then as many more':>19}"


def main() -> int:
    """Measure, print, judge."""
    print(f"conversations held after turn {TURNS}, a call of each in flight, every finished call stored")
    print(HEAD)
    worst = 0.0
    for count in HELD:
        kept, allotted = apart("resident", count), apart("allocated", count)
        print(f"{count:>6}{kept[0]:>18.1f}{kept[1]:>19.1f}{allotted[0]:>19.1f}{allotted[1]:>19.1f}", flush=True)
        worst = max(worst, kept[1])
    print(f"most that one more conversation adds: {worst:.1f} KB ({'within' if worst <= MOST else 'OVER'} {MOST} KB)")
    return int(worst > MOST)


if __name__ == "__main__":
    sys.exit(main())
