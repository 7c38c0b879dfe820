"""Errors: one clear line, the right exit code, and nothing overwritten."""

from __future__ import annotations

from pathlib import Path

import pytest
from terminal import failed, finished, screentest

from builders.projects import offline, project

KEY = "sk-canary-0123456789"


@pytest.mark.parametrize("command", ["build", "eval"])
def test_with_a_key_but_no_configuration_nothing_is_guessed(command: str, tmp_path: Path) -> None:
    arguments = (
        (command, "--run", tmp_path / "run") if command == "build" else (command, "x", "--run", tmp_path / "run")
    )
    result = screentest(*arguments, OPENAI_API_KEY=KEY)
    line = failed(result)
    assert "no configuration given; OPENAI_API_KEY is set" in line and "screentest init DIR" in line
    assert KEY not in result.output
    assert not (tmp_path / "run").exists()


def test_a_key_that_is_missing_is_asked_for_by_name(tmp_path: Path) -> None:
    models = {"gpt": {"provider": "openai", "model": "gpt-4.1"}}
    line = failed(screentest("build", project(tmp_path, models=models), "--run", tmp_path / "run"))
    assert "models.gpt: a key is missing; the environment variable OPENAI_API_KEY is not set" in line


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("build", "nope.yaml"), "nope.yaml: cannot read the configuration; No such file"),
        (("eval", "nope"), "nope: not a benchmark"),
        (("simulate", "--scene", "en-goat-curt"), "there is no scene 'en-goat-curt'; did you mean en-goat-court"),
        (("simulate", "--character", "Watson"), "--character: unknown character 'Watson'"),
        (("simulate", "--source", "gpt"), "--source: unknown model 'gpt'; models are: adept, novice, expert"),
        (("simulate", "--pool", "nope"), "nope/manifest.json: this is not a pool"),
        (("simulate", "--config", "nope.yaml"), "nope.yaml: cannot read the configuration"),
        (("simulate", "--character", "nope.yaml"), "nope.yaml: cannot read the character file"),
        (("pool", "show", "nope"), "nope/manifest.json: this is not a pool"),
        (("pool", "show", "--scene", "zzz"), "there is no scene 'zzz'"),
        (("pool", "import", "nope.json", "--out", "pool"), "nope.json"),
        (("character", "show", "nobody"), "there is no character 'nobody'; test characters are: en-test-sherlock"),
        (("character", "show", "nope.yaml"), "nope.yaml: cannot read the character file"),
    ],
)
def test_what_does_not_exist_is_named_in_one_line(
    arguments: tuple[str, ...], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert said in failed(screentest(*arguments))
    assert [path.name for path in tmp_path.iterdir()] == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--staging", "opera"), "--staging: there is no 'opera'; there are: dialogue, story"),
        (("--show", "mind"), "--show: there is no 'mind'; did you mean minds"),
        (("--staging", "story", "--turns", "8"), "--turns: a story has no turns"),
        (("--rounds", "2"), "--rounds: a dialogue has no rounds"),
    ],
)
def test_a_scene_that_cannot_be_played_like_that_is_refused_in_one_line(arguments: tuple[str, ...], said: str) -> None:
    assert said in failed(screentest("simulate", *arguments))


def test_a_mistyped_command_or_option_is_a_usage_error() -> None:
    assert screentest("biuld").exit_code == 2
    result = screentest("build", "--concurency", "3")
    assert result.exit_code == 2 and "--concurrency" in result.stderr


def test_init_writes_into_new_or_empty_directories_only(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/notes.txt").write_text("keep me")
    assert "it is not empty" in failed(screentest("init", tmp_path / "mine"))
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["notes.txt"]
    assert "it is not empty" in failed(screentest("init", tmp_path / "mine/notes.txt"))
    (tmp_path / "empty").mkdir()
    assert screentest("init", tmp_path / "empty").exit_code == 0


@pytest.mark.parametrize("arguments", [("init", "file/project"), ("build", "config.yaml", "--run", "file/run")])
def test_a_place_that_cannot_be_written_is_one_line(
    arguments: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    offline(tmp_path)
    (tmp_path / "file").write_text("")
    monkeypatch.chdir(tmp_path)
    done = finished(*arguments)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert done.stderr.splitlines()[-1].startswith("screentest: file/")


def test_a_run_that_never_began_shows_no_progress(tmp_path: Path) -> None:
    offline(tmp_path, pool={"path": "nowhere"})
    result = screentest("build", tmp_path / "config.yaml", "--run", tmp_path / "run")
    failed(result)
    assert "0 conversations" not in result.output


def test_a_file_without_a_usable_record_leaves_no_pool_behind(tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text("not JSON")
    report = tmp_path / "report.json"
    result = screentest("pool", "import", tmp_path / "bad.json", "--out", tmp_path / "pool", "--report", report)
    assert "no record could be taken" in failed(result)
    assert "this is not JSON" in result.stdout
    assert not (tmp_path / "pool").exists()
    assert '"refused": 1' in report.read_text()


def test_too_many_failures_is_exit_code_4_with_all_written(tmp_path: Path) -> None:
    config = offline(tmp_path, build={"turns": 2, "min_turns": 1})
    assert config.build.turns == 2
    line = failed(screentest("build", tmp_path / "config.yaml", "--run", tmp_path / "run"), code=4)
    assert "the build made no item out of" in line
    assert (tmp_path / "run/trajectories.jsonl").stat().st_size > 0


def test_import_does_not_overwrite_unless_told_to(tmp_path: Path) -> None:
    source = Path(__file__).parents[1] / "pools/data/characterbox.json"
    command = ("pool", "import", source, "--out", tmp_path / "pool")
    assert screentest(*command).exit_code == 0
    assert "will not overwrite" in failed(screentest(*command))
    assert screentest(*command, "--replace").exit_code == 0
