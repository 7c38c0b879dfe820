"""A trial: tested and base model answer an item, a judge compares the two in both orders (FURINA §5.1)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from screentest.agents import TestCharacter
from screentest.builders.benchmark import Benchmark
from screentest.builders.comparison import Comparison, EvaluationProgress, Failure, Stage
from screentest.builders.item import Item
from screentest.errors import ScreentestError, Stopped
from screentest.judges import Order, Pair, PairwiseJudge, Verdict, item_score
from screentest.llms import Model
from screentest.pools import Line, View
from screentest.randomness import Place
from screentest.sim import EVALUATION, group, together, view

logger = logging.getLogger(__name__)

_ORDERS: tuple[Order, Order] = ("challenger_first", "reference_first")


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """Compares lines on the items of a benchmark.

    Attributes:
        benchmark: Where the items come from.
        judge: Who compares.
        seed: The run's seed.
        concurrency: How many items are worked on at once.
        progress: Told how it goes.
    """

    benchmark: Benchmark
    judge: PairwiseJudge
    seed: int
    concurrency: int
    progress: EvaluationProgress

    async def hold(self, items: Sequence[Item], base: Model, tested: Mapping[str, Model]) -> list[Comparison]:
        """Have every item answered by the base model, once, and by all tested models; then judged.

        Returns:
            One comparison per item and tested model, in that order.
        """
        room = asyncio.Semaphore(self.concurrency)

        async def one(item: Item) -> Sequence[Comparison]:
            async with room:
                reference, *challengers = await together(
                    self._answer(item, base, "base", self._place(item) / "base"),
                    *(
                        self._answer(item, model, "tested", self._place(item) / "tested" / label)
                        for label, model in tested.items()
                    ),
                )
                pairs = zip(tested, challengers, strict=True)
                return await together(*(self._compare(item, label, line, reference) for label, line in pairs))

        return [comparison for compared in await group(one(item) for item in items) for comparison in compared]

    async def hold_again(self, items: Mapping[str, Item], stored: Sequence[Comparison]) -> list[Comparison]:
        """Have the lines of earlier comparisons judged again; lines that failed then stay failed.

        Args:
            items: Id to item.
            stored: The earlier comparisons.
        """
        room = asyncio.Semaphore(self.concurrency)

        async def one(before: Comparison) -> Comparison:
            failed = {failure.stage: failure for failure in before.failures}
            async with room:
                return await self._compare(
                    items[before.item],
                    before.model,
                    before.tested or failed["tested"],
                    before.base or failed["base"],
                )

        return list(await group(one(before) for before in stored))

    def _place(self, item: Item) -> Place:
        return Place(self.seed, f"{EVALUATION}/{item.id}")

    async def _answer(self, item: Item, model: Model, stage: Stage, place: Place) -> Line | Failure:
        state = item.state()
        assert state.test is not None, "an item has a test character"  # noqa: S101
        dimension = self.benchmark.dimension(item.language, item.dimension)
        dimension = dimension.model_copy(update={"strategy": item.strategy})
        try:
            return await TestCharacter(model).speak(view(state, state.test), dimension, cue=item.cue, place=place)
        except Stopped:
            raise
        except Exception as error:
            return _failure(stage, error, place)

    async def _compare(self, item: Item, label: str, tested: Line | Failure, base: Line | Failure) -> Comparison:
        outcomes: tuple[Verdict | Failure, ...] = ()
        if isinstance(tested, Line) and isinstance(base, Line):
            pair, watched = Pair(challenger=tested, reference=base), view(item.state(), "judge")
            place = self._place(item) / "tested" / label / "by" / self.judge.model.name
            outcomes = await together(*(self._verdict(item, watched, pair, order, place) for order in _ORDERS))
        verdicts = tuple(outcome for outcome in outcomes if isinstance(outcome, Verdict))
        comparison = Comparison(
            item=item.id,
            model=label,
            language=item.language,
            kind=item.character.kind,
            dimension=item.dimension,
            conversation=item.conversation,
            tested=tested if isinstance(tested, Line) else None,
            base=base if isinstance(base, Line) else None,
            verdicts=verdicts,
            points=item_score(*(verdict.score for verdict in verdicts)) if len(verdicts) == len(_ORDERS) else None,
            failures=tuple(part for part in (tested, base, *outcomes) if isinstance(part, Failure)),
        )
        self.progress.take(comparison)
        return comparison

    async def _verdict(self, item: Item, watched: View, pair: Pair, order: Order, place: Place) -> Verdict | Failure:
        dimension = self.benchmark.dimension(item.language, item.dimension)
        try:
            return await self.judge.compare(watched, pair, dimension, order=order, place=place)
        except Stopped:
            raise
        except Exception as error:
            return _failure("judge", error, place)


def _failure(stage: Stage, error: Exception, place: Place) -> Failure:
    """One item must never take another one down, so that an error nobody foresaw is logged and counted as well."""
    if isinstance(error, ScreentestError):
        logger.info("%s: %s failed: %s", place.path, stage, error)
        return Failure(stage=stage, kind=error.kind, detail=str(error))
    logger.error("%s: unexpected error", place.path, exc_info=error)
    return Failure(stage=stage, kind="internal", detail=f"{type(error).__name__}: {error}")
