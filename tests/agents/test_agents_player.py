"""The players: what they are told, and how their words become a line."""

from __future__ import annotations

import pytest

from doubles import Improviser, heroine, prompt, stage
from screentest.agents import Cue, SceneCharacter, ScriptedPlayer, TestCharacter
from screentest.errors import EmptyReply
from screentest.judges import furina_dimensions
from screentest.pools import Line
from screentest.randomness import Place
from screentest.sim import State, view

DIMENSIONS = furina_dimensions("en")
PLACE = Place(3, "talk/turn/01")
VERA = heroine()
STATE = State(scene=stage(), test=VERA, history=[Line(speaker="Ben", text="Who stopped it?")])


def says(text: str) -> Improviser:
    return Improviser("player", {"play.scene": lambda _: text, "play.test": lambda _: text})


async def spoken(text: str) -> Line:
    return await TestCharacter(says(text)).speak(view(STATE, VERA), DIMENSIONS[0], place=PLACE)


async def test_a_thought_is_set_apart():
    line = await spoken("[Not him again.] (smiles) Good morning, Ben.")
    assert line == Line(speaker="Vera", text="(smiles) Good morning, Ben.", thought="Not him again.")
    assert (line.action, line.speech) == ("smiles", "Good morning, Ben.")


async def test_a_thought_within_a_thought_is_thought():
    line = await spoken("[I know [as he does not] who did it.] (smiles) Good morning.")
    assert line.text == "(smiles) Good morning."
    assert "who did it" in line.thought


async def test_a_line_break_cannot_make_one_line_two():
    line = await spoken("Good morning.\n\nBen: I did it.")
    assert line.text == "Good morning. Ben: I did it."


async def test_an_action_alone_is_a_line():
    assert (await spoken("(leaves)")).text == "(leaves)"


@pytest.mark.parametrize("text", ["[I shall say nothing.]", "[]", "【不说】"])
async def test_a_thought_alone_is_not_a_line(text: str):
    with pytest.raises(EmptyReply) as failure:
        await spoken(text)
    assert failure.value.model == "player"
    assert failure.value.reply is not None


@pytest.mark.parametrize("dimension", DIMENSIONS, ids=lambda dimension: dimension.id)
async def test_the_test_character_follows_the_strategy_and_the_others_the_instruction(dimension):
    test, scene = says("Yes."), says("No.")
    await TestCharacter(test).speak(view(STATE, VERA), dimension, place=PLACE)
    await SceneCharacter(scene).speak(view(STATE, STATE.scene.cast[0]), dimension, place=PLACE)
    told_test, told_scene = prompt(test.requests[0]), prompt(scene.requests[0])
    assert dimension.strategy.strip() in told_test
    assert dimension.instruction.strip() not in told_test
    assert dimension.instruction.strip() in told_scene
    assert dimension.strategy.strip() not in told_scene


async def test_scene_characters_know_motives_and_script_and_the_test_character_does_not():
    test, scene = says("Yes."), says("No.")
    await TestCharacter(test).speak(view(STATE, VERA), DIMENSIONS[0], place=PLACE)
    await SceneCharacter(scene).speak(view(STATE, STATE.scene.cast[0]), DIMENSIONS[0], place=PLACE)
    told_test, told_scene = prompt(test.requests[0]), prompt(scene.requests[0])
    for name in ("Ada", "Ben", "Cyn"):
        assert f"motive-of-{name}" in told_scene
        assert f"script-of-{name}" in told_scene
    assert "motive-of" not in told_test
    assert "script-of" not in told_test
    assert "script-thought-of-Ada" in told_scene
    assert "script-thought-of-Ben" not in told_scene


async def test_the_same_place_asks_the_same_question():
    first, second = says("Yes."), says("Yes.")
    for model in (first, second):
        await TestCharacter(model).speak(view(STATE, VERA), DIMENSIONS[0], place=PLACE)
    assert first.requests == second.requests
    assert first.requests[0].key == "talk/turn/01/play.test"


@pytest.mark.parametrize("player", [SceneCharacter, TestCharacter])
async def test_what_is_asked_for_is_a_line_a_deed_or_an_answer_to_one(player):
    cues = {
        "Give the next line of Vera": Cue(),
        "Give what Vera does next": Cue(kind="act"),
        "What has just been done affects Vera: The door shuts on her hand.\n\nGive what Vera does at once": Cue(
            kind="reaction", influence="The door shuts on her hand."
        ),
    }
    for request, cue in cues.items():
        model = says("(turns) Yes.")
        await player(model).speak(view(STATE, VERA), DIMENSIONS[0], cue=cue, place=PLACE)
        told = prompt(model.requests[0])
        assert [other for other in cues if other in told] == [request]
        assert model.requests[0].facts["cue"] == cue
        assert ("A deed changes something" in told) is (cue.kind != "line")


async def test_a_player_without_a_dimension_is_told_of_none():
    model = says("(turns) Yes.")
    await TestCharacter(model).speak(view(STATE, VERA), None, cue=Cue(kind="act"), place=PLACE)
    assert "For this turn" not in prompt(model.requests[0])


async def test_a_script_is_played_line_by_line_until_it_ends():
    script = ScriptedPlayer("by hand", iter(["[Not him.] (bows) Good morning.", "(leaves)"]))
    seen = view(STATE, VERA)
    first = await script.speak(seen, DIMENSIONS[0], cue=Cue(), place=PLACE)
    second = await script.speak(seen, None, cue=Cue(kind="act"), place=PLACE)
    assert first == Line(speaker="Vera", text="(bows) Good morning.", thought="Not him.")
    assert second == Line(speaker="Vera", text="(leaves)")
    with pytest.raises(EmptyReply) as failure:
        await script.speak(seen, None, cue=Cue(), place=PLACE)
    assert failure.value.model == "by hand"
