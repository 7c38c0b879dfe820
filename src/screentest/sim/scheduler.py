"""The scheduler: many conversations at once, bounded by the calls in flight, deterministic whatever finishes first."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from contextvars import copy_context
from itertools import count
from typing import Any, TypeVar

from screentest.errors import Stopped
from screentest.llms import wave

T = TypeVar("T")


async def group(jobs: Iterable[Coroutine[Any, Any, T]]) -> tuple[T, ...]:
    """Run jobs at once; the first error cancels the others and is raised as it is, once all have ended."""
    try:
        async with asyncio.TaskGroup() as tasks:
            running = [tasks.create_task(job) for job in jobs]
    except BaseExceptionGroup as errors:
        raise _first(errors) from None
    return tuple(task.result() for task in running)


async def together(*jobs: Awaitable[T]) -> tuple[T, ...]:
    """Run jobs at once and wait for all, even if one fails: a call under way is already being paid for.

    Raises:
        Stopped: One of the jobs says that the whole run must stop.
        Exception: The first job's that failed, in the order given.
    """
    outcomes = await asyncio.gather(*jobs, return_exceptions=True)
    failed = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
    for error in sorted(failed, key=lambda error: not isinstance(error, Stopped)):
        raise error
    return tuple(outcome for outcome in outcomes if not isinstance(outcome, BaseException))


async def staggered(start: Callable[[int, Sequence[T]], Coroutine[Any, Any, T] | None], *, lag: int) -> tuple[T, ...]:
    """Run a series of jobs, ``lag`` of them at once, each learning from a fixed part of its forerunners.

    Job ``k`` is given the results of jobs ``0 … k - lag``, no matter which others have finished by then. So what a job
    does cannot depend on timing. Later waves of ``lag`` jobs wait for earlier ones, whose calls therefore go first.

    Args:
        start: Makes job ``k`` from the results it may know; ``None`` ends the series.
        lag: How many jobs run at once; 1 runs them one after another.

    Returns:
        The results in order of ``k``.
    """
    running: list[asyncio.Task[T]] = []
    try:
        async with asyncio.TaskGroup() as tasks:
            for k in count():
                known = [await task for task in running[: max(0, k - lag + 1)]]
                job = start(k, known)
                if job is None:
                    break
                context = copy_context()
                context.run(wave.set, k // lag)
                running.append(tasks.create_task(job, context=context))
    except BaseExceptionGroup as errors:
        raise _first(errors) from None
    return tuple(task.result() for task in running)


def _first(errors: BaseExceptionGroup[BaseException]) -> BaseException:
    error = errors.exceptions[0]
    return _first(error) if isinstance(error, BaseExceptionGroup) else error
