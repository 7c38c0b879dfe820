"""A benchmark for tests to use and to spoil."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest

from builders.projects import emit, offline
from screentest.builders import Benchmark


@pytest.fixture(scope="session")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run of a small bilingual benchmark, with every dimension in both languages."""
    directory = tmp_path_factory.mktemp("pristine")
    asyncio.run(emit(offline(directory, build={"scenes": 60}), directory / "run"))
    return directory / "run"


@pytest.fixture
def benchmark(pristine: Path, tmp_path: Path) -> Benchmark:
    """A copy of it."""
    return Benchmark.open(shutil.copytree(pristine / "benchmark", tmp_path / "copied" / "benchmark"))
