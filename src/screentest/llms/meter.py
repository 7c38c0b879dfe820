"""Counting what calls are made and what they use, for live progress."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field

from screentest.errors import BadReply, CallError
from screentest.llms.batch import BatchProgress
from screentest.llms.model import Model, Reply, Request
from screentest.llms.retries import Retrying


@dataclass(slots=True)
class Meter:
    """Running totals over any number of models.

    Attributes:
        started: Calls begun. Those that have not finished, failed or been cancelled are in flight, or wait: for a
            place, for a limit, or for their next attempt.
        in_flight: Calls of which an attempt is under way.
        finished: Calls that brought a reply.
        cancelled: Calls that nobody waits for any more.
        failed: Calls that failed for good, by kind of error.
        input: Prompt tokens, where known.
        output: Reply tokens, where known.
        cached: Prompt tokens served from a provider's cache, where known.
        unmetered: Replies whose usage is not known.
        cost: US dollars, where known.
        unpriced: Replies whose cost is not known.
        batches: How the batches go, if there are any.
    """

    started: int = 0
    in_flight: int = 0
    finished: int = 0
    cancelled: int = 0
    failed: Counter[str] = field(default_factory=Counter)
    input: int = 0
    output: int = 0
    cached: int = 0
    unmetered: int = 0
    cost: float = 0.0
    unpriced: int = 0
    batches: BatchProgress = field(default_factory=BatchProgress)
    _retrying: list[Retrying] = field(default_factory=list, repr=False)

    @property
    def retries(self) -> int:
        """Attempts repeated by the models watched."""
        return sum(model.retries.total() for model in self._retrying)

    def watch(self, model: Retrying) -> None:
        """Count the retries of ``model`` too."""
        self._retrying.append(model)

    def count(self, reply: Reply) -> None:
        """Add what a reply used."""
        if reply.usage is None:
            self.unmetered += 1
        else:
            self.input += reply.usage.input
            self.output += reply.usage.output
            self.cached += reply.usage.cached
        if reply.cost is None:
            self.unpriced += 1
        else:
            self.cost += reply.cost


class Attempted:
    """A model whose attempts under way are counted: the calls in flight.

    Args:
        model: The model.
        meter: Where they are counted.
    """

    def __init__(self, model: Model, meter: Meter) -> None:
        self._model, self._meter = model, meter

    @property
    def name(self) -> str:
        """The label of the model within."""
        return self._model.name

    async def reply(self, request: Request) -> Reply:
        """Make an attempt at ``request``."""
        self._meter.in_flight += 1
        try:
            return await self._model.reply(request)
        finally:
            self._meter.in_flight -= 1


class Metered:
    """A model whose calls are counted, however often each is attempted.

    Args:
        model: The model.
        meter: Where they are counted.
    """

    def __init__(self, model: Model, meter: Meter) -> None:
        self._model, self._meter = model, meter
        if isinstance(model, Retrying):
            meter.watch(model)

    @property
    def name(self) -> str:
        """The label of the model within."""
        return self._model.name

    async def reply(self, request: Request) -> Reply:
        """Answer ``request``, and count it."""
        meter = self._meter
        meter.started += 1
        try:
            reply = await self._model.reply(request)
        except asyncio.CancelledError:
            meter.cancelled += 1
            raise
        except BadReply as bad:
            meter.failed[bad.kind] += 1
            if bad.reply is not None:
                meter.count(bad.reply)
            raise
        except Exception as error:
            meter.failed[error.kind if isinstance(error, CallError) else "error"] += 1
            raise
        meter.finished += 1
        meter.count(reply)
        return reply
