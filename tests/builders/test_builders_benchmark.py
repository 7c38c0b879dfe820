"""The emitted benchmark: opened, verified, loaded elsewhere, and asked for again as it was asked."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from builders.projects import MIRIAM, SHEN, emit, generous, items, offline, project, served
from fakes import FakeProvider
from screentest.builders import Benchmark, evaluate, load_config
from screentest.errors import InputError
from screentest.judges import furina_dimensions
from screentest.pools import Character, Scene, starter_pool


def _edit_manifest(benchmark: Benchmark, **changes: Any) -> None:
    file = benchmark.path / "manifest.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))


def _edit_items(benchmark: Benchmark, **changes: Any) -> None:
    """Change the first item, and the hash with it."""
    file = benchmark.path / "data/test.jsonl"
    first, *rest = file.read_text().splitlines(keepends=True)
    file.write_text(json.dumps(json.loads(first) | changes) + "\n" + "".join(rest))
    _edit_manifest(benchmark, content_hash=hashlib.sha256(file.read_bytes()).hexdigest())


async def test_a_benchmark_opens_by_its_own_directory_or_its_run(benchmark: Benchmark) -> None:
    assert Benchmark.open(benchmark.path) == Benchmark.open(benchmark.path.parent) == benchmark
    assert len(list(benchmark.items())) == benchmark.manifest.items > 0


async def test_items_that_were_tampered_with_are_refused(benchmark: Benchmark) -> None:
    file = benchmark.path / "data/test.jsonl"
    file.write_bytes(file.read_bytes().replace(b'"score":1.0', b'"score":2.0', 1))
    with pytest.raises(InputError, match=r"test\.jsonl: the items are not those that were emitted; its hash is"):
        Benchmark.open(benchmark.path)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"schema_version": 2}, "schema_version is 2, this version reads 1"),
        ({"schema_version": None}, "schema_version is None"),
        ({"items": "many"}, r"manifest\.json: items: the manifest is damaged"),
        ({"surprise": 1}, r"manifest\.json: surprise: the manifest is damaged"),
    ],
)
async def test_a_manifest_that_cannot_be_read_is_refused(
    benchmark: Benchmark, changes: dict[str, Any], said: str
) -> None:
    _edit_manifest(benchmark, **changes)
    with pytest.raises(InputError, match=said) as caught:
        Benchmark.open(benchmark.path)
    assert "\n" not in str(caught.value)


async def test_what_is_not_a_benchmark_is_refused_in_plain_words(tmp_path: Path) -> None:
    (tmp_path / "junk").mkdir()
    (tmp_path / "junk/manifest.json").write_text("{")
    for name in ("nowhere", "junk"):
        with pytest.raises(InputError, match="not a benchmark") as caught:
            Benchmark.open(tmp_path / name)
        assert "Errno" not in str(caught.value) and "screentest build" in str(caught.value)


async def test_a_line_that_is_no_item_is_named(benchmark: Benchmark) -> None:
    _edit_items(benchmark, turn="first")
    with pytest.raises(InputError, match=r"test\.jsonl: line 1: turn: not an item"):
        list(Benchmark.open(benchmark.path).items())


async def test_an_item_on_a_dimension_the_manifest_lacks_is_one_line_not_a_crash(
    benchmark: Benchmark, tmp_path: Path
) -> None:
    _edit_items(benchmark, dimension="XX")
    opened = Benchmark.open(benchmark.path)
    with pytest.raises(InputError, match="XX"):
        await evaluate(opened, offline(tmp_path / "other"), tmp_path / "eval")


async def test_the_tested_model_is_asked_what_the_source_was_asked_but_for_the_strategy(tmp_path: Path) -> None:
    async with FakeProvider(generous) as server:
        models = served(server, "rest", "source", "tested")
        roles = {"sources": ["source"], "tested": ["tested"]}
        config = load_config(project(tmp_path, models=models, roles=roles, build={"quota": 2}))
        emitted = await emit(config, tmp_path / "run")
        built = [seen.messages for seen in server.requests if seen.body["model"] == "source"]
        server.requests.clear()
        await evaluate(emitted, config, tmp_path / "eval")
        asked = [seen.messages for seen in server.requests if seen.body["model"] == "tested"]
    dimensions = {d.id: d for language in ("en", "zh") for d in furina_dimensions(language)}
    assert len(asked) == emitted.manifest.items
    at_build = [_without_strategies(messages) for messages in built]
    for messages in asked:
        assert _without_strategies(messages) in at_build
    for item in items(tmp_path / "run"):
        assert dimensions[item.dimension].id == item.dimension
        matching = [m for m in asked if item.strategy in m[-1][1] or item.strategy in m[0][1]]
        assert matching, f"{item.id} was asked without S(d)"


def _without_strategies(messages: list[tuple[str, str]]) -> str:
    text = json.dumps(messages, ensure_ascii=False)
    for language in ("en", "zh"):
        for dimension in furina_dimensions(language):
            text = text.replace(json.dumps(dimension.strategy, ensure_ascii=False)[1:-1], "S(d)")
    return text


_HOSTILE = (
    "x | y\n# [click](javascript:alert(1)) <script>alert(2)</script> `rm` ![](http://evil/x.png) \\| --- {{ 7*7 }}"
)


async def test_the_card_has_a_header_for_datasets_and_no_markup_of_others(tmp_path: Path) -> None:
    scene = starter_pool()["en-goat-court"]
    hostile_scene = Scene.model_validate(
        {**scene.model_dump(), "source": _HOSTILE, "licence": "<b>mine</b>|\nyes", "title": _HOSTILE}
    )
    hostile = MIRIAM.model_copy(update={"name": "Eve|<img src=x onerror=alert(1)>[a](b)`*_"})
    config = offline(tmp_path, scenes=(hostile_scene,), characters=(hostile,), build={"quota": 30, "scenes": 3})
    await emit(config, tmp_path / "run")
    text = (tmp_path / "run/benchmark/README.md").read_text()
    _, header, body = text.split("---\n", 2)
    head = yaml.safe_load(header)
    assert head["configs"][0]["data_files"] == [{"split": "test", "path": "data/test.jsonl"}]
    assert head["license"] == "other" and head["language"] == ["en"]
    assert "<script" not in body and "<img" not in body and "<b>" not in body
    assert not re.search(r"(?<!\\)\]\(|(?<!\\)!\[|49", body.split("## Items")[1])
    own_headings = {"Use", "Items", "Fields", "Licence"}
    headings = [line for line in body.splitlines() if line.startswith("#")]
    assert {heading.strip("# ").split(" ")[0] for heading in headings} == own_headings | {"tiny"}
    for line in body.splitlines():
        if line.startswith("| en | Eve"):
            assert line.replace("\\|", "").count("|") == 5
            break
    else:
        pytest.fail("the card does not list the test character")


_LOAD = """
import json, socket, sys
def refuse(*args): raise OSError("no network")
socket.socket.connect = refuse
from datasets import load_dataset
found = load_dataset(sys.argv[1])
split = found["test"]
print(json.dumps({"splits": list(found), "rows": len(split), "columns": split.column_names,
                  "first": split[0]["id"], "turn": str(split.features["turn"].dtype),
                  "languages": sorted(set(split["language"]))}))
"""


def _load_elsewhere(directory: Path, home: Path) -> dict[str, Any]:
    offline_only = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "HF_HOME": str(home)}
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", _LOAD, str(directory)],
        env={**os.environ, **offline_only},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize(("characters", "languages"), [((MIRIAM, SHEN), ["en", "zh"]), ((SHEN,), ["zh"])])
async def test_the_datasets_library_loads_the_directory_as_it_is(
    tmp_path: Path, characters: tuple[Character, ...], languages: list[str]
) -> None:
    emitted = await emit(offline(tmp_path, characters=characters), tmp_path / "run")
    found = _load_elsewhere(emitted.path, tmp_path / "hf")
    first, *_ = emitted.items()
    assert found == {
        "splits": ["test"],
        "rows": emitted.manifest.items,
        "columns": list(type(first).model_fields),
        "first": first.id,
        "turn": "int64",
        "languages": languages,
    }
