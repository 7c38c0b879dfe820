"""The main job through the real SDKs, against servers that speak the real protocols: who is told what."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest
from terminal import screentest

from builders.projects import everything, generous, project
from fakes import FakeProvider, Says, Seen
from screentest.builders import Benchmark
from screentest.pools import Character, Line, Scene, Situation

KEY = "sk-canary-0123456789abcdef"
ROLES = ("director", "scene", "source", "base", "judge", "filter", "tested")
CAST = ("Maud", "Silas", "Hob")


def _character(name: str, **rest: Any) -> Character:
    own = {"public": {"trade": f"PUBLIC-{name}"}, "private": {"secret": f"PRIVATE-{name}"}}
    return Character.model_validate({"id": name.lower(), "name": name, "language": "en", "kind": "synthesized", **own})


SCENE = Scene(
    id="mill",
    language="en",
    title="TITLE-of-the-scene",
    world="WORLD-of-the-mill",
    situation=Situation(time="dusk", place="the mill", description="SITUATION-at-the-mill"),
    cast=tuple(_character(name) for name in CAST),
    motivations={name: f"MOTIVATION-{name}" for name in CAST},
    script=tuple(Line(speaker=name, text=f"SCRIPT-{name}", thought=f"SCRIPTTHOUGHT-{name}") for name in CAST),
)
TEST = _character("Juno")


def _thoughtful(seen: Seen) -> Says:
    """Improvises; players add a thought that names whose private attributes they were shown."""
    said = generous(seen)
    if seen.schema is not None:
        return said
    (me,) = [name for name in (*CAST, "Juno") if f"PRIVATE-{name}" in seen.prompt]
    return Says(f"[THOUGHT-{me}-{seen.body['model']}] {said.text}")


@dataclass(frozen=True)
class Played:
    """A build and an evaluation, and all that was asked."""

    built: list[Seen]
    evaluated: list[Seen]
    output: str
    run: Path
    scores: Path


@pytest.fixture(scope="module", params=["openai", "anthropic"])
def played(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Played]:
    """The whole job, against one of the two servers."""
    provider: Literal["openai", "anthropic"] = request.param
    directory = tmp_path_factory.mktemp(provider)
    with FakeProvider.threaded(_thoughtful) as server:
        url = server.openai_url if provider == "openai" else server.anthropic_url
        spec = {"provider": provider, "base_url": url, "key_env": "CANARY_KEY"}
        config = project(
            directory,
            scenes=(SCENE,),
            characters=(TEST,),
            models={role: {**spec, "model": f"name-of-{role}"} for role in ROLES},
            roles={
                **{role: role for role in ("director", "scene", "base", "judge", "filter")},
                "sources": ["source"],
                "tested": ["tested"],
            },
            build={"quota": 1, "scenes": 8},
        )
        run, scores = directory / "run", directory / "eval"
        first = screentest("build", config, "--run", run, CANARY_KEY=KEY)
        assert first.exit_code == 0, first.output
        built = list(server.requests)
        server.requests.clear()
        second = screentest("eval", run / "benchmark", "--config", config, "--run", scores, CANARY_KEY=KEY)
        assert second.exit_code == 0, second.output
        yield Played(built, list(server.requests), first.output + second.output, run, scores)


def _prompts(requests: list[Seen], *roles: str) -> list[str]:
    found = [seen.prompt for seen in requests if seen.body["model"].removeprefix("name-of-") in roles]
    assert found, f"nobody asked {roles}"
    return found


def test_a_benchmark_and_results_come_out(played: Played) -> None:
    assert Benchmark.open(played.run).manifest.items > 0
    results = json.loads((played.scores / "results.json").read_bytes())
    assert results["models"]["tested"]["overall"]["headline"] is not None
    assert (results["models"]["tested"]["unparsed"], results["understudy"]) == (0, False)


def test_every_role_is_asked_by_the_name_of_its_model(played: Played) -> None:
    build_roles = {"director", "scene", "source", "base", "judge", "filter"}
    assert {seen.body["model"] for seen in played.built} == {f"name-of-{role}" for role in build_roles}
    eval_roles = {"tested", "base", "judge"}
    assert {seen.body["model"] for seen in played.evaluated} == {f"name-of-{role}" for role in eval_roles}


def test_the_key_is_sent_and_shows_nowhere(played: Played) -> None:
    for seen in (*played.built, *played.evaluated):
        sent = seen.headers.get("x-api-key") or seen.headers["authorization"].removeprefix("Bearer ")
        assert sent == KEY
        assert KEY not in json.dumps(seen.body)
    assert KEY not in played.output
    for directory in (played.run, played.scores):
        for name, content in everything(directory).items():
            assert KEY.encode() not in content, name


def test_nobody_is_shown_the_private_attributes_of_a_scene_character_but_who_plays_it(played: Played) -> None:
    everyone_else = ("director", "source", "base", "judge", "filter", "tested")
    for prompt in _prompts([*played.built, *played.evaluated], *everyone_else):
        assert "PRIVATE-" not in prompt.replace("PRIVATE-Juno", "")
        assert all(f"PUBLIC-{name}" in prompt for name in CAST), "what is public is shown"
    for prompt in _prompts(played.built, "scene"):
        assert sum(f"PRIVATE-{name}" in prompt for name in CAST) == 1


def test_the_test_characters_private_attributes_are_for_its_players_and_the_judge(played: Played) -> None:
    requests = [*played.built, *played.evaluated]
    assert all("PRIVATE-Juno" in prompt for prompt in _prompts(requests, "source", "base", "judge", "tested"))
    for prompt in _prompts(requests, "director", "scene", "filter"):
        assert "PRIVATE-Juno" not in prompt and "PUBLIC-Juno" in prompt


def test_a_thought_is_for_its_thinker_alone(played: Played) -> None:
    for prompt in _prompts([*played.built, *played.evaluated], "director", "judge", "filter"):
        assert "THOUGHT-" not in prompt
    for prompt in _prompts([*played.built, *played.evaluated], "source", "base", "tested"):
        assert "THOUGHT-" not in prompt.replace("THOUGHT-Juno", "")
    shown = 0
    for prompt, thinker in itertools.product(_prompts(played.built, "scene"), (*CAST, "Juno")):
        if f"PRIVATE-{thinker}" in prompt:
            shown += f"THOUGHT-{thinker}-name-of-scene" in prompt
        else:
            assert f"THOUGHT-{thinker}" not in prompt
    assert shown, "one's own thoughts come back to one"


def test_motivations_and_script_are_for_scene_characters_alone(played: Played) -> None:
    others = ("director", "source", "base", "judge", "filter", "tested")
    for prompt in _prompts([*played.built, *played.evaluated], *others):
        assert "MOTIVATION-" not in prompt and "SCRIPT" not in prompt
    for prompt in _prompts(played.built, "scene"):
        assert all(f"MOTIVATION-{name}" in prompt and f"SCRIPT-{name}" in prompt for name in CAST)


def test_the_benchmark_gives_away_no_private_matter_of_the_cast(played: Played) -> None:
    text = (played.run / "benchmark/data/test.jsonl").read_text()
    assert "PRIVATE-Juno" in text and "PUBLIC-Maud" in text
    for name in CAST:
        for secret in (f"PRIVATE-{name}", f"THOUGHT-{name}", f"MOTIVATION-{name}", f"SCRIPT-{name}"):
            assert secret not in text


def test_scene_and_world_are_shown_to_everyone_and_the_title_to_nobody(played: Played) -> None:
    for prompt in _prompts([*played.built, *played.evaluated], *ROLES):
        assert "WORLD-of-the-mill" in prompt and "SITUATION-at-the-mill" in prompt
        assert "TITLE-of-the-scene" not in prompt
