"""The evaluation: models are tested on a benchmark against the base model (FURINA §5.1)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from screentest.builders.benchmark import Benchmark
from screentest.builders.comparison import Comparison, EvaluationProgress, read_comparisons
from screentest.builders.config import Config
from screentest.builders.identity import freeze, frozen, growing, identity
from screentest.builders.results import Results, summarise
from screentest.builders.trial import Trial
from screentest.errors import InputError, TooManyFailures
from screentest.files import replace_file, seal
from screentest.judges import PairwiseJudge
from screentest.llms import Meter
from screentest.prompts import prompts_digest
from screentest.sim import Run, Session, locked, open_run

_STAGE = "eval"
_OWN = "benchmark"


async def evaluate(
    benchmark: Benchmark,
    config: Config,
    run: Path,
    *,
    tested: Sequence[str] = (),
    session: Session | None = None,
    progress: EvaluationProgress | None = None,
    meter: Meter | None = None,
) -> Results:
    """Evaluate models on a benchmark, or go on with it; the base model answers each item once, for all of them.

    Every finished model call is kept in ``run.db``. Models that were tested in this run before stay in its results.
    Emits ``evaluations.jsonl`` (every reply and verdict) and ``results.json`` into the run directory.

    Args:
        benchmark: The benchmark.
        config: Names the models, the base and the judge.
        run: The run's directory; made if need be.
        tested: Labels of the models to test; those of the configuration by default.
        session: How to work on the run.
        progress: Filled in as it goes, for whoever watches.
        meter: Counts calls and tokens.

    Returns:
        The results.

    Raises:
        InputError: A label names no model, the benchmark has no items, or the run began with other settings.
        RunLocked: Another process is working on the run.
        Stopped: The budget is used up, or the store cannot be written; run it again to go on.
        TooManyFailures: The results were written, but too many comparisons have no score.
    """
    session, progress, meter = _retrying(session), progress or EvaluationProgress(), meter or Meter()
    items = list(benchmark.items())
    if not items:
        raise InputError("the benchmark has no items", where=str(benchmark.path))
    with locked(run):
        labels = tested_labels(config, run, tested)
        progress.comparisons = len(items) * len(labels)
        specs = {label: config.models[label] for label in sorted({*labels, config.roles.base, config.roles.judge})}
        async with open_run(run, specs, session, meter) as opened:
            freeze(run, _STAGE, evaluation_identity(config, benchmark, labels, run), config.relative_to(run))
            trial = _trial(benchmark, config, opened, session, progress)
            tested_models = {label: opened.models[label] for label in labels}
            comparisons = await trial.hold(items, opened.models[config.roles.base], tested_models)
        results = summarise(benchmark, config, labels, comparisons)
        _emit(run, "", results, comparisons)
    _check(config, results, comparisons)
    return results


async def rejudge(
    benchmark: Benchmark,
    config: Config,
    run: Path,
    judge: str,
    *,
    session: Session | None = None,
    progress: EvaluationProgress | None = None,
    meter: Meter | None = None,
) -> Results:
    """Judge the stored replies of an evaluation again, with another judge; no model is asked for a line.

    Emits ``evaluations.<judge>.jsonl`` and ``results.<judge>.json`` beside those of the evaluation.

    Args:
        benchmark: The benchmark that was evaluated on.
        config: Names the judge.
        run: The evaluation's run directory.
        judge: The label of the judge.
        session: How to work on the run.
        progress: Filled in as it goes, for whoever watches.
        meter: Counts calls and tokens.

    Returns:
        The results under the new judge.

    Raises:
        InputError: There is no such evaluation or judge.
        RunLocked: Another process is working on the run.
        Stopped: The budget is used up, or the store cannot be written; run it again to go on.
        TooManyFailures: The results were written, but too many comparisons have no score.
    """
    session, progress, meter = _retrying(session), progress or EvaluationProgress(), meter or Meter()
    with locked(run):
        before = judged_before(benchmark, config, run, judge)
        roles = config.roles.model_copy(update={"judge": judge, "base": before["base"]})
        config = config.model_copy(update={"seed": before["seed"], "roles": roles})
        stored = list(read_comparisons(run / "evaluations.jsonl"))
        items = {item.id: item for item in benchmark.items()}
        if gone := sorted({comparison.item for comparison in stored} - items.keys()):
            hint = "run `screentest eval` again first"
            raise InputError("the benchmark has changed since it was evaluated on", where=gone[0], hint=hint)
        progress.comparisons = len(stored)
        async with open_run(run, {judge: config.models[judge]}, session, meter) as opened:
            trial = _trial(benchmark, config, opened, session, progress)
            comparisons = await trial.hold_again(items, stored)
        results = summarise(benchmark, config, before["tested"], comparisons)
        _emit(run, f".{judge}", results, comparisons)
    _check(config, results, comparisons)
    return results


def judged_before(benchmark: Benchmark, config: Config, run: Path, judge: str) -> dict[str, Any]:
    """What an evaluation that is to be judged again is frozen as.

    Raises:
        InputError: There is no such evaluation or judge.
    """
    if judge not in config.models:
        raise InputError(f"unknown model {judge!r}", where="--rejudge", hint=f"models are: {', '.join(config.models)}")
    before = frozen(run, _STAGE)
    if before is None or before["benchmark"] not in (_OWN, benchmark.manifest.content_hash[:16]):
        why = "nothing was evaluated in it" if before is None else "it was evaluated on another benchmark"
        raise InputError("there is nothing to judge again", where=str(run), why=why, hint="run `screentest eval`")
    return before


def _retrying(session: Session | None) -> Session:
    """Items stand for themselves, so that a call that failed may be made again without changing any other."""
    session = session or Session()
    return replace(session, retry_failed=not session.replay)


def _trial(benchmark: Benchmark, config: Config, run: Run, session: Session, progress: EvaluationProgress) -> Trial:
    return Trial(
        benchmark=benchmark,
        judge=PairwiseJudge(run.models[config.roles.judge]),
        seed=config.seed,
        concurrency=session.width,
        progress=progress,
    )


def _emit(run: Path, suffix: str, results: Results, comparisons: Sequence[Comparison]) -> None:
    data = b"".join(comparison.model_dump_json().encode() + b"\n" for comparison in comparisons)
    replace_file(run / f"evaluations{suffix}.jsonl", data)
    replace_file(run / f"results{suffix}.json", results.model_dump_json(indent=2).encode() + b"\n")
    seal(run, f"eval{suffix}", [f"evaluations{suffix}.jsonl", f"results{suffix}.json"])


def tested_labels(config: Config, run: Path, tested: Sequence[str]) -> tuple[str, ...]:
    """Whom to test: those asked for, after those that this run has tested before.

    Raises:
        InputError: A label names no model.
    """
    before = [label for label in (frozen(run, _STAGE) or {}).get("tested", ()) if label in config.models]
    labels = tuple(dict.fromkeys([*before, *(tested or config.roles.tested)]))
    if unknown := [label for label in labels if label not in config.models]:
        hint = f"models are: {', '.join(config.models)}"
        raise InputError(f"unknown model {unknown[0]!r}", where="--model", hint=hint)
    return labels


def evaluation_identity(config: Config, benchmark: Benchmark, labels: Sequence[str], run: Path) -> dict[str, Any]:
    """What decides the outcome of an evaluation, apart from the replies.

    A benchmark that was built in the same run directory may grow with it.
    """
    base, judge = config.roles.base, config.roles.judge
    place = os.path.relpath(benchmark.path.resolve(), run.resolve())
    return {
        "benchmark": _OWN if place == _OWN else benchmark.manifest.content_hash[:16],
        "seed": config.seed,
        "base": base,
        "judge": judge,
        "tested": growing(list(labels)),
        "models": growing({label: config.models[label].identity() for label in dict.fromkeys([base, judge, *labels])}),
        "evaluate": identity(config.evaluate),
        "prompts": prompts_digest(),
        "_benchmark": place,
    }


def _check(config: Config, results: Results, comparisons: Sequence[Comparison]) -> None:
    for label, result in results.models.items():
        if result.unscored > config.evaluate.max_failures * result.items:
            first = next(c.failures[0] for c in comparisons if c.model == label and c.failures)
            raise TooManyFailures(
                f"{label}: {result.unscored} of {result.items} items have no score; evaluate.max_failures allows "
                f"{config.evaluate.max_failures:.0%}; the same command again retries them. "
                f"The first: {first.stage}: {first.detail}"
            )
