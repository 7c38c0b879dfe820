"""An audition: source and base model propose the test character's line, and a judge decides (FURINA §3.4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from screentest.agents import Cue, TestCharacter
from screentest.judges import Dimension, Order, Pair, PairwiseJudge
from screentest.llms import Model
from screentest.pools import View
from screentest.randomness import Place
from screentest.sim.events import Auditioned, Candidate
from screentest.sim.scheduler import together


@dataclass(frozen=True, slots=True, kw_only=True)
class Audition:
    """How the test character's lines are found.

    Attributes:
        source: The source model.
        base: The base model.
        judge: Who assigns a dimension and compares.
        dimensions: What lines are judged on.
        orders: ``one`` judges in an order drawn per turn; ``both`` judges both and averages.
    """

    source: Model
    base: Model
    judge: Model
    dimensions: tuple[Dimension, ...]
    orders: Literal["one", "both"]

    async def hold(
        self, seen: View, watched: View, emphasis: Dimension, cue: Cue, *, turn: int, place: Place
    ) -> Auditioned:
        """Hear both models at once, and have them judged.

        Args:
            seen: What the test character may see.
            watched: What the judge may see.
            emphasis: The emphasised dimension.
            cue: What kind of line is asked for.
            turn: From 1.
            place: Where in the run this happens.

        Raises:
            CallError: A model could not be reached.
            BadReply: A reply cannot be used.
        """
        source, base = await together(
            TestCharacter(self.source).speak(seen, emphasis, cue=cue, place=place / "source"),
            TestCharacter(self.base).speak(seen, emphasis, cue=cue, place=place / "base"),
        )
        pair, judge = Pair(challenger=source, reference=base), PairwiseJudge(self.judge)
        order: Order = (place / "order").generator().choice(("challenger_first", "reference_first"))
        choice = await judge.choose_dimension(watched, pair, self.dimensions, order=order, place=place)
        dimension = next(dimension for dimension in self.dimensions if dimension.id == choice.dimension)
        first = judge.compare(watched, pair, dimension, order=order, place=place)
        if self.orders == "both":
            other: Order = "reference_first" if order == "challenger_first" else "challenger_first"
            second = judge.compare(watched, pair, dimension, order=other, place=place)
            verdicts = await together(first, second)
        else:
            verdicts = (await first,)
        score = sum(verdict.score for verdict in verdicts) / len(verdicts)
        return Auditioned(
            turn=turn,
            source=Candidate(model=self.source.name, line=source),
            base=Candidate(model=self.base.name, line=base),
            emphasis=emphasis.id,
            dimension=dimension.id,
            reason=choice.reason,
            verdicts=verdicts,
            score=score,
            winner="source" if score <= 3 else "base",
            cue=cue,
        )
