"""The command line, run in this process or in another."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from typer.testing import CliRunner, Result

from screentest.cli.app import app

COMMAND = (sys.executable, "-m", "screentest")


def screentest(*arguments: str | Path, **environment: str) -> Result:
    """Run a command in this process."""
    return CliRunner().invoke(app, [str(argument) for argument in arguments], env=environment)


def started(*arguments: str | Path, **environment: str) -> subprocess.Popen[str]:
    """Start a command in a process of its own, which knows no key but those given."""
    return subprocess.Popen(  # noqa: S603
        [*COMMAND, *map(str, arguments)],
        env=_environment(environment),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finished(*arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a process of its own."""
    process = started(*arguments, **environment)
    out, err = process.communicate(timeout=60)
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def _environment(added: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")} | dict(added)


def failed(result: Result, code: int = 2) -> str:
    """The one line that a failed command says last; checks that it is one and that there is no traceback."""
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    said = [line for line in result.stderr.splitlines() if line.startswith("screentest: ")]
    assert len(said) == 1 and result.stderr.rstrip().endswith(said[0]), result.stderr
    return said[0]
