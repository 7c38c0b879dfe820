"""How many conversations a cell takes to meet its quota: the campaign's own rule, played with dice."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from screentest.builders.planning.assumptions import Assumptions, Scenario
from screentest.builders.settings import BuildSettings
from screentest.judges import select
from screentest.randomness import generator

_TRIALS = 40


@dataclass(frozen=True, slots=True)
class Coverage:
    """What a cell comes to.

    Attributes:
        conversations: Conversations played.
        items: Items kept.
        short: How likely the cap on scenes ends it before the quota is met, 0 to 1.
    """

    conversations: float
    items: float
    short: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CellPlan:
    """A cell to be covered.

    Attributes:
        settings: The quota, the cap and the lag.
        assumed: How often the judge follows the emphasis, and the filter keeps a dialogue.
        kept: The share of test lines that become items.
        dimensions: How many dimensions have to meet the quota.
        auditions: Test lines per conversation, as rehearsed.
        seed: The run's seed.
    """

    settings: BuildSettings
    assumed: Assumptions
    kept: float
    dimensions: int
    auditions: Sequence[int]
    seed: int

    def cover(self) -> dict[Scenario, Coverage]:
        """What the cell comes to in each scenario.

        As expected: the mean of some trials, which draw the same numbers whatever the quota, so that a larger quota
        never takes fewer conversations. Low: every scene yields well, evenly over the dimensions. Worst: the cap on
        scenes ends the cell, at the expected yield.
        """
        trials = [self._trial(number) for number in range(_TRIALS)]
        expected = Coverage(*(fmean(part) for part in zip(*trials, strict=True)))
        low, worst = self._least(), self._most()
        return {
            "low": replace(
                low, conversations=min(low.conversations, expected.conversations), items=min(low.items, expected.items)
            ),
            "expected": expected,
            "worst": replace(worst, items=max(worst.items, expected.items)),
        }

    def _least(self) -> Coverage:
        per_scene = max(self.auditions) * max(self.kept, self.assumed.best_wins)
        wanted = self.settings.quota * self.dimensions
        needed = math.ceil(wanted / per_scene) if per_scene else self.settings.scenes
        conversations = min(self.settings.scenes, needed + self.settings.lag - 1)
        return Coverage(conversations, min(wanted, conversations * per_scene), 0.0)

    def _most(self) -> Coverage:
        scenes = self.settings.scenes
        return Coverage(scenes, scenes * fmean(self.auditions) * self.kept, 1.0)

    def _trial(self, number: int) -> tuple[float, float, float]:
        """Conversations, items, and whether the quota was missed."""
        settings, assumed, draw = self.settings, self.assumed, generator(self.seed, "plan", number)
        in_kept_dialogue = min(1.0, self.kept / assumed.graded_high)
        assigned, items = [[0] * self.dimensions], [[0] * self.dimensions]
        while (k := len(items) - 1) < settings.scenes:
            known = max(0, k - settings.lag + 1)
            if min(items[known]) >= settings.quota:
                break
            counts, now, new = list(assigned[known]), list(assigned[-1]), list(items[-1])
            high = draw.random() < assumed.graded_high
            for _ in range(draw.choice(self.auditions)):
                follows = draw.random() < assumed.follows
                dimension = select(counts, draw) if follows else draw.randrange(self.dimensions)
                counts[dimension] += 1
                now[dimension] += 1
                new[dimension] += high and draw.random() < in_kept_dialogue
            assigned.append(now)
            items.append(new)
        return float(len(items) - 1), float(sum(items[-1])), float(min(items[-1]) < settings.quota)
