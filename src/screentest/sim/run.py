"""The run directory: a lock, a frozen identity, a store, and models whose every finished call is kept."""

from __future__ import annotations

import json
import logging
import os
import socket
import sqlite3
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from filelock import FileLock, Timeout

from screentest.errors import InputError, RunLocked, StoreError
from screentest.llms import (
    Batches,
    Budget,
    Budgeted,
    Gate,
    Journaled,
    Meter,
    Model,
    ModelSpec,
    Pace,
    Reply,
    Request,
    half_price,
    open_models,
)
from screentest.sim.damage import damage
from screentest.sim.database import connect
from screentest.sim.store import Store, Tally

log = logging.getLogger(__name__)

STORE = "run.db"
_LOCK, HOLDER = ".lock", ".lock.json"
_DRAFT = ".run.db.tmp"
_GRACE = 20.0


@dataclass(frozen=True, slots=True)
class Run:
    """An open run directory.

    Attributes:
        directory: Where it is.
        store: Every model call.
        models: Label to model.
    """

    directory: Path
    store: Store
    models: Mapping[str, Model]


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """How one process works on a run; none of it decides what comes out.

    Attributes:
        concurrency: The most model calls in flight, all models together.
        max_usd: The most that all sessions of the run may spend.
        replay: Make no call; answer from the store alone.
        retry_failed: Make calls that failed for good again; what a build played after them may then change. An
            evaluation always does.
        environment: Where keys are read from; the process's own by default.
        tally: Filled in, for whoever watches.
        batch: Send calls in batches, at half the price, where the provider takes them. They come back within a day.
        pace: How patient batches are.
    """

    concurrency: int = 32
    max_usd: float | None = None
    replay: bool = False
    retry_failed: bool = False
    environment: Mapping[str, str] | None = None
    tally: Tally = field(default_factory=Tally)
    batch: bool = False
    pace: Pace = field(default_factory=Pace)

    @property
    def width(self) -> int:
        """The most model calls under way: all there are if they go in batches, for a batch is to be large."""
        return sys.maxsize if self.batch else self.concurrency


@asynccontextmanager
async def open_run(
    directory: Path, specs: Mapping[str, ModelSpec], session: Session, meter: Meter
) -> AsyncIterator[Run]:
    """Open a run directory's store and its models.

    A call takes a place, and is noted in the store, for as long as an attempt at it is under way: what waits for a
    limit or for its next attempt keeps no other model from being called.

    However the body ends, calls in flight are waited for (20 seconds at most) and kept: they are being paid for. Those
    that wait for their turn, or for their next attempt, are dropped.
    Batches are left at the provider, where the next session finds them.

    Args:
        directory: The run's directory; it is to be locked already.
        specs: Label to model.
        session: How to work.
        meter: Counts calls as they are made.

    Raises:
        InputError: A key or a price is missing, or the store cannot be opened.
    """
    store = Store(directory / STORE, replay=session.replay, retry_failed=session.retry_failed, tally=session.tally)
    try:
        batches = Batches(store, session.pace, meter.batches) if session.batch else None
        if not session.batch and not session.replay and (away := _away(store)):
            log.warning(
                "%s: %d batches are still at the provider; only --batch fetches what they cost", directory, away
            )
        async with AsyncExitStack() as stack:
            if session.replay:
                opened: Mapping[str, Model] = {label: _Absent(label) for label in specs}
            else:
                environment = os.environ if session.environment is None else session.environment
                places = Gate(session.width, opens_at=session.width)
                opened = await stack.enter_async_context(
                    open_models(
                        specs, environment=environment, meter=meter, batches=batches, journal=store, places=places
                    )
                )
            budget = None if session.max_usd is None else Budget(session.max_usd, store.spent())
            models: dict[str, Model] = {}
            for label, spec in specs.items():
                model = opened[label]
                if budget is not None:
                    model = Budgeted(model, budget, half_price(spec) if batches and not spec.local else spec)
                models[label] = Journaled(model, store, spec.identity())
            try:
                yield Run(directory, store, models)
            finally:
                if batches:
                    await batches.retire()
                await store.drain(_GRACE)
    finally:
        store.close()


@contextmanager
def locked(directory: Path) -> Iterator[None]:
    """Keep every other process out of a run directory, which is made if need be.

    Raises:
        RunLocked: Another process is in; names it.
        InputError: The directory cannot be made or written.
    """
    lock, holder = FileLock(directory / _LOCK), directory / HOLDER
    try:
        directory.mkdir(parents=True, exist_ok=True)
        lock.acquire(timeout=0)
        holder.write_text(json.dumps({"pid": os.getpid(), "host": socket.gethostname()}), encoding="utf-8")
    except Timeout:
        raise RunLocked(f"{directory}: {_who(holder)} is working on this run; wait for it, or stop it") from None
    except OSError as error:
        _leave(lock, holder)
        why = error.strerror or str(error)
        raise InputError("cannot use the run directory", where=str(directory), why=why) from None
    try:
        yield
    finally:
        _leave(lock, holder)


def _leave(lock: FileLock, holder: Path) -> None:
    with suppress(OSError):
        if lock.is_locked:
            holder.unlink(missing_ok=True)
    lock.release()


def fork(source: Path, target: Path) -> None:
    """Copy a run's calls into a new run directory, where those that still apply are reused.

    Those that were in flight when the run stopped are left out: the copy may never need them.

    Raises:
        InputError: There is no run to copy, or something where the copy should go.
    """
    if not (source / STORE).is_file():
        raise InputError("there is no run to fork", where=str(source), why=f"it has no {STORE}")
    if target.exists() and (not target.is_dir() or any(file.name != _DRAFT for file in target.iterdir())):
        raise InputError("will not fork into it", where=str(target), why="it is not empty", hint="name a new directory")
    try:
        if found := damage(source / STORE):
            raise InputError("the run cannot be copied", where=str(source / STORE), why=found)
        target.mkdir(parents=True, exist_ok=True)
        draft = target / _DRAFT
        draft.unlink(missing_ok=True)
        with closing(sqlite3.connect(source / STORE)) as original, closing(sqlite3.connect(draft)) as copy:
            original.backup(copy)
        with closing(connect(draft)) as copy:
            copy.execute("DELETE FROM calls WHERE state = 'begun'")
            copy.execute("DELETE FROM retries WHERE digest NOT IN (SELECT digest FROM calls)")
            copy.execute("PRAGMA journal_mode = DELETE")
        draft.replace(target / STORE)
    except (OSError, sqlite3.Error) as error:
        raise InputError("the run cannot be copied", where=str(source / STORE), why=str(error)) from None


def _away(store: Store) -> int:
    return sum(batch.state in {"submitting", "submitted"} for batch in store.batches())


def _who(holder: Path) -> str:
    try:
        data = json.loads(holder.read_text(encoding="utf-8"))
        return f"process {data['pid']} on {data['host']}"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"


@dataclass(frozen=True, slots=True)
class _Absent:
    """Stands where a model would be; a replay never gets to it."""

    name: str

    async def reply(self, request: Request) -> Reply:
        raise StoreError(f"a replay makes no calls, and {request.key} of {self.name} is not in the store")
