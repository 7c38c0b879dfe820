"""The build: from a configuration to an emitted benchmark."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from screentest.builders.benchmark import Benchmark
from screentest.builders.campaign import Campaign, CellOutcome, Progress
from screentest.builders.config import Config
from screentest.builders.embedding import embedder
from screentest.builders.emission import emit
from screentest.builders.identity import freeze
from screentest.builders.ingredients import Ingredients, cast
from screentest.builders.report import BuildReport
from screentest.errors import TooManyFailures
from screentest.llms import Meter, Model
from screentest.sim import Players, Session, locked, open_run


async def build(
    config: Config,
    run: Path,
    *,
    session: Session | None = None,
    progress: Progress | None = None,
    meter: Meter | None = None,
) -> Benchmark:
    """Build a benchmark, or go on with one.

    Every finished model call is kept in ``run.db``, so that repeating the same build on the same directory makes only
    the calls that never finished. Emits ``trajectories.jsonl``, ``review.jsonl`` and ``benchmark/``.

    Args:
        config: What to build.
        run: The run's directory; made if need be.
        session: How to work on it.
        progress: Filled in as the build goes, for whoever watches.
        meter: Counts calls and tokens.

    Returns:
        The emitted benchmark.

    Raises:
        InputError: Something in the configuration cannot be used, or differs from what the run began with.
        RunLocked: Another process is working on the run.
        Stopped: The budget is used up, or the store cannot be written; run it again to go on.
        TooManyFailures: The benchmark was emitted, but too many conversations failed or it has no items.
    """
    session, progress, meter = session or Session(), progress or Progress(), meter or Meter()
    ingredients = Ingredients.gather(config)
    identity = ingredients.identity(config)
    progress.quota, progress.cells = config.build.quota, ingredients.cells
    progress.dimensions = ingredients.dimensions
    with locked(run):
        async with open_run(run, cast(config), session, meter) as opened:
            campaign = _campaign(config, ingredients, opened.models, progress)
            freeze(run, "build", identity, config.relative_to(run))
            cells = await campaign.run(ingredients.cells)
        benchmark = emit(config, ingredients, identity, cells, run)
    _check(config, benchmark.manifest.report, cells)
    return benchmark


def _campaign(config: Config, ingredients: Ingredients, models: Mapping[str, Model], progress: Progress) -> Campaign:
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
            narrator=models[roles.narrator] if config.rules.narrator else None,
        ),
        grader=models[roles.filter],
        dimensions=ingredients.dimensions,
        settings=config.build,
        rules=config.rules,
        embedder=embedder(config, models),
        seed=config.seed,
        licence=config.licence,
        understudies=frozenset(label for label, spec in config.models.items() if spec.provider == "understudy"),
        progress=progress,
    )


def _check(config: Config, report: BuildReport, cells: tuple[CellOutcome, ...]) -> None:
    faults = [fault for cell in cells for outcome in cell.outcomes for fault in outcome.trajectory.faults]
    first = f" The first: {faults[0].detail}" if faults else ""
    if report.failed > config.build.max_failures * report.conversations:
        kinds = ", ".join(f"{count} {kind}" for kind, count in report.faults.items())
        share = f"{config.build.max_failures:.0%}"
        raise TooManyFailures(
            f"{report.failed} of {report.conversations} conversations failed ({kinds}); "
            f"build.max_failures allows {share}; --retry-failed makes failed calls again.{first}"
        )
    if not report.items:
        raise TooManyFailures(f"the build made no item out of {report.auditions} auditions.{first}")
