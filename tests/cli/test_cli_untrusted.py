"""Text from models, pools and character files is shown as text: no markup, no escape codes, no control characters."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from terminal import screentest

from builders.projects import MIRIAM, project, served
from fakes import Fails, FakeProvider, Says, Seen, improvise
from screentest.pools import Character, Line, Pool, Scene, Situation

HOSTILE = (
    "[/red] [bold]x[/bold] [link=http://evil]y[/link] :smile: "
    "\x1b[31mred\x1b[0m \x1b]0;title\x07 \x9b2J \u202egnol {{ 7*7 }}"
)
_NOT_TEXT = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def _is_inert(output: str) -> None:
    assert not _NOT_TEXT.search(output), ascii(output)
    flat = " ".join(output.split())
    assert "[/red] [bold]x[/bold] [link=http://evil]y[/link] :smile:" in flat, "shown as it was written"


@pytest.fixture
def pool(tmp_path: Path) -> Path:
    """A pool in which everything that may be any text is hostile."""
    cast = Character(id="cast", name="Ada [/red]", language="en", kind="established", public={"age": HOSTILE})
    scene = Scene(
        id="hostile",
        language="en",
        title=HOSTILE,
        world=HOSTILE,
        situation=Situation(time=HOSTILE, place=HOSTILE, description=HOSTILE),
        cast=(cast, cast.model_copy(update={"id": "other", "name": "Bob"})),
        motivations={"Bob": HOSTILE},
        script=(Line(speaker="Bob", text=f"({HOSTILE})", thought=HOSTILE),),
        source=HOSTILE,
        licence=HOSTILE,
    )
    test = MIRIAM.model_copy(update={"public": {HOSTILE: HOSTILE}, "source": HOSTILE})
    Pool.write(tmp_path / "pool", name=HOSTILE, scenes=[scene], characters=[test], licence=HOSTILE, source=HOSTILE)
    return tmp_path / "pool"


@pytest.mark.parametrize("arguments", [("pool", "show"), ("pool", "show", "--scene", "hostile")])
def test_a_pool_is_shown_as_text(pool: Path, arguments: tuple[str, ...]) -> None:
    result = screentest(*arguments[:2], pool, *arguments[2:])
    assert result.exit_code == 0, result.output
    _is_inert(result.output)


def test_a_character_is_shown_as_text(pool: Path) -> None:
    result = screentest("character", "show", "miriam", "--pool", pool)
    assert result.exit_code == 0, result.output
    _is_inert(result.output)


def test_what_models_say_is_shown_as_text(pool: Path, tmp_path: Path) -> None:
    def hostile(seen: Seen) -> Says:
        if seen.schema is None:
            return Says(HOSTILE)
        answer = improvise(seen)
        return Says((answer.text or "").replace('"reason": "', '"reason": "[/red] \\u001b[31m '))

    with FakeProvider.threaded(hostile) as server:
        config = project(tmp_path / "project", models=served(server, "gpt"), characters=(MIRIAM,))
        result = screentest("simulate", "--config", config, "--pool", pool, "--show", "all")
    assert result.exit_code == 0, result.output
    _is_inert(result.output)
    assert "Miriam Vale: " in result.output and "verdict " in result.output


def test_an_error_from_a_provider_is_shown_as_text(tmp_path: Path) -> None:
    with FakeProvider.threaded(lambda _: Fails(400, HOSTILE)) as server:
        config = project(tmp_path, models=served(server, "gpt"))
        simulated = screentest("simulate", "--config", config)
        built = screentest("build", config, "--run", tmp_path / "run")
    for result in (simulated, built):
        assert "Traceback" not in result.output
        assert not _NOT_TEXT.search(result.output), ascii(result.output)
        assert "[/red] [bold]x[/bold]" in result.output
    assert built.exit_code == 4


def test_a_directory_may_have_any_name(tmp_path: Path) -> None:
    name = "[/red]/a[bold]b"
    result = screentest("init", tmp_path / "[" / name)
    assert result.exit_code == 0, result.output
    assert f"[/{name}/config.yaml" in result.output
    config = project(tmp_path / name, scenes=("en-goat-court",), characters=(MIRIAM,))
    built = screentest("build", config, "--run", tmp_path / name / "run")
    assert f"{name}/run/benchmark" in built.output
