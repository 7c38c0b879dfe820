"""The build: from a configuration to an emitted benchmark."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from pydantic import BaseModel

from screentest import __version__
from screentest.builders.benchmark import SCHEMA_VERSION, Benchmark, BuildReport, Manifest
from screentest.builders.campaign import Campaign, Cell, CellOutcome, Progress, enterable
from screentest.builders.config import Config
from screentest.builders.files import replace_file
from screentest.errors import InputError, TooManyFailures
from screentest.judges import Dimension, furina_dimensions, load_dimensions
from screentest.llms import Meter, Model, open_models
from screentest.pools import LANGUAGES, Character, Language, Pool, load_characters, starter_pool
from screentest.sim import Gated, Players, Trajectory

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Ingredients:
    """What a configuration refers to, read and checked before a single call is paid for.

    Attributes:
        pool: The pool.
        cells: Every (test character × source model).
        dimensions: Per language of the cells.
    """

    pool: Pool
    cells: tuple[Cell, ...]
    dimensions: dict[Language, tuple[Dimension, ...]]

    @classmethod
    def gather(cls, config: Config) -> Ingredients:
        """Read everything a build needs.

        Raises:
            InputError: Something is missing, unreadable, or leaves nothing to build.
        """
        pool = Pool.open(config.pool.path) if config.pool.path else starter_pool()
        characters = _characters(config, pool)
        dimensions: dict[Language, tuple[Dimension, ...]] = {
            language: load_dimensions(config.dimensions, language) if config.dimensions else furina_dimensions(language)
            for language in LANGUAGES
            if any(character.language == language for character in characters)
        }
        cells = tuple(Cell(character, source) for character in characters for source in config.roles.sources)
        return cls(pool, cells, dimensions)


def _characters(config: Config, pool: Pool) -> tuple[Character, ...]:
    found = load_characters(config.characters, Path()) if config.characters else pool.characters
    where = "characters" if config.characters else str(pool.path)
    if not found:
        hint = "name character files under `characters:` in the configuration"
        raise InputError("no test characters", where=where, why="the pool has none of its own", hint=hint)
    chosen = tuple(character for character in found if character.language in config.pool.languages)
    if not chosen:
        why = f"pool.languages is {', '.join(config.pool.languages)}"
        raise InputError("no test character speaks a language of this build", where=where, why=why)
    if doubles := [name for name, count in Counter(character.id for character in chosen).items() if count > 1]:
        raise InputError(
            "two test characters share an id", where=where, why=", ".join(doubles), hint="give each an `id`"
        )
    if not any(enterable(pool, character) for character in chosen):
        why = "no scene is in a test character's language, or all of them already have someone of that name"
        raise InputError("no test character can enter any scene", where=str(pool.path), why=why)
    return chosen


async def build(
    config: Config,
    run: Path,
    *,
    concurrency: int = 32,
    progress: Progress | None = None,
    meter: Meter | None = None,
) -> Benchmark:
    """Build a benchmark.

    Emits ``trajectories.jsonl``, ``review.jsonl`` and ``benchmark/`` into the run directory. While the build runs,
    finished conversations are kept in ``trajectories.part.jsonl``, which stays there if it is stopped.

    Args:
        config: What to build.
        run: The run's directory; made if need be.
        concurrency: The most model calls in flight.
        progress: Filled in as the build goes, for whoever watches.
        meter: Counts calls and tokens.

    Returns:
        The emitted benchmark.

    Raises:
        InputError: Something in the configuration cannot be used.
        TooManyFailures: The benchmark was emitted, but too many conversations failed or it has no items.
    """
    ingredients = Ingredients.gather(config)
    progress, meter = progress or Progress(), meter or Meter()
    progress.quota, progress.cells, progress.dimensions = (
        config.build.quota,
        ingredients.cells,
        ingredients.dimensions,
    )
    part = run / "trajectories.part.jsonl"
    with _appending(part) as diary:

        def finished(trajectory: Trajectory) -> None:
            diary.write(_line(trajectory))
            diary.flush()

        async with open_models({label: config.models[label] for label in _cast(config)}, meter=meter) as opened:
            gate = asyncio.Semaphore(concurrency)
            models = {label: Gated(model, gate) for label, model in opened.items()}
            campaign = _campaign(config, ingredients, models, progress, finished)
            cells = await campaign.run(ingredients.cells)
    benchmark = _emit(config, ingredients, cells, run)
    part.unlink()
    _check(config, benchmark.manifest.report, cells)
    return benchmark


def _appending(path: Path) -> BinaryIO:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path.open("ab")


def _cast(config: Config) -> list[str]:
    """The labels of the models that take part in a build."""
    roles = config.roles
    return sorted({roles.director, roles.scene, *roles.sources, roles.base, roles.judge, roles.filter})


def _campaign(
    config: Config,
    ingredients: Ingredients,
    models: Mapping[str, Model],
    progress: Progress,
    finished: Callable[[Trajectory], None],
) -> Campaign:
    roles = config.roles
    return Campaign(
        pool=ingredients.pool,
        models=models,
        players=Players(
            director=models[roles.director],
            scene=models[roles.scene],
            source=models[roles.sources[0]],
            base=models[roles.base],
            judge=models[roles.judge],
        ),
        grader=models[roles.filter],
        dimensions=ingredients.dimensions,
        settings=config.build,
        seed=config.seed,
        licence=config.licence,
        understudies=frozenset(label for label, spec in config.models.items() if spec.provider == "understudy"),
        progress=progress,
        finished=finished,
    )


def _emit(config: Config, ingredients: Ingredients, cells: tuple[CellOutcome, ...], run: Path) -> Benchmark:
    outcomes = [outcome for cell in cells for outcome in cell.outcomes]
    items = [item for outcome in outcomes for item in outcome.items]
    flagged = [flag for outcome in outcomes for flag in outcome.flagged]
    replace_file(run / "trajectories.jsonl", b"".join(_line(outcome.trajectory) for outcome in outcomes))
    replace_file(run / "review.jsonl", b"".join(_line(flag) for flag in flagged))
    manifest = Manifest(
        schema_version=SCHEMA_VERSION,
        name=config.name,
        content_hash="",
        items=len(items),
        languages=tuple(sorted({item.language for item in items})),
        understudy=any(item.provenance.understudy for item in items),
        dimensions=ingredients.dimensions,
        config=_identity(config),
        pool={"name": ingredients.pool.manifest.name, "digest": ingredients.pool.digest},
        versions={"screentest": __version__, "schema": str(SCHEMA_VERSION)},
        report=_report(ingredients, cells),
    )
    return Benchmark.write(run / "benchmark", manifest, items)


def _identity(config: Config) -> dict[str, Any]:
    """The configuration as far as it decides what is built: no paths of this machine and no run-time knobs."""
    data = config.model_dump(mode="json", exclude_none=True, exclude={"evaluate"})
    data["build"].pop("max_failures")
    data["pool"].pop("path", None)
    data["characters"] = [Path(pattern).name for pattern in config.characters]
    data["dimensions"] = config.dimensions and config.dimensions.name
    data["models"] = {label: spec.identity() for label, spec in config.models.items()}
    return data


def _report(ingredients: Ingredients, cells: tuple[CellOutcome, ...]) -> BuildReport:
    outcomes = [outcome for cell in cells for outcome in cell.outcomes]
    trajectories = [outcome.trajectory for outcome in outcomes]
    kept = [trajectory for trajectory in trajectories if trajectory.grade == "high"]
    failed = [trajectory for trajectory in trajectories if trajectory.faults]
    low = [trajectory for trajectory in trajectories if trajectory.grade in ("poor", "moderate")]
    scores = [audition.score for trajectory in kept for audition in trajectory.auditions]
    auditions = sum(len(trajectory.auditions) for trajectory in trajectories)
    pool = ingredients.pool
    entered = {scene for cell in ingredients.cells for scene in enterable(pool, cell.character)}
    spoken = sum(len(pool.ids(language)) for language in ingredients.dimensions)
    return BuildReport(
        conversations=len(trajectories),
        kept=len(kept),
        graded_low=len(low),
        ungraded=len(trajectories) - len(kept) - len(low) - len(failed),
        failed=len(failed),
        faults=dict(sorted(Counter(fault.kind for trajectory in failed for fault in trajectory.faults).items())),
        auditions=auditions,
        items=sum(len(outcome.items) for outcome in outcomes),
        flagged=sum(len(outcome.flagged) for outcome in outcomes),
        ties=sum(2 < score <= 3 for score in scores),
        lost=sum(score > 3 for score in scores),
        in_conversations_not_kept=auditions - len(scores),
        skipped_scenes={
            "no test character speaks its language": len(pool) - spoken,
            "its cast has every test character's name": spoken - len(entered),
        },
        cells=tuple(cell.report for cell in cells),
    )


def _check(config: Config, report: BuildReport, cells: tuple[CellOutcome, ...]) -> None:
    faults = [fault for cell in cells for outcome in cell.outcomes for fault in outcome.trajectory.faults]
    first = f" The first: {faults[0].detail}" if faults else ""
    if report.failed > config.build.max_failures * report.conversations:
        kinds = ", ".join(f"{count} {kind}" for kind, count in report.faults.items())
        share = f"{config.build.max_failures:.0%}"
        raise TooManyFailures(
            f"{report.failed} of {report.conversations} conversations failed ({kinds}); "
            f"build.max_failures allows {share}.{first}"
        )
    if not report.items:
        raise TooManyFailures(f"the build made no item out of {report.auditions} auditions.{first}")


def _line(record: BaseModel) -> bytes:
    return record.model_dump_json().encode() + b"\n"
