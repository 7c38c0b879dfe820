"""Two runs to export from: dialogues and stories."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest

from builders.projects import emit, offline


def _built(directory: Path, **build: object) -> Path:
    asyncio.run(emit(offline(directory, build=build), directory / "run"))
    return directory / "run"


@pytest.fixture(scope="session")
def dialogues(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run in which dialogues were played."""
    return _built(tmp_path_factory.mktemp("dialogues"), scenes=3)


@pytest.fixture(scope="session")
def tales(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run in which stories were played."""
    return _built(tmp_path_factory.mktemp("tales"), staging="story", rounds=2, scenes=2)


@pytest.fixture
def copied(dialogues: Path, tmp_path: Path) -> Path:
    """A copy of the run of dialogues, with what it was played from, to be spoiled."""
    return Path(shutil.copytree(dialogues.parent, tmp_path / "copied")) / "run"
