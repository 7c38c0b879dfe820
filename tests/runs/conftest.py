"""One finished build and evaluation, for tests to compare with and to copy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from builders.projects import generous
from fakes import FakeProvider
from runs.theatre import Theatre, written


@dataclass(frozen=True)
class Finished:
    """A run that nobody interrupted.

    Attributes:
        theatre: Where it was made; its server is slow enough to be cut short.
        run: The build.
        evaluation: The evaluation.
        built: Requests the build made.
        compared: Requests the evaluation made.
    """

    theatre: Theatre
    run: Path
    evaluation: Path
    built: int
    compared: int


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Finished]:
    """Build and evaluate once."""
    root = tmp_path_factory.mktemp("theatre")
    with FakeProvider.threaded(generous, latency=0.02) as server:
        theatre = Theatre(server, root, written(root, server))
        run, evaluation = root / "uninterrupted", root / "evaluated"
        theatre.done(theatre.building(run))
        built = len(server.requests)
        theatre.done(theatre.evaluating(run / "benchmark", evaluation))
        yield Finished(theatre, run, evaluation, built, len(server.requests) - built)
