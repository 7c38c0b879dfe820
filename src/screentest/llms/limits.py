"""Limits shared by everyone who calls one provider with one key.

What is held back is calls, never conversations. A call passes, in the order of a :class:`~screentest.llms.Gate`:

1. the *gate*: so many calls in flight; it opens low, widens with every success and halves when the provider says 429;
2. the *cool-down*: nobody calls before the time the provider asked for; nor for a while when call after call fails
   (5xx, cut connections), and then one at a time until a call succeeds;
3. requests per minute and tokens per minute, if configured;
4. the *places* of the run, which are shared with all other providers. They come last, so that nobody waits for one
   provider in a place where another one could be called.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

from asyncio_throttle.throttler import Throttler

from screentest.errors import BadReply, CallError, Disconnected, RateLimited, Unavailable
from screentest.llms.gate import Gate
from screentest.llms.model import Message, Model, Reply, Request, Usage
from screentest.llms.spec import DEFAULT_CONCURRENCY, ModelSpec

log = logging.getLogger(__name__)

_COOL_DOWN = 1.0
_LONGEST_COOL_DOWN = 600.0
_STORM = 8
_LONGEST_BREAK = 60.0
_BURST_SECONDS = 15.0
_A_CRUMB = 0.001


class Limiter:
    """The limits of one provider and key.

    Args:
        rpm: Requests per minute; ``None`` for no limit.
        tpm: Tokens per minute; ``None`` for no limit.
        concurrency: The most calls in flight.
        places: The run's, if there is a limit to them.
    """

    def __init__(
        self,
        *,
        rpm: int | None = None,
        tpm: int | None = None,
        concurrency: int = DEFAULT_CONCURRENCY,
        places: Gate | None = None,
    ) -> None:
        self.gate = Gate(concurrency)
        self._places = places or Gate(sys.maxsize, opens_at=sys.maxsize)
        self.requests = RequestRate(rpm) if rpm else None
        self.tokens = TokenBucket(tpm) if tpm else None
        self._not_before = 0.0
        self._failures = self._breaks = 0

    @asynccontextmanager
    async def slot(self, model: str, request: Request, max_output: int) -> AsyncIterator[Slot]:
        """Wait for a turn, and hold it for the length of one attempt.

        Args:
            model: The label of the model that is called.
            request: What will be sent, to estimate its tokens.
            max_output: The longest reply it may bring, in tokens.
        """
        await self.gate.acquire(model)
        slot = Slot(began=asyncio.get_running_loop().time())
        try:
            await self._cooled_down()
            if self.requests:
                await self.requests.acquire()
            if self.tokens:
                slot.reserved = estimate(request.messages) + max_output
                await self.tokens.reserve(slot.reserved)
                slot.holds_tokens = True
            async with self._place(model):
                slot.began = asyncio.get_running_loop().time()
                yield slot
            self._failures = self._breaks = 0
            self.gate.widen()
        except RateLimited as limited:
            self._cool_down(limited, slot.began)
            raise
        except (Unavailable, Disconnected) as failure:
            self._break(failure, slot.began)
            raise
        finally:
            if self.tokens and slot.holds_tokens:
                self.tokens.settle(slot.reserved, slot.spent)
            self.gate.release(model)

    @asynccontextmanager
    async def _place(self, model: str) -> AsyncIterator[None]:
        """One of the run's places; a cool-down that began while it was waited for is spent outside."""
        await self._places.acquire(model)
        while asyncio.get_running_loop().time() < self._not_before:
            self._places.release(model)
            await self._cooled_down()
            await self._places.acquire(model)
        try:
            yield
        finally:
            self._places.release(model)

    def _cool_down(self, limited: RateLimited, began: float) -> None:
        now = asyncio.get_running_loop().time()
        seconds = _COOL_DOWN if limited.retry_after is None else min(limited.retry_after, _LONGEST_COOL_DOWN)
        self._not_before = max(self._not_before, now + seconds)
        if self.gate.narrow(began, now):
            log.info("%s: rate limited, cooling down for %.1f s, %d at once", limited.model, seconds, self.gate.width)

    def _break(self, failure: CallError, began: float) -> None:
        """In a storm of failures let nobody call for a while, longer each time, and then one at a time."""
        self._failures += 1
        if self._failures < _STORM:
            return
        now = asyncio.get_running_loop().time()
        if self.gate.narrow(began, now, to=0.0):
            seconds = min(_LONGEST_BREAK, 2.0 ** (1 + self._breaks))
            self._breaks += 1
            self._not_before = max(self._not_before, now + seconds)
            log.warning("%s: %d failures in a row, nobody calls for %.0f s", failure.model, self._failures, seconds)

    async def _cooled_down(self) -> None:
        now = asyncio.get_running_loop().time
        while now() < self._not_before:  # noqa: ASYNC110 - each sleep is exact; another 429 may have moved the end
            await asyncio.sleep(self._not_before - now())


class Slot:
    """One call's turn; ``spent`` is what it used of its reservation, all of it unless the provider says otherwise."""

    __slots__ = ("began", "holds_tokens", "reserved", "spent")

    def __init__(self, began: float) -> None:
        self.began, self.reserved, self.spent, self.holds_tokens = began, 0, 0, False

    def used(self, usage: Usage | None) -> None:
        """Record what the call used; without it the whole reservation counts as spent."""
        self.spent = self.reserved if usage is None else usage.input + usage.output


class RequestRate:
    """Requests per minute, spread evenly: at most about a second's worth at once.

    asyncio-throttle alone lets all waiters poll and serves them out of order; behind a gate for one, only the head of
    the queue asks it.
    """

    def __init__(self, rpm: int) -> None:
        burst = max(1, round(rpm / 60))
        period = burst * 60 / rpm
        self._throttler = Throttler(rate_limit=burst, period=period, retry_interval=min(0.1, period / 20))
        self._head = Gate(1)

    async def acquire(self) -> None:
        """Wait for the next request's turn."""
        async with self._head.place():
            await self._throttler.acquire()


class TokenBucket:
    """Tokens per minute: reserve before a call, settle after it.

    The bucket fills continuously and holds fifteen seconds' worth. A reservation larger than the bucket passes when
    the bucket is full, and leaves it in debt.
    """

    def __init__(self, tpm: int) -> None:
        self._rate = tpm / 60
        self._size = self._rate * _BURST_SECONDS
        self._level, self._filled = self._size, float("-inf")
        self._head, self._settled = Gate(1), asyncio.Event()

    async def reserve(self, tokens: int) -> None:
        """Wait until ``tokens`` are there, and take them."""
        async with self._head.place():
            while (missing := min(tokens, self._size) - self._fill()) > _A_CRUMB:
                self._settled.clear()
                try:
                    async with asyncio.timeout(missing / self._rate):
                        await self._settled.wait()
                except TimeoutError:
                    pass
            self._level -= tokens

    def settle(self, reserved: int, spent: int) -> None:
        """Replace a reservation by what was really spent."""
        self._level += reserved - spent
        self._settled.set()

    def _fill(self) -> float:
        now = asyncio.get_running_loop().time()
        self._level = min(self._size, self._level + (now - max(self._filled, now - 60)) * self._rate)
        self._filled = now
        return self._level


class Limited:
    """A model behind a limiter.

    Args:
        model: The model.
        limiter: The limits, shared with every model that uses the same key.
        spec: The model's configuration, which says how long its replies may get.
    """

    def __init__(self, model: Model, limiter: Limiter, spec: ModelSpec) -> None:
        self._model, self._limiter, self._spec = model, limiter, spec

    @property
    def name(self) -> str:
        """The label of the model within."""
        return self._model.name

    async def reply(self, request: Request) -> Reply:
        """Answer ``request`` when its turn has come."""
        async with self._limiter.slot(self.name, request, self._spec.longest_output(request.sampling)) as slot:
            try:
                reply = await self._model.reply(request)
            except BadReply as bad:
                slot.used(bad.reply.usage if bad.reply else None)
                raise
            slot.used(reply.usage)
            return reply


def estimate(messages: Iterable[Message]) -> int:
    """Tokens of a prompt, roughly: one for each CJK character, one for four others, and a few for each message."""
    tokens = 0.0
    for message in messages:
        text = message.content
        wide = 0 if text.isascii() else sum("⺀" <= char <= "鿿" or "가" <= char <= "￯" for char in text)
        tokens += 4 + wide + (len(text) - wide) / 4
    return int(tokens)
