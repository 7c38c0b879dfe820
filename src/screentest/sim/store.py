"""The store of a run: a SQLite file that holds every model call."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Coroutine, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from screentest.errors import HOPELESS, BadReply, CallError, InputError, Rejected, ScreentestError, StoreError
from screentest.llms import BatchRecord, Call, Reply, Usage
from screentest.sim.database import Writer, connect

EVALUATION = "@eval"
"""What the keys of an evaluation's calls begin with; no identifier does."""

REFLECTION = "@reflect"
"""What the keys of calls begin with in which a model looks back on its trajectories."""

_COLUMNS = (
    "digest, key, purpose, model, state, text, reasoning, finish, served, input, output, cached, thought, latency, "
    "cost, error"
)
_PUT = f"INSERT OR REPLACE INTO calls ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"  # noqa: S608
INTERRUPTED = "interrupted"
"""The cause of an attempt that repeats one which was in flight when a session ended."""

_AGAIN = (
    "INSERT INTO retries (digest, cause, times) "  # noqa: S608
    f"SELECT digest, coalesce(json_extract(error, '$.kind'), '{INTERRUPTED}'), 1 FROM calls "
    "WHERE digest = ? AND state <> 'done' ON CONFLICT (digest, cause) DO UPDATE SET times = times + 1"
)
_BEGIN = (
    "INSERT INTO calls (digest, key, purpose, model, state) VALUES (?, ?, ?, ?, 'begun') "
    "ON CONFLICT (digest) DO UPDATE SET state = 'begun', error = NULL"
)
_MISSED = "UPDATE calls SET error = ? WHERE digest = ? AND state = 'begun'"
IN_FLIGHT = "state = 'begun' AND error IS NULL"
"""Holds for a call whose attempt has set out, and neither failed nor brought a reply."""

_NOTE = "INSERT OR REPLACE INTO batches (id, model, state, noted, remote, rungs) VALUES (?, ?, ?, ?, ?, ?)"
_BATCHES = "SELECT id, model, state, noted, remote, rungs FROM batches ORDER BY noted, id"
_FIND = (
    "SELECT state, text, reasoning, finish, served, input, output, cached, thought, latency, cost, error "
    "FROM calls WHERE digest = ?"
)


@dataclass(slots=True)
class Tally:
    """What a session found in the store, and what it did.

    Attributes:
        stored: Calls that had a reply when the session began.
        interrupted: Calls that were in flight when an earlier session ended.
        reused: Calls answered from the store.
        repeated: Calls made again that were in flight when an earlier session ended.
        made: Calls made, the repeated ones included, however often each was attempted.
        failed: Calls that failed for good.
    """

    stored: int = 0
    interrupted: int = 0
    reused: int = 0
    repeated: int = 0
    made: int = 0
    failed: int = 0


class Store:
    """The journal of a run directory: one file, written by one thread.

    Many calls share a commit, and a call goes on only when its own row is on disk.

    Args:
        path: The database file; made if need be.
        replay: Make no call: one that is not stored is an error.
        retry_failed: Make calls that failed for good again.
        tally: Filled in, for whoever watches.

    Raises:
        InputError: The file is not such a store, or of a newer version.
        StoreError: It is damaged.
    """

    def __init__(
        self, path: Path, *, replay: bool = False, retry_failed: bool = False, tally: Tally | None = None
    ) -> None:
        self._path, self._replay, self._retry_failed = path, replay, retry_failed
        self.tally = tally or Tally()
        if replay and not path.is_file():
            why = "the file is not there, so that no call can be answered"
            raise InputError("there is nothing to replay", where=str(path), why=why)
        self._reader = connect(path)
        self._interrupted = {row[0] for row in self._rows(f"SELECT digest FROM calls WHERE {IN_FLIGHT}")}  # noqa: S608
        self._tried = {row[0] for row in self._rows("SELECT digest FROM calls WHERE state <> 'done'")}
        self.tally.interrupted = len(self._interrupted)
        self.tally.stored = self._rows("SELECT count(*) FROM calls WHERE state = 'done'")[0][0]
        self._running: set[asyncio.Task[Any]] = set()
        self._away: dict[asyncio.Task[Any] | None, bool] = {}
        self._draining = False
        self._writer = Writer(path)

    def find(self, call: Call) -> Reply | ScreentestError | None:
        """The reply to a call that finished, or the error of one that failed for good.

        What a run made of a failure may decide all that came after it, so a failed call fails again the same way,
        unless it is to be retried, or the provider refused the key, the credit or the model: that may be mended.

        Raises:
            StoreError: Replaying, and the call is not in the store.
        """
        row = next(iter(self._rows(_FIND, (call.digest,))), None)
        if row and row[0] == "done":
            self.tally.reused += 1
            return _reply(row)
        if row and row[0] == "failed":
            error = _error(row[-1])
            if self._replay or not (self._retry_failed or _may_be_mended(error)):
                self.tally.reused += 1
                return error
        if not self._replay:
            return None
        raise StoreError(f"a replay makes no calls, and {call.key} of {call.model} is not in the store")

    def begin(self, call: Call, *, resumed: bool = False) -> None:
        """Note that an attempt at the current task's call sets out.

        If it is not the first one, of this session or another, it counts as a retry, by what became of the one before.

        Args:
            call: The call.
            resumed: It is no new attempt, but goes on waiting for one that an earlier session made.
        """
        task = asyncio.current_task()
        again = task in self._away or call.digest in self._tried
        if task not in self._away:
            self.tally.made += 1
            self.tally.repeated += call.digest in self._interrupted
        self._away[task] = True
        if again and not resumed:
            self._writer.put(_AGAIN, (call.digest,))
        self._writer.put(_BEGIN, (call.digest, call.key, call.purpose, call.model))

    def missed(self, call: Call, error: CallError | BadReply) -> None:
        """Note that an attempt at the current task's call failed.

        Until another one sets out, the call is not in flight; :meth:`drain` drops it, unless it has been paid for.
        """
        self._writer.put(_MISSED, (_told(error), call.digest))
        if isinstance(error, CallError):
            self._away[asyncio.current_task()] = False
            if self._draining:
                raise asyncio.CancelledError

    async def finish(self, call: Call, reply: Reply) -> None:
        """Keep a reply; returns once it is on disk."""
        usage = reply.usage
        tokens = (usage.input, usage.output, usage.cached, usage.reasoning) if usage else (None,) * 4
        said = (_storable(reply.text), _storable(reply.reasoning), reply.finish, reply.model)
        await self._writer.write(_PUT, (*_head(call, "done"), *said, *tokens, reply.latency, reply.cost, None))

    async def fail(self, call: Call, error: ScreentestError) -> None:
        """Keep an error, so that a replay fails the same way; returns once it is on disk."""
        self.tally.failed += 1
        await self._writer.write(_PUT, (*_head(call, "failed"), *(None,) * 10, _told(error)))

    def batches(self) -> list[BatchRecord]:
        """All batches of all sessions, for :class:`screentest.llms.Batches`."""
        return [
            BatchRecord(id=name, model=model, state=state, noted=noted, remote=remote, rungs=orjson.loads(rungs))
            for name, model, state, noted, remote, rungs in self._rows(_BATCHES)
        ]

    async def note(self, batch: BatchRecord) -> None:
        """Keep a batch as it is now; returns once it is on disk."""
        rungs = orjson.dumps(batch.rungs).decode()
        await self._writer.write(_NOTE, (batch.id, batch.model, batch.state, batch.noted, batch.remote, rungs))

    def guard(self, work: Coroutine[Any, Any, Reply]) -> asyncio.Task[Reply]:
        """Run a call as a task of the store's own, which :meth:`drain` waits for."""
        task = asyncio.create_task(work)
        self._running.add(task)
        task.add_done_callback(self._done)
        return task

    async def drain(self, seconds: float) -> None:
        """Wait for the calls in flight, which are being paid for.

        Those that take longer than ``seconds`` are cancelled, and so are those that wait for their turn or for their
        next attempt; all of them if this is.
        """
        self._draining = True
        for task in self._running:
            if not self._away.get(task):
                task.cancel()
        try:
            if self._running:
                await asyncio.wait(self._running, timeout=seconds)
        finally:
            for task in self._running:
                task.cancel()
        if self._running:
            await asyncio.wait(self._running)

    def close(self) -> None:
        """Write what is waiting, and close the file."""
        self._writer.close()
        self._reader.close()

    def spent(self) -> float:
        """US dollars, as far as they are known, over all sessions."""
        return self._rows("SELECT total(cost) FROM calls")[0][0]

    def _rows(self, statement: str, values: tuple[Any, ...] = ()) -> list[Any]:
        try:
            return self._reader.execute(statement, values).fetchall()
        except sqlite3.Error as error:
            raise StoreError(f"{self._path}: the store cannot be read; {error}") from error

    def _done(self, task: asyncio.Task[Reply]) -> None:
        self._running.discard(task)
        self._away.pop(task, None)
        if not task.cancelled():
            task.exception()


def _storable(text: str) -> str | bytes:
    """Text, or bytes if it is no Unicode (half a surrogate pair), which SQLite takes for no text."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")
    return text


def _restored(stored: str | bytes) -> str:
    return stored.decode("utf-8", "surrogatepass") if isinstance(stored, bytes) else stored


def _head(call: Call, state: str) -> tuple[bytes, str, str, str, str]:
    return call.digest, call.key, call.purpose, call.model, state


def _told(error: ScreentestError) -> str:
    told = {"kind": error.kind, "detail": str(error), "status": getattr(error, "status", None)}
    return orjson.dumps(told).decode()


def _reply(row: tuple[Any, ...]) -> Reply:
    _, text, reasoning, finish, served, given, out, cached, thought, latency, cost, _ = row
    usage = None if given is None else Usage(input=given, output=out, cached=cached, reasoning=thought)
    text, reasoning = _restored(text), _restored(reasoning)
    return Reply(text=text, reasoning=reasoning, finish=finish, model=served, usage=usage, latency=latency, cost=cost)


def _may_be_mended(error: ScreentestError) -> bool:
    return isinstance(error, Rejected) and error.status in HOPELESS


def _error(told: str) -> ScreentestError:
    data = orjson.loads(told)
    kinds: dict[str, type[CallError | BadReply]] = {kind.kind: kind for kind in _descendants(CallError, BadReply)}
    error = kinds[data["kind"]](data["detail"])
    if isinstance(error, CallError):
        error.status = data["status"]
    return error


def _descendants(*classes: type[CallError | BadReply]) -> Iterator[type[CallError | BadReply]]:
    for one in classes:
        yield one
        yield from _descendants(*one.__subclasses__())
