"""Randomness belongs to a place in the run."""

from __future__ import annotations

import subprocess
import sys

from hypothesis import given
from hypothesis import strategies as st

from screentest.randomness import Place, generator, seed_at


def test_a_place_has_the_same_seed_in_every_process():
    """Unlike ``hash``, which differs from process to process."""
    program = "from screentest.randomness import seed_at; print(seed_at(7, 'scene-3', 'turn', 7))"
    for hash_seed in ("1", "2"):
        told = subprocess.run(  # noqa: S603
            [sys.executable, "-c", program], capture_output=True, check=True, env={"PYTHONHASHSEED": hash_seed}
        )
        assert int(told.stdout) == seed_at(7, "scene-3", "turn", 7)


@given(st.integers(), st.text())
def test_seeds_fit_63_bits(seed: int, place: str):
    assert 0 <= seed_at(seed, place) < 2**63


def test_places_differ_by_run_and_by_path():
    seeds = {Place(run, "talk").seed for run in range(50)} | {(Place(0, "talk") / k).seed for k in range(50)}
    assert len(seeds) == 100


def test_a_place_gives_a_fresh_generator_each_time():
    place = Place(1, "talk") / "turn" / 3
    assert place.path == "talk/turn/3"
    assert place.generator().random() == place.generator().random() == generator(1, "talk/turn/3").random()
