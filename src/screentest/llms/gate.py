"""A gate: how many calls are in flight, shared fairly between models."""

from __future__ import annotations

import asyncio
from collections import Counter, deque

from screentest.llms.model import Model, Reply, Request

OPENS_AT = 16


class Gate:
    """A semaphore whose width follows how the provider copes, and whose places are shared fairly.

    A place that becomes free goes to the model that has the fewest calls inside, among those that wait; within a model,
    first come first served. So a slow model cannot take all places from the others.

    Args:
        most: The most calls inside.
        opens_at: How many may be inside at first.
    """

    def __init__(self, most: int, opens_at: int = OPENS_AT) -> None:
        self._most, self._width = most, float(min(most, opens_at))
        self._inside: Counter[str] = Counter()
        self._narrowed, self._steady = float("-inf"), False
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}

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
        self._waiting.setdefault(model, deque()).append(place)
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
            place = queue.popleft()
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
        await self._gate.acquire(self.name)
        try:
            return await self._model.reply(request)
        finally:
            self._gate.release(self.name)
