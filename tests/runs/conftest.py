"""One finished build and evaluation, for tests to compare with and to copy."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from builders.projects import generous
from fakes import FakeProvider
from runs.theatre import Finished, Theatre, asked, written


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Finished]:
    """Build and evaluate once."""
    root = tmp_path_factory.mktemp("theatre")
    with FakeProvider.threaded(generous, latency=0.02) as server:
        theatre = Theatre(server, root, written(root, server, build={"scenes": 3, "turns": 10}))
        run, evaluation = root / "uninterrupted", root / "evaluated"
        theatre.done(theatre.building(run))
        built = asked(server)
        theatre.done(theatre.evaluating(run / "benchmark", evaluation))
        yield Finished(theatre, run, evaluation, built, asked(server, built.total()))
