"""Going on with a run, or replaying it, from its directory alone."""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import orjson

from screentest.builders.benchmark import Benchmark
from screentest.builders.config import Config
from screentest.builders.evaluation import evaluation_identity, judged_before, tested_labels
from screentest.builders.identity import compare, config_file, freeze_config, frozen, identity_file, published
from screentest.builders.ingredients import Ingredients
from screentest.builders.reading import load_config
from screentest.builders.results import Results
from screentest.errors import InputError
from screentest.files import replace_file
from screentest.sim import STORE, locked


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


def check_build(config: Config, run: Path) -> None:
    """Check, before anything is said or shown, that a build can go on in its directory.

    Raises:
        InputError: It began with other settings.
        RunLocked: Another process is working on the run.
    """
    if frozen(run, "build") is not None:
        with locked(run):
            compare(run, "build", Ingredients.gather(config).identity(config))


def check_evaluation(benchmark: Benchmark, config: Config, run: Path, tested: Sequence[str]) -> None:
    """The same of an evaluation.

    Raises:
        InputError: It began with other settings, or a label names no model.
        RunLocked: Another process is working on the run.
    """
    if frozen(run, "eval") is not None:
        with locked(run):
            labels = tested_labels(config, run, tested)
            compare(run, "eval", evaluation_identity(config, benchmark, labels, run))


def check_rejudging(benchmark: Benchmark, config: Config, run: Path, judge: str) -> None:
    """The same of an evaluation that is to be judged again.

    Raises:
        InputError: There is no such evaluation or judge.
        RunLocked: Another process is working on the run.
    """
    judged_before(benchmark, config, run, judge)
    with locked(run):
        pass


@dataclass(frozen=True, slots=True)
class Remainder:
    """What a run that is not finished has.

    Attributes:
        kept: Calls with a reply, and calls that failed for good.
        in_flight: Calls that were under way when it stopped; they are made again.
    """

    kept: int
    in_flight: int


def remainder(run: Path) -> Remainder | None:
    """How far a run has come whose store is sound; ``None`` if all that it was asked for is emitted.

    Raises:
        InputError: The directory is no run, or what it froze or emitted is damaged.
    """
    with closing(sqlite3.connect(f"{(run / STORE).resolve().as_uri()}?mode=ro", uri=True)) as connection:
        states = dict(connection.execute("SELECT state, count(*) FROM calls GROUP BY state"))
    in_flight = states.pop("begun", 0)
    if not in_flight and all(has_emitted(run, stage.name) and _is_current(run, stage) for stage in stages(run)):
        return None
    return Remainder(sum(states.values()), in_flight)


def has_emitted(run: Path, stage: str) -> bool:
    """Whether a stage of a run was finished once, and its files were sealed."""
    return (run / f"{stage}.sha256").is_file()


def _is_current(run: Path, stage: Stage) -> bool:
    """Whether what a stage emitted is what was asked for last."""
    if stage.name == "build":
        return Benchmark.open(run / "benchmark").manifest.config == frozen(run, "build")
    results = Results.model_validate_json((run / "results.json").read_bytes())
    return set(results.models) == set(stage.tested)


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
