"""Where CPU time goes, by looking now and then."""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any

REST = "the rest"
_SECONDS = 0.001


@contextmanager
def sampled(parts: Mapping[str, Callable[..., Any]]) -> Iterator[Counter[str]]:
    """Count looks by the innermost function on the stack that is among ``parts``; the timer follows CPU time.

    Args:
        parts: Functions by what to call them.
    """
    names: dict[CodeType, str] = {function.__code__: name for name, function in parts.items()}  # pyright: ignore[reportFunctionMemberAccess]
    found = Counter[str]()

    def look(number: int, frame: FrameType | None) -> None:
        del number
        while frame is not None and frame.f_code not in names:
            frame = frame.f_back
        found[names[frame.f_code] if frame else REST] += 1

    before = signal.signal(signal.SIGPROF, look)
    signal.setitimer(signal.ITIMER_PROF, _SECONDS, _SECONDS)
    try:
        yield found
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def shares(found: Counter[str]) -> str:
    """The counts as shares, the largest first."""
    return ", ".join(f"{name} {count / found.total():.0%}" for name, count in found.most_common())
