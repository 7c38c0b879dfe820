"""How memories are ranked."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from screentest.agents.memory.record import Memory, Recollection
from screentest.agents.memory.table import Table

Numbers = NDArray[np.float64]

_DIGITS = 6
_LEAST_RELEVANCE = _LEAST_IMPORTANCE = 0.05
_Exponent = Annotated[float, Field(ge=0, le=100)]


class Weights(BaseModel):
    """A memory's score is ``relevance^a · recency^b · importance^c``; the weights are ``a``, ``b`` and ``c``.

    * relevance: the cosine with what was asked, from 0.05 up, so that what is fresh and important still comes to
      mind when nothing fits;
    * recency: ``1 / (1 + age / half_life)``: it halves at the half-life and then falls ever more slowly, as human
      forgetting does, so that an old memory which fits is never out of reach;
    * importance: as noted or rated, from 0.05 up.

    CharacterBox (§3.2) follows Park et al. (2023), who add the three; here they are multiplied, so that none of them
    alone brings back what does not fit. A weight of 0 leaves one out.

    Attributes:
        relevance: ``a``.
        recency: ``b``.
        importance: ``c``.
        half_life: In minutes of story time.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    relevance: _Exponent = 1.0
    recency: _Exponent = 0.3
    importance: _Exponent = 0.5
    half_life: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 120.0

    def freshness(self, minutes: NDArray[np.int64], now: int) -> Numbers:
        """The recency of memories from ``minutes``, from 0 to 1, at the story time ``now``."""
        return 1 / (1 + np.maximum(0, now - minutes) / self.half_life)

    def strength(self, freshness: Numbers, importances: Numbers) -> Numbers:
        """What memories bring along whatever is asked: recency and importance, weighed."""
        return freshness**self.recency * np.maximum(importances, _LEAST_IMPORTANCE) ** self.importance

    def score(self, relevance: Numbers, strength: Numbers) -> Numbers:
        """What memories are ranked by."""
        return np.maximum(relevance, _LEAST_RELEVANCE) ** self.relevance * strength


def strongest(
    table: Table,
    weights: Weights,
    ids: NDArray[np.int64],
    similarities: NDArray[np.float32],
    *,
    minutes: int,
    k: int,
    before: int | None,
) -> tuple[Recollection, ...]:
    """The memories with the highest scores, best first; of equals the older one.

    Args:
        table: All memories.
        weights: How they are ranked.
        ids: Those that can be ranked.
        similarities: The cosine of each of these with what was asked.
        minutes: Story time now, in minutes.
        k: How many at most.
        before: Leave out what the turns from this one on show.
    """
    rows = np.searchsorted(table.ids, ids)
    relevance = np.round(np.clip(similarities.astype(np.float64), 0.0, 1.0), _DIGITS)
    freshness = weights.freshness(table.minutes[rows], minutes)
    score = np.round(weights.score(relevance, weights.strength(freshness, table.importances[rows])), _DIGITS)
    order = np.lexsort((ids, -score))
    if before is not None:
        order = order[table.unshown(before)[rows[order]]]
    return tuple(
        Recollection(
            memory=table[int(ids[at])],
            score=float(score[at]),
            relevance=float(relevance[at]),
            recency=round(float(freshness[at]), _DIGITS),
        )
        for at in order[:k]
    )


def weakest(table: Table, weights: Weights, count: int) -> tuple[Memory, ...]:
    """So many of the old and unimportant, in the order of their ids."""
    ids, minutes = table.ids, table.minutes
    freshness = weights.freshness(minutes, int(minutes.max()))
    lowest = np.lexsort((ids, weights.strength(freshness, table.importances)))[:count]
    return tuple(table[id] for id in sorted(ids[lowest].tolist()))
