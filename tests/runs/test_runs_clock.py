"""A clock that jumps by a day, forward or back: nothing hangs, nothing is asked twice, and the bytes are the same."""

from __future__ import annotations

import ast
import asyncio
import email.utils
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import screentest
from builders.projects import emitted, generous, served
from fakes import Fails, FakeProvider, Says, Seen
from runs.theatre import KEY, LABELS, written
from screentest.builders import build, load_config
from screentest.llms import Meter
from screentest.sim import Session

DAY = 86_400.0
real = time.time

days = pytest.mark.parametrize("days", [1, -1])


def test_only_two_modules_read_the_wall_clock() -> None:
    """Both know that it may be wrong (for batches see ``test_batch_clock.py``); a third one needs a test as well."""
    readers: set[str] = set()
    for file in Path(screentest.__path__[0]).rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_bytes())):
            if isinstance(node, ast.Attribute) and ast.unparse(node) in {
                "time.time",
                "time.time_ns",
                "time.localtime",
                "time.strftime",
                "datetime.now",
                "datetime.datetime.now",
                "datetime.utcnow",
                "date.today",
            }:
                readers.add(file.name)
    assert readers == {"batch_courier.py", "wire.py"}


class Limiting:
    """Answers as :func:`generous` does, but the twelfth request is to be repeated at a date: a second from now.

    Attributes:
        arrivals: When each request came.
    """

    def __init__(self) -> None:
        self.arrivals: list[tuple[float, Seen]] = []

    def __call__(self, seen: Seen) -> Says | Fails:
        self.arrivals.append((time.monotonic(), seen))
        if len(self.arrivals) != 12:
            return generous(seen)
        now = real()
        headers = {"date": email.utils.formatdate(now, usegmt=True)}
        return Fails(429, "later", headers=headers | {"retry-after": email.utils.formatdate(now + 1, usegmt=True)})

    def waited(self) -> float:
        """Seconds from the request that was refused until it came again."""
        refused, body = self.arrivals[11][0], self.arrivals[11][1].body
        return next(at for at, seen in self.arrivals[12:] if seen.body == body) - refused


async def _built(directory: Path, clock: Callable[[int], float] | None) -> tuple[dict[str, bytes], int, float]:
    """What a build emitted, how many requests it took, and how long the refused one waited.

    Args:
        directory: Where to build.
        clock: How far the clock is off when so many requests have been seen; ``None`` for a clock that is right.
    """
    limiting = Limiting()
    async with FakeProvider(limiting) as server:
        models = served(server, *LABELS, key_env="SENTINEL_KEY", retries=3, rpm=12_000, tpm=60_000_000)
        settings = load_config(written(directory, server, models=models))
        with pytest.MonkeyPatch.context() as patch:
            if clock:
                patch.setattr(time, "time", lambda: real() + clock(len(server.requests)))
            meter = Meter()
            async with asyncio.timeout(20):
                await build(
                    settings, directory / "run", session=Session(environment={"SENTINEL_KEY": KEY}), meter=meter
                )
        assert not meter.failed
        return emitted(directory / "run"), len(server.requests), limiting.waited()


@pytest.fixture(scope="module")
def steady(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, bytes], int, float]:
    """A build by a clock that is right."""
    return asyncio.run(_built(tmp_path_factory.mktemp("steady"), None))


@days
async def test_a_build_does_not_notice(steady: tuple[dict[str, bytes], int, float], tmp_path: Path, days: int) -> None:
    files, requests, waited = await _built(tmp_path, lambda seen: days * DAY if seen >= 8 else 0.0)
    assert files == steady[0]
    assert requests == steady[1], "one was repeated, once"
    assert 1.0 <= waited < 5.0 and 1.0 <= steady[2] < 5.0, "it waits as long as it is asked to, by the server's clock"
