"""Dynamically weighted random selection of the dimension to emphasise (FURINA App. C)."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Literal

SelectionMode = Literal["argmax", "sample"]


def weights(counts: Sequence[int]) -> tuple[int, ...]:
    """Inverse-frequency weights ``w_i = c_max - c_i + 1`` (eq. 4); ``[2, 5, 1]`` gives ``(4, 1, 5)``."""
    highest = max(counts)
    return tuple(highest - count + 1 for count in counts)


def probabilities(counts: Sequence[int]) -> tuple[float, ...]:
    """Selection probabilities ``P = w / sum(w)`` (eq. 5); ``[2, 5, 1]`` gives ``(.4, .1, .5)``."""
    weighted = weights(counts)
    total = sum(weighted)
    return tuple(weight / total for weight in weighted)


def select(counts: Sequence[int], generator: random.Random, mode: SelectionMode = "argmax") -> int:
    """The index of the dimension to emphasise next.

    Args:
        counts: How often each dimension has been used so far; at least one.
        generator: Breaks ties, or draws.
        mode: ``argmax`` takes the most probable, ties broken uniformly (Alg. 1); ``sample`` draws from ``P``.

    Returns:
        An index into ``counts``.
    """
    weighted = weights(counts)
    if mode == "sample":
        return generator.choices(range(len(weighted)), weights=weighted)[0]
    best = max(weighted)
    return generator.choice([index for index, weight in enumerate(weighted) if weight == best])
