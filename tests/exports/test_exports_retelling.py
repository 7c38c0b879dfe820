"""A trajectory told again shows everybody exactly what they were shown when it was played."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from exports.stories import STAGINGS, VERA, Told, told
from screentest.builders.exports import Retelling, Source
from screentest.llms import Request
from screentest.llms.journal import digest, encoded_identity
from screentest.sim import STORE, BeliefsUpdated, EnvironmentChanged, Influenced, Outcome, Recalled, Rules, StateChanged

every_staging = pytest.mark.parametrize("staging", STAGINGS)


@pytest.fixture(scope="module")
def stories() -> dict[str, Told]:
    """One played scene per staging."""
    return {name: told(rules) for name, rules in STAGINGS.items()}


@every_staging
def test_every_prompt_of_a_player_is_the_one_that_was_sent(stories: dict[str, Told], staging: str) -> None:
    played = stories[staging]
    steps = played.again.steps
    sent = played.asked("play.scene", "play.test")
    of_scene = [prompt for key, prompt in sent.items() if key.endswith("play.scene")]
    of_source = [prompt for key, prompt in sent.items() if key.endswith("source/play.test")]
    of_base = [prompt for key, prompt in sent.items() if key.endswith("base/play.test")]
    assert [step.prompt for step in steps if step.character is not VERA] == of_scene
    assert [step.prompt for step in steps if step.character is VERA] == of_source == of_base
    assert len(of_scene) > 5 and len(of_source) > 1


@every_staging
def test_every_prompt_of_the_narrator_is_the_one_that_was_sent(stories: dict[str, Told], staging: str) -> None:
    played = stories[staging]
    narrations, narrator = played.again.narrations, played.troupe.narrator
    assert [one.matter.prompt(11) for one in narrations] == [request.messages for request in narrator.requests]
    assert [f"narrate.{one.matter.name}" for one in narrations] == [one.purpose for one in narrator.requests]
    assert bool(narrations) == bool(STAGINGS[staging].narrator)


@every_staging
def test_what_was_taken_of_the_narrators_answer_is_what_it_said(stories: dict[str, Told], staging: str) -> None:
    played = stories[staging]
    narrator = played.troupe.narrator
    for narration, request in zip(played.again.narrations, narrator.requests, strict=True):
        said = json.loads(narrator.answers[request.purpose](request) if request.purpose in narrator.answers else "{}")
        if said:
            assert narration.answer == said
            assert list(narration.answer) == list(said), "the fields are in the order asked for"


def test_the_scenes_told_again_here_have_everything_that_can_happen(stories: dict[str, Told]) -> None:
    events = stories["a long story that is forgotten and remembered"].performance.trajectory.events
    kinds = {type(event) for event in events}
    assert {Influenced, Outcome, StateChanged, EnvironmentChanged, BeliefsUpdated, Recalled} <= kinds
    assert any(event.cue == "reaction" for event in events if event.event == "spoken")
    assert any(not event.standing.present for event in events if isinstance(event, StateChanged))


def test_between_two_lines_stands_what_was_perceived_and_nothing_twice(stories: dict[str, Told]) -> None:
    for played in stories.values():
        again = played.again
        for character, steps in again.acts():
            perceived = again.whole.knowledge[character.name].history
            pieces = [
                line
                for before, step in zip([None, *steps], steps, strict=False)
                for line in (*again.between(before, step), step.line)
            ]
            assert pieces == perceived[: len(pieces)]
            assert not any(line.thought for line in pieces if line.speaker != character.name)


def test_a_scene_that_broke_off_is_told_up_to_there() -> None:
    def fails(request: object) -> str:
        raise_after.append(request)
        return "" if len(raise_after) > 4 else "(nods) Go on."

    raise_after: list[object] = []
    played = told(Rules(turns=14, min_turns=12), play_scene=fails)
    assert played.performance.trajectory.faults
    assert len(played.again.steps) == len(played.performance.trajectory.lines)


@pytest.mark.parametrize("run", ["dialogues", "tales"])
def test_every_prompt_of_a_run_is_that_of_a_call_in_its_store(run: str, request: pytest.FixtureRequest) -> None:
    """The store keeps a hash of each call's prompt and place: in both languages, over whole builds."""
    directory: Path = request.getfixturevalue(run)
    source = Source.open(directory)
    identities = {label: encoded_identity(spec.identity()) for label, spec in source.config.models.items()}
    with closing(sqlite3.connect(directory / STORE)) as store:
        kept = {row[0] for row in store.execute("SELECT digest FROM calls WHERE state = 'done'")}
    languages: set[str] = set()
    for performance in source.performances():
        languages.add(performance.scene.language)
        for step in Retelling(performance).steps:
            place = performance.place / "turn" / f"{step.turn:02d}"
            if step.cue.kind == "reaction":
                place /= "reaction"
            calls = [(step.model, place / "play.scene")]
            if step.audition:
                models = (step.audition.source.model, step.audition.base.model)
                sides = zip(models, ("source", "base"), strict=True)
                calls = [(model, place / side / "play.test") for model, side in sides]
            for model, here in calls:
                purpose = here.path.rsplit("/", 1)[1]
                asked = Request(messages=step.prompt, purpose=purpose, key=here.path, seed=here.seed)
                assert digest(identities[model], asked) in kept, here.path
    assert languages == {"en", "zh"}
