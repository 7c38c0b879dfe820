"""From verdicts to scores and intervals (FURINA §5.1, App. R, Table 4)."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from screentest.judges import Interval, Scored, estimate, item_score

DIMENSIONS = ("CR", "FR", "RR", "CA", "PA")
POINTS = (0.0, 0.25, 0.5, 1.0, 1.5, 1.75, 2.0, 3.0)


def scored(*points: float, dimension: str = "CR", cluster: str = "c") -> list[Scored]:
    return [Scored(points=value, dimension=dimension, cluster=cluster) for value in points]


@pytest.mark.parametrize(
    ("first", "second", "points"),
    [(1, 1, 3.0), (1, 2, 2.0), (2, 2, 1.0), (2, 3, 0.75), (3, 3, 0.5), (1, 5, 1.5), (3, 4, 0.25), (4, 5, 0.0)],
)
def test_score_of_an_item(first: int, second: int, points: float):
    assert item_score(first, second) == points
    assert item_score(second, first) == points


def test_the_papers_case_study_of_zero():
    """The raw second verdict, 2, prefers the line shown first, the baseline's: both orders give the challenger 0."""
    first, raw_second = 4, 2
    assert item_score(first, 6 - raw_second) == 0.0


def test_the_best_and_the_worst_performance():
    best = estimate(scored(3.0, 3.0), seed=0)
    worst = estimate(scored(0.0, 0.0), seed=0)
    assert best and worst
    assert (best.headline, worst.headline) == (100.0, 0.0)


def test_performance_is_the_share_of_the_points_that_could_be_won():
    found = estimate(scored(3.0, 1.0, 0.5, 0.0), seed=0)
    assert found
    assert found.item_mean == pytest.approx(100 * 4.5 / (3 * 4))


def test_the_headline_weighs_dimensions_alike_and_the_item_mean_weighs_items_alike():
    found = estimate([*scored(3.0, 3.0, 3.0), *scored(0.0, dimension="PA")], seed=0)
    assert found
    assert found.headline == pytest.approx(50)
    assert found.item_mean == pytest.approx(75)


@pytest.mark.parametrize(
    ("model", "row", "average"),
    [
        ("o3, English", (42.99, 35.31, 43.00, 42.68, 55.93), 43.98),
        ("Claude-4-Sonnet-thinking, English", (30.80, 29.72, 53.45, 27.71, 40.90), 36.52),
        ("Deepseek-R1, Chinese", (67.91, 70.51, 80.19, 65.77, 82.53), 73.38),
    ],
)
def test_the_headline_reproduces_table_4(model: str, row: tuple[float, ...], average: float):
    """The paper's "weighted average" is the plain mean of the five columns, in all 24 rows of the table.

    The dimensions have different numbers of items here, so that a mean over items would not do.
    """
    items = [
        item
        for size, (dimension, value) in enumerate(zip(DIMENSIONS, row, strict=True), start=1)
        for item in scored(*[value * 3 / 100] * size, dimension=dimension, cluster=f"{dimension}{size}")
    ]
    found = estimate(items, seed=0, resamples=100)
    assert found
    assert found.headline == pytest.approx(average, abs=0.0051), model
    assert found.item_mean != pytest.approx(average, abs=0.1)


def test_nothing_scored_is_no_estimate():
    assert estimate([], seed=0) is None


def test_one_item_has_no_spread_to_show():
    found = estimate(scored(1.0), seed=0)
    assert found
    assert (found.items, found.clusters) == (1, 1)
    assert found.headline == pytest.approx(100 / 3)
    assert (found.clustered, found.plain) == (None, None), "no spread is known, which is not a spread of nothing"


def test_one_conversation_has_no_spread_between_conversations():
    found = estimate(scored(0.0, 1.0, 3.0), seed=0)
    assert found
    assert found.clustered is None
    assert found.plain
    assert found.plain.low < found.headline < found.plain.high


def test_a_resample_without_a_dimension_is_averaged_over_the_others():
    """One item of PA in one conversation: resamples that miss it fall back on CR alone."""
    items = [*scored(0.0, cluster="a"), *scored(0.0, cluster="b"), *scored(3.0, dimension="PA", cluster="c")]
    found = estimate(items, seed=0)
    assert found
    assert found.headline == pytest.approx(50)
    assert found.clustered == pytest.approx((0, 100))


def conversations(seed: int, *, alike: bool) -> list[Scored]:
    draw = random.Random(seed)
    items: list[Scored] = []
    for cluster in range(12):
        shared = draw.choice(POINTS)
        for k in range(10):
            points = shared if alike else draw.choice(POINTS)
            items.append(Scored(points=points, dimension=DIMENSIONS[k % 5], cluster=f"{cluster}"))
    return items


def width(interval: Interval | None) -> float:
    assert interval
    return interval.high - interval.low


def test_the_clustered_interval_is_wider_when_a_conversations_items_are_alike():
    for seed in range(5):
        found = estimate(conversations(seed, alike=True), seed=seed)
        assert found
        assert width(found.clustered) > 1.8 * width(found.plain)


def test_the_clustered_interval_is_about_as_wide_when_they_have_nothing_in_common():
    ratios = []
    for seed in range(10):
        found = estimate(conversations(seed, alike=False), seed=seed)
        assert found
        ratios.append(width(found.clustered) / width(found.plain))
    assert sum(ratios) / len(ratios) == pytest.approx(1, abs=0.15)


def test_the_seed_decides_the_intervals_and_nothing_else():
    items = conversations(1, alike=False)
    first, same, other = (estimate(items, seed=seed) for seed in (1, 1, 2))
    assert first and other
    assert first == same
    assert first.clustered != other.clustered
    assert first.headline == other.headline


def test_the_order_of_the_items_of_a_conversation_does_not_matter():
    items = conversations(1, alike=False)
    first, turned = estimate(items, seed=1), estimate(items[::-1], seed=1)
    assert first and turned
    assert first.headline == pytest.approx(turned.headline)
    assert first.clustered == pytest.approx(turned.clustered)


@given(
    st.lists(
        st.builds(
            Scored,
            points=st.sampled_from(POINTS),
            dimension=st.sampled_from(DIMENSIONS),
            cluster=st.sampled_from("abcdefgh"),
        ),
        min_size=1,
        max_size=60,
    )
)
def test_estimates_and_intervals_stay_within_the_scale(items: list[Scored]):
    found = estimate(items, seed=3, resamples=100)
    assert found
    for value in (found.headline, found.item_mean, *(found.clustered or ()), *(found.plain or ())):
        assert 0 <= value <= 100 + 1e-9
    assert (found.clustered is None) == (found.clusters < 2)
    assert found.clustered is None or found.clustered.low <= found.clustered.high


def test_the_intervals_contain_the_estimate_in_ordinary_cases():
    for seed in range(10):
        found = estimate(conversations(seed, alike=False), seed=seed)
        assert found and found.clustered and found.plain
        assert found.clustered.low < found.headline < found.clustered.high
        assert found.plain.low < found.headline < found.plain.high


def test_the_clustered_interval_covers_the_truth_about_as_often_as_it_says():
    """40 conversations from a population whose mean is known; percentile intervals run a little short of 95 %."""
    points = (0.0, 0.5, 1.0, 3.0)
    truth, hits, trials = 100 * (sum(points) / len(points)) / 3, 0, 120
    for seed in range(trials):
        draw = random.Random(seed)
        items = [item for c in range(40) for item in scored(*[draw.choice(points)] * 3, cluster=str(c))]
        found = estimate(items, seed=seed, resamples=300)
        assert found and found.clustered
        hits += found.clustered.low <= truth <= found.clustered.high
    assert 0.89 <= hits / trials <= 0.99
