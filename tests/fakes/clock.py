"""An event loop on which waiting takes no time: when nothing is ready, the clock jumps to the next timer."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

import pytest

T = TypeVar("T")


class _Jumping(selectors.DefaultSelector):
    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise RuntimeError("everything waits, and for nothing")
        self.now += max(0.0, timeout)
        return super().select(0)


class VirtualLoop(asyncio.SelectorEventLoop):
    """A loop that starts at time 0 and keeps virtual time."""

    def __init__(self) -> None:
        self._jumping = _Jumping()
        super().__init__(self._jumping)

    def time(self) -> float:
        """Virtual seconds."""
        return self._jumping.now


def run_virtually(main: Coroutine[Any, Any, T]) -> T:
    """Run ``main`` on a virtual clock; asyncio-throttle, which reads the wall clock, follows it too."""
    with pytest.MonkeyPatch.context() as patch, asyncio.Runner(loop_factory=VirtualLoop) as runner:
        loop = runner.get_loop()
        patch.setattr("asyncio_throttle.throttler.time.monotonic", loop.time)
        return runner.run(main)
