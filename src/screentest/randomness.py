"""Randomness that belongs to a place in the run, never to the process."""

from __future__ import annotations

import hashlib
import random
from dataclasses import dataclass


def seed_at(seed: int, *place: object) -> int:
    """A 63-bit seed for one place in a run.

    Args:
        seed: The run's seed.
        place: What names the place, e.g. ``("scene-3", "turn", 7)``.

    Returns:
        The same integer for the same arguments, on every machine and in every process.
    """
    text = "\x1f".join([str(seed), *map(str, place)])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1


def generator(seed: int, *place: object) -> random.Random:
    """A generator seeded by one place in a run (see :func:`seed_at`)."""
    return random.Random(seed_at(seed, *place))


@dataclass(frozen=True, slots=True)
class Place:
    """A place in a run: names a call, and seeds whatever is random there.

    Attributes:
        run_seed: The run's seed.
        path: The place, as ``"<conversation>/turn/07/judge.pairwise"``.
    """

    run_seed: int
    path: str

    def __truediv__(self, part: object) -> Place:
        return Place(self.run_seed, f"{self.path}/{part}")

    @property
    def seed(self) -> int:
        """The seed of this place."""
        return seed_at(self.run_seed, self.path)

    def generator(self) -> random.Random:
        """A fresh generator of this place."""
        return random.Random(self.seed)
