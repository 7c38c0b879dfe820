"""The narrator: what it may answer, and what becomes of an answer that cannot be used."""

from __future__ import annotations

import json
from typing import Any

import pytest

from doubles import Improviser, heroine, prompt, stage
from screentest.agents import Change, Influence, Narrator, Resolution
from screentest.errors import InvalidReply
from screentest.pools import Line, Situation, Standing
from screentest.randomness import Place
from screentest.sim import State, view

SCENE, VERA = stage(), heroine()
ADA, BEN, CYN = SCENE.cast
DEED = Line(speaker="Ada", text="(bars the door) Nobody leaves.", thought="thought-of-Ada")
REACTION = Line(speaker="Ben", text="(shoves her aside)", thought="thought-of-Ben")
PLACE = Place(3, "tale/turn/01")


def struck(target: str | None, influence: str = "Ben cannot get out.") -> str:
    return json.dumps({"influence": influence, "target": target})


def change(who: str, **different: Any) -> dict[str, Any]:
    return {"character": who, "position": "at the door", "state": "bruised", "present": True, **different}


def came(**different: Any) -> str:
    told = {"outcome": "The bar holds.", "minutes": 2, "changes": [], "environment": None, "concluded": False}
    return json.dumps({**told, **different})


async def influence(*answers: str, present: tuple[str, ...] = ("Ben", "Vera")) -> tuple[Influence, Improviser]:
    """Ask whom a deed touches; the narrator gives these answers in turn."""
    told = iter(answers)
    model = Improviser("narrator", {"narrate.influence": lambda _: next(told)})
    seen = view(State(scene=SCENE, test=VERA, history=[DEED]), "narrator")
    return await Narrator(model).influence(seen, DEED, present=present, place=PLACE), model


async def resolve(*answers: str, reaction: Line | None = REACTION) -> tuple[Resolution, Improviser]:
    """Ask what comes of a deed; the narrator gives these answers in turn."""
    told = iter(answers)
    model = Improviser("narrator", {"narrate.resolve": lambda _: next(told)})
    seen = view(State(scene=SCENE, test=VERA, history=[DEED, REACTION]), "narrator")
    return await Narrator(model).resolve(seen, DEED, reaction, place=PLACE), model


async def test_says_by_id_whom_a_deed_touches_and_hands_back_the_name():
    found, model = await influence(struck(BEN.id))
    assert found == Influence("Ben", "Ben cannot get out.")
    (request,) = model.requests
    assert (request.purpose, request.key) == ("narrate.influence", "tale/turn/01/narrate.influence")
    assert request.sampling.temperature == 0.0


async def test_may_say_that_a_deed_touches_nobody():
    found, _ = await influence(struck(None, "It is her own door."))
    assert found == Influence(None, "It is her own door.")


async def test_is_told_the_ids_of_those_who_are_near_and_of_nobody_else():
    _, model = await influence(struck(BEN.id))
    asked = prompt(model.requests[0])
    assert f"{BEN.id}: Ben\n{VERA.id}: Vera\n" in asked
    assert ADA.id not in asked
    assert CYN.id not in asked


@pytest.mark.parametrize(
    "answer",
    [
        struck("nobody-00000000"),
        struck("Ben"),
        struck(ADA.id),
        struck(CYN.id),
        struck("null"),
        struck(BEN.id, " \n "),
        json.dumps({"influence": "Ben cannot get out."}),
        "Ben cannot get out.",
    ],
    ids=["unknown id", "a name", "the actor", "not there", "the word null", "no influence", "no target", "prose"],
)
async def test_is_asked_again_once_whom_a_deed_touches_and_then_it_gives_up(answer: str):
    found, model = await influence(answer, struck(VERA.id))
    assert found.target == "Vera"
    assert [request.key for request in model.requests] == [
        "tale/turn/01/narrate.influence",
        "tale/turn/01/narrate.influence/reask",
    ]
    with pytest.raises(InvalidReply) as failure:
        await influence(answer, answer)
    assert failure.value.model == "narrator"


async def test_says_what_came_of_a_deed():
    changes = [change(ADA.id), change(CYN.id, position="on the road", state="wet", present=False)]
    scenery = {"time": "Noon", "place": "The mill", "description": "The door is off\n its hinges."}
    found, model = await resolve(came(changes=changes, environment=scenery, minutes=0, concluded=True))
    assert found == Resolution(
        outcome="The bar holds.",
        minutes=0,
        changes=(
            Change("Ada", Standing(position="at the door", state="bruised")),
            Change("Cyn", Standing(position="on the road", state="wet", present=False)),
        ),
        situation=Situation(time="Noon", place="The mill", description="The door is off its hinges."),
        concluded=True,
    )
    assert model.requests[0].key == "tale/turn/01/narrate.resolve"


async def test_need_not_change_anything():
    found, _ = await resolve(came(), reaction=None)
    assert (found.changes, found.situation, found.concluded) == ((), None, False)


@pytest.mark.parametrize(
    "answer",
    [
        came(changes=[change("nobody-00000000")]),
        came(changes=[change("Ben")]),
        came(changes=[change(BEN.id), change(BEN.id, present=False)]),
        came(changes=[change(BEN.id, state=" ")]),
        came(changes=None),
        came(minutes=-1),
        came(minutes=1441),
        came(outcome="  "),
        came(environment={"time": "", "place": " ", "description": ""}),
        came(environment="The door is off."),
        "The bar holds.",
    ],
    ids=[
        *("unknown id", "a name", "changed twice", "no state", "no list", "back in time", "too long"),
        *("no outcome", "empty environment", "environment in prose", "prose"),
    ],
)
async def test_is_asked_again_once_what_came_of_a_deed_and_then_it_gives_up(answer: str):
    found, model = await resolve(answer, came())
    assert found.outcome == "The bar holds."
    assert [request.key for request in model.requests] == [
        "tale/turn/01/narrate.resolve",
        "tale/turn/01/narrate.resolve/reask",
    ]
    with pytest.raises(InvalidReply) as failure:
        await resolve(answer, answer)
    assert failure.value.model == "narrator"


async def test_hears_why_it_is_asked_again():
    _, model = await resolve(came(changes=[change(BEN.id), change(BEN.id)]), came())
    assert f"a character is changed twice: {BEN.id}" in prompt(model.requests[1])


async def test_reads_no_thought_not_even_in_the_facts_beside_the_prompt():
    _, first = await influence(struck(None, "Nothing."))
    _, second = await resolve(came())
    for request in (*first.requests, *second.requests):
        assert "thought-of" not in prompt(request)
        assert "thought-of" not in repr(request.facts)


async def test_is_shown_the_reaction_where_there_was_one():
    for reaction, heading in ((REACTION, "# The deed, and the answer to it"), (None, "# The deed\n")):
        _, model = await resolve(came(), reaction=reaction)
        *_, shown = prompt(model.requests[0]).partition(heading)
        deed, *_ = shown.partition("# The characters: id")
        assert "Ada: (bars the door)" in deed
        assert ("Ben: (shoves her aside)" in deed) is (reaction is not None)


async def test_the_same_place_asks_the_same_question():
    first, second = [await resolve(came()), await resolve(came())]
    assert first[1].requests[0].messages == second[1].requests[0].messages
