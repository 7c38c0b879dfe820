"""Randomness that belongs to a place in the run, never to the process."""

from __future__ import annotations

import hashlib
import random


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
