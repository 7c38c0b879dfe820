"""The documentation says what is so: links lead somewhere, commands exist, examples load, tables are complete."""

from __future__ import annotations

import ast
import json
import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, get_args

import pytest
import typer
import yaml
from pydantic import BaseModel

import screentest
from docs.pages import ALL, ENGLISH, ROOT, Page, name_of, page
from screentest.agents import Cue
from screentest.agents.memory import Memory, Recollection, Weights
from screentest.builders import Config
from screentest.builders.campaign import Progress
from screentest.builders.comparison import Comparison, EvaluationProgress
from screentest.builders.config import Roles
from screentest.builders.item import Item
from screentest.builders.manifest import Manifest
from screentest.builders.report import BuildReport, CellReport
from screentest.builders.results import ModelResult, Results, Score
from screentest.builders.settings import BuildSettings, EvaluateSettings, MemorySettings, PoolSettings
from screentest.cli.app import app
from screentest.cli.console import INTERRUPTED
from screentest.cli.progress import BuildDisplay, EvaluationDisplay
from screentest.errors import BadReply, CallError, ScreentestError
from screentest.judges import load_dimensions
from screentest.llms import Meter, ModelSpec, Price
from screentest.pools import LANGUAGES, Beliefs, Character, Reminder, Scene, Standing
from screentest.sim import Tally, Trajectory
from screentest.sim.events import Event

every_page = pytest.mark.parametrize("page", ALL, ids=name_of)
every_english_page = pytest.mark.parametrize("english", ENGLISH, ids=name_of)
both_editions = pytest.mark.parametrize("edition", [lambda page: page, lambda page: page.chinese], ids=["en", "zh"])


@every_page
def test_every_relative_link_leads_to_a_file(page: Page) -> None:
    missing = [link for link in page.links() if not (page.path.parent / link).exists()]
    assert missing == []


@every_english_page
def test_every_page_has_a_chinese_edition_of_the_same_build(english: Page) -> None:
    chinese = english.chinese
    assert chinese.path.is_file(), f"write {name_of(chinese)}"
    assert chinese.headings() == english.headings()
    assert len(chinese.rows()) == len(english.rows())
    for language in ("sh", "python", "yaml", "json"):
        assert chinese.blocks(language) == english.blocks(language)
    assert chinese.path.name in english.links()
    assert english.path.name in chinese.links()


@every_english_page
def test_the_chinese_edition_links_to_chinese_pages(english: Page) -> None:
    strays = [
        link
        for link in english.chinese.links()
        if link != english.path.name
        and (english.path.parent / link).with_suffix(".zh.md").is_file()
        and not link.endswith(".zh.md")
    ]
    assert strays == []


def test_the_index_lists_every_page() -> None:
    listed = {link for link in page("index").links() if "/" not in link and not link.endswith(".zh.md")}
    assert listed == {english.path.name for english in ENGLISH if english.path.parent.name == "docs"} - {"index.md"}


def _commands(page: Page) -> Iterator[list[str]]:
    for block in page.blocks("sh"):
        for line in block.splitlines():
            words = shlex.split(line, comments=True)
            if "screentest" in (Path(word).name for word in words):
                start = next(place for place, word in enumerate(words) if Path(word).name == "screentest")
                yield words[start + 1 :]


def _parsed(words: Sequence[str]) -> tuple[Any, dict[str, Any]]:
    """The command that a command line names, and its parameters; raises for what the program does not have."""
    command: Any = typer.main.get_command(app)
    while True:
        options, rest, _ = command.make_parser(typer.Context(command)).parse_args(list(words))
        if not hasattr(command, "commands") or not rest:
            assert not rest, f"{rest} is too much"
            return command, options
        assert rest[0] in command.commands, f"there is no command {rest[0]}"
        command, words = command.commands[rest[0]], rest[1:]


@every_page
def test_every_command_shown_is_one_that_the_program_takes(page: Page) -> None:
    for words in _commands(page):
        command, given = _parsed(words)
        missing = [parameter.name for parameter in command.params if parameter.required and not given[parameter.name]]
        assert missing == [], words


@every_page
def test_every_command_mentioned_exists(page: Page) -> None:
    for name in page.names():
        words = name.split()
        if words[0] == "screentest" and len(words) > 1 and words[1].isascii():
            _parsed([word for word in words[1:] if word != "…"])


def test_a_command_that_does_not_exist_is_noticed() -> None:
    for wrong in ("buidl", "build --nonsense", "build a b", "pool export"):
        with pytest.raises(Exception, match=r"no command|No such option|too much"):
            _parsed(wrong.split())


@every_page
def test_every_yaml_example_is_what_it_seems(page: Page, tmp_path: Path) -> None:
    for number, block in enumerate(page.blocks("yaml")):
        data = yaml.safe_load(block)
        if "models" in data:
            Config.model_validate(data)
        elif "kind" in data:
            Character.model_validate(data)
        elif set(data) == {"price"}:
            Price.model_validate(data["price"])
        else:
            file = tmp_path / f"{number}.yaml"
            file.write_text(block, encoding="utf-8")
            assert [len(load_dimensions(file, language)) for language in LANGUAGES] == [1, 1]


@every_page
def test_every_json_example_is_json(page: Page) -> None:
    for block in page.blocks("json"):
        for text in block.splitlines() if block.startswith('{"event"') else [block]:
            json.loads(text)


@every_page
def test_every_python_example_compiles_and_uses_names_that_exist(page: Page) -> None:
    for block in page.blocks("python"):
        tree = ast.parse(block, name_of(page))
        attributes = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
        used = {node.attr for node in attributes if isinstance(node.value, ast.Name) and node.value.id == "st"}
        assert used <= set(screentest.__all__)


def test_the_scene_written_in_python_makes_a_pool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (block,) = page("pools").blocks("python")
    exec(compile(block, "pools.md", "exec"), {})  # noqa: S102 - our own page
    assert screentest.Pool.open("ferry-pool").ids("en") == ("ferry-fog",)


def test_the_examples_of_stories_run_and_print_what_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    story, memory = (compile(block, "story.md", "exec") for block in page("story").blocks("python"))
    exec(story, {})  # noqa: S102 - our own page
    told = capsys.readouterr().out
    assert '"event":"outcome"' in told and '"event":"fault"' not in told
    exec(memory, {})  # noqa: S102 - our own page
    assert capsys.readouterr().out in page("story").blocks("text")


_SECTIONS: dict[str, type[BaseModel]] = {
    "": Config,
    "roles.": Roles,
    "pool.": PoolSettings,
    "build.": BuildSettings,
    "memory.": MemorySettings,
    "memory.weights.": Weights,
    "evaluate.": EvaluateSettings,
    "models.*.": ModelSpec,
    "models.*.price.": Price,
}
_TOLD_IN_WORDS = {"roles", "pool", "build", "memory", "memory.weights", "evaluate"}


def _default(model: type[BaseModel], field: str) -> str | None:
    info = model.model_fields[field]
    if info.is_required():
        return None
    value = info.get_default(call_default_factory=True)
    if value is None:
        return "–"
    if isinstance(value, tuple):
        return f"`[{', '.join(map(str, value))}]`"
    return f"`{value}`" if value != "" else None


@both_editions
def test_the_configuration_reference_lists_every_field_with_its_default(edition: Any) -> None:
    rows = {row[0].strip("`"): row[1].strip("`") for row in edition(page("researcher")).rows() if len(row) == 4}
    del rows["field" if "field" in rows else "字段"], rows["---"]
    expected = {prefix + field: (model, field) for prefix, model in _SECTIONS.items() for field in model.model_fields}
    assert set(rows) == set(expected)
    for name, (model, field) in expected.items():
        default = _default(model, field)
        if default is not None and name not in _TOLD_IN_WORDS:
            assert rows[name] == default.strip("`"), name


@both_editions
def test_the_exit_codes_are_those_of_the_program(edition: Any) -> None:
    told = {int(row[0]) for row in edition(page("batch")).rows() if row[0].isdigit()}
    assert told == {0, INTERRUPTED} | {error.exit_code for error in _family(ScreentestError)}


@both_editions
def test_every_kind_of_failed_call_is_explained(edition: Any) -> None:
    leaves = {error.kind for parent in (CallError, BadReply) for error in _family(parent) if error is not parent}
    assert leaves <= edition(page("models")).names()


def _family(error: type[ScreentestError]) -> set[type[ScreentestError]]:
    return {error}.union(*(_family(child) for child in error.__subclasses__()))


@both_editions
def test_the_progress_records_shown_have_the_fields_of_real_ones(edition: Any) -> None:
    shown = _events_shown(edition(page("batch")))
    build, evaluation = [record for record in shown if record["event"] == "progress"]
    assert _shape(build) == _shape(BuildDisplay(Progress(), Meter(), Tally()).record())
    assert _shape(evaluation) == _shape(EvaluationDisplay(EvaluationProgress(), Meter(), Tally()).record())


@both_editions
def test_every_event_on_standard_error_is_shown_and_its_fields_are_explained(edition: Any) -> None:
    shown = _events_shown(edition(page("batch")))
    sources = "".join(file.read_text(encoding="utf-8") for file in (ROOT / "src/screentest/cli").glob("*.py"))
    assert {record["event"] for record in shown} == set(re.findall(r'"event": "(\w+)"', sources))
    fields = {field for record in shown for field in record}
    assert fields - {"event", "run"} <= edition(page("batch")).names()


def _events_shown(page: Page) -> list[dict[str, Any]]:
    (block,) = page.blocks("json")
    return [json.loads(line) for line in block.splitlines()]


@both_editions
def test_every_event_of_a_trajectory_has_its_row(edition: Any) -> None:
    events = {event.model_fields["event"].default for event in get_args(get_args(Event)[0])}
    assert events <= {row[0].strip("`") for row in edition(page("benchmark-format")).rows()}


def test_batches_are_for_evaluations_as_the_page_says() -> None:
    commands = typer.main.get_command(app).commands  # pyright: ignore[reportAttributeAccessIssue]
    assert {name for name, one in commands.items() if any(p.name == "batch" for p in one.params)} == {"eval", "resume"}


def _shape(record: Any) -> Any:
    return {name: _shape(value) for name, value in record.items()} if isinstance(record, dict) else None


_RECORDS: list[type[BaseModel]] = [
    *(Item, Manifest, BuildReport, CellReport, Trajectory, Comparison, Results, ModelResult, Score),
    *(*get_args(get_args(Event)[0]), Cue, Beliefs, Standing, Reminder, Memory, Recollection),
]


@both_editions
@pytest.mark.parametrize(
    ("name", "models"),
    [
        (
            "benchmark-format",
            _RECORDS,
        ),
        ("pools", [Scene, Character]),
    ],
)
def test_every_field_of_a_file_is_explained(edition: Any, name: str, models: list[type[BaseModel]]) -> None:
    told = edition(page(name)).prose
    for model in models:
        assert [field for field in model.model_fields if field not in told] == [], model.__name__
