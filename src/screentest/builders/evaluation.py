"""The evaluation: tested and base model answer every item, a judge compares them in both orders (FURINA §5.1)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from screentest.agents import TestCharacter
from screentest.builders.benchmark import Benchmark
from screentest.builders.comparison import Comparison, Failure, Stage
from screentest.builders.config import Config
from screentest.builders.files import replace_file
from screentest.builders.identity import freeze, frozen_growth, growing, identity
from screentest.builders.item import Item
from screentest.builders.results import Results, summarise
from screentest.errors import InputError, ScreentestError, Stopped, TooManyFailures
from screentest.judges import Dimension, Order, Pair, PairwiseJudge, Verdict, item_score
from screentest.llms import Meter, Model
from screentest.pools import Line, View
from screentest.prompts import prompts_digest
from screentest.randomness import Place
from screentest.sim import Session, State, group, locked, open_run, together, view

logger = logging.getLogger(__name__)

_ORDERS: tuple[Order, Order] = ("challenger_first", "reference_first")


@dataclass(slots=True)
class EvaluationProgress:
    """An evaluation as it goes, for whoever watches.

    Attributes:
        comparisons: How many there will be.
        done: How many there are.
        failed: Those without a score.
        points: Sum of points and number of scored items per tested model.
    """

    comparisons: int = 0
    done: int = 0
    failed: int = 0
    points: dict[str, tuple[float, int]] = field(default_factory=dict[str, tuple[float, int]])

    def take(self, comparison: Comparison) -> None:
        """Count one comparison."""
        self.done += 1
        self.failed += comparison.points is None
        if comparison.points is not None:
            total, count = self.points.get(comparison.model, (0.0, 0))
            self.points[comparison.model] = (total + comparison.points, count + 1)


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
    session, progress, meter = session or Session(), progress or EvaluationProgress(), meter or Meter()
    items = list(benchmark.items())
    if not items:
        raise InputError("the benchmark has no items", where=str(benchmark.path))
    with locked(run):
        labels = _labels(config, run, tested)
        freeze(run, "eval", _identity(config, benchmark, labels), config)
        progress.comparisons = len(items) * len(labels)
        specs = {label: config.models[label] for label in sorted({*labels, config.roles.base, config.roles.judge})}
        async with open_run(run, specs, session, meter) as opened:
            evaluation = _Evaluation(
                benchmark=benchmark,
                tested={label: opened.models[label] for label in labels},
                base=opened.models[config.roles.base],
                judge=PairwiseJudge(opened.models[config.roles.judge]),
                seed=config.seed,
                progress=progress,
            )
            comparisons = await evaluation.run(items, session.concurrency)
        results = summarise(benchmark, config, labels, comparisons)
        data = b"".join(comparison.model_dump_json().encode() + b"\n" for comparison in comparisons)
        replace_file(run / "evaluations.jsonl", data)
        replace_file(run / "results.json", results.model_dump_json(indent=2).encode() + b"\n")
    _check(config, results, comparisons)
    return results


def _labels(config: Config, run: Path, tested: Sequence[str]) -> tuple[str, ...]:
    """Whom to test: those asked for, after those that this run has tested before."""
    before = [label for label in frozen_growth(run, "eval", "tested") if label in config.models]
    labels = tuple(dict.fromkeys([*before, *(tested or config.roles.tested)]))
    if unknown := [label for label in labels if label not in config.models]:
        hint = f"models are: {', '.join(config.models)}"
        raise InputError(f"unknown model {unknown[0]!r}", where="--model", hint=hint)
    return labels


def _identity(config: Config, benchmark: Benchmark, labels: Sequence[str]) -> dict[str, Any]:
    """What decides the outcome of an evaluation, apart from the replies."""
    base, judge = config.roles.base, config.roles.judge
    return {
        "benchmark": benchmark.manifest.content_hash,
        "seed": config.seed,
        "base": base,
        "judge": judge,
        "tested": growing(list(labels)),
        "models": growing({label: config.models[label].identity() for label in dict.fromkeys([base, judge, *labels])}),
        "evaluate": identity(config.evaluate),
        "prompts": prompts_digest(),
    }


@dataclass(frozen=True, slots=True)
class _Evaluation:
    benchmark: Benchmark
    tested: Mapping[str, Model]
    base: Model
    judge: PairwiseJudge
    seed: int
    progress: EvaluationProgress

    async def run(self, items: Sequence[Item], concurrency: int) -> list[Comparison]:
        room = asyncio.Semaphore(concurrency)

        async def one(item: Item) -> list[Comparison]:
            async with room:
                return await self._item(item)

        return [comparison for compared in await group(one(item) for item in items) for comparison in compared]

    async def _item(self, item: Item) -> list[Comparison]:
        state = item.state()
        dimension = self.benchmark.dimension(item.language, item.dimension).model_copy(
            update={"strategy": item.strategy}
        )
        place = Place(self.seed, f"eval/{item.id}")
        base, *tested = await together(
            self._line(self.base, state, dimension, place / "base", "base"),
            *(
                self._line(model, state, dimension, place / "tested" / label, "tested")
                for label, model in self.tested.items()
            ),
        )
        return list(
            await together(
                *(
                    self._compare(
                        item, state, dimension, label, tested=reply, base=base, place=place / "tested" / label
                    )
                    for label, reply in zip(self.tested, tested, strict=True)
                )
            )
        )

    async def _line(
        self, model: Model, state: State, dimension: Dimension, place: Place, stage: Stage
    ) -> Line | Failure:
        try:
            return await TestCharacter(model).speak(view(state, state.test), dimension, place=place)
        except Stopped:
            raise
        except Exception as error:
            return _failure(stage, error, place)

    async def _compare(
        self,
        item: Item,
        state: State,
        dimension: Dimension,
        label: str,
        *,
        tested: Line | Failure,
        base: Line | Failure,
        place: Place,
    ) -> Comparison:
        verdicts: list[Verdict] = []
        failures = [reply for reply in (tested, base) if isinstance(reply, Failure)]
        if isinstance(tested, Line) and isinstance(base, Line):
            pair = Pair(challenger=tested, reference=base)
            watched = view(state, "judge")
            for outcome in await together(
                *(self._verdict(watched, pair, dimension, order, place) for order in _ORDERS)
            ):
                if isinstance(outcome, Failure):
                    failures.append(outcome)
                else:
                    verdicts.append(outcome)
        comparison = Comparison(
            item=item.id,
            model=label,
            language=item.language,
            kind=item.character.kind,
            dimension=item.dimension,
            conversation=item.conversation,
            tested=tested if isinstance(tested, Line) else None,
            base=base if isinstance(base, Line) else None,
            verdicts=tuple(verdicts),
            points=item_score(verdicts[0].score, verdicts[1].score) if len(verdicts) == len(_ORDERS) else None,
            failures=tuple(failures),
        )
        self.progress.take(comparison)
        return comparison

    async def _verdict(
        self, watched: View, pair: Pair, dimension: Dimension, order: Order, place: Place
    ) -> Verdict | Failure:
        try:
            return await self.judge.compare(watched, pair, dimension, order=order, place=place)
        except Stopped:
            raise
        except Exception as error:
            return _failure("judge", error, place)


def _failure(stage: Stage, error: Exception, place: Place) -> Failure:
    """One item must never take another one down, so that an error nobody foresaw is logged and counted as well."""
    if isinstance(error, ScreentestError):
        logger.warning("%s: %s failed: %s", place.path, stage, error)
        return Failure(stage=stage, kind=error.kind, detail=str(error))
    logger.error("%s: unexpected error", place.path, exc_info=error)
    return Failure(stage=stage, kind="internal", detail=f"{type(error).__name__}: {error}")


def _check(config: Config, results: Results, comparisons: Sequence[Comparison]) -> None:
    for label, result in results.models.items():
        if result.unscored > config.evaluate.max_failures * result.items:
            first = next(c.failures[0] for c in comparisons if c.model == label and c.failures)
            raise TooManyFailures(
                f"{label}: {result.unscored} of {result.items} items have no score; evaluate.max_failures allows "
                f"{config.evaluate.max_failures:.0%}. The first: {first.stage}: {first.detail}"
            )
