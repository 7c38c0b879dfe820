"""What characters remember and believe, that it matters, and that it is nobody else's."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest

from doubles import collected, heroine, prompt, stage
from screentest.agents import ScriptedPlayer
from screentest.agents.memory import HashingEmbedder, Weights
from screentest.llms import Request
from screentest.pools import Line
from screentest.randomness import Place
from screentest.sim import (
    BeliefsUpdated,
    ImportanceRated,
    MemoryRules,
    Recalled,
    Reflected,
    Rules,
    SpeakerChosen,
    Spoken,
    State,
    play,
)
from screentest.sim.minds import Minds
from story.teller import Teller, moved, of, outcome, story, touches


def rules(**options: Any) -> Rules:
    memory = {name: options.pop(name) for name in ("window", "recall", "capacity", "importance") if name in options}
    return Rules(staging="story", min_rounds=1, remembering=MemoryRules(**memory), **options)


# -- memory -------------------------------------------------------------------------------------------------------

SECRET = "(shows the green ledger) The green ledger lies under the third stair."
FILLERS = [f"(counts) Sack number {number} is dry." for number in range(60)]


def _asks_late(request: Request) -> str:
    late = "/turn/32/" in request.key
    return "(whispers) Where was that green ledger again?" if late else "(sweeps the floor) The dust is everywhere."


def test_what_was_seen_long_ago_comes_back_when_it_matters() -> None:
    teller = Teller({"play.scene": _asks_late, "narrate.influence": touches(None)})
    script = ScriptedPlayer("script", iter([SECRET, *FILLERS]))
    events = story(teller, rules=rules(rounds=12, window=6, recall=3), seats={"Ada": script})
    recalled = next(event for event in of(events, Recalled) if (event.turn, event.character) == (33, "Cyn"))
    assert any("third stair" in one.memory.text for one in recalled.recollections)
    assert all("third stair" in prompt(r) for r in teller.asked("play.scene") if "/turn/33/" in r.key)
    assert not any("third stair" in prompt(r) for r in teller.asked("play.scene") if "/turn/20/" in r.key)


def test_who_was_away_never_remembers_it() -> None:
    ben = next(one for one in stage().cast if one.name == "Ben")

    def ben_leaves(request: Request) -> object:
        match request.key.partition("/turn/")[2][:2]:
            case "01":
                return outcome("Ben steps out.", changes=[moved(ben, present=False)])
            case "05":
                return outcome("Ben is back.", changes=[moved(ben, present=True)])
            case _:
                return outcome("Nothing comes of it.")

    teller = Teller({"play.scene": _asks_late, "narrate.influence": touches(None), "narrate.resolve": ben_leaves})
    script = ScriptedPlayer("script", iter(["(nods)", SECRET, *FILLERS]))
    events = story(teller, rules=rules(rounds=12, window=6, recall=50), seats={"Ada": script})
    seen = {
        name: any(
            "third stair" in one.memory.text
            for event in of(events, Recalled)
            for one in event.recollections
            if event.character == name
        )
        for name in ("Ada", "Ben", "Cyn")
    }
    assert seen == {"Ada": True, "Ben": False, "Cyn": True}
    assert not any(
        "third stair" in prompt(request)
        for request in teller.requests
        if request.facts["view"].me and request.facts["view"].me.name == "Ben"
    )


PLANTED = {
    "en": ("Ada: (points) The green ledger lies under the third stair.", "Where is the green ledger hidden?"),
    "zh": ("阿妲：（一指）那本绿账簿就压在第三级台阶底下。", "绿账簿藏在哪里？"),
}


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_a_fact_from_turn_2_is_found_at_turn_40_among_thousands(language: str) -> None:
    fact, question = PLANTED[language]
    filler = "Ada: Sack number {} is dry." if language == "en" else "阿妲：第{}袋是干的。"
    minds = Minds.of(stage().cast, HashingEmbedder(), MemoryRules(capacity=10_000))
    for name, memories in minds.memories.items():
        for number in range(5_000):
            turn = 1 + number // 125
            if turn == 2 and number % 125 == 60 and name != "Ben":
                memories.note("saw", fact, turn=2, minutes=2)
            memories.note("saw", filler.format(number), turn=turn, minutes=turn)
    state = State(scene=stage(), window=6)
    state.apply(SpeakerChosen(turn=40, speaker="Ada", by="round", reason="", emphasis=""))
    state.apply(Spoken(turn=40, line=Line(speaker="Cyn", text=question), model="m"))
    for name in ("Ada", "Ben", "Cyn"):
        found = await minds.recall(state, name, place=Place(0, name))
        texts = [one.memory.text for event in found for one in event.recollections]
        assert (fact in texts) == (name != "Ben")


def test_lines_that_are_shown_anyway_do_not_come_to_mind_as_well() -> None:
    for event in of(story(Teller(), rules=rules(rounds=6, window=6)), Recalled):
        assert all(one.memory.turn < event.turn for one in event.recollections)


def test_thoughts_are_never_remembered_not_even_ones_own() -> None:
    teller = Teller({"play.scene": lambda request: f"[thought-{request.seed}] (nods) Yes, number {request.seed}."})
    events = story(teller, rules=rules(rounds=6, window=4))
    recalled = " ".join(one.memory.text for event in of(events, Recalled) for one in event.recollections)
    assert "number" in recalled
    assert "thought-" not in recalled


# -- importance ---------------------------------------------------------------------------------------------------


def test_judged_importance_costs_one_call_a_character_and_round_and_decides_what_comes_to_mind() -> None:
    def only_the_bell(request: Request) -> object:
        texts = [memory.text for memory in request.facts["memories"]]
        return {
            "ratings": [
                {"memory": number, "importance": 10 if "bell" in text else 1} for number, text in enumerate(texts, 1)
            ]
        }

    def says(request: Request) -> str:
        first = "/turn/01/" in request.key
        return "(strikes) The bell is cracked." if first else f"(counts) The sack number {request.seed % 97} is dry."

    answers = {"mind.weigh": only_the_bell, "play.scene": says, "narrate.influence": touches(None)}
    weights = Weights(relevance=0.0, recency=0.0, importance=1.0)
    remembering = MemoryRules(window=3, recall=1, importance="judged", weights=weights)
    teller = Teller(answers)
    events = story(teller, rules=Rules(staging="story", rounds=4, min_rounds=1, remembering=remembering))
    assert len(teller.asked("mind.weigh")) == 3 * 3, "between four rounds"
    assert len(of(events, ImportanceRated)) == 3 * 3
    late = [event for event in of(events, Recalled) if event.turn > 6]
    assert late
    assert all("bell" in event.recollections[0].memory.text for event in late)


def test_the_heuristic_costs_no_call() -> None:
    teller = Teller()
    story(teller, rules=rules(rounds=2))
    assert not teller.asked("mind.weigh")


# -- reflection ---------------------------------------------------------------------------------------------------


def test_memories_are_drawn_together_when_there_are_too_many_and_tell_what_they_stand_for() -> None:
    teller = Teller()
    events = story(teller, rules=rules(rounds=10, capacity=16, window=4))
    reflected = of(events, Reflected)
    assert reflected
    assert len(teller.asked("mind.reflect")) == len(reflected)
    assert all(len(event.sources) > 1 for event in reflected)
    state, minds = State(scene=stage(), window=4), Minds.of(stage().cast, HashingEmbedder(), MemoryRules(capacity=16))
    for event in events:
        state.apply(event)
        minds.apply(event, state)
        if isinstance(event, SpeakerChosen) and event.turn > 30:
            break
    per_round = 3 * 2 + 3 + 3
    assert all(len(memories) <= 16 + per_round for memories in minds.memories.values())
    some = next(memory for memory in minds.memories["Ada"] if memory.kind == "reflected")
    assert len(minds.memories["Ada"].origins(some.id)) >= len(some.sources)


# -- beliefs ------------------------------------------------------------------------------------------------------


def test_beliefs_inform_the_next_action() -> None:
    teller = Teller()
    events = story(teller, rounds=2)
    for event in of(events, BeliefsUpdated)[:3]:
        acts = [
            request
            for request in teller.asked("play.scene")
            if request.key.partition("/turn/")[2][:2] > "03" and request.facts["view"].me.name == event.character
        ]
        assert acts
        assert all(event.beliefs.intention in prompt(request) for request in acts)


def test_nobody_else_ever_sees_beliefs_thoughts_or_memories() -> None:
    """Canaries: whatever is somebody's own is looked for in everybody else's prompts and facts."""
    teller = Teller({"play.scene": lambda r: f"[thought-of-{r.facts['view'].me.name}] (nods) It is {r.seed}."})
    story(teller, test=heroine(), rules=rules(rounds=5, window=4, importance="judged", capacity=20))
    pattern = re.compile(r"(?:belief|desire|intention|others|scene|influence|thought|secret)-of-(\w+)")
    for request in teller.requests:
        seen = set(pattern.findall(prompt(request))) | set(pattern.findall(repr(request.facts)))
        seen = {name.partition("-")[0] for name in seen}
        me = request.facts["view"].me
        if request.purpose.startswith("judge."):
            assert seen <= {"Vera"}
            assert "intention-of-" not in prompt(request)
        else:
            assert seen <= ({me.name} if me else set()), request.key


def test_a_dialogue_can_have_a_narrator_memory_and_beliefs_each_alone() -> None:
    for name, purposes in {
        "narrator": {"narrate.resolve"},
        "memory": set[str](),
        "beliefs": {"mind.believe"},
    }.items():
        teller = Teller()
        dialogue = Rules(turns=8, **{name: True})  # pyright: ignore[reportArgumentType]
        asyncio.run(collected(play(stage(), test=heroine(), models=teller.players, rules=dialogue)))
        ordinary = {"direct", "play.scene", "play.test", "judge.dimension", "judge.pairwise"}
        assert {request.purpose for request in teller.requests} == ordinary | purposes


def test_in_a_dialogue_the_narrator_is_asked_about_actions_only() -> None:
    teller = Teller({"play.scene": lambda r: "Good day.", "play.test": lambda r: "(bows) Good day."})
    rules = Rules(turns=8, narrator=True)
    events = asyncio.run(collected(play(stage(), test=heroine(), models=teller.players, rules=rules)))
    spoken = [event for event in of(events, Spoken) if event.line.speaker == "Vera"]
    assert len(teller.asked("narrate.resolve")) == len(spoken) > 0
