"""What a second pair of eyes found: corners of story play in which something was lost, hidden, or told wrongly."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest

from builders.projects import MIRIAM, UNDERSTUDIES, load_with, offline, trajectories
from doubles import character, collected, prompt, stage
from screentest.agents import Relations
from screentest.agents.memory import HashingEmbedder
from screentest.builders import build, embedder
from screentest.builders.identity import frozen
from screentest.errors import InputError
from screentest.llms import Request
from screentest.pools import Line, Standing, starter_pool
from screentest.randomness import Place
from screentest.sim import (
    Fault,
    MemoryRules,
    Outcome,
    Recalled,
    Reflected,
    Rules,
    Session,
    SpeakerChosen,
    Spoken,
    State,
    StateChanged,
    play,
    view,
)
from screentest.sim.minds import Minds
from story.teller import Teller, moved, of, outcome, story, touches

SECRET = "The green ledger lies under the third stair."


async def test_what_was_drawn_together_comes_to_mind_at_once() -> None:
    """A prompt shows the latest lines, but never a reflection: it must not be out of reach until these have passed."""
    state = State(scene=stage(), window=6)
    minds = Minds.of(state.characters, HashingEmbedder(), MemoryRules(capacity=16, window=6))

    def tell(event: SpeakerChosen | Spoken | Reflected) -> None:
        state.apply(event)
        minds.apply(event, state)

    for turn in range(1, 32):
        tell(SpeakerChosen(turn=turn, speaker="Ada", by="round", reason="", emphasis=""))
        tell(Spoken(turn=turn, line=Line(speaker="Ada", text=f"Sack {turn} is dry."), model="m"))
    old = tuple(memory.id for memory in minds.memories["Ben"] if memory.turn < 18)
    tell(Reflected(turn=31, character="Ben", text=SECRET, importance=0.9, sources=old))
    tell(Spoken(turn=31, line=Line(speaker="Cyn", text="Where is the green ledger?"), model="m"))
    (recalled,) = await minds.recall(state, "Ben", place=Place(0, "now"))
    assert SECRET in {one.memory.text for one in recalled.recollections}


@pytest.mark.parametrize("window", [1, 4, 5, 7])
def test_whatever_was_perceived_is_shown_or_can_come_to_mind(window: int) -> None:
    """The shown lines begin with a turn: the rest of a turn of which some lines are shown would be neither."""
    remembering = MemoryRules(window=window, recall=500, capacity=10_000)
    rules = Rules(staging="story", rounds=6, min_rounds=1, remembering=remembering)
    state, perceived = State(scene=stage(), window=window), set[str]()
    for event in story(Teller({"narrate.influence": touches("Ben")}), rules=rules):
        state.apply(event)
        if isinstance(event, Spoken):
            perceived.add(event.line.text)
        elif isinstance(event, Outcome):
            perceived.add(event.text)
        elif isinstance(event, Recalled):
            shown = {line.text for line in state.knowledge[event.character].history}
            recalled = " ".join(one.memory.text for one in event.recollections)
            assert not [text for text in perceived - shown if text not in recalled]
            assert len(shown) <= max(window * 3 // 2, window + 2)


def test_who_comes_back_sees_how_the_others_are() -> None:
    state = State(scene=stage())
    for name, position, present in (
        ("Ben", "in the yard", False),
        ("Ada", "on the floor", True),
        ("Cyn", "in the cellar", False),
        ("Ben", "at the door", True),
    ):
        standing = Standing(position=position, state="as ever", present=present)
        state.apply(StateChanged(turn=1, character=name, standing=standing))
    seen = view(state, state.character("Ben")).standings
    assert {name: one.position for name, one in seen.items()} == {"Ben": "at the door", "Ada": "on the floor"}


def test_who_comes_back_is_seen_to_come_and_sees_what_comes_of_it() -> None:
    ben, cyn = (next(one for one in stage().cast if one.name == name) for name in ("Ben", "Cyn"))

    def resolve(request: Request) -> object:
        match request.key.partition("/turn/")[2][:2]:
            case "01":
                return outcome("Two walk out.", changes=[moved(ben, present=False), moved(cyn, present=False)])
            case "05":
                return outcome("Ben comes in, dripping.", changes=[moved(ben, present=True)])
            case "07":
                return outcome("Ada pulls Cyn inside.", changes=[moved(cyn, present=True)])
            case _:
                return outcome(f"Nothing comes of {request.seed}.")

    events = story(Teller({"narrate.influence": touches(None), "narrate.resolve": resolve}), rounds=3)
    state, minds = State(scene=stage()), Minds.of(stage().cast, HashingEmbedder(), MemoryRules())
    for event in events:
        state.apply(event)
        minds.apply(event, state)
    for text, names in {
        "Ben comes in, dripping.": {"Ada", "Ben"},
        "Ada pulls Cyn inside.": {"Ada", "Ben", "Cyn"},
    }.items():
        assert {
            name for name, known in state.knowledge.items() if text in {line.text for line in known.history}
        } == names
        assert {name for name, own in minds.memories.items() if text in {memory.text for memory in own}} == names
    alone = next(event.text for event in of(events, Outcome) if event.turn == 2)
    assert alone not in {line.text for line in state.knowledge["Ada"].history}


def test_a_name_within_a_longer_name_calls_nobody() -> None:
    relations = Relations(tuple(character(name) for name in ("小红", "小红帽", "王五", "老王五", "Ben", "Ben Carter")))

    def called(text: str) -> set[str]:
        return {one.name for one in relations.characters if relations.names(text, one.name)}

    assert called("小红帽来了。") == {"小红帽"}
    assert called("老王五，小红呢？") == {"老王五", "小红"}
    assert called("小红帽，小红和王五呢？") == {"小红帽", "小红", "王五"}
    assert called("Ben Carter is here.") == {"Ben Carter"}
    assert called("Carter, where is Ben?") == {"Ben", "Ben Carter"}


def _unreadable(turn: str) -> Teller:
    def resolve(request: Request) -> object:
        return "Well, well." if f"/turn/{turn}/" in request.key else outcome()

    return Teller({"narrate.influence": touches("Ben"), "narrate.resolve": resolve})


def test_a_fault_names_the_turn_it_happened_in_however_many_lines_there_were() -> None:
    assert [fault.turn for fault in of(story(_unreadable("02")), Fault)] == [2]
    unsure = Teller({"mind.believe": lambda request: "Well, well.", "narrate.influence": touches("Ben")})
    assert [fault.turn for fault in of(story(unsure), Fault)] == [3]


def test_in_a_dialogue_too_a_fault_names_the_turn_it_happened_in() -> None:
    rules = Rules(turns=8, narrator=True)
    events = asyncio.run(collected(play(stage(), models=_unreadable("02").players, rules=rules)))
    assert [fault.turn for fault in of(events, Fault)] == [2]
    silent = Teller({"direct": lambda request: "Well, well."})
    events = asyncio.run(collected(play(stage(), models=silent.players, rules=Rules(turns=8))))
    assert [fault.turn for fault in of(events, Fault)] == [1]


def test_the_director_is_told_how_much_everybody_has_spoken_not_how_much_of_it_is_shown() -> None:
    teller = Teller()
    rules = Rules(turns=30, min_turns=30, memory=True, remembering=MemoryRules(window=4))
    events = asyncio.run(collected(play(stage(), models=teller.players, rules=rules)))
    last = teller.asked("direct")[-1]
    before = [event.line.speaker for event in of(events, Spoken) if f"/turn/{event.turn:02d}/" not in last.key]
    told = {name: int(count) for name, count in re.findall(r"^(Ada|Ben|Cyn): (\d+)$", prompt(last), re.MULTILINE)}
    assert len(before) == 29
    assert told == {name: before.count(name) for name in told}
    assert len(told) > 1


async def test_a_scene_with_somebody_called_like_the_narrator_is_left_out_of_a_build(tmp_path: Path) -> None:
    """It cannot be played, so that each try would end in a fault, and three in a row end the cell."""
    scene = starter_pool()["en-goat-court"]
    first = scene.cast[0].model_copy(update={"name": "Narrator", "id": "narrator"})
    changed = {"id": "en-narrated", "cast": (first, *scene.cast[1:]), "motivations": {}, "script": ()}
    told = {"staging": "story", "rounds": 2, "min_rounds": 1, "scenes": 2, "quota": 1}
    scenes = (scene.model_copy(update=changed), "en-goat-court")
    config = offline(tmp_path, characters=(MIRIAM,), scenes=scenes, build=told)
    await build(config, tmp_path / "run", session=Session(concurrency=8))
    found = list(trajectories(tmp_path / "run"))
    assert {one.scene for one in found} == {"en-goat-court"}
    assert not [fault for one in found for fault in one.faults]


async def test_an_embedder_that_cannot_be_loaded_does_not_bind_the_run_to_it(tmp_path: Path) -> None:
    memory = {"embedder": f"st:{tmp_path / 'nowhere'}"}
    config = offline(tmp_path, characters=(MIRIAM,), build={"staging": "story"}, memory=memory)
    with pytest.raises(InputError):
        await build(config, tmp_path / "run", session=Session())
    assert frozen(tmp_path / "run", "build") is None


def test_vectors_of_another_width_have_another_name() -> None:
    """Saved memories tell by it whether they fit."""
    served = {"provider": "embeddings", "model": "m", "base_url": "http://localhost/v1", "dimensions": 64}
    models = {"expert": UNDERSTUDIES["expert"], "vectors": served}
    config = load_with(models=models, memory={"embedder": "vectors"}, build={"memory": True})
    assert embedder(config, {"vectors": Teller()}).name == "m-64"


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"build": {"staging": "story", "rounds": 2, "min_rounds": 5}}, "min_rounds"),
        ({"memory": {"embedder": "st:"}}, "memory.embedder"),
    ],
)
def test_settings_that_cannot_be_meant_are_refused(
    tmp_path: Path, wrong: dict[str, dict[str, object]], why: str
) -> None:
    with pytest.raises(InputError, match=re.escape(why)):
        offline(tmp_path, characters=(MIRIAM,), **wrong)
