"""An event loop on which waiting takes no time: when nothing is ready, the clock jumps to the next timer."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

import pytest

T = TypeVar("T")

_LONGEST_PATIENCE = 10.0


class _Jumping(selectors.DefaultSelector):
    def __init__(self, patience: float) -> None:
        super().__init__()
        self.now = 0.0
        self._patience = patience

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if self._patience and (timeout is None or timeout > 0):
            ready = super().select(_LONGEST_PATIENCE if timeout is None else self._patience)
            if ready:
                return ready
        if timeout is None:
            raise RuntimeError("everything waits, and for nothing")
        self.now += max(0.0, timeout)
        return super().select(0)


class VirtualLoop(asyncio.SelectorEventLoop):
    """A loop that starts at time 0 and keeps virtual time."""

    def __init__(self, patience: float = 0.0) -> None:
        self._jumping = _Jumping(patience)
        super().__init__(self._jumping)

    def time(self) -> float:
        """Virtual seconds."""
        return self._jumping.now


def run_virtually(main: Coroutine[Any, Any, T], patience: float = 0.0) -> T:
    """Run ``main`` on a virtual clock; asyncio-throttle, which reads the wall clock, follows it too.

    Args:
        main: What to run.
        patience: How many real seconds sockets and threads are given before the clock jumps.
    """
    with pytest.MonkeyPatch.context() as patch, asyncio.Runner(loop_factory=lambda: VirtualLoop(patience)) as runner:
        loop = runner.get_loop()
        patch.setattr("asyncio_throttle.throttler.time.monotonic", loop.time)
        return runner.run(main)
