"""Models without a server."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from screentest.llms import Reply, Request, Usage

USAGE = Usage(input=10, output=5)


class Scripted:
    """A model that gives the answers it was given, in turn, and the last one for ever after.

    Attributes:
        requests: What it was asked.
        began: When each call began, by the loop's clock.
        peak: The most calls at once.
    """

    name = "scripted"

    def __init__(self, *answers: str | Reply | BaseException, seconds: float = 0.0) -> None:
        self._answers: Sequence[str | Reply | BaseException] = answers
        self._seconds = seconds
        self.requests: list[Request] = []
        self.began: list[float] = []
        self.in_flight = self.peak = 0

    async def reply(self, request: Request) -> Reply:
        """Answer with the next answer, after the set time."""
        answer = self._answers[min(len(self.requests), len(self._answers) - 1)]
        self.requests.append(request)
        self.began.append(asyncio.get_running_loop().time())
        self.in_flight += 1
        self.peak = max(self.peak, self.in_flight)
        try:
            if self._seconds:
                await asyncio.sleep(self._seconds)
        finally:
            self.in_flight -= 1
        if isinstance(answer, BaseException):
            raise answer
        return answer if isinstance(answer, Reply) else said(answer)


def said(text: str, **rest: object) -> Reply:
    """A reply with a usage and a cost."""
    fields: dict[str, object] = {"finish": "stop", "model": "scripted-1", "usage": USAGE, "cost": 0.25, "latency": 1.0}
    return Reply(text=text, **(fields | rest))  # pyright: ignore[reportArgumentType]
