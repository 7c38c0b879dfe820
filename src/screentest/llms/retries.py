"""Trying again what may pass the next time."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable
from itertools import count

from screentest.errors import BadReply, CallError, EmptyReply, RateLimited
from screentest.llms.model import Model, Reply, Request
from screentest.randomness import generator

log = logging.getLogger(__name__)

_FIRST_WAIT, _LONGEST_WAIT = 0.5, 30.0
_LONGEST_RETRY_AFTER = 600.0
EMPTY_REPLIES = 2


class Retrying:
    """A model that retries what is retriable, after exponentially longer waits.

    An empty reply is retried once; a 429 waits at least as long as the provider asks, and gives up if that is more than
    ten minutes.

    Args:
        model: The model.
        attempts: How often a call is attempted at most.
        sleep: Waits for so many seconds.

    Attributes:
        retries: How many attempts were repeated, by the kind of error.
    """

    def __init__(
        self, model: Model, *, attempts: int = 6, sleep: Callable[[float], Awaitable[object]] = asyncio.sleep
    ) -> None:
        self._model, self._attempts, self._sleep = model, attempts, sleep
        self.retries: Counter[str] = Counter()

    @property
    def name(self) -> str:
        """The label of the model within."""
        return self._model.name

    async def reply(self, request: Request) -> Reply:
        """Answer ``request``, at the latest at the last attempt.

        An empty reply is paid for too: its usage and cost are added to those of the reply in the end, and if no reply
        comes any more, it is the outcome.

        Raises:
            CallError: The last attempt's, or the first one that cannot be helped.
            BadReply: Likewise.
        """
        empty: Reply | None = None
        empties = 0
        for attempt in count(1):
            try:
                reply = await self._model.reply(request)
                return reply.after(empty) if empty else reply
            except (CallError, BadReply) as error:
                empties += isinstance(error, EmptyReply)
                if isinstance(error, BadReply) and error.reply is not None:
                    error.reply = empty = error.reply.after(empty) if empty else error.reply
                if attempt >= self._attempts or not _worthwhile(error, empties):
                    log.info("%s [%s]: giving up after attempt %d", error, request.key, attempt)
                    if isinstance(error, CallError) and empty is not None:
                        raise EmptyReply("the reply has no text", model=self.name, reply=empty) from error
                    raise
                wait = _wait(error, request, attempt)
                self.retries[error.kind] += 1
                log.info("%s [%s]: attempt %d failed, next in %.1f s", error, request.key, attempt, wait)
            await self._sleep(wait)
        raise AssertionError("attempts never run out unnoticed")


def _worthwhile(error: CallError | BadReply, empties: int) -> bool:
    if isinstance(error, EmptyReply):
        return empties < EMPTY_REPLIES
    if isinstance(error, RateLimited) and (error.retry_after or 0) > _LONGEST_RETRY_AFTER:
        return False
    return error.retriable


def _wait(error: CallError | BadReply, request: Request, attempt: int) -> float:
    """Seconds until the next attempt: half to all of an exponentially growing span, after what the provider asks."""
    span = min(_LONGEST_WAIT, _FIRST_WAIT * 2 ** (attempt - 1))
    jittered = span * generator(request.seed, request.key, attempt).uniform(0.5, 1.0)
    asked = error.retry_after if isinstance(error, RateLimited) else None
    return jittered if asked is None else asked + jittered
