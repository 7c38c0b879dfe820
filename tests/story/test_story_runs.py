"""A benchmark built from stories: what an item carries, what survives a kill, and what concurrency may not change."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from builders.projects import MIRIAM, SHEN, emitted, generous, items, offline, served, trajectories
from doubles import heroine, prompt, stage
from fakes import FakeProvider
from fakes.embeddings import vectors
from runs.theatre import ROLES, Theatre, asked, settle, states, written
from screentest.agents import TestCharacter
from screentest.builders import Item, build
from screentest.judges import PairwiseJudge, furina_dimensions
from screentest.judges.pairwise import Pair
from screentest.randomness import Place
from screentest.sim import Auditioned, BeliefsUpdated, MemoryRules, Outcome, Recalled, Rules, Session, State, view
from story.teller import Teller, moved, of, outcome, story, touches

STORY = {"staging": "story", "rounds": 3, "min_rounds": 2, "quota": 1, "scenes": 2}
MEMORY = {"window": 4, "recall": 3, "capacity": 24, "importance": "judged"}


@pytest.fixture(scope="module")
def theatre(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Theatre]:
    root = tmp_path_factory.mktemp("stories")
    with FakeProvider.threaded(generous, latency=0.01) as server:
        server.embeddings = vectors()
        models = served(server, *ROLES_AND_NARRATOR, "vectors", key_env="SENTINEL_KEY")
        models["vectors"] |= {"provider": "embeddings"}
        config = written(
            root,
            server,
            models=models,
            roles={**ROLES, "narrator": "narrator"},
            characters=(MIRIAM,),
            scenes=("en-goat-court",),
            build=STORY,
            memory={**MEMORY, "importance": "heuristic", "embedder": "vectors"},
        )
        yield Theatre(server, root, config)


ROLES_AND_NARRATOR = ("director", "scene", "alice", "base", "judge", "narrator")


@pytest.fixture(scope="module")
def whole(theatre: Theatre) -> Path:
    """A run that nobody interrupted."""
    run = theatre.root / "whole"
    theatre.done(theatre.building(run))
    settle(theatre.server)
    return run


def test_a_build_of_stories_killed_in_mid_round_emits_the_same_bytes(
    theatre: Theatre, whole: Path, tmp_path: Path
) -> None:
    """Memories, beliefs, story time and generators are all restored: one that was not would change some prompt."""
    run, before, lost = tmp_path / "run", len(theatre.server.requests), 0
    step = states(whole)["done"] // 5
    for after in (2, step, step + 1, step):
        kept = states(run)["done"]
        ended, seen = theatre.cut(theatre.building(run), after, signal.SIGKILL)
        assert ended.code == -signal.SIGKILL
        lost += seen - (states(run)["done"] - kept)
    theatre.done(theatre.building(run))
    settle(theatre.server)
    assert emitted(run) == emitted(whole)
    assert states(run) == states(whole)
    assert asked(theatre.server, before).total() == states(whole)["done"] + lost
    happened = [event for one in trajectories(run) for event in one.events]
    assert {Recalled, BeliefsUpdated, Outcome, Auditioned} <= {type(event) for event in happened}
    assert any("input" in body for body in theatre.server.bodies), "vectors were asked for"


def test_replaying_a_story_makes_no_call(theatre: Theatre, whole: Path) -> None:
    before = len(theatre.server.requests)
    theatre.done(theatre.command("replay", whole))
    assert len(theatre.server.requests) == before


@pytest.mark.parametrize("concurrency", [8, 64])
async def test_concurrency_changes_no_byte(tmp_path: Path, concurrency: int) -> None:
    config = offline(tmp_path, characters=(MIRIAM, SHEN), build=STORY, memory=MEMORY)
    for width in (1, concurrency):
        await build(config, tmp_path / f"run{width}", session=Session(concurrency=width))
    assert emitted(tmp_path / "run1") == emitted(tmp_path / f"run{concurrency}")


# -- what an item of a story carries ------------------------------------------------------------------------------


def test_an_item_asks_and_judges_with_the_very_prompts_of_the_build() -> None:
    """Standings, memories, beliefs and the influence to answer are in the item: nothing else makes these prompts."""
    ben = next(one for one in stage().cast if one.name == "Ben")

    def ben_leaves(request: object) -> object:
        late = "/turn/02/" in getattr(request, "key", "")
        return outcome(changes=[moved(ben, present=False, position="in the yard")] if late else [])

    teller = Teller({"narrate.influence": touches("Vera"), "narrate.resolve": ben_leaves})
    rules = Rules(staging="story", rounds=4, min_rounds=1, remembering=MemoryRules(window=4, recall=3))
    dimensions = furina_dimensions("en")
    events = story(teller, test=heroine(), dimensions=dimensions, rules=rules)
    state, compared = State(scene=stage(), test=heroine(), window=rules.shown), list[Item]()
    for event in events:
        if isinstance(event, Auditioned):
            dimension = next(one for one in dimensions if one.id == event.dimension)
            made = Item.of(
                event, conversation="c", state=state, dimension=dimension, understudy=False, licence="CC0-1.0"
            )
            compared.append(Item.model_validate_json(made.model_dump_json()))
            _same_prompts(teller, compared[-1], event)
        state.apply(event)
    cues = {event.cue.kind for event in of(events, Auditioned)}
    assert cues == {"act", "reaction"}
    assert len(compared) > 8
    last = compared[-1]
    assert last.reminders
    assert last.beliefs
    assert [one.present for one in last.standings if one.name == "Ben"] == [False]


def _same_prompts(teller: Teller, item: Item, event: Auditioned) -> None:
    import asyncio

    again, state = Teller(), item.state()
    assert state.test
    emphasis = next(one for one in furina_dimensions("en") if one.id == event.emphasis)
    asyncio.run(TestCharacter(again).speak(view(state, state.test), emphasis, cue=item.cue, place=Place(0, "x")))
    pair = Pair(challenger=event.source.line, reference=event.base.line)
    dimension = next(one for one in furina_dimensions("en") if one.id == event.dimension)
    order = event.verdicts[0].order
    asyncio.run(PairwiseJudge(again).compare(view(state, "judge"), pair, dimension, order=order, place=Place(0, "x")))
    place = f"/turn/{event.turn:02d}/" + ("reaction/" if event.cue.kind == "reaction" else "")
    spoken = next(r for r in teller.requests if f"{place}source/play.test" in r.key)
    judged = next(r for r in teller.requests if f"{place}judge.pairwise/" in r.key)
    assert prompt(again.requests[0]) == prompt(spoken)
    assert prompt(again.requests[1]) == prompt(judged)


async def test_a_story_becomes_a_benchmark_that_models_are_evaluated_on(tmp_path: Path) -> None:
    config = offline(tmp_path, characters=(MIRIAM, SHEN), build=STORY, memory=MEMORY)
    await build(config, tmp_path / "run", session=Session(concurrency=8))
    found = items(tmp_path / "run")
    assert {item.cue.kind for item in found} <= {"act", "reaction"}
    assert {item.language for item in found} == {"en", "zh"}
    assert any(item.beliefs for item in found)
