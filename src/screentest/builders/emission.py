"""What a build leaves in its run directory: trajectories, lines to review, the benchmark."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from screentest import __version__
from screentest.builders.benchmark import Benchmark
from screentest.builders.campaign import CellOutcome, enterable
from screentest.builders.config import Config
from screentest.builders.identity import published
from screentest.builders.ingredients import Ingredients
from screentest.builders.manifest import SCHEMA_VERSION, Manifest
from screentest.builders.report import BuildReport
from screentest.files import replace_file, seal

EMITTED = (
    "trajectories.jsonl",
    "review.jsonl",
    "benchmark/data/test.jsonl",
    "benchmark/README.md",
    "benchmark/manifest.json",
)
"""What a build leaves in its run directory."""


def emit(
    config: Config, ingredients: Ingredients, identity: dict[str, Any], cells: tuple[CellOutcome, ...], run: Path
) -> Benchmark:
    """Write what a build came to into its run directory.

    Args:
        config: What was to be built.
        ingredients: What it was built from.
        identity: What decided it, for the manifest.
        cells: What its cells came to.
        run: The run's directory.

    Returns:
        The benchmark, in ``benchmark/``.
    """
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
        config=published(identity),
        pool={"name": ingredients.pool.manifest.name, "digest": ingredients.pool.digest},
        versions={"screentest": __version__, "schema": str(SCHEMA_VERSION)},
        report=_report(config, ingredients, cells),
    )
    benchmark = Benchmark.write(run / "benchmark", manifest, items)
    seal(run, "build", EMITTED)
    return benchmark


def _report(config: Config, ingredients: Ingredients, cells: tuple[CellOutcome, ...]) -> BuildReport:
    outcomes = [outcome for cell in cells for outcome in cell.outcomes]
    trajectories = [outcome.trajectory for outcome in outcomes]
    kept = [trajectory for trajectory in trajectories if trajectory.grade == "high"]
    failed = [trajectory for trajectory in trajectories if trajectory.faults]
    low = [trajectory for trajectory in trajectories if trajectory.grade in ("poor", "moderate")]
    scores = [audition.score for trajectory in kept for audition in trajectory.auditions]
    auditions = sum(len(trajectory.auditions) for trajectory in trajectories)
    pool = ingredients.pool
    entered = {scene for cell in ingredients.cells for scene in enterable(pool, cell.character, config.rules)}
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


def _line(record: BaseModel) -> bytes:
    return record.model_dump_json().encode() + b"\n"
