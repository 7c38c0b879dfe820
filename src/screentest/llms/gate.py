"""A gate: how many calls are in flight, shared fairly between models, and who goes first."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from contextvars import ContextVar
from heapq import heappop, heappush
from itertools import count
from math import inf

from screentest.llms.model import Model, Reply, Request

OPENS_AT = 16

wave: ContextVar[int] = ContextVar("wave", default=0)
"""How many waves of its series come before the one that a call belongs to, and do not wait for it."""

remaining: ContextVar[float] = ContextVar("remaining", default=inf)
"""How many turns may still follow the one that a call belongs to; infinitely many unless someone knows better."""


class Gate:
    """A semaphore whose width follows how the provider copes, and whose places are shared fairly.

    A place that becomes free goes to the model that has the fewest calls inside, among those that wait. So a slow model
    cannot take all places from the others. Within a model, the earliest :data:`wave` goes first, of one wave the call
    with the most turns :data:`remaining`, and of equals the one that came first. So no long conversation goes on alone
    when the short ones have ended; and none waits for ever, for those that go first have less to go the next time.

    Both are read from the context, which tasks inherit. They decide who waits, never what comes out.

    Args:
        most: The most calls inside.
        opens_at: How many may be inside at first.
    """

    def __init__(self, most: int, opens_at: int = OPENS_AT) -> None:
        self._most, self._width = most, float(min(most, opens_at))
        self._inside: Counter[str] = Counter()
        self._narrowed, self._steady = float("-inf"), False
        self._waiting: dict[str, list[tuple[int, float, int, asyncio.Future[None]]]] = {}
        self._arrivals = count()

    @property
    def width(self) -> int:
        """How many may be inside now."""
        return int(self._width)

    @property
    def in_flight(self) -> int:
        """How many are inside."""
        return self._inside.total()

    async def acquire(self, model: str) -> None:
        """Wait for a place."""
        if not self._waiting and self.in_flight < self.width:
            self._inside[model] += 1
            return
        place = asyncio.get_running_loop().create_future()
        queue = self._waiting.setdefault(model, [])
        heappush(queue, (wave.get(), -remaining.get(), next(self._arrivals), place))
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():
                self.release(model)
            raise

    def release(self, model: str) -> None:
        """Give the place back."""
        self._inside[model] -= 1
        self._admit()

    @asynccontextmanager
    async def place(self, model: str = "") -> AsyncIterator[None]:
        """Wait for a place, and hold it."""
        await self.acquire(model)
        try:
            yield
        finally:
            self.release(model)

    def widen(self) -> None:
        """A call succeeded: until the first set-back room for one more, from then on for one more a round."""
        self._width = min(self._most, self._width + (1 / self._width if self._steady else 1))
        self._admit()

    def narrow(self, began: float, now: float, to: float = 0.5) -> bool:
        """A call that began at ``began`` met a set-back: narrow, once for all that were in flight together.

        Args:
            began: When the call began.
            now: The time.
            to: The share of the width to keep; at least one place stays.
        """
        if began <= self._narrowed:
            return False
        self._width, self._narrowed, self._steady = max(1.0, self._width * to), now, True
        return True

    def _admit(self) -> None:
        while self._waiting and self.in_flight < self.width:
            model = min(self._waiting, key=self._inside.__getitem__)
            queue = self._waiting[model]
            *_, place = heappop(queue)
            if not queue:
                del self._waiting[model]
            if not place.done():
                self._inside[model] += 1
                place.set_result(None)


class Gated:
    """A model whose every attempt takes a place in a gate."""

    def __init__(self, model: Model, gate: Gate) -> None:
        self._model, self._gate = model, gate

    @property
    def name(self) -> str:
        """The label of the model within."""
        return self._model.name

    async def reply(self, request: Request) -> Reply:
        """Answer ``request`` once there is room."""
        async with self._gate.place(self.name):
            return await self._model.reply(request)
