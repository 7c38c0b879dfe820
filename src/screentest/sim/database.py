"""The database of a run: its tables, how it is opened, and the one thread that writes it."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from screentest.errors import InputError, StoreError

SCHEMA_VERSION = 1

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
    """Open the database, making its tables if need be.

    Raises:
        InputError: The file is no such database, or of a newer version.
    """
    try:
        connection = sqlite3.connect(path, isolation_level=None, timeout=30)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version > SCHEMA_VERSION:
            why = f"its version is {version}, this version of screentest reads up to {SCHEMA_VERSION}"
            raise InputError("the store is too new", where=str(path), why=why, hint="upgrade screentest")
        connection.executescript(_SCHEMA)
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    except sqlite3.Error as error:
        raise InputError("the run's store cannot be opened", where=str(path), why=str(error)) from error
    return connection


class Writer:
    """A thread that commits whatever is waiting whenever it is free, so that many rows share a commit.

    Args:
        path: The database file.
    """

    def __init__(self, path: Path) -> None:
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._broken: Exception | None = None
        self._thread = threading.Thread(target=self._run, args=(path,), name="screentest-store", daemon=True)
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
            raise StoreError(f"the store cannot be written: {self._broken}") from self._broken
        written = asyncio.get_running_loop().create_future()
        self._jobs.put((statement, row, written))
        await written

    def close(self) -> None:
        """Write what is waiting, and end the thread."""
        self._jobs.put(None)
        self._thread.join()

    def _run(self, path: Path) -> None:
        try:
            connection = connect(path)
        except (InputError, sqlite3.Error) as failure:
            self._broken = failure
            for batch in self._batches():
                _tell(batch, failure)
            return
        try:
            for batch in self._batches():
                try:
                    _commit(connection, batch)
                    error = None
                except Exception as failure:
                    self._broken = error = failure
                _tell(batch, error)
        finally:
            connection.close()

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
        connection.execute("ROLLBACK")
        raise


def _tell(batch: list[Job], error: Exception | None) -> None:
    waiting = [future for _, _, future in batch if future is not None]
    if waiting:
        waiting[0].get_loop().call_soon_threadsafe(_settle, waiting, error)


def _settle(waiting: list[asyncio.Future[None]], error: Exception | None) -> None:
    for future in waiting:
        if future.done():
            continue
        if error is None:
            future.set_result(None)
        else:
            future.set_exception(StoreError(f"the store cannot be written: {error}"))
