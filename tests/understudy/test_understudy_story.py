"""Stories that the understudy plays with itself: well-formed, consistent, varied, and the same for the same seed."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from functools import cache

import pytest
from understudy_stage import LANGUAGES

from screentest.llms.understudy import Understudy
from screentest.llms.understudy.tale import pattern, tale
from screentest.llms.understudy.text import faults
from screentest.pools import Language, Scene, starter_pool
from screentest.sim import Event, MemoryRules, Players, Rules, play
from screentest.sim.events import (
    EnvironmentChanged,
    Fault,
    ImportanceRated,
    Influenced,
    Outcome,
    Reflected,
    SceneClosed,
    Spoken,
    StateChanged,
)

SCENES = tuple(starter_pool())
IDS = [scene.id for scene in SCENES]


def story(scene: Scene, seed: int) -> tuple[Event, ...]:
    return _told(scene.id, seed, again=False)


@cache
def _told(scene_id: str, seed: int, *, again: bool) -> tuple[Event, ...]:
    understudy = Understudy("told again" if again else "understudy", "expert")
    return _played(SCENES[IDS.index(scene_id)], seed, understudy, Rules(staging="story"))


def _played(scene: Scene, seed: int, understudy: Understudy, rules: Rules) -> tuple[Event, ...]:
    models = Players(
        director=understudy, scene=understudy, source=understudy, base=understudy, judge=understudy, narrator=understudy
    )

    async def played() -> tuple[Event, ...]:
        return tuple([event async for event in play(scene, models=models, seed=seed, rules=rules)])

    return asyncio.run(played())


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("scene", SCENES, ids=IDS)
def test_a_story_plays_to_its_end_in_good_form(scene: Scene, seed: int) -> None:
    events = story(scene, seed)
    names = {character.name for character in scene.cast}
    assert not [event for event in events if isinstance(event, Fault)]
    assert isinstance(events[-1], SceneClosed)
    for event in events:
        if isinstance(event, Spoken):
            assert event.line.action, event.line
            assert not event.line.thought
            assert not event.line.speech or faults(event.line.text, scene.language) == (), event.line.text
            assert not re.search(r"[{}]|[,，][,，.。]|\s[,.?!]| {2}", event.line.text), event.line.text
        if isinstance(event, Influenced):
            assert event.target is None or event.target in names - {event.actor}
        if isinstance(event, Outcome):
            assert event.text
            assert not re.search(r"[{}]|[。.]{2}", event.text), event.text
            foreign = r"[A-Za-z]{3,}" if scene.language == "zh" else r"[\u4e00-\u9fff，。]"
            assert not re.search(foreign, "".join(re.split("|".join(map(re.escape, names)), event.text))), event.text


@pytest.mark.parametrize("scene", SCENES, ids=IDS)
def test_an_environment_change_keeps_the_other_two_parts_word_for_word(scene: Scene) -> None:
    for seed in range(2):
        now = scene.situation
        for event in story(scene, seed):
            if isinstance(event, EnvironmentChanged):
                was, new = now.model_dump(), event.situation.model_dump()
                assert [part for part in was if was[part] != new[part]] in (["time"], ["description"])
                assert new["description"].startswith(scene.situation.description)
                assert new["time"].startswith(scene.situation.time)
                now = event.situation


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_story_hardly_repeats_itself(language: Language) -> None:
    said, again = 0, 0
    for scene in (scene for scene in SCENES if scene.language == language):
        lines = [event.line for event in story(scene, 1) if isinstance(event, Spoken)]
        for texts in ([line.action for line in lines], [line.speech for line in lines if line.speech]):
            said += len(texts)
            again += sum(count - 1 for count in Counter(texts).values())
    assert said > 500
    assert again / said < 0.03


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_same_seed_tells_the_same_story_and_another_seed_another(language: Language) -> None:
    scene = next(scene for scene in SCENES if scene.language == language)
    first, again = story(scene, 0), _told(scene.id, 0, again=True)
    assert [_bare(event) for event in first] == [_bare(event) for event in again]
    assert first != story(scene, 1)


def _bare(event: Event) -> Event:
    return event.model_copy(update={"model": ""}) if isinstance(event, Spoken) else event


@pytest.mark.parametrize("language", LANGUAGES)
def test_things_and_people_change_and_somebody_is_always_told_why(language: Language) -> None:
    scenes = [scene for scene in SCENES if scene.language == language]
    events = [event for scene in scenes for event in story(scene, 0)]
    outcomes = [event for event in events if isinstance(event, Outcome)]
    assert sum(isinstance(event, EnvironmentChanged) for event in events) > len(scenes)
    assert sum(isinstance(event, StateChanged) for event in events) > len(outcomes)
    assert {event.standing.present for event in events if isinstance(event, StateChanged)} == {True, False}
    touched = [event.target is not None for event in events if isinstance(event, Influenced)]
    assert 0.4 < sum(touched) / len(touched) < 0.95
    assert sum(event.concluded for event in outcomes) < len(scenes)
    failed = [frame for kind in tale(language).deeds.values() for frame in kind.frames["failed"]]
    came_to_nothing = sum(any(pattern(frame.text).match(event.text) for frame in failed) for event in outcomes)
    assert 0.05 < came_to_nothing / len(outcomes) < 0.6


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_position_always_tells_where(language: Language) -> None:
    empty = (
        r"same place|as before|this spot|back in the middle|further back$|原来的地方|原地|原处|先前的地方|at an? few"
    )
    scenes = [scene for scene in SCENES if scene.language == language][:12]
    changes = [
        (event.character, event.standing)
        for scene in scenes
        for event in story(scene, 1)
        if isinstance(event, StateChanged)
    ]
    assert len(changes) > 200
    assert not [standing.position for _, standing in changes if re.search(empty, standing.position)]
    assert len({standing.position for _, standing in changes}) > 100


def test_memories_are_weighed_and_drawn_together_in_a_story() -> None:
    rules = Rules(staging="story", remembering=MemoryRules(importance="judged", capacity=12))
    for language in LANGUAGES:
        scene = next(scene for scene in SCENES if scene.language == language)
        events = _played(scene, 0, Understudy("understudy", "novice"), rules)
        assert not [event for event in events if isinstance(event, Fault)]
        assert any(isinstance(event, ImportanceRated) for event in events)
        reflections = [event.text for event in events if isinstance(event, Reflected)]
        assert reflections
        assert all(text for text in reflections)
