"""The conversation loop: who speaks, when it ends, whose line counts, and what the same seed gives."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doubles import Troupe, character, chooses, directs, heroine, played, prompt, rates, stage, troupe
from screentest.errors import InputError
from screentest.judges import furina_dimensions
from screentest.llms import Request
from screentest.pools import Scene
from screentest.sim import (
    Auditioned,
    Event,
    Fault,
    Rules,
    SceneClosed,
    SceneOpened,
    SpeakerChosen,
    Spoken,
    State,
    play,
)

DIMENSIONS = furina_dimensions("en")
IDS = [dimension.id for dimension in DIMENSIONS]


def run(cast: Troupe | None = None, *, scene: Scene | None = None, **options: Any) -> list[Event]:
    return played(play(scene or stage(), test=heroine(), models=(cast or troupe()).players, **options))


def of(events: list[Event], kind: type[Any]) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


def speakers(events: list[Event]) -> list[str]:
    return [event.line.speaker for event in of(events, Spoken)]


def next_of(*names: str) -> Callable[[Request], str]:
    """A director who always names the first of ``names`` that is eligible."""
    return lambda request: directs(next(name for name in names if name in request.facts["speakers"]))


# -- the shape of a scene -----------------------------------------------------------------------------------------


def test_a_scene_opens_takes_turns_and_closes():
    events = run(rules=Rules(turns=8))
    assert events[0] == SceneOpened(
        conversation="mill/" + heroine().id, scene="mill", test="Vera", cast=("Ada", "Ben", "Cyn", "Vera")
    )
    assert events[-1] == SceneClosed(reason="turn_limit", turns=8)
    assert [event.turn for event in of(events, SpeakerChosen)] == list(range(1, 9))
    assert [event.turn for event in of(events, Spoken)] == list(range(1, 9))
    for chosen, spoken in zip(of(events, SpeakerChosen), of(events, Spoken), strict=True):
        assert chosen.speaker == spoken.line.speaker
    assert len(of(events, Auditioned)) == speakers(events).count("Vera")


def test_every_call_has_a_key_of_its_own_under_the_conversations():
    cast = troupe()
    run(cast, key="cell/000", rules=Rules(orders="both"))
    keys = [request.key for request in cast.requests]
    assert len(set(keys)) == len(keys)
    assert all(key.startswith("cell/000/turn/") for key in keys)


def test_lines_are_credited_to_the_model_that_wrote_them():
    for event in of(run(), Spoken):
        assert event.model in ({"source", "base"} if event.line.speaker == "Vera" else {"scene"})


@pytest.mark.parametrize(
    ("test", "complaint"),
    [
        (character("Ada"), "already has a character of this name"),
        (heroine().model_copy(update={"language": "zh"}), "Vera speaks zh, the scene is en"),
    ],
)
def test_a_character_that_cannot_enter_is_turned_away_before_any_call(test: Any, complaint: str):
    cast = troupe()
    with pytest.raises(InputError, match=complaint):
        played(play(stage(), test=test, models=cast.players))
    assert cast.requests == []


# -- who speaks next, and when it ends ------------------------------------------------------------------------------


@given(seed=st.integers(0, 2**32), size=st.integers(1, 12), in_a_row=st.integers(1, 3), turns=st.integers(6, 24))
def test_the_rules_hold_whatever_the_director_says(seed: int, size: int, in_a_row: int, turns: int):
    names = [f"N{k}" for k in range(size)]
    rules = Rules(turns=turns, in_a_row=in_a_row)
    events = run(scene=stage(*names), seed=seed, rules=rules)
    spoken = speakers(events)
    assert len(spoken) == turns
    for start in range(len(spoken) - in_a_row):
        assert len(set(spoken[start : start + in_a_row + 1])) > 1, spoken
    silence = "".join("v" if name == "Vera" else "." for name in spoken).split("v")
    assert max(map(len, silence)) <= size + 2
    assert spoken.count("Vera") >= rules.min_test_lines
    assert events[-1] == SceneClosed(reason="turn_limit", turns=turns)


def test_the_test_character_has_its_share_even_in_a_crowd_that_ignores_it():
    """With 15 others, waiting for everyone to have had a word would leave it one line in 20."""
    names = [f"N{k:02d}" for k in range(15)]
    events = run(troupe(direct=next_of(*names)), scene=stage(*names))
    assert speakers(events).count("Vera") >= 2
    assert not of(events, Fault)


def test_the_test_character_is_given_the_word_when_it_is_overdue():
    events = run(troupe(direct=next_of("Ada", "Ben")), rules=Rules(turns=12))
    assert speakers(events) == ["Ada", "Ada", "Ben", "Ada", "Ada", "Vera", "Ada", "Ada", "Ben", "Ada", "Ada", "Vera"]
    by_rule = [event.turn for event in of(events, SpeakerChosen) if event.by == "rule"]
    assert by_rule == [6, 12]


def test_nobody_is_asked_when_only_one_may_speak():
    cast = troupe(direct=next_of("Vera"))
    events = run(cast, scene=stage("Ada"), rules=Rules(turns=6, in_a_row=1))
    assert speakers(events) == ["Vera", "Ada"] * 3
    assert [event.by for event in of(events, SpeakerChosen)] == ["director"] + ["rule"] * 5
    assert len(cast.director.requests) == 1


def test_the_director_cannot_end_a_scene_before_its_least_turns():
    def eager(request: Request) -> str:
        return directs(None, end=True) if request.facts["may_end"] else directs(request.facts["speakers"][-1])

    events = run(troupe(direct=eager), rules=Rules(min_turns=7))
    assert events[-1] == SceneClosed(reason="director", turns=7)


def test_the_director_cannot_end_a_scene_before_the_test_character_had_its_lines():
    def eager(request: Request) -> str:
        return directs(None, end=True) if request.facts["may_end"] else next_of("Ada", "Ben", "Cyn")(request)

    events = run(troupe(direct=eager), rules=Rules(min_turns=1, min_test_lines=3))
    assert events[-1] == SceneClosed(reason="director", turns=speakers(events).index("Vera") * 3 + 3)
    assert speakers(events).count("Vera") == 3


def test_a_scene_ends_at_the_turn_limit():
    events = run(rules=Rules(turns=5))
    assert events[-1] == SceneClosed(reason="turn_limit", turns=5)


def test_a_scene_in_which_the_test_character_hardly_spoke_is_a_fault():
    events = run(troupe(direct=next_of("Ada", "Ben")), rules=Rules(turns=3, min_test_lines=3))
    fault, closed = events[-2:]
    assert isinstance(fault, Fault)
    assert (fault.kind, fault.turn) == ("too_few_test_lines", 3)
    assert "Vera" in fault.detail
    assert closed == SceneClosed(reason="fault", turns=3)


# -- source against base ------------------------------------------------------------------------------------------


def scored(raw: int, *, orders: Any = "one") -> list[Event]:
    """A scene in which the judge gives the source this score, whatever the order."""

    def rating(request: Request) -> str:
        source_first = request.facts["candidates"][0].text.endswith("source.")
        return rates(raw if source_first else 6 - raw)

    cast = troupe(judge_pairwise=rating)
    for part in (cast.source, cast.base):
        part.answers["play.test"] = lambda request, part=part: f"It is {request.key}, says {part.name}."
    return run(cast, rules=Rules(turns=12, orders=orders))


@pytest.mark.parametrize("orders", ["one", "both"])
@pytest.mark.parametrize(("score", "winner"), [(1, "source"), (2, "source"), (3, "source"), (4, "base"), (5, "base")])
def test_the_sources_line_counts_unless_the_bases_is_better(score: int, winner: str, orders: Any):
    """Equation 1: a score of at most 3 appends the source's line."""
    events = scored(score, orders=orders)
    auditions = of(events, Auditioned)
    assert len(auditions) >= 2
    for audition in auditions:
        assert audition.score == score
        assert audition.winner == winner
        spoken = events[events.index(audition) + 1]
        kept = audition.source if winner == "source" else audition.base
        assert spoken == Spoken(turn=audition.turn, line=kept.line, model=winner)


def test_source_and_base_answer_the_same_prompt_and_only_the_winner_is_heard():
    cast = troupe(judge_pairwise=lambda _: rates(3))
    events = run(cast)
    assert [request.messages for request in cast.source.requests] == [
        request.messages for request in cast.base.requests
    ]
    later = "\n".join(prompt(request) for request in (*cast.director.requests, *cast.scene.requests))
    for audition in of(events, Auditioned)[:-1]:
        assert audition.source.line.text in later
        assert audition.base.line.text not in later


def test_one_order_is_drawn_per_turn_and_both_are_averaged():
    """A judge that always prefers A: drawn orders differ from turn to turn, and judging both makes it a tie."""
    always_a = troupe(judge_pairwise=lambda _: rates(1))
    one = [event for seed in range(6) for event in of(run(always_a, seed=seed), Auditioned)]
    assert {audition.score for audition in one} == {1, 5}
    assert all(len(audition.verdicts) == 1 for audition in one)
    both = of(run(always_a, rules=Rules(orders="both")), Auditioned)
    assert {audition.score for audition in both} == {3}
    assert all({verdict.order for verdict in a.verdicts} == {"challenger_first", "reference_first"} for a in both)


def test_the_judge_never_learns_which_model_wrote_which_line():
    cast = troupe()
    run(cast)
    for request in cast.judge.requests:
        assert "source" not in json.dumps([message.content for message in request.messages[1:]])
        assert "base" not in json.dumps([message.content for message in request.messages[1:]])


# -- emphasis -------------------------------------------------------------------------------------------------------


def test_the_emphasis_is_held_until_the_test_character_has_answered():
    events = run(rules=Rules(turns=20))
    chosen = of(events, SpeakerChosen)
    changes = [now.turn for before, now in pairwise(chosen) if now.emphasis != before.emphasis]
    answered = {event.turn + 1 for event in of(events, Auditioned)}
    assert changes
    assert set(changes) <= answered
    for audition in of(events, Auditioned):
        assert audition.emphasis == chosen[audition.turn - 1].emphasis


def test_everybody_is_told_what_is_emphasised():
    cast = troupe()
    told = {event.turn: event.emphasis for event in of(run(cast), SpeakerChosen)}
    for request in (*cast.scene.requests, *cast.source.requests, *cast.base.requests):
        turn = int(request.key.split("/turn/")[1].split("/")[0])
        assert request.facts["dimension"].id == told[turn]


def test_the_emphasis_follows_what_the_judge_assigned_not_what_was_emphasised():
    """A judge that assigns CR every time leaves CR as the one dimension never emphasised again."""
    cast = troupe(judge_dimension=lambda _: chooses("CR"))
    after = [event.emphasis for seed in range(10) for event in of(run(cast, seed=seed), Auditioned)[1:]]
    assert set(after) == set(IDS) - {"CR"}


def test_the_emphasis_starts_from_what_the_cell_has_assigned_so_far():
    events = run(counts={"CR": 9, "FR": 9, "RR": 0, "CA": 9, "PA": 9}, rules=Rules(turns=10))
    assert {event.emphasis for event in of(events, SpeakerChosen)} == {"RR"}


# -- determinism ------------------------------------------------------------------------------------------------------


def test_the_same_seed_gives_the_same_events():
    assert run(seed=7) == run(seed=7)


@pytest.mark.parametrize("change", [{"seed": 8}, {"key": "elsewhere"}])
def test_another_seed_or_place_gives_another_scene(change: dict[str, Any]):
    assert speakers(run(seed=7)) != speakers(run(**{"seed": 7, **change}))


@given(seed=st.integers(0, 2**32))
def test_events_fold_to_the_state_the_scene_was_played_in(seed: int):
    """What the last prompt showed is what the events fold into."""
    cast = troupe()
    events = run(cast, seed=seed, rules=Rules(turns=7))
    state = State(scene=stage(), test=heroine())
    for event in events[: events.index(of(events, SpeakerChosen)[-1])]:
        state.apply(event)
    directed = cast.director.requests[-1]
    if directed.key.endswith("turn/07/direct"):
        assert directed.facts["view"].history == tuple(state.history)
    assert len(state.history) == 6
    assert sum(state.assigned.values()) == state.test_lines
