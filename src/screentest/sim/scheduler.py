"""The scheduler: many conversations at once, bounded by the calls in flight, deterministic whatever finishes first."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from itertools import count
from typing import Any, TypeVar

from screentest.llms import Model, Reply, Request

T = TypeVar("T")


class Gated:
    """A model that waits for a place among the calls in flight; all models of a run share one gate."""

    def __init__(self, model: Model, gate: asyncio.Semaphore) -> None:
        self._model, self._gate = model, gate

    @property
    def name(self) -> str:
        """The wrapped model's label."""
        return self._model.name

    async def reply(self, request: Request) -> Reply:
        """Answer ``request`` once there is room."""
        async with self._gate:
            return await self._model.reply(request)


async def staggered(start: Callable[[int, Sequence[T]], Coroutine[Any, Any, T] | None], *, lag: int) -> tuple[T, ...]:
    """Run a series of jobs, ``lag`` of them at once, each learning from a fixed part of its forerunners.

    Job ``k`` is given the results of jobs ``0 … k - lag``, no matter which others have finished by then. So what a job
    does cannot depend on timing.

    Args:
        start: Makes job ``k`` from the results it may know; ``None`` ends the series.
        lag: How many jobs run at once; 1 runs them one after another.

    Returns:
        The results in order of ``k``.
    """
    tasks: list[asyncio.Task[T]] = []
    async with asyncio.TaskGroup() as group:
        for k in count():
            known = [await task for task in tasks[: max(0, k - lag + 1)]]
            job = start(k, known)
            if job is None:
                break
            tasks.append(group.create_task(job))
    return tuple(task.result() for task in tasks)
