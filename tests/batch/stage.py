"""Evaluations in batches, against a fake provider, and ways to kill them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Literal, TypeVar

import pytest

from builders.projects import load_with
from fakes import FakeProvider
from screentest.builders import Benchmark, Config, evaluate
from screentest.llms import Meter, Pace, batches
from screentest.llms.wire import Wire
from screentest.sim import Session, run
from screentest.sim.database import Writer

T = TypeVar("T")
Protocol = Literal["openai", "anthropic"]

PACE = Pace(quiet=0.004, first_poll=0.001, longest_poll=0.004, settle=0.01)
PRICE = {"input": 2.0, "output": 8.0}


def config(server: FakeProvider, provider: Protocol = "openai", **fields: Any) -> Config:
    """A base, a judge and a tested model at ``server``."""
    url, prefix = (server.openai_url, "") if provider == "openai" else (server.anthropic_url, "claude-sonnet-4-6-")
    models = {
        label: {"provider": provider, "model": prefix + label, "base_url": url, "retries": 4, "price": PRICE, **fields}
        for label in ("base", "judge", "tested")
    }
    roles = {"base": "base", "judge": "judge", "sources": ["base"], "tested": ["tested"]}
    return load_with(models=models, roles=roles, seed=7, evaluate={"resamples": 100, "max_failures": 1})


async def online(benchmark: Benchmark, settings: Config, directory: Path) -> None:
    """Evaluate call by call."""
    await evaluate(benchmark, settings, directory)


async def batched(benchmark: Benchmark, settings: Config, directory: Path, **session: Any) -> Meter:
    """Evaluate in batches."""
    meter = Meter()
    await evaluate(benchmark, settings, directory, session=Session(batch=True, pace=PACE, **session), meter=meter)
    return meter


def outcome(directory: Path) -> tuple[bytes, bytes]:
    """What an evaluation emitted."""
    return (directory / "results.json").read_bytes(), (directory / "evaluations.jsonl").read_bytes()


class Fuse:
    """Kills what is under way when it has come to the ``at``-th step: from then on no step is done or comes back.

    A step is to send something to the provider, to hear from it, to put something on disk, or to know that it is there.
    """

    def __init__(self, patch: pytest.MonkeyPatch, at: int) -> None:
        self.at, self.steps, self.blown = at, 0, asyncio.Event()
        for owner, name in ((Wire, "send"), (Wire, "upload"), (Writer, "write")):
            patch.setattr(owner, name, self._around(getattr(owner, name)))
        patch.setattr(batches, "_GRACE", 0.0)
        patch.setattr(run, "_GRACE", 0.0)

    async def let(self, work: Awaitable[object]) -> bool:
        """Run ``work`` until it is done or killed; whether it was done."""
        task, blown = asyncio.ensure_future(work), asyncio.ensure_future(self.blown.wait())
        await asyncio.wait({task, blown}, return_when=asyncio.FIRST_COMPLETED)
        blown.cancel()
        if self.blown.is_set():
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            return False
        await task
        return True

    def _around(self, step: Callable[..., Awaitable[T]]) -> Callable[..., Awaitable[T]]:
        async def stepped(*args: Any, **named: Any) -> T:
            await self._step()
            done = await step(*args, **named)
            await self._step()
            return done

        return stepped

    async def _step(self) -> None:
        self.steps += 1
        if self.steps >= self.at:
            self.blown.set()
            await asyncio.Event().wait()


async def killed(work: Callable[[], Awaitable[object]], at: int) -> bool:
    """Run ``work`` and kill it at a step; whether it came through before."""
    with pytest.MonkeyPatch.context() as patch:
        return await Fuse(patch, at).let(work())
