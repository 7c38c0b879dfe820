"""The way of one batch to the provider and back, noted at every step.

What a kill can leave behind, and what the next session makes of it when it comes to the same requests:

* requests not handed in: they join a new batch;
* a batch noted as ``submitting``: the provider may have it. It is looked for, and its requests are handed in again
  only when the provider has shown that it never came;
* a batch noted as ``submitted`` or ``ended``: it is waited for, and its results are fetched (again).
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import repeat
from typing import TypeVar

from screentest.errors import BatchUnreachable, CallError, NoBatchApi, RateLimited, Unavailable
from screentest.llms.batch import BatchApi, BatchLog, BatchRecord, Outcome, Pace

log = logging.getLogger(__name__)

T = TypeVar("T")

_GROWTH = 1.5
_PATIENCE = 30
_NO_SUCH_PATH = {404, 405}
_NO_SUCH_BATCH = {404, 410}


class NeverCame(Exception):
    """The provider never got the batch."""


@dataclass(eq=False)
class Parcel:
    """A batch on its way.

    Attributes:
        record: What is kept of it.
        lines: The requests, until they are handed in.
    """

    record: BatchRecord
    lines: list[bytes] = field(default_factory=list[bytes])


class Courier:
    """Takes batches to the provider, and their results back.

    Args:
        record: Where batches are kept.
        pace: How patient to be.
        remotes: The provider's names of batches that earlier sessions know of.
    """

    def __init__(self, record: BatchLog, pace: Pace, remotes: set[str]) -> None:
        self._log, self._pace, self._remotes = record, pace, remotes

    async def hand_in(self, parcel: Parcel, api: BatchApi) -> None:
        """Hand a batch in. Where it is not clear whether the provider got it, it is looked for before another try.

        Raises:
            CallError: The batch was refused.
            NoBatchApi: The server takes no batches.
            BatchUnreachable: The provider cannot be reached.
            StoreError: The batch cannot be noted.
        """
        try:
            remote = await self._created(parcel, api)
        except CallError as error:
            await self._note(parcel, state="gone")
            if error.status in _NO_SUCH_PATH:
                message = f"the server of {parcel.record.model} takes no batches; run without --batch"
                raise NoBatchApi(message) from None
            raise
        await self._arrived(parcel, remote)
        parcel.lines.clear()

    async def trace(self, parcel: Parcel, api: BatchApi) -> None:
        """Find out whether a batch, whose submission was cut off, came to the provider.

        Raises:
            NeverCame: It did not.
            BatchUnreachable: The provider cannot be reached, or does not tell.
            StoreError: The batch cannot be noted.
        """
        try:
            remote = await self._found(parcel, api)
        except CallError as error:
            raise _unreachable(parcel, error) from None
        if remote is None:
            await self._note(parcel, state="void")
            log.info("batch %s: never came to the provider", parcel.record.id)
            raise NeverCame
        await self._arrived(parcel, remote)

    async def fetch(self, parcel: Parcel, api: BatchApi) -> Mapping[str, Outcome]:
        """Wait until a batch has ended, and return the result of each of its requests.

        Raises:
            BatchUnreachable: The provider cannot be reached; the batch stays there.
            StoreError: The batch cannot be noted.
        """
        remote, custom_ids = parcel.record.remote, list(parcel.record.rungs)
        if remote is None or parcel.record.state == "gone":
            return _lost(custom_ids)
        try:
            results = await self._results(remote, custom_ids, parcel, api)
        except CallError as error:
            if error.status not in _NO_SUCH_BATCH:
                raise _unreachable(parcel, error) from None
            log.warning("batch %s: the provider has %s no more (%s)", parcel.record.id, remote, error)
            await self._note(parcel, state="gone")
            return _lost(custom_ids)
        if parcel.record.state != "ended":
            await self._note(parcel, state="ended")
        return results

    def waits(self) -> Iterator[float]:
        """Growing waits, for ever."""
        wait = self._pace.first_poll
        for _ in repeat(None):
            yield wait
            wait = min(self._pace.longest_poll, wait * _GROWTH)

    async def _created(self, parcel: Parcel, api: BatchApi) -> str:
        prepared = await self._patiently(lambda: api.prepare(parcel.record.id, parcel.lines), parcel)
        await self._note(parcel, noted=time.time())
        for wait in self._few_waits():
            try:
                return await api.create(prepared)
            except RateLimited as limited:
                await asyncio.sleep(max(wait, limited.retry_after or 0.0))
            except CallError as error:
                if not error.retriable:
                    raise
                log.warning("batch %s: not clear whether it was received: %s", parcel.record.id, error)
                if found := await self._found(parcel, api):
                    return found
        raise Unavailable("the provider takes no batch at the moment", model=parcel.record.model)

    async def _found(self, parcel: Parcel, api: BatchApi) -> str | None:
        """The provider's name for a batch that it may have got."""
        now, passed = asyncio.get_running_loop().time, set(self._remotes)
        settled, waits = now() + self._pace.settle, self.waits()
        while True:
            late = now() >= settled
            found = await self._patiently(lambda: api.find(parcel.record, passed), parcel)
            if found.remote or (late and not found.undecided):
                return found.remote
            await asyncio.sleep(next(waits) if found.undecided else min(next(waits), max(0.0, settled - now())))

    async def _results(
        self, remote: str, custom_ids: Sequence[str], parcel: Parcel, api: BatchApi
    ) -> Mapping[str, Outcome]:
        waits = self.waits()
        ended = await self._patiently(lambda: api.ended(remote), parcel)
        while ended is None:
            await asyncio.sleep(next(waits))
            ended = await self._patiently(lambda: api.ended(remote), parcel)
        found = ended
        return await self._patiently(lambda: api.results(found, custom_ids), parcel)

    async def _patiently(self, action: Callable[[], Awaitable[T]], parcel: Parcel) -> T:
        """Do something that may be repeated, until it works."""
        for wait in self._few_waits():
            try:
                return await action()
            except CallError as error:
                if not error.retriable:
                    raise
                log.info("batch %s: %s", parcel.record.id, error)
                asked = error.retry_after if isinstance(error, RateLimited) else None
            await asyncio.sleep(max(wait, asked or 0.0))
        raise _unreachable(parcel, "no usable answer")

    def _few_waits(self) -> Iterator[float]:
        yield from (wait for _, wait in zip(range(_PATIENCE), self.waits(), strict=False))

    async def _arrived(self, parcel: Parcel, remote: str) -> None:
        self._remotes.add(remote)
        await self._note(parcel, state="submitted", remote=remote)
        record = parcel.record
        log.info(
            "batch %s: %d requests for %s are at the provider, as %s",
            record.id,
            len(record.rungs),
            record.model,
            remote,
        )

    async def _note(self, parcel: Parcel, **changes: object) -> None:
        parcel.record = replace(parcel.record, **changes)  # pyright: ignore[reportArgumentType]
        await self._log.note(parcel.record)


def _lost(custom_ids: Sequence[str]) -> dict[str, Outcome]:
    return {custom_id: Unavailable("the provider has the batch no more") for custom_id in custom_ids}


def _unreachable(parcel: Parcel, why: object) -> BatchUnreachable:
    record = parcel.record
    name = record.remote or record.id
    return BatchUnreachable(
        f"batch {name} for {record.model} cannot be fetched now ({why}); run the same command again"
    )
