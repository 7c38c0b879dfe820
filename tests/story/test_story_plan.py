"""What a build of stories will take is counted by playing it with stand-ins."""

from __future__ import annotations

from pathlib import Path

from builders.projects import MIRIAM, load_with, project
from screentest.builders import load_config
from screentest.builders.planning import plan_build
from screentest.sim import Rules

MODELS = {
    "gpt": {"provider": "openai", "model": "gpt-4.1", "price": {"input": 2.0, "output": 8.0}},
    "vec": {"provider": "embeddings", "model": "text-embedding-3-small", "price": {"input": 0.02, "output": 0}},
}


async def test_narrator_minds_and_embeddings_are_in_the_plan(tmp_path: Path) -> None:
    story = {"staging": "story", "rounds": 3}
    changes = {"characters": (MIRIAM,), "models": MODELS, "roles": {"sources": ["gpt"]}}
    memory = {"embedder": "vec", "window": 4}
    planned = await plan_build(load_config(project(tmp_path, build=story, memory=memory, **changes)))
    dialogue = await plan_build(load_config(project(tmp_path / "dialogue", **changes)))
    rows = {row.role: row for row in planned.rows if row.stage == "build"}
    assert rows.keys() - {row.role for row in dialogue.rows} == {"narrator", "embedder"}
    assert "director" not in rows, "nobody gives the word in a story"
    assert rows["embedder"].output.expected == 0
    assert rows["embedder"].cost
    assert rows["narrator"].calls.expected > rows["judge"].calls.expected / 2


def test_an_embeddings_model_plays_no_part() -> None:
    config = load_with(models=MODELS, build={"staging": "story"}, memory={"embedder": "vec"})
    assert {label for _, label in config.roles.items()} == {"gpt"}
    assert config.rules == Rules(staging="story")
