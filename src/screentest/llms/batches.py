"""The batches of a run: requests line up, go to the provider together, and wait for their results."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field

from screentest.errors import BatchUnreachable
from screentest.llms.batch import BatchApi, BatchLog, BatchProgress, BatchRecord, Crowded, Outcome, Pace
from screentest.llms.batch_courier import Courier, NeverCame, Parcel
from screentest.llms.spec import Rung

log = logging.getLogger(__name__)

_GRACE = 8.0
_PATIENCE = 30


def _future() -> asyncio.Future[Mapping[str, Outcome]]:
    """A future whose error may go unseen: not every batch has somebody waiting."""
    future: asyncio.Future[Mapping[str, Outcome]] = asyncio.get_running_loop().create_future()
    future.add_done_callback(lambda done: done.cancelled() or done.exception())
    return future


@dataclass(eq=False)
class _Batch(Parcel):
    """A batch, and who waits for it."""

    outcomes: asyncio.Future[Mapping[str, Outcome]] = field(default_factory=_future)
    rungs: dict[str, Rung | None] = field(default_factory=dict[str, Rung | None])
    earlier: bool = False
    started: bool = False
    size: int = 0
    asked: set[str] = field(default_factory=set[str])

    @classmethod
    def new(cls, model: str) -> _Batch:
        rungs: dict[str, Rung | None] = {}
        record = BatchRecord(id=uuid.uuid4().hex, model=model, state="submitting", noted=0.0, rungs=rungs)
        return cls(record, rungs=rungs)


@dataclass(eq=False)
class _Lane:
    """Where the requests for one model at one account line up.

    Attributes:
        api: The account's batches.
        model: The provider's name of the model.
        most: The most requests a batch may have.
        open: The batch that requests are joining.
        timer: Ends the quiet moment.
        turn: Taken by the one batch that may be at the provider, once it has said that several are too much.
        refusals: How often in a row it had no room.
        away: How many batches are at the provider, or on the way.
    """

    api: BatchApi
    model: str
    most: int
    open: _Batch | None = None
    timer: asyncio.TimerHandle | None = None
    turn: asyncio.Lock | None = None
    refusals: int = 0
    away: int = 0


class Batches:
    """All batches of a run.

    Args:
        record: Where they are kept.
        pace: How patient they are.
        progress: Filled in, for whoever watches.
    """

    def __init__(self, record: BatchLog, pace: Pace, progress: BatchProgress) -> None:
        self._pace, self.progress = pace, progress
        earlier = record.batches()
        self._courier = Courier(record, pace, {kept.remote for kept in earlier if kept.remote})
        self._lanes: dict[tuple[BatchApi, str], _Lane] = {}
        self._batches: dict[str, _Batch] = {}
        self._submitting: set[asyncio.Task[None]] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._retired = False
        for kept in earlier:
            if kept.state != "void":
                self._batches |= dict.fromkeys(kept.rungs, _Batch(kept, earlier=True))

    def earlier(self, custom_id: str) -> bool:
        """Whether a request was, or may have been, handed in by an earlier session."""
        batch = self._batches.get(custom_id)
        return batch is not None and batch.earlier

    def rung(self, custom_id: str) -> Rung | None:
        """How a request that was handed in asks for its schema."""
        return self._batches[custom_id].record.rungs[custom_id]

    async def recall(self, custom_id: str, api: BatchApi) -> Outcome | None:
        """The result of a request that an earlier session handed in; ``None`` if the provider never got it.

        Raises:
            BatchUnreachable: The provider cannot be reached; the batch stays there.
            StoreError: The batch cannot be noted.
        """
        batch = self._batches[custom_id]
        if not batch.started:
            self._start(batch, self._lane(api, batch.record.model))
        try:
            return await self._outcome(batch, custom_id)
        except NeverCame:
            if self._batches[custom_id] is batch:
                del self._batches[custom_id]
            return None

    async def send(self, custom_id: str, line: bytes, rung: Rung | None, *, api: BatchApi, model: str) -> Outcome:
        """Hand a request in with the next batch, and wait for its result.

        Args:
            custom_id: The request's own.
            line: The request, as a batch holds it.
            rung: How it asks for its schema.
            api: The account's batches.
            model: The provider's name of the model.

        Raises:
            CallError: The batch was refused.
            NoBatchApi: The server takes no batches.
            BatchUnreachable: The provider cannot be reached; the batch stays there.
            StoreError: The batch cannot be noted.
        """
        if self._retired:
            raise asyncio.CancelledError
        batch = self._batches.get(custom_id)
        if batch is None or batch.earlier:
            batch = self._joined(self._lane(api, model), custom_id, line, rung)
        return await self._outcome(batch, custom_id)

    async def retire(self) -> None:
        """Let submissions under way come to their end, and stop waiting for everything else; nothing is lost by it."""
        self._retired = True
        for lane in self._lanes.values():
            if lane.timer:
                lane.timer.cancel()
        if self._submitting:
            await asyncio.wait(self._submitting, timeout=_GRACE)
        tasks = [*self._submitting, *self._tasks]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        for batch in self._batches.values():
            batch.outcomes.cancel()

    async def _outcome(self, batch: _Batch, custom_id: str) -> Outcome:
        batch.asked.add(custom_id)
        self.progress.waiting += 1
        try:
            return (await asyncio.shield(batch.outcomes))[custom_id]
        finally:
            self.progress.waiting -= 1

    def _lane(self, api: BatchApi, model: str) -> _Lane:
        return self._lanes.setdefault((api, model), _Lane(api, model, api.most))

    def _joined(self, lane: _Lane, custom_id: str, line: bytes, rung: Rung | None) -> _Batch:
        """Let a request join the open batch, which goes when it is full or nobody else comes."""
        if lane.open and lane.open.size + len(line) > lane.api.largest:
            self._go(lane)
        if lane.open is None:
            lane.open = _Batch.new(lane.model)
            self.progress.open += 1
        batch = self._batches[custom_id] = lane.open
        batch.lines.append(line)
        batch.rungs[custom_id] = rung
        batch.size += len(line)
        if lane.timer:
            lane.timer.cancel()
        if len(batch.lines) >= lane.most:
            self._go(lane)
        else:
            lane.timer = asyncio.get_running_loop().call_later(self._pace.quiet, self._go, lane)
        return batch

    def _go(self, lane: _Lane) -> None:
        batch, lane.open = lane.open, None
        if lane.timer:
            lane.timer.cancel()
        if batch:
            self.progress.open -= 1
            self._start(batch, lane)

    def _start(self, batch: _Batch, lane: _Lane) -> None:
        batch.started = True
        task = asyncio.create_task(self._carry(batch, lane))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _carry(self, batch: _Batch, lane: _Lane) -> None:
        """See one batch through."""
        self.progress.submitted += 1
        try:
            if lane.turn is None or batch.earlier:
                outcomes = await self._carried(batch, lane)
            else:
                async with lane.turn:
                    await self._room(lane)
                    outcomes = await self._carried(batch, lane)
        except asyncio.CancelledError:
            batch.outcomes.cancel()
            raise
        except Exception as error:
            batch.outcomes.set_exception(error)
        else:
            self.progress.ended += 1
            batch.outcomes.set_result(outcomes)
        finally:
            self.progress.submitted -= 1

    async def _carried(self, batch: _Batch, lane: _Lane) -> Mapping[str, Outcome]:
        lane.away += 1
        try:
            if batch.record.state == "submitting":
                await self._handed_in(batch, lane)
            outcomes = await self._courier.fetch(batch, lane.api)
        finally:
            lane.away -= 1
        _report(batch, outcomes)
        if all(isinstance(outcome, Crowded) for outcome in outcomes.values()):
            self._narrow(lane, len(outcomes), next(iter(outcomes.values())))
        elif lane.turn:
            lane.refusals, lane.most = 0, min(lane.api.most, 2 * lane.most)
        return outcomes

    def _narrow(self, lane: _Lane, tried: int, refusal: object) -> None:
        """Go on with smaller batches, one at a time."""
        lane.turn = lane.turn or asyncio.Lock()
        lane.refusals, lane.most = lane.refusals + 1, max(1, tried // 2)
        log.info("%s: %s; going on with %d requests at a time", lane.model, refusal, lane.most)
        if lane.refusals > _PATIENCE:
            raise BatchUnreachable(
                f"no room for a batch for {lane.model} ({refusal}); run the same command again later"
            )

    async def _handed_in(self, batch: _Batch, lane: _Lane) -> None:
        if batch.earlier:
            await self._courier.trace(batch, lane.api)
            return
        submission = asyncio.create_task(self._courier.hand_in(batch, lane.api))
        self._submitting.add(submission)
        submission.add_done_callback(self._submitting.discard)
        await asyncio.shield(submission)

    async def _room(self, lane: _Lane) -> None:
        """Wait until the lane's other batches are back, and longer the more often the provider had no room."""
        refusals = lane.refusals
        for waited, wait in enumerate(self._courier.waits()):
            if not lane.away and waited >= refusals:
                return
            await asyncio.sleep(wait)


def _report(batch: _Batch, outcomes: Mapping[str, Outcome]) -> None:
    requests = batch.record.rungs
    answered = sum(isinstance(outcomes[custom_id], bytes) for custom_id in requests)
    log.info("batch %s: ended with %d lines for %d requests", batch.record.id, answered, len(requests))
    if unasked := len(requests) - len(batch.asked):
        log.info("batch %s: nobody waits for %d of its results", batch.record.id, unasked)
    if strange := len(outcomes) - len(requests):
        log.warning("batch %s: %d results belong to none of its requests", batch.record.id, strange)
