"""Which dimension to emphasise next (FURINA App. C)."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from screentest.judges import probabilities, select, weights

counts_of_use = st.lists(st.integers(0, 1000), min_size=1, max_size=12)


def test_the_papers_worked_example():
    assert weights([2, 5, 1]) == (4, 1, 5)
    assert probabilities([2, 5, 1]) == (0.4, 0.1, 0.5)
    assert {select([2, 5, 1], random.Random(seed)) for seed in range(50)} == {2}


@given(counts_of_use)
def test_every_dimension_stays_eligible(counts: list[int]):
    assert min(weights(counts)) == 1
    assert sum(probabilities(counts)) == pytest.approx(1)


@given(counts_of_use)
def test_less_used_means_more_probable(counts: list[int]):
    pairs = sorted(zip(counts, probabilities(counts), strict=True))
    assert [p for _, p in pairs] == sorted((p for _, p in pairs), reverse=True)


@given(counts_of_use, st.randoms(use_true_random=False))
def test_argmax_picks_a_least_used_dimension(counts: list[int], generator: random.Random):
    assert counts[select(counts, generator)] == min(counts)


def test_ties_are_broken_uniformly():
    chosen = Counter(select([3, 0, 0, 7, 0], random.Random(seed)) for seed in range(3000))
    assert set(chosen) == {1, 2, 4}
    assert all(900 < times < 1100 for times in chosen.values())


def test_sampling_follows_the_probabilities():
    generator = random.Random(5)
    chosen = Counter(select([2, 5, 1], generator, "sample") for _ in range(10_000))
    assert [chosen[i] / 10_000 for i in range(3)] == pytest.approx([0.4, 0.1, 0.5], abs=0.02)


@given(st.integers(1, 8), st.integers(1, 12), st.integers(0, 2**32))
def test_argmax_covers_all_dimensions_evenly(dimensions: int, threshold: int, seed: int):
    """Algorithm 1 ends after exactly tau rounds of every dimension."""
    counts, generator = [0] * dimensions, random.Random(seed)
    for _ in range(dimensions * threshold):
        counts[select(counts, generator)] += 1
    assert counts == [threshold] * dimensions
