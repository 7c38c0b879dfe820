"""How long it takes to go on with a run of 100,000 kept calls, beside reading the same rows from SQLite.

The understudies build until about that many calls are kept. Then the same build is repeated in a new process: it makes
no call and has to emit the same bytes. Beside it stand bare ``SELECT`` statements, one for each row in no order, and
what the store makes of the same rows.

``python benchmarks/resume.py`` exits with 1 if the store answers fewer than 20,000 calls a second.
``python benchmarks/resume.py CALLS`` keeps another number of calls.
"""

from __future__ import annotations

import asyncio
import hashlib
import multiprocessing
import random
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from sampling import sampled, shares

from screentest.builders import Config, build
from screentest.builders.emission import EMITTED, emit
from screentest.llms import Call, Reply
from screentest.llms.journal import digest
from screentest.llms.structured import parse
from screentest.prompts import fence, render
from screentest.sim import STORE, Session, Store, Tally, view

CALLS, FEWEST = 100_000, 20_000
CELLS, CALLS_A_SCENE = 50, 45
SOURCES = ("ann", "bea", "cyd", "dot", "eve")
COLUMNS = "state, text, reasoning, finish, served, input, output, cached, thought, latency, cost, error"
PARTS: dict[str, Callable[..., Any]] = {
    "prompts": render,
    "fences": fence,
    "views": view,
    "keys": digest,
    "store": Store.find,
    "parsing": parse,
    "emitting": emit,
}

T = TypeVar("T")


def configured(calls: int) -> Config:
    """A build of the starter pool's ten characters and five sources, of about so many calls."""
    roles = {"director": "ann", "scene": "ann", "base": "ann", "judge": "ann", "filter": "ann", "sources": SOURCES}
    return Config.model_validate(
        {
            "models": {name: {"provider": "understudy", "skill": "adept"} for name in SOURCES},
            "roles": roles,
            "build": {"quota": calls, "scenes": max(1, round(calls / CELLS / CALLS_A_SCENE))},
        }
    )


@dataclass(frozen=True)
class Built:
    """One session of the build: ``seconds`` by the clock, ``cpu`` seconds, what it did, and what it emitted."""

    seconds: float
    cpu: float
    made: int
    reused: int
    emitted: str
    looks: Counter[str]


def session(run: Path, config: Config, look: bool = False) -> Built:
    """Build, or go on."""
    tally = Tally()
    with sampled(PARTS if look else {}) if look else _unwatched() as looks:
        began, cpu = time.perf_counter(), time.process_time()
        asyncio.run(_build(config, run, tally))
        seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    files = b"".join((run / name).read_bytes() for name in EMITTED)
    return Built(seconds, cpu, tally.made, tally.reused, hashlib.sha256(files).hexdigest(), looks)


async def _build(config: Config, run: Path, tally: Tally) -> None:
    await build(config, run, session=Session(tally=tally, environment={}))


@contextmanager
def _unwatched() -> Iterator[Counter[str]]:
    yield Counter()


def apart(function: Callable[..., T], *arguments: object) -> T:
    """Call a function in a process of its own."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as process:
        return process.submit(function, *arguments).result()


@dataclass(frozen=True)
class Read:
    """Reading every row: ``seconds`` by the clock, and ``cpu`` seconds."""

    seconds: float
    cpu: float


def read_bare(run: Path) -> Read:
    """Read with one ``SELECT`` for each row, in no order."""
    digests = _digests(run)
    with closing(sqlite3.connect(run / STORE)) as connection:
        began, cpu = time.perf_counter(), time.process_time()
        for one in digests:
            connection.execute(f"SELECT {COLUMNS} FROM calls WHERE digest = ?", (one,)).fetchall()  # noqa: S608
        return Read(time.perf_counter() - began, time.process_time() - cpu)


def read_store(run: Path) -> Read:
    """Have the store answer every call, in no order."""
    calls = [Call(digest, "", "", "") for digest in _digests(run)]
    with closing(Store(run / STORE, replay=True)) as store:
        began, cpu = time.perf_counter(), time.process_time()
        assert all(isinstance(store.find(call), Reply) for call in calls)
        return Read(time.perf_counter() - began, time.process_time() - cpu)


def _digests(run: Path) -> list[bytes]:
    with closing(sqlite3.connect(run / STORE)) as connection:
        digests = [row[0] for row in connection.execute("SELECT digest FROM calls WHERE state = 'done'")]
    random.Random(1).shuffle(digests)
    return digests


HEAD = f"{'':<32}{'s':>9}{'CPU s':>9}{'calls / CPU s':>16}{'/ bare':>9}"


def row(name: str, took: Built | Read, calls: int, bare: Read) -> str:
    """A row of the table."""
    return f"{name:<32}{took.seconds:>9.1f}{took.cpu:>9.1f}{calls / took.cpu:>16,.0f}{took.cpu / bare.cpu:>9.1f}"


def main(calls: int = CALLS) -> int:
    """Measure, print, judge."""
    with tempfile.TemporaryDirectory() as place:
        run = Path(place) / "run"
        config = configured(calls)
        first = apart(session, run, config)
        again = apart(session, run, config)
        watched = apart(session, run, config, True)
        bare, stored = apart(read_bare, run), apart(read_store, run)
        size = (run / STORE).stat().st_size
    kept = again.reused
    assert (again.made, watched.made) == (0, 0)
    assert kept == first.made
    assert first.emitted == again.emitted == watched.emitted
    print(f"{kept:,} calls kept, {size / 1024 / 1024:.0f} MB")
    print(HEAD)
    print(row("the build that made them", first, kept, bare))
    print(row("rows read from SQLite", bare, kept, bare))
    print(row("calls answered by the store", stored, kept, bare))
    print(row("the whole build, from the store", again, kept, bare))
    print(f"where the last one's CPU goes: {shares(watched.looks)}")
    rate = kept / stored.cpu
    print(f"the store answers {rate:,.0f} a second ({'at least' if rate >= FEWEST else 'LESS THAN'} {FEWEST:,})")
    return int(rate < FEWEST)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:2])))
