"""Who reads what of a story: canaries that are looked for in the prompts themselves."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable

import pytest

from doubles import Improviser, directs, heroine, prompt, stage
from screentest.agents import Cue, Director, Mind, Narrator, SceneCharacter, TestCharacter
from screentest.agents.memory import Memory, Recollection
from screentest.judges import DialogueFilter, Pair, PairwiseJudge, furina_dimensions
from screentest.llms import Model
from screentest.pools import Beliefs, Line
from screentest.randomness import Place
from screentest.sim import State, view
from screentest.sim.events import BeliefsUpdated, Recalled

CAST = ("Ada", "Ben", "Cyn")
EVERYONE = (*CAST, "Vera")
PLACE = Place(3, "tale/turn/07")
DIMENSIONS = furina_dimensions("en")
MOTIVES, SCRIPT = ({f"{what}-of-{name}" for name in CAST} for what in ("motive", "script"))


def recalled(name: str) -> Recalled:
    memory = Memory(id=1, kind="saw", text=f"memory-of-{name}", turn=1, minutes=0, importance=0.5)
    return Recalled(
        turn=7, character=name, recollections=(Recollection(memory=memory, score=1, relevance=1, recency=1),)
    )


def believing(name: str) -> BeliefsUpdated:
    texts = {field: f"{field}: belief-of-{name}" for field in Beliefs.model_fields}
    return BeliefsUpdated(turn=7, character=name, beliefs=Beliefs(**texts))


def some_rounds_on() -> State:
    history = [Line(speaker=name, text=f"(nods) {name} agrees.", thought=f"thought-of-{name}") for name in EVERYONE]
    state = State(scene=stage(), test=heroine(), history=history, turn=7)
    for name in EVERYONE:
        state.apply(recalled(name))
        state.apply(believing(name))
    return state


STATE = some_rounds_on()
ADA, VERA = STATE.character("Ada"), STATE.character("Vera")
DEED, REACTION = STATE.history[-2:]
NEW = (Memory(id=9, kind="saw", text="Ben nods.", turn=7, minutes=0, importance=0.5),)
ACT, STRUCK = Cue(kind="act"), Cue(kind="reaction", influence="A blow.")
PAIR = Pair(challenger=Line(speaker="Vera", text="Yes."), reference=Line(speaker="Vera", text="No."))
ANSWERS = {
    "direct": directs("Ben"),
    "narrate.influence": json.dumps({"influence": "Nothing.", "target": None}),
    "narrate.resolve": json.dumps(
        {"outcome": "Nothing.", "minutes": 1, "changes": [], "environment": None, "concluded": False}
    ),
    "mind.believe": json.dumps(dict.fromkeys(Beliefs.model_fields, "So be it.")),
    "mind.weigh": json.dumps({"ratings": [{"memory": 1, "importance": 5}]}),
    "mind.reflect": json.dumps({"reflection": "Ben nodded.", "importance": 5}),
}

Asking = Callable[[Model], Awaitable[object]]
ASKED: dict[str, tuple[Asking, set[str]]] = {
    "director": (
        lambda model: Director(model).direct(
            view(STATE, "director"), speakers=CAST, spoken={}, may_end=True, turn=8, turns=20, place=PLACE
        ),
        set(),
    ),
    "narrator, whom a deed touches": (
        lambda model: Narrator(model).influence(view(STATE, "narrator"), DEED, present=("Ada", "Vera"), place=PLACE),
        set(),
    ),
    "narrator, what comes of it": (
        lambda model: Narrator(model).resolve(view(STATE, "narrator"), DEED, REACTION, place=PLACE),
        set(),
    ),
    "judge, dimension": (
        lambda model: PairwiseJudge(model).choose_dimension(
            view(STATE, "judge"), PAIR, DIMENSIONS, order="challenger_first", place=PLACE
        ),
        {"secret-of-Vera", "memory-of-Vera"},
    ),
    "judge, verdict": (
        lambda model: PairwiseJudge(model).compare(
            view(STATE, "judge"), PAIR, DIMENSIONS[0], order="challenger_first", place=PLACE
        ),
        {"secret-of-Vera", "memory-of-Vera"},
    ),
    "filter": (lambda model: DialogueFilter(model).grade(view(STATE, "filter"), place=PLACE), set()),
    "scene character": (
        lambda model: SceneCharacter(model).speak(view(STATE, ADA), None, cue=ACT, place=PLACE),
        {f"{what}-of-Ada" for what in ("secret", "thought", "memory", "belief", "script-thought")} | MOTIVES | SCRIPT,
    ),
    "test character": (
        lambda model: TestCharacter(model).speak(view(STATE, VERA), None, cue=STRUCK, place=PLACE),
        {f"{what}-of-Vera" for what in ("secret", "thought", "memory", "belief")},
    ),
    "scene character's mind": (
        lambda model: Mind(model).believe(view(STATE, ADA), place=PLACE),
        {f"{what}-of-Ada" for what in ("secret", "thought", "memory", "belief", "motive")},
    ),
    "test character's mind": (
        lambda model: Mind(model).believe(view(STATE, VERA), place=PLACE),
        {f"{what}-of-Vera" for what in ("secret", "thought", "memory", "belief")},
    ),
    "weighing": (
        lambda model: Mind(model).weigh(view(STATE, ADA), NEW, place=PLACE),
        {"secret-of-Ada", "belief-of-Ada"},
    ),
    "reflecting": (lambda model: Mind(model).reflect(view(STATE, ADA), NEW, place=PLACE), {"secret-of-Ada"}),
}


@pytest.mark.parametrize("who", ASKED)
async def test_each_reads_its_own_mind_and_nobody_elses(who: str):
    ask, expected = ASKED[who]
    told = {purpose: (lambda _, answer=answer: answer) for purpose, answer in ANSWERS.items()}
    model = Improviser(who, told)
    await ask(model)
    (request,) = model.requests
    found = re.findall(r"(?:script-thought|secret|thought|memory|belief|motive|script)-of-\w+", prompt(request))
    assert set(found) == expected
