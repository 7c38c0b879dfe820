"""The database of a run: its tables, how it is opened, and the one thread that writes it."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from screentest.errors import InputError, StoreError
from screentest.sim.damage import damage

SCHEMA_VERSION = 2

_SCHEMA = """
CREATE TABLE IF NOT EXISTS calls (
    digest BLOB PRIMARY KEY,
    key TEXT NOT NULL,
    purpose TEXT NOT NULL,
    model TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('begun', 'done', 'failed')),
    text TEXT, reasoning TEXT, finish TEXT, served TEXT,
    input INTEGER, output INTEGER, cached INTEGER, thought INTEGER,
    latency REAL, cost REAL,
    error TEXT
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS retries (
    digest BLOB NOT NULL,
    cause TEXT NOT NULL,
    times INTEGER NOT NULL,
    PRIMARY KEY (digest, cause)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS batches (
    id TEXT PRIMARY KEY,
    model TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('submitting', 'submitted', 'ended', 'gone', 'void')),
    noted REAL NOT NULL,
    remote TEXT,
    rungs TEXT NOT NULL
);
"""

Job = tuple[str, tuple[Any, ...], "asyncio.Future[None] | None"]


def connect(path: Path) -> sqlite3.Connection:
    """Open the database, making its tables if need be; one that is damaged is left as it is.

    Raises:
        InputError: The file is no such database, is damaged, or of a newer version; or it cannot be opened.
    """
    try:
        found = damage(path)
    except (OSError, sqlite3.Error) as error:
        raise _closed(path, error) from error
    if found:
        hint = "nothing was changed; put a copy back, or begin again in another run directory"
        raise InputError("the run's store is damaged", where=str(path), why=found, hint=hint)
    return _open(path)


def _open(path: Path) -> sqlite3.Connection:
    try:
        connection = sqlite3.connect(path, isolation_level=None, timeout=30)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version > SCHEMA_VERSION:
            why = f"its version is {version}, this version of screentest reads up to {SCHEMA_VERSION}"
            raise InputError("the store is too new", where=str(path), why=why, hint="upgrade screentest")
        if version < SCHEMA_VERSION:
            connection.executescript(_SCHEMA)
            connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    except sqlite3.Error as error:
        raise _closed(path, error) from error
    return connection


def _closed(path: Path, error: Exception) -> InputError:
    hint = "see that its directory can be written and the disk is not full, and run the same command again"
    return InputError("the run's store cannot be opened", where=str(path), why=str(error), hint=hint)


class Writer:
    """A thread that commits whatever is waiting whenever it is free, so that many rows share a commit.

    Args:
        path: The database file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._broken: StoreError | None = None
        self._thread = threading.Thread(target=self._run, name="screentest-store", daemon=True)
        self._thread.start()

    def put(self, statement: str, row: tuple[Any, ...]) -> None:
        """Have a row written, without waiting for it."""
        self._jobs.put((statement, row, None))

    async def write(self, statement: str, row: tuple[Any, ...]) -> None:
        """Write a row; returns once it is on disk (``synchronous=FULL``).

        Raises:
            StoreError: It cannot be written.
        """
        if self._broken:
            raise self._broken
        written = asyncio.get_running_loop().create_future()
        self._jobs.put((statement, row, written))
        await written

    def close(self) -> None:
        """Write what is waiting, and end the thread."""
        self._jobs.put(None)
        self._thread.join()

    def _run(self) -> None:
        try:
            connection = _open(self._path)
        except (InputError, sqlite3.Error) as failure:
            self._break(failure)
            for batch in self._batches():
                _tell(batch, self._broken)
            return
        with closing(connection):
            for batch in self._batches():
                try:
                    _commit(connection, batch)
                except Exception as failure:
                    _tell(batch, self._break(failure))
                else:
                    _tell(batch, None)

    def _break(self, failure: Exception) -> StoreError:
        self._broken = StoreError(
            f"{self._path}: the store cannot be written; {failure}; every call it holds is kept: make room on the "
            "disk, or mend it, and run the same command again"
        )
        return self._broken

    def _batches(self) -> Iterator[list[Job]]:
        """Whatever is waiting, again and again, until the store is closed."""
        while (job := self._jobs.get()) is not None:
            batch, last = [job], False
            try:
                while not last:
                    waiting = self._jobs.get_nowait()
                    last = waiting is None
                    if waiting is not None:
                        batch.append(waiting)
            except Empty:
                pass
            yield batch
            if last:
                return


def _commit(connection: sqlite3.Connection, batch: list[Job]) -> None:
    connection.execute("BEGIN IMMEDIATE")
    try:
        for statement, row, _ in batch:
            connection.execute(statement, row)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _tell(batch: list[Job], error: StoreError | None) -> None:
    waiting = [future for _, _, future in batch if future is not None]
    if waiting:
        waiting[0].get_loop().call_soon_threadsafe(_settle, waiting, error)


def _settle(waiting: list[asyncio.Future[None]], error: StoreError | None) -> None:
    for future in waiting:
        if future.done():
            continue
        if error is None:
            future.set_result(None)
        else:
            future.set_exception(error)
