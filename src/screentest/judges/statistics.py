"""From verdicts to scores, and how sure we may be of them (FURINA §5.1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

POINTS: Mapping[int, float] = {1: 3.0, 2: 1.0, 3: 0.5, 4: 0.0, 5: 0.0}
"""``f`` of eq. 2: what a verdict is worth to the challenger."""

MAX_POINTS = 3.0


def item_score(first: int, second: int) -> float:
    """Eq. 2 over both orders: ``[f(s1) + f(s2)] / 2``.

    Args:
        first: The verdict with the challenger shown first, 1 (challenger much better) to 5.
        second: The verdict with the reference shown first, mapped back to the same scale (``6 - sigma_2``).

    Returns:
        Points between 0 and 3.
    """
    return (POINTS[first] + POINTS[second]) / 2


class Interval(NamedTuple):
    """A two-sided 95 % percentile interval."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Scored:
    """One scored item.

    Attributes:
        points: Its score, 0 to 3.
        dimension: Its dimension's id.
        cluster: The conversation it comes from.
    """

    points: float
    dimension: str
    cluster: str


@dataclass(frozen=True, slots=True)
class Estimate:
    """A performance in percent of the maximum, with its intervals.

    Attributes:
        items: How many items it rests on.
        clusters: How many conversations they come from.
        headline: Unweighted mean over dimensions of eq. 3, 0 to 100.
        item_mean: Eq. 3 over all items, 0 to 100.
        clustered: Interval of the headline, resampling whole conversations; ``None`` if there is only one.
        plain: Interval of the headline, resampling items; ``None`` if there is only one.
    """

    items: int
    clusters: int
    headline: float
    item_mean: float
    clustered: Interval | None
    plain: Interval | None


def estimate(scored: Sequence[Scored], *, seed: int, resamples: int = 1000) -> Estimate | None:
    """Performance with bootstrap intervals.

    Items of one dialogue are not independent, so whole conversations are resampled; the plain interval, which treats
    items as independent, stands beside it for comparison. A resample that happens to miss a dimension is averaged
    over the dimensions it has.

    Args:
        scored: The scored items.
        seed: Seeds the resampling.
        resamples: How many bootstrap resamples.

    Returns:
        The estimate, or ``None`` if nothing was scored.
    """
    if not scored:
        return None
    names = sorted({item.dimension for item in scored})
    dimension = np.array([names.index(item.dimension) for item in scored])
    points = np.array([item.points for item in scored]) * (100.0 / MAX_POINTS)
    conversations = {name: index for index, name in enumerate(sorted({item.cluster for item in scored}))}
    cluster = np.array([conversations[item.cluster] for item in scored])
    items = np.arange(len(scored))
    return Estimate(
        items=len(scored),
        clusters=len(conversations),
        headline=float(_headline(np.ones((1, len(scored))), *_sums(items, dimension, points, len(names)))[0]),
        item_mean=float(points.mean()),
        clustered=_bootstrap(_sums(cluster, dimension, points, len(names)), seed, resamples),
        plain=_bootstrap(_sums(items, dimension, points, len(names)), seed, resamples),
    )


def _sums(unit: np.ndarray, dimension: np.ndarray, points: np.ndarray, width: int) -> tuple[np.ndarray, np.ndarray]:
    """Points and number of items per (resampling unit, dimension)."""
    totals = np.zeros((int(unit.max()) + 1, width))
    counts = np.zeros_like(totals)
    np.add.at(totals, (unit, dimension), points)
    np.add.at(counts, (unit, dimension), 1.0)
    return totals, counts


def _headline(multiplicity: np.ndarray, totals: np.ndarray, counts: np.ndarray) -> np.ndarray:
    drawn = multiplicity @ counts
    means = np.divide(multiplicity @ totals, drawn, out=np.full_like(drawn, np.nan), where=drawn > 0)
    return np.nanmean(means, axis=1)


def _bootstrap(sums: tuple[np.ndarray, np.ndarray], seed: int, resamples: int) -> Interval | None:
    units = len(sums[0])
    if units < 2:
        return None
    multiplicity = np.random.default_rng(seed).multinomial(units, np.full(units, 1.0 / units), size=resamples)
    low, high = np.percentile(_headline(multiplicity.astype(float), *sums), [2.5, 97.5])
    return Interval(float(low), float(high))
