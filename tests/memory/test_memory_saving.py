"""Memories on disk, whole, damaged or somebody else's."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memory.minds import asked, ids, remembering
from screentest.agents.memory import HashingEmbedder, Memories, Weights
from screentest.errors import InputError

Change = Callable[[dict[str, Any]], object]


@pytest.fixture
async def saved(tmp_path: Path) -> Path:
    """Three memories with vectors, one without, and a reflection's provenance."""
    memories = remembering("the mill", "the wheel", "水车", "rope", capacity=9, weights=Weights(half_life=5))
    memories.consolidate([0, 1], "mill and wheel", turn=4, minutes=4, importance=0.8)
    memories.consolidate([4, 3], "all of it", turn=4, minutes=4, importance=0.8)
    await asked(memories, "mill")
    memories.note("told", "new", turn=5, minutes=5)
    memories.save(tmp_path)
    return tmp_path


def changed(directory: Path, change: Change) -> None:
    file = directory / "memories.json"
    data = json.loads(file.read_text(encoding="utf-8"))
    change(data)
    file.write_text(json.dumps(data), encoding="utf-8")


def refused(directory: Path, embedder: HashingEmbedder | None = None) -> str:
    with pytest.raises(InputError) as caught:
        Memories.load(directory, embedder or HashingEmbedder())
    return str(caught.value)


def drafts(directory: Path) -> list[str]:
    return [path.name for path in directory.iterdir() if path.name.startswith(".")]


async def test_memories_come_back_as_they_were(saved: Path) -> None:
    memories = Memories.load(saved, HashingEmbedder())
    assert [(memory.id, memory.kind, memory.text) for memory in memories] == [
        (2, "saw", "水车"),
        (5, "reflected", "all of it"),
        (6, "told", "new"),
    ]
    assert (memories.capacity, memories.weights.half_life) == (9, 5)
    assert memories.origins(5) == (0, 1, 3)
    assert ids(await asked(memories, "水车"))[0] == 2
    assert memories.note("saw", "more", turn=6, minutes=6).id == 7


def test_saving_again_replaces_and_leaves_nothing_behind(saved: Path) -> None:
    before = {path.name for path in saved.iterdir()}
    memories = Memories.load(saved, HashingEmbedder())
    memories.forget(2)
    memories.save(saved)
    now = {path.name for path in saved.iterdir()}
    assert len(before) == len(now) == 2 and before != now
    memories.save(saved)
    assert {path.name for path in saved.iterdir()} == now
    for id in (5, 6):
        memories.forget(id)
    memories.save(saved)
    assert {path.name for path in saved.iterdir()} == {"memories.json"}
    assert len(Memories.load(saved, HashingEmbedder())) == 0


async def test_a_crash_while_saving_leaves_what_was_there(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    memories = Memories.load(saved, HashingEmbedder())
    memories.edit(2, "something else")
    await asked(memories, "else")
    replace = Path.replace

    def full(path: Path, target: Path) -> Path:
        if target.name == "memories.json":
            raise OSError(28, "No space left on device")
        return replace(path, target)

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(InputError, match="No space left"):
        memories.save(saved)
    assert drafts(saved) == []
    assert Memories.load(saved, HashingEmbedder())[2].text == "水车"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_directory_that_cannot_be_written(saved: Path) -> None:
    saved.chmod(0o500)
    with pytest.raises(InputError, match="cannot be saved"):
        remembering("one").save(saved)


def test_of_another_embedder(saved: Path) -> None:
    assert "made by hashing-512, not by hashing-64" in refused(saved, HashingEmbedder(64))


def test_of_another_version(saved: Path) -> None:
    changed(saved, lambda data: data.update(version=2, unheard_of=True))
    assert "version 2" in refused(saved)


def test_that_are_not_there(tmp_path: Path) -> None:
    assert "no memories to load" in refused(tmp_path)


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data.update(format="something"),
        lambda data: data.update(extra=1),
        lambda data: data.pop("next"),
        lambda data: data.update(next=6),
        lambda data: data["memories"].reverse(),
        lambda data: data["memories"].append(data["memories"][-1]),
        lambda data: data["memories"][0].update(importance=2),
        lambda data: data["memories"][0].update(text="two\nlines"),
        lambda data: data["memories"][0].update(turn=-1),
        lambda data: data["memories"][0].update(kind="dreamt"),
        lambda data: data["memories"][1].update(sources=[2]),
        lambda data: data["memories"][1].update(sources=[9]),
        lambda data: data.update(replaced={}) or data["memories"][1].update(sources=[4, 4]),
        lambda data: data.update(replaced={"1": [0]}),
        lambda data: data.update(embedded=[2, 9]),
        lambda data: data.update(embedded=[5, 2]),
        lambda data: data.update(embedded=[2]),
        lambda data: data.update(width=3),
        lambda data: data.update(width=10**12),
        lambda data: data.update(vectors=""),
        lambda data: data.update(vectors="../" * 20),
        lambda data: data["weights"].update(half_life=0),
        lambda data: data.update(capacity=0),
    ],
)
def test_damaged_records(saved: Path, change: Change) -> None:
    changed(saved, change)
    told = refused(saved)
    assert "damaged" in told and str(saved) in told and "\n" not in told


def test_missing_vectors(saved: Path) -> None:
    next(saved.glob("*.npy")).unlink()
    assert "vectors-" in refused(saved)


@pytest.mark.parametrize("cut", [0, 1, 60, 127, 128, 500, -1])
def test_cut_files(saved: Path, cut: int) -> None:
    for file in sorted(saved.iterdir(), reverse=True):
        whole = file.read_bytes()
        file.write_bytes(whole[:cut])
        assert "damaged" in refused(saved)
        file.write_bytes(whole)
    Memories.load(saved, HashingEmbedder())


@pytest.mark.parametrize(
    "vectors",
    [
        np.full((2, 512), np.nan, np.float32),
        np.full((2, 512), 7, np.float32),
        np.eye(2, 255, dtype=np.float32),
        np.eye(2, 512, dtype=np.float64),
        np.array([[{"a": 1}] * 512] * 2, dtype=object),
    ],
)
def test_vectors_that_were_tampered_with(saved: Path, vectors: np.ndarray) -> None:
    import hashlib

    (file,) = saved.glob("*.npy")
    np.save(file, vectors, allow_pickle=True)
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    file.rename(saved / f"vectors-{digest[:16]}.npy")
    changed(saved, lambda data: data.update(vectors=digest))
    assert "damaged" in refused(saved)
