"""A small benchmark."""

from __future__ import annotations

import asyncio

import pytest

from builders.projects import MIRIAM, emit, offline
from screentest.builders import Benchmark

_ITEMS = 2


@pytest.fixture(scope="session")
def benchmark(tmp_path_factory: pytest.TempPathFactory) -> Benchmark:
    """A few items in English."""
    directory = tmp_path_factory.mktemp("benchmark")
    config = offline(directory, characters=(MIRIAM,), scenes=("en-goat-court",), build={"scenes": 3, "quota": 1})
    built = asyncio.run(emit(config, directory / "run"))
    return Benchmark.write(directory / "small", built.manifest, list(built.items())[:_ITEMS])
