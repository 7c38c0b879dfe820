"""The manual: every command explains itself, with an example, within 80 columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import typer
from terminal import screentest

from screentest import __version__
from screentest.cli.app import app


def _commands(command: Any, *path: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    inner = getattr(command, "commands", {})
    yield path, command
    for name, child in inner.items():
        yield from _commands(child, *path, name)


_ALL = list(_commands(typer.main.get_command(app)))
_GROUPS = [path for path, command in _ALL if hasattr(command, "commands")]
_LEAVES = [path for path, command in _ALL if not hasattr(command, "commands")]


def test_the_commands_that_scripts_build_on_are_there() -> None:
    wanted = {"demo", "init", "simulate", "build", "eval", "pool import", "pool show", "character show"}
    assert wanted <= {" ".join(path) for path in _LEAVES}


@pytest.mark.parametrize("path", _LEAVES, ids=" ".join)
def test_a_command_explains_itself_with_an_example(path: tuple[str, ...]) -> None:
    result = screentest(*path, "--help", COLUMNS="80")
    assert result.exit_code == 0
    assert f"\n    screentest {' '.join(path)}" in result.output.split("Example", 1)[1]
    for line in result.output.splitlines():
        assert len(line) <= 80 or line.startswith("    screentest "), line
    assert "[[" not in result.output


@pytest.mark.parametrize("path", _GROUPS, ids=lambda path: " ".join(path) or "screentest")
def test_a_group_lists_its_commands_in_whole_sentences(path: tuple[str, ...]) -> None:
    result = screentest(*path, "--help", COLUMNS="80")
    assert result.exit_code == 0
    assert "..." not in result.output.split("Commands:")[1]


def test_the_exit_codes_are_in_the_manual() -> None:
    said = " ".join(screentest("--help").output.split())
    for code in ("0 done", "2 configuration or input", "4 finished with failures", "75 interrupted"):
        assert code in said


def test_the_version() -> None:
    result = screentest("--version")
    assert (result.exit_code, result.output) == (0, f"screentest {__version__}\n")


def test_without_a_command_there_is_the_manual() -> None:
    assert "Commands:" in screentest().output
