"""The mind: beliefs, the weight of memories, and what remains of them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from doubles import Improviser, heroine, prompt, stage
from screentest.agents import Mind
from screentest.agents.memory import Memory
from screentest.agents.mind import Reflection
from screentest.errors import InvalidReply
from screentest.pools import Beliefs, Line
from screentest.randomness import Place
from screentest.sim import State, view

VERA = heroine()
STATE = State(scene=stage(), test=VERA, history=[Line(speaker="Ben", text="Who stopped it?")])
PLACE = Place(3, "tale/after/ada")
MEMORIES = tuple(
    Memory(id=id, kind="saw", text=text, turn=1, minutes=id, importance=0.3)
    for id, text in ((41, "Ben: I did not."), (7, "Cyn: (hides a key)"), (12, "The wheel turns again."))
)
BELIEFS = {
    "belief": "I am the only one who heard it.",
    "desire": "To know who stopped the wheel.",
    "intention": "To ask Cyn for the key.",
    "others": "Ben lies.",
    "scene": "A mill that stands is a bad sign.",
    "influence": "I keep my voice down.",
}


def thinker(purpose: str, *answers: str) -> Improviser:
    told = iter(answers)
    return Improviser("mind", {purpose: lambda _: next(told)})


def rated(*pairs: tuple[Any, Any]) -> str:
    return json.dumps({"ratings": [{"memory": number, "importance": weight} for number, weight in pairs]})


async def test_forms_six_beliefs_in_one_call():
    model = thinker("mind.believe", json.dumps({**BELIEFS, "scene": "A mill that stands\n is a bad sign."}))
    found = await Mind(model).believe(view(STATE, STATE.scene.cast[0]), place=PLACE)
    assert found == Beliefs(**BELIEFS)
    (request,) = model.requests
    assert (request.purpose, request.key) == ("mind.believe", "tale/after/ada/mind.believe")


@pytest.mark.parametrize(
    "answer",
    [
        json.dumps({key: text for key, text in BELIEFS.items() if key != "influence"}),
        json.dumps({**BELIEFS, "desire": " "}),
        json.dumps({**BELIEFS, "others": {"Ben": "lies"}}),
        json.dumps({**BELIEFS, "mood": "grim"}),
        "I keep my voice down.",
    ],
    ids=["one is missing", "one is empty", "one is no text", "one too many", "prose"],
)
async def test_refuses_beliefs_that_are_not_these_six(answer: str):
    seen = view(STATE, STATE.scene.cast[0])
    model = thinker("mind.believe", answer, json.dumps(BELIEFS))
    assert await Mind(model).believe(seen, place=PLACE) == Beliefs(**BELIEFS)
    assert [request.key for request in model.requests][1:] == ["tale/after/ada/mind.believe/reask"]
    with pytest.raises(InvalidReply) as failure:
        await Mind(thinker("mind.believe", answer, answer)).believe(seen, place=PLACE)
    assert failure.value.model == "mind"


async def test_weighs_memories_by_number_and_hands_back_their_ids():
    model = thinker("mind.weigh", rated((2, 7), (1, 1), (3, 10)))
    found = await Mind(model).weigh(view(STATE, VERA), MEMORIES, place=PLACE)
    assert dict(found) == {41: 0.1, 7: 0.7, 12: 1.0}
    assert [id for id, _ in found] == sorted(memory.id for memory in MEMORIES)
    asked = prompt(model.requests[0])
    assert "1. Ben: I did not.\n2. Cyn: (hides a key)\n3. The wheel turns again.\n" in asked
    assert "3 in all" in asked


@pytest.mark.parametrize(
    "answer",
    [
        rated((1, 4), (2, 4)),
        rated((1, 4), (2, 4), (2, 5)),
        rated((1, 4), (2, 4), (3, 4), (3, 5)),
        rated((41, 4), (7, 4), (12, 4)),
        rated((0, 4), (1, 4), (2, 4)),
        rated((1, 0), (2, 4), (3, 4)),
        rated((1, 4), (2, 11), (3, 4)),
        rated((1, 4), (2, None), (3, 4)),
        rated(),
        "4, 7 and 10",
    ],
    ids=[
        *("one is missing", "one twice, one missing", "one twice", "ids for numbers", "from zero"),
        *("too low", "too high", "no weight", "none", "prose"),
    ],
)
async def test_refuses_ratings_that_do_not_rate_each_memory_once(answer: str):
    model, good = thinker("mind.weigh", answer, rated((1, 4), (2, 5), (3, 6))), view(STATE, VERA)
    assert await Mind(model).weigh(good, MEMORIES, place=PLACE) == ((7, 0.5), (12, 0.6), (41, 0.4))
    with pytest.raises(InvalidReply):
        await Mind(thinker("mind.weigh", answer, answer)).weigh(good, MEMORIES, place=PLACE)


async def test_draws_memories_together():
    model = thinker("mind.reflect", json.dumps({"reflection": "Cyn had\nthe key.", "importance": 8}))
    found = await Mind(model).reflect(view(STATE, VERA), MEMORIES, place=PLACE)
    assert found == Reflection("Cyn had the key.", 0.8)
    assert "- Ben: I did not.\n- Cyn: (hides a key)\n- The wheel turns again.\n" in prompt(model.requests[0])


@pytest.mark.parametrize(
    "answer",
    ['{"reflection": "", "importance": 8}', '{"reflection": "Cyn had it.", "importance": 0}', "Cyn had it."],
    ids=["nothing", "no weight", "prose"],
)
async def test_refuses_a_reflection_that_says_nothing_or_weighs_nothing(answer: str):
    with pytest.raises(InvalidReply):
        await Mind(thinker("mind.reflect", answer, answer)).reflect(view(STATE, VERA), MEMORIES, place=PLACE)
