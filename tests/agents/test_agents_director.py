"""The director: who may be chosen, when it may end, and what becomes of a bad answer."""

from __future__ import annotations

import json

import pytest

from doubles import Improviser, directs, heroine, prompt, stage
from screentest.agents import Direction, Director
from screentest.errors import InvalidReply
from screentest.pools import Line
from screentest.randomness import Place
from screentest.sim import State, view

SPEAKERS = ("Ada", "Ben", "Vera")


async def direct(
    *answers: str, may_end: bool = True, speakers: tuple[str, ...] = SPEAKERS
) -> tuple[Direction, Improviser]:
    """Ask a director who gives these answers in turn."""
    told = iter(answers)
    model = Improviser("director", {"direct": lambda _: next(told)})
    history = [Line(speaker="Ben", text="Who stopped it?", thought="thought-of-Ben")]
    seen = view(State(scene=stage(), test=heroine(), history=history), "director")
    director = Director(model)
    found = await director.direct(
        seen, speakers=speakers, spoken={"Ben": 1}, may_end=may_end, turn=2, turns=9, place=Place(3, "talk")
    )
    return found, model


async def test_names_who_is_next():
    direction, _ = await direct(directs("Ben"))
    assert direction == Direction(speaker="Ben", reason="it is time")


@pytest.mark.parametrize("speaker", [None, "Ben"])
async def test_ends_the_scene_where_it_may_whoever_is_named_beside(speaker: str | None):
    direction, _ = await direct(directs(speaker, end=True))
    assert direction.speaker is None


async def test_cannot_end_the_scene_where_it_may_not():
    direction, model = await direct(directs("Ben", end=True), may_end=False)
    assert direction.speaker == "Ben"
    schema = model.requests[0].schema
    assert schema
    assert "end" not in schema.model_fields


@pytest.mark.parametrize(
    "answer",
    [
        directs("Cyn"),
        directs("ben"),
        directs("Ben: 1"),
        directs(None),
        json.dumps({"speaker": "Ben", "end": False}),
        "Ben should speak.",
    ],
    ids=["not eligible", "wrong case", "with its count", "nobody and no end", "no reason", "prose"],
)
@pytest.mark.parametrize("may_end", [True, False])
async def test_asks_again_once_and_then_gives_up(answer: str, may_end: bool):
    direction, model = await direct(answer, directs("Ada"), may_end=may_end)
    assert direction.speaker == "Ada"
    assert [request.key for request in model.requests] == ["talk/direct", "talk/direct/reask"]
    with pytest.raises(InvalidReply) as failure:
        await direct(answer, answer, may_end=may_end)
    assert failure.value.model == "director"


async def test_is_told_who_is_eligible_and_how_much_they_have_spoken():
    _, model = await direct(directs("Ada"))
    asked = prompt(model.requests[0])
    assert "Ada: 0\nBen: 1\nVera: 0\n" in asked
    assert "Cyn: 0" not in asked


async def test_names_are_data():
    """A name with quotes, braces or template syntax is chosen by exactly that name."""
    odd = ('Ada "the Crow"', "{{ 7 * 7 }}", "阿宁")
    for name in odd:
        direction, _ = await direct(directs(name), speakers=odd)
        assert direction.speaker == name
