"""Going on with a run, or replaying it, from its directory alone."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

import orjson

from screentest.builders.benchmark import Benchmark
from screentest.builders.config import Config
from screentest.builders.files import replace_file
from screentest.builders.identity import config_file, freeze_config, frozen, identity_file, published
from screentest.builders.ingredients import Ingredients
from screentest.builders.reading import load_config
from screentest.errors import InputError


@dataclass(frozen=True, slots=True)
class Stage:
    """A stage that a run has begun.

    Attributes:
        name: ``build`` or ``eval``.
        config: Its frozen configuration.
        tested: For ``eval``: the tested models.
        benchmark: For ``eval``: where its benchmark is.
    """

    name: str
    config: Config
    tested: tuple[str, ...] = ()
    benchmark: Path | None = None

    def open_benchmark(self) -> Benchmark:
        """The benchmark of an ``eval`` stage.

        Raises:
            InputError: It is not where it was.
        """
        assert self.benchmark is not None, "only an evaluation has a benchmark"  # noqa: S101
        return Benchmark.open(self.benchmark)


def stages(run: Path) -> tuple[Stage, ...]:
    """The stages that a run has begun, in the order they run.

    Raises:
        InputError: The directory is no run, or what it froze is damaged.
    """
    found: list[Stage] = []
    if frozen(run, "build") is not None:
        found.append(Stage("build", load_config(config_file(run, "build"))))
    if (evaluation := frozen(run, "eval")) is not None:
        benchmark = (run / evaluation["_benchmark"]).resolve()
        config = load_config(config_file(run, "eval"))
        found.append(Stage("eval", config, tuple(evaluation["tested"]), benchmark))
    if not found:
        hint = "give the --run directory of a build or an evaluation"
        raise InputError("this is not a run", where=str(run), why="it froze no configuration", hint=hint)
    return tuple(found)


def is_finished(config: Config, run: Path) -> bool:
    """Whether a run holds the benchmark that a configuration asks for, so that building it makes no call."""
    try:
        built = Benchmark.open(run / "benchmark").manifest.config
    except InputError:
        return False
    asked = published(Ingredients.gather(config).identity(config))
    return built == orjson.loads(orjson.dumps(asked))


def copy_frozen(source: Path, target: Path) -> None:
    """Copy what a run has frozen into another run directory."""
    for stage in ("build", "eval"):
        file = identity_file(source, stage)
        if not file.is_file():
            continue
        identity = orjson.loads(file.read_bytes())
        if place := identity.get("_benchmark"):
            benchmark = (source / place).resolve()
            inside = benchmark.is_relative_to(source.resolve())
            identity["_benchmark"] = place if inside else os.path.relpath(benchmark, target.resolve())
        replace_file(target / file.name, orjson.dumps(identity, option=orjson.OPT_INDENT_2) + b"\n")
        freeze_config(target, stage, load_config(config_file(source, stage)).relative_to(target))


def emitted(run: Path) -> dict[str, str]:
    """The hash of every file that a run has emitted, by name."""
    names = (
        "trajectories.jsonl",
        "review.jsonl",
        "benchmark/data/test.jsonl",
        "benchmark/README.md",
        "benchmark/manifest.json",
        "evaluations.jsonl",
        "results.json",
    )
    files = {name: run / name for name in names}
    return {name: hashlib.sha256(file.read_bytes()).hexdigest() for name, file in files.items() if file.is_file()}
