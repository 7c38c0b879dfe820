"""Story play: rounds of deeds, whom they touch, what comes of them, and what everybody makes of it."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doubles import collected, heroine, prompt, stage
from screentest.agents import ScriptedPlayer
from screentest.errors import InputError
from screentest.judges import furina_dimensions
from screentest.llms import Request
from screentest.randomness import generator
from screentest.sim import (
    Auditioned,
    BeliefsUpdated,
    EnvironmentChanged,
    Fault,
    Influenced,
    Outcome,
    Rules,
    SceneClosed,
    SpeakerChosen,
    Spoken,
    State,
    StateChanged,
    play,
)
from story.teller import Teller, moved, of, outcome, story, touches

CAST = ["Ada", "Ben", "Cyn"]


def character(name: str) -> Any:
    return next(one for one in stage().cast if one.name == name)


# -- the shape of a story -----------------------------------------------------------------------------------------


def test_all_act_in_turn_round_by_round() -> None:
    events = story(Teller(), rounds=3)
    assert [event.speaker for event in of(events, SpeakerChosen)] == CAST * 3
    assert {event.by for event in of(events, SpeakerChosen)} == {"round"}
    assert events[-1] == SceneClosed(reason="turn_limit", turns=len(of(events, Spoken)))


def test_a_deed_is_answered_by_whom_it_touches_and_something_comes_of_it() -> None:
    events = story(Teller({"narrate.influence": touches("Ben")}), rounds=1)
    first = [event for event in events if getattr(event, "turn", None) == 1 and event.event != "recalled"]
    assert [event.event for event in first] == ["speaker_chosen", "spoken", "influenced", "spoken", "outcome"]
    _, deed, influenced, reaction, _ = first
    assert (deed.line.speaker, deed.cue) == ("Ada", "act")
    assert influenced == Influenced(turn=1, actor="Ada", target="Ben", influence="Ben is touched")
    assert (reaction.line.speaker, reaction.cue) == ("Ben", "reaction")


def test_reacting_uses_up_no_turn() -> None:
    events = story(Teller({"narrate.influence": touches("Ben")}), rounds=1)
    acts = [event.line.speaker for event in of(events, Spoken) if event.cue == "act"]
    assert acts == CAST


def test_nobody_reacts_to_a_deed_that_touches_nobody() -> None:
    events = story(Teller({"narrate.influence": touches(None)}), rounds=1)
    assert {event.cue for event in of(events, Spoken)} == {"act"}
    assert len(of(events, Outcome)) == 3


def test_between_rounds_everybody_makes_up_their_mind_and_not_when_all_is_over() -> None:
    events = story(Teller(), rounds=3)
    assert [(event.turn, event.character) for event in of(events, BeliefsUpdated)] == [
        (turn, name) for turn in (3, 6) for name in CAST
    ]
    concluded = Teller({"narrate.resolve": lambda request: outcome(concluded=True)})
    story(concluded, rounds=3)
    assert not concluded.asked("mind.believe"), "what ends after one round needs no new minds"


@pytest.mark.parametrize("size", [2, 3, 4])
def test_the_number_of_calls_is_what_the_documentation_says(size: int) -> None:
    names = ["Ada", "Ben", "Cyn", "Dov"][:size]
    after = {name: names[(place + 1) % size] for place, name in enumerate(names)}

    def next_one(request: Request) -> object:
        return touches(after[request.facts["deed"].speaker])(request)

    teller = Teller({"narrate.influence": next_one})
    story(teller, scene=stage(*names), rounds=2)
    assert Counter(request.purpose for request in teller.requests) == {
        "play.scene": 2 * 2 * size,
        "narrate.influence": 2 * size,
        "narrate.resolve": 2 * size,
        "mind.believe": size,
    }


def test_the_narrator_may_conclude_a_story_at_the_end_of_a_round_but_not_before_the_fewest() -> None:
    done = Teller({"narrate.resolve": lambda request: outcome(concluded=True)})
    events = story(done, rules=Rules(staging="story", rounds=5, min_rounds=2))
    assert len(of(events, SpeakerChosen)) == 6
    assert events[-1].reason == "narrator"


def test_a_conclusion_in_mid_round_that_does_not_last_ends_nothing() -> None:
    def first_only(request: Request) -> object:
        return outcome(concluded="/turn/01/" in request.key)

    assert len(of(story(Teller({"narrate.resolve": first_only}), rounds=3), SpeakerChosen)) == 9


# -- the world ----------------------------------------------------------------------------------------------------


def test_story_time_advances() -> None:
    state = State(scene=stage())
    for event in story(Teller(), rounds=2):
        state.apply(event)
    assert state.minutes == 6 * (1 + 3), "a minute a turn, and what the narrator says beyond that"


def test_the_environment_changes_as_the_narrator_says_and_is_shown_as_it_is_now() -> None:
    burnt = {"time": "Later", "place": "The mill", "description": "The wheel is burnt."}

    def burns(request: Request) -> object:
        return outcome(environment=burnt if "/turn/01/" in request.key else None)

    teller = Teller({"narrate.resolve": burns})
    events = story(teller, rounds=1)
    assert [event.situation.description for event in of(events, EnvironmentChanged)] == ["The wheel is burnt."]
    later = [request for request in teller.asked("play.scene") if "/turn/02/" in request.key]
    assert later
    assert all("The wheel is burnt." in prompt(request) for request in later)
    assert all("The wheel has stopped." not in prompt(request) for request in later)


def test_who_is_away_neither_sees_nor_is_seen_nor_is_touched() -> None:
    def ben_leaves(request: Request) -> object:
        if "/turn/01/" in request.key:
            return outcome("Ben walks out.", changes=[moved(character("Ben"), present=False)])
        return outcome(f"outcome at {request.key}")

    teller = Teller({"narrate.resolve": ben_leaves, "narrate.influence": touches("Ben")})
    events = story(teller, rounds=2)
    assert [event.character for event in of(events, StateChanged)] == ["Ben"]
    reactions = [event for event in of(events, Spoken) if event.cue == "reaction"]
    assert [event.turn for event in reactions] == [1], "nobody can touch one who is not there"
    state = State(scene=stage())
    for event in events:
        state.apply(event)
    heard = {line.text for line in state.knowledge["Ben"].history}
    for event in of(events, Spoken):
        seen = event.turn == 1 or event.line.speaker == "Ben"
        assert (event.line.text in heard) == seen
    others = {line.text for line in state.knowledge["Ada"].history}
    alone = [event.line.text for event in of(events, Spoken) if event.turn in (2, 5)]
    assert alone
    assert others.isdisjoint(alone), "what Ben does out there, nobody sees"
    asked = [request for request in teller.asked("narrate.influence") if "/turn/02/" in request.key]
    assert not asked, "alone, one touches nobody, and nobody is asked"


def test_who_comes_back_sees_the_place_as_it_is() -> None:
    burnt = {"time": "Later", "place": "The mill", "description": "The wheel is burnt."}

    def comes_and_goes(request: Request) -> object:
        match request.key.partition("/turn/")[2][:2]:
            case "01":
                return outcome(changes=[moved(character("Ben"), present=False)])
            case "03":
                return outcome(environment=burnt)
            case "05":
                return outcome(changes=[moved(character("Ben"), present=True)])
            case _:
                return outcome()

    teller = Teller({"narrate.resolve": comes_and_goes, "narrate.influence": touches(None)})
    story(teller, rounds=3)

    def shown(turn: str) -> str:
        return next(prompt(request) for request in teller.asked("play.scene") if f"/turn/{turn}/" in request.key)

    assert "The wheel has stopped." in shown("05")
    assert "The wheel is burnt." in shown("08")


def test_an_unknown_id_is_a_fault_and_changes_nothing() -> None:
    stranger = {"character": "nobody-12345678", "position": "here", "state": "fine", "present": True}
    teller = Teller({"narrate.resolve": lambda request: outcome(changes=[stranger])})
    events = story(teller)
    assert [event.kind for event in of(events, Fault)] == ["invalid"]
    assert not of(events, Outcome)
    assert not of(events, StateChanged)
    assert events[-1].reason == "fault"
    assert len(teller.asked("narrate.resolve")) == 2, "asked once more, with the error shown"


@pytest.mark.parametrize("purpose", ["narrate.influence", "narrate.resolve", "mind.believe"])
def test_what_cannot_be_read_is_a_fault(purpose: str) -> None:
    events = story(Teller({purpose: lambda request: "Well, let me think about it."}))
    assert [event.kind for event in of(events, Fault)] == ["invalid"]
    assert events[-1].reason == "fault"


def test_a_narrator_can_be_another_model() -> None:
    teller, narrator = Teller(), Teller(name="narrator")
    players = replace(teller.players, narrator=narrator)
    rules = Rules(staging="story", rounds=1)
    asyncio.run(collected(play(stage(), models=players, rules=rules)))
    assert {request.purpose for request in narrator.requests} == {"narrate.influence", "narrate.resolve"}
    assert "narrate.resolve" not in {request.purpose for request in teller.requests}


def test_without_a_narrator_nothing_comes_of_deeds() -> None:
    teller = Teller()
    events = story(teller, rules=Rules(staging="story", rounds=2, narrator=False))
    assert {request.purpose for request in teller.requests} == {"play.scene", "mind.believe"}
    assert {event.cue for event in of(events, Spoken)} == {"act"}


def test_nobody_may_be_called_like_the_narrator() -> None:
    with pytest.raises(InputError, match="cannot be told from the narrator"):
        story(Teller(), scene=stage("Ada", "Narrator"))


# -- the test character -------------------------------------------------------------------------------------------


def test_the_test_characters_deeds_and_reactions_are_auditioned() -> None:
    teller = Teller({"narrate.influence": touches("Vera")})
    events = story(teller, test=heroine(), dimensions=furina_dimensions("en"), rounds=1)
    auditions = of(events, Auditioned)
    assert [audition.cue.kind for audition in auditions] == ["reaction"] * 3 + ["act"]
    assert auditions[0].cue.influence == "Vera is touched"
    spoken = [event.line for event in of(events, Spoken) if event.line.speaker == "Vera"]
    assert spoken == [one.source.line if one.winner == "source" else one.base.line for one in auditions]


def test_the_test_characters_mind_is_the_sources() -> None:
    teller, source = Teller(), Teller(name="source")
    players = replace(teller.players, source=source)
    rules = Rules(staging="story", rounds=2)
    asyncio.run(collected(play(stage(), test=heroine(), models=players, rules=rules)))
    thinkers = {request.facts["view"].me.name for request in source.requests if request.purpose == "mind.believe"}
    assert thinkers == {"Vera"}


def test_a_story_of_one_round_is_a_story() -> None:
    events = story(Teller({"narrate.influence": touches(None)}), test=heroine(), rounds=1)
    assert not of(events, Fault)
    assert len(of(events, Auditioned)) == 1


# -- seats --------------------------------------------------------------------------------------------------------


def test_a_script_takes_a_seat_like_anyone() -> None:
    teller = Teller({"narrate.influence": touches(None)})
    lines = ["(opens the door) Come in.", "(shuts the door)"]
    events = story(teller, rounds=2, seats={"Ben": ScriptedPlayer("script", iter(lines))})
    assert [event.line.text for event in of(events, Spoken) if event.model == "script"] == lines
    assert "Ben" not in {event.character for event in of(events, BeliefsUpdated)}, "a script has no mind to make up"


def test_a_script_that_ends_too_early_is_a_fault() -> None:
    events = story(Teller(), seats={"Ben": ScriptedPlayer("script", iter(()))})
    assert [event.kind for event in of(events, Fault)] == ["empty"]


def test_a_seat_for_a_stranger_is_refused() -> None:
    with pytest.raises(InputError, match="a seat is for nobody"):
        story(Teller(), seats={"Zoe": ScriptedPlayer("script", iter(()))})


# -- the same, whatever happens first -----------------------------------------------------------------------------


@given(seed=st.integers(0, 10**6))
@settings(max_examples=12, deadline=None, derandomize=True)
def test_the_order_of_replies_changes_nothing(seed: int) -> None:
    def uneven(request: Request) -> float:
        return generator(seed, request.key).choice((0, 0, 0.001, 0.002))

    rules = Rules(staging="story", rounds=2)
    options: dict[str, Any] = {"test": heroine(), "rules": rules, "seed": 5}
    assert story(Teller(delay=uneven), **options) == story(Teller(), **options)


def test_minds_are_made_up_at_once() -> None:
    """Beliefs of different characters wait for nobody: all are asked before any has answered."""
    waiting = 0
    most = 0

    async def main() -> None:
        class Slow(Teller):
            async def reply(self, request: Request) -> Any:
                nonlocal waiting, most
                if request.purpose == "mind.believe":
                    waiting += 1
                    most = max(most, waiting)
                    await asyncio.sleep(0.01)
                    waiting -= 1
                return await super().reply(request)

        await collected(play(stage(), models=Slow().players, rules=Rules(staging="story", rounds=2)))

    asyncio.run(main())
    assert most == 3
