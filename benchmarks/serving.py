"""The tests' fake provider in a process of its own, so that what it computes is not counted as ours."""

from __future__ import annotations

import multiprocessing
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple

TESTS = Path(__file__).parents[1] / "tests"


class Traffic(NamedTuple):
    """What a server has seen: connections opened, and the most requests under way at once."""

    connections: int
    peak: int


class Server(NamedTuple):
    """A server elsewhere: the base URL for chat completions, and how to ask for its traffic."""

    url: str
    traffic: Callable[[], Traffic]


@contextmanager
def serving(latency: float = 0.0) -> Iterator[Server]:
    """Start a server that improvises valid answers, each after ``latency`` seconds."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs, latency), daemon=True)
    process.start()

    def traffic() -> Traffic:
        ours.send(True)
        return Traffic(*ours.recv())

    try:
        yield Server(ours.recv(), traffic)
    finally:
        ours.send(False)
        process.join(10)


def _serve(pipe: Connection, latency: float) -> None:
    sys.path.append(str(TESTS))
    from fakes import FakeProvider

    with FakeProvider.threaded(latency=latency) as server:
        pipe.send(server.openai_url)
        while pipe.recv():
            pipe.send((server.connections, server.peak))
