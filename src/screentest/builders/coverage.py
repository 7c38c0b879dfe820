"""How many conversations a cell takes to meet its quota: the campaign's own rule, played with dice."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from screentest.builders.assumptions import Assumptions
from screentest.builders.config import BuildSettings
from screentest.judges import select
from screentest.randomness import generator

_TRIALS = 40


@dataclass(frozen=True, slots=True)
class Coverage:
    """What a cell comes to, on average.

    Attributes:
        conversations: Conversations played.
        items: Items kept.
        short: How often the cap on scenes ends it before the quota is met, 0 to 1.
    """

    conversations: float
    items: float
    short: float


def expected_coverage(
    settings: BuildSettings, assumed: Assumptions, *, kept: float, dimensions: int, auditions: Sequence[int], seed: int
) -> Coverage:
    """What a cell is expected to come to, the mean of some trials.

    The trials draw the same numbers whatever the quota, so that a larger quota never takes fewer conversations.

    Args:
        settings: The quota, the cap and the lag.
        assumed: How often the judge follows the emphasis, and the filter keeps a dialogue.
        kept: The share of test lines that become items.
        dimensions: How many dimensions have to meet the quota.
        auditions: Test lines per conversation, as rehearsed.
        seed: The run's seed.
    """
    trials = [_trial(settings, assumed, kept, dimensions, auditions, seed, number) for number in range(_TRIALS)]
    return Coverage(*(fmean(part) for part in zip(*trials, strict=True)))


def least_coverage(
    settings: BuildSettings, assumed: Assumptions, *, kept: float, dimensions: int, auditions: Sequence[int]
) -> Coverage:
    """What a cell comes to if every scene yields well, evenly over the dimensions."""
    per_scene = max(auditions, default=0) * max(kept, assumed.best_wins)
    wanted = settings.quota * dimensions
    needed = math.ceil(wanted / per_scene) if per_scene else settings.scenes
    conversations = min(settings.scenes, needed + settings.lag - 1)
    return Coverage(conversations, min(wanted, conversations * per_scene), 0.0)


def most_coverage(
    settings: BuildSettings, *, kept: float, auditions: Sequence[int]
) -> Coverage:
    """What a cell comes to if the cap on scenes ends it, at the expected yield."""
    return Coverage(settings.scenes, settings.scenes * fmean(auditions) * kept, 1.0)


def _trial(
    settings: BuildSettings,
    assumed: Assumptions,
    kept: float,
    dimensions: int,
    auditions: Sequence[int],
    seed: int,
    number: int,
) -> tuple[float, float, float]:
    """Conversations, items, and whether the quota was missed, in one trial."""
    draw = generator(seed, "plan", number)
    in_kept_dialogue = min(1.0, kept / assumed.graded_high)
    assigned, items = [[0] * dimensions], [[0] * dimensions]
    while (k := len(items) - 1) < settings.scenes:
        known = max(0, k - settings.lag + 1)
        if min(items[known]) >= settings.quota:
            break
        counts, now, new = list(assigned[known]), list(assigned[-1]), list(items[-1])
        high = draw.random() < assumed.graded_high
        for _ in range(draw.choice(auditions)):
            dimension = select(counts, draw) if draw.random() < assumed.follows else draw.randrange(dimensions)
            counts[dimension] += 1
            now[dimension] += 1
            new[dimension] += high and draw.random() < in_kept_dialogue
        assigned.append(now)
        items.append(new)
    return float(len(items) - 1), float(sum(items[-1])), float(min(items[-1]) < settings.quota)
