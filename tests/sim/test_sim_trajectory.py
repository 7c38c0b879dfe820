"""Trajectories: what they keep, and that they survive being written and read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from doubles import heroine, played, stage, troupe
from screentest.sim import Auditioned, Fault, Rules, Spoken, State, Trajectory, play


def trajectory(said: list[str], seed: int = 0, orders: str = "one") -> Trajectory:
    """A scene in which these things are said."""
    told = iter(said * 40)
    cast = troupe(play_scene=lambda _: next(told), play_test=lambda _: next(told))
    rules = Rules(turns=8, orders=orders)  # pyright: ignore[reportArgumentType]
    stream = play(stage(), test=heroine(), models=cast.players, seed=seed, rules=rules)
    return Trajectory(
        conversation="talk",
        scene="mill",
        character=heroine().id,
        source="source",
        counts={"CR": 0, "FR": 2},
        events=tuple(played(stream)),
    )


@given(st.lists(st.text(max_size=60), min_size=1, max_size=20), st.integers(0, 2**32), st.sampled_from(("one", "both")))
def test_a_trajectory_survives_being_written_and_read(said: list[str], seed: int, orders: str):
    found = trajectory(said, seed, orders)
    written = found.model_dump_json()
    assert "\n" not in written
    assert Trajectory.model_validate_json(written) == found


def test_a_graded_trajectory_keeps_its_grade():
    found = trajectory(["Good morning."]).model_copy(update={"grade": "moderate", "grade_reason": "slow"})
    assert Trajectory.model_validate_json(found.model_dump_json()) == found


def test_its_parts_are_its_events_by_kind():
    found = trajectory(["[Hm.] Good morning."])
    assert [line.turn for line in found.lines] == list(range(1, 9))
    assert {line.line.thought for line in found.lines} == {"Hm."}
    assert found.auditions == tuple(event for event in found.events if isinstance(event, Auditioned))
    assert found.faults == ()
    assert [fault.kind for fault in trajectory(["[Hm.]"]).faults] == ["empty"]


def test_a_recorded_trajectory_folds_to_the_state_it_was_played_in():
    found = trajectory(["Good morning.", "(nods)", "[Hm.] Is it?"])
    live, read = (State(scene=stage(), test=heroine()) for _ in range(2))
    for event in found.events:
        live.apply(event)
    for event in Trajectory.model_validate_json(found.model_dump_json()).events:
        read.apply(event)
    assert live == read
    assert live.history == [event.line for event in found.events if isinstance(event, Spoken)]
    assert live.test_lines == sum(live.assigned.values()) == len(found.auditions)


@pytest.mark.parametrize(
    "event", [{"event": "thunder", "turn": 1}, {"event": "fault", "turn": 1, "kind": "x", "detail": "y", "more": 1}, {}]
)
def test_an_event_that_is_none_is_refused(event: dict[str, object]):
    data = trajectory(["Hello."]).model_dump(mode="json")
    with pytest.raises(ValidationError):
        Trajectory.model_validate({**data, "events": [event]})


def test_a_fault_keeps_the_status_that_came():
    fault = Fault(turn=2, kind="unavailable", detail="down", status=503)
    found = trajectory(["Hello."]).model_copy(update={"events": (fault,)})
    assert Trajectory.model_validate_json(found.model_dump_json()).faults == (fault,)
