"""Small projects to build from: a pool, two test characters and a configuration file."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson
import yaml

from fakes import Behaviour, FakeProvider, Says, Seen, improvise
from screentest.builders import Benchmark, Config, Flagged, Item, build, load_config
from screentest.pools import Character, Pool, Scene, starter_pool
from screentest.sim import Session, Trajectory

UNDERSTUDIES = {skill: {"provider": "understudy", "skill": skill} for skill in ("adept", "novice", "expert")}
TINY = {"quota": 1, "turns": 14, "min_turns": 8, "scenes": 4}
SCENES = ("en-goat-court", "en-obituary-desk", "zh-yamen-melon", "zh-dig-watch")

MIRIAM = Character(
    id="miriam",
    name="Miriam Vale",
    language="en",
    kind="synthesized",
    public={"background": "Harbour pilot at Saltmere for sixteen years.", "persona": "Patient with weather only."},
    private={"secret": "She read the tide table for the wrong day.", "speech": "Says 'mark it' when it is settled."},
)
SHEN = Character(
    id="shen",
    name="沈砚秋",
    language="zh",
    kind="established",
    public={"背景": "临河镇修书铺的掌柜。", "性格": "慢性子，认死理。"},
    private={"秘密": "当铺里那幅宋画是他二十岁时亲手仿的。", "口头禅": "不急，先晾一晾。"},
)


def project(
    directory: Path,
    *,
    scenes: tuple[Scene | str, ...] = SCENES,
    characters: tuple[Character, ...] = (MIRIAM, SHEN),
    models: Mapping[str, Any] = UNDERSTUDIES,
    build: Mapping[str, Any] | None = None,
    **rest: Any,
) -> Path:
    """Write a project and return its configuration file."""
    starter = starter_pool()
    pool = [starter[scene] if isinstance(scene, str) else scene for scene in scenes]
    Pool.write(directory / "pool", name="tiny", scenes=pool, licence="CC0-1.0", source="tests")
    for character in characters:
        file = directory / "characters" / f"{character.id}.yaml"
        file.parent.mkdir(exist_ok=True)
        fields = character.model_dump(exclude={"source", "licence"})
        file.write_text(yaml.safe_dump(fields, allow_unicode=True), encoding="utf-8")
    data = {
        "name": "tiny",
        "seed": 7,
        "models": dict(models),
        "pool": {"path": "pool"},
        "characters": ["characters/*.yaml"] if characters else [],
        "build": {**TINY, **(build or {})},
        "evaluate": {"resamples": 100},
        **rest,
    }
    config = directory / "config.yaml"
    config.write_text(yaml.safe_dump(data, allow_unicode=True, sort_keys=False), encoding="utf-8")
    return config


def offline(directory: Path, **changes: Any) -> Config:
    """A project that the expert and the adept understudy play, loaded."""
    changes.setdefault("roles", {"sources": ["expert"], "tested": ["novice", "expert"]})
    return load_config(project(directory, **changes))


def load_with(**data: Any) -> Config:
    """A configuration without a file, for what needs no pool and no characters."""
    return Config.model_validate(data)


def served(server: FakeProvider, *labels: str, **fields: Any) -> dict[str, Any]:
    """Models at a fake provider, each under its label as its name."""
    return {
        label: {"provider": "openai", "model": label, "base_url": server.openai_url, "retries": 1, **fields}
        for label in labels
    }


def parts(behaviours: Mapping[str, Behaviour]) -> Behaviour:
    """Each model by its name; those not named improvise."""
    return lambda seen: behaviours.get(seen.body["model"], improvise)(seen)


def generous(seen: Seen) -> Says:
    """Grades that keep every dialogue, and verdicts that mostly favour A or B a little; all else is improvised."""
    asked = seen.schema["properties"] if seen.schema else {}
    if "grade" in asked:
        return Says('{"reason": "good on all three", "grade": "high"}')
    if "score" in asked:
        return Says(json.dumps({"explanation": "by a hair", "score": seen.generator.choice((1, 2, 2, 3, 4, 4))}))
    return improvise(seen)


async def emit(config: Config, run: Path, concurrency: int = 16) -> Benchmark:
    """Build."""
    return await build(config, run, session=Session(concurrency=concurrency))


def emitted(run: Path) -> dict[str, bytes]:
    """Every file a build emits, by name: all but the store, the frozen settings and the lock."""
    emitted = [run / "trajectories.jsonl", run / "review.jsonl", *sorted((run / "benchmark").rglob("*"))]
    return {str(path.relative_to(run)): path.read_bytes() for path in emitted if path.is_file()}


def everything(run: Path) -> dict[str, bytes]:
    """Every file of a run, by name."""
    return {str(path.relative_to(run)): path.read_bytes() for path in sorted(run.rglob("*")) if path.is_file()}


def trajectories(run: Path) -> list[Trajectory]:
    """The trajectories of a run."""
    return [Trajectory.model_validate_json(line) for line in _lines(run / "trajectories.jsonl")]


def flagged(run: Path) -> list[Flagged]:
    """What a run put up for review."""
    return [Flagged.model_validate_json(line) for line in _lines(run / "review.jsonl")]


def items(run: Path) -> list[Item]:
    """The items of a run."""
    return list(Benchmark.open(run).items())


def records(file: Path) -> list[dict[str, Any]]:
    """The rows of a JSONL file."""
    return [orjson.loads(line) for line in _lines(file)]


def _lines(file: Path) -> Iterator[bytes]:
    yield from file.read_bytes().splitlines()
