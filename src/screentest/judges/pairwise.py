"""The pairwise judge: which dimension, and which of two lines is better on it (FURINA §3.4, §5.1)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model

from screentest.judges.dimensions import Dimension
from screentest.llms import Model, Request, Sampling, ask
from screentest.pools import Line, View
from screentest.prompts import fence, render
from screentest.randomness import Place

Order = Literal["challenger_first", "reference_first"]
_STEADY = Sampling(temperature=0.0)


class Rating(BaseModel):
    """What the judge is asked for: reasons first, then the score."""

    explanation: str = Field(min_length=1)
    score: Literal[1, 2, 3, 4, 5]


class DimensionChoice(BaseModel):
    """The dimension a judge finds most suitable for a pair of candidates."""

    reason: str
    dimension: str


@lru_cache(maxsize=64)
def _choice_among(ids: tuple[str, ...]) -> type[BaseModel]:
    literal: Any = Literal[ids]
    return create_model("DimensionChoice", reason=(str, ...), dimension=(literal, ...))


class Verdict(BaseModel):
    """A judge's explanation and score on one dimension.

    Attributes:
        dimension: The dimension's id.
        order: Which line the judge saw as A; its explanation speaks of A and B.
        score: 1 (the challenger is much better) to 5 (the reference is much better), mapped back from the order.
        explanation: The judge's reasons, as written.
        judge: The judging model's label.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    dimension: str
    order: Order
    score: Literal[1, 2, 3, 4, 5]
    explanation: str
    judge: str


@dataclass(frozen=True, slots=True)
class Pair:
    """Two candidate lines for the same turn: the challenger (source or tested model) and the reference (base)."""

    challenger: Line
    reference: Line

    def ordered(self, order: Order) -> tuple[Line, Line]:
        """The lines as A and B, without the thoughts that no judge may see."""
        lines = (self.challenger, self.reference) if order == "challenger_first" else (self.reference, self.challenger)
        first, second = (line.model_copy(update={"thought": ""}) if line.thought else line for line in lines)
        return first, second


@dataclass(frozen=True, slots=True)
class PairwiseJudge:
    """Compares two anonymous candidates, shown as A and B.

    Attributes:
        model: The judging model.
    """

    model: Model

    async def choose_dimension(
        self, view: View, pair: Pair, dimensions: tuple[Dimension, ...], *, order: Order, place: Place
    ) -> DimensionChoice:
        """Pick the one dimension that suits the context and the candidates best.

        Args:
            view: What the judge may see.
            pair: The candidates.
            dimensions: What to choose from.
            order: Which candidate is shown as A.
            place: Where in the run this happens.

        Raises:
            CallError: The model could not be reached.
            BadReply: Its reply cannot be used.
        """
        a, b = pair.ordered(order)
        place /= "judge.dimension"
        reply = await ask(
            self.model,
            Request(
                messages=render(
                    "judge_dimension",
                    view.language,
                    view=view,
                    dimensions=dimensions,
                    a=a.text,
                    b=b.text,
                    fence=_fence(place, view, a, b),
                ),
                purpose="judge.dimension",
                key=place.path,
                seed=place.seed,
                language=view.language,
                sampling=_STEADY,
                schema=_choice_among(tuple(dimension.id for dimension in dimensions)),
                facts={"view": view, "candidates": (a, b), "dimensions": dimensions},
            ),
        )
        return DimensionChoice.model_validate(reply.parsed, from_attributes=True)

    async def compare(self, view: View, pair: Pair, dimension: Dimension, *, order: Order, place: Place) -> Verdict:
        """Rate the candidates on ``dimension``.

        Args:
            view: What the judge may see.
            pair: The candidates.
            dimension: What to judge them on.
            order: Which candidate is shown as A.
            place: Where in the run this happens.

        Returns:
            The verdict, its score mapped back so that 1 favours the challenger whatever the order.

        Raises:
            CallError: The model could not be reached.
            BadReply: Its reply cannot be used.
        """
        a, b = pair.ordered(order)
        place = place / "judge.pairwise" / order
        reply = await ask(
            self.model,
            Request(
                messages=render(
                    "judge_pairwise",
                    view.language,
                    view=view,
                    dimension=dimension,
                    a=a.text,
                    b=b.text,
                    fence=_fence(place, view, a, b),
                ),
                purpose="judge.pairwise",
                key=place.path,
                seed=place.seed,
                language=view.language,
                sampling=_STEADY,
                schema=Rating,
                facts={"view": view, "candidates": (a, b), "dimension": dimension},
            ),
        )
        rating = Rating.model_validate(reply.parsed)
        return Verdict(
            dimension=dimension.id,
            order=order,
            score=rating.score if order == "challenger_first" else 6 - rating.score,  # pyright: ignore[reportArgumentType]
            explanation=rating.explanation,
            judge=self.model.name,
        )


def _fence(place: Place, view: View, *lines: Line) -> str:
    return fence(str(place.run_seed), *view.texts(), *(line.text for line in lines))
