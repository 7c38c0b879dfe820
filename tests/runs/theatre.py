"""A theatre for whole runs: a project at a fake provider, commands as subprocesses, and ways to cut them short."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from builders.projects import MIRIAM, generous, project, served
from fakes import Behaviour, FakeProvider, Seen

KEY = "sk-Sentinel+7f3a/9c21=="
CONCURRENCY = 8
PATIENCE = 60.0
LABELS = ("director", "scene", "alice", "bob", "base", "judge", "other")
ROLES = {
    "director": "director",
    "scene": "scene",
    "sources": ["alice"],
    "base": "base",
    "judge": "judge",
    "filter": "judge",
    "tested": ["alice"],
}
SHORT = {"quota": 1, "turns": 8, "min_turns": 5, "scenes": 2}


def written(directory: Path, server: FakeProvider, **changes: Any) -> Path:
    """A small project at ``server``; returns its configuration file."""
    changes.setdefault("models", served(server, *LABELS, key_env="SENTINEL_KEY"))
    changes.setdefault("roles", ROLES)
    changes.setdefault("characters", (MIRIAM,))
    changes.setdefault("scenes", ("en-goat-court", "en-obituary-desk"))
    return project(directory, build={**SHORT, **changes.pop("build", {})}, **changes)


def edited(config: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change a configuration file in place."""
    data = yaml.safe_load(config.read_text(encoding="utf-8"))
    change(data)
    config.write_text(yaml.safe_dump(data, allow_unicode=True, sort_keys=False), encoding="utf-8")


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str


@dataclass
class Theatre:
    """A project, its server, and what was asked there.

    Attributes:
        server: The fake provider, in a thread.
        root: The project's directory.
        config: Its configuration.
        behaviour: What the server answers when nothing is cut.
    """

    server: FakeProvider
    root: Path
    config: Path
    behaviour: Behaviour = generous

    def command(self, *arguments: object) -> list[str]:
        """A command line."""
        return [sys.executable, "-m", "screentest", *map(str, arguments)]

    def building(self, run: Path, *more: object) -> list[str]:
        """The command that builds."""
        return self.command("build", self.config, "--run", run, "--concurrency", CONCURRENCY, *more)

    def evaluating(self, benchmark: Path, run: Path, *more: object) -> list[str]:
        """The command that evaluates."""
        common = ("--config", self.config, "--run", run, "--concurrency", CONCURRENCY)
        return self.command("eval", benchmark, *common, *more)

    def start(self, command: Sequence[str]) -> subprocess.Popen[str]:
        """Start a command."""
        kept = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
        environment = kept | {"SENTINEL_KEY": KEY}
        pipe = subprocess.PIPE
        return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=environment, cwd=self.root)  # noqa: S603

    def finish(self, process: subprocess.Popen[str]) -> Ended:
        """Wait for a command to end."""
        try:
            out, err = process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        return Ended(process.returncode, out, err)

    def do(self, command: Sequence[str]) -> Ended:
        """Run a command to its end."""
        return self.finish(self.start(command))

    def done(self, command: Sequence[str]) -> Ended:
        """Run a command that has to succeed."""
        ended = self.do(command)
        assert ended.code == 0, ended.err
        return ended

    def cut(self, command: Sequence[str], after: int, how: signal.Signals) -> tuple[Ended, int]:
        """Signal a command when the server has seen ``after`` requests of it; also tells how many it saw in the end."""
        seen, reached = len(self.server.requests), threading.Event()

        def trip(request: Seen) -> Any:
            if len(self.server.requests) >= seen + after:
                reached.set()
            return self.behaviour(request)

        self.server.behaviour = trip
        process = self.start(command)
        try:
            while not reached.wait(0.01) and process.poll() is None:
                pass
            process.send_signal(how)
            ended = self.finish(process)
        finally:
            self.server.behaviour = self.behaviour
        settle(self.server)
        return ended, len(self.server.requests) - seen


@dataclass(frozen=True)
class Finished:
    """A run that nobody interrupted.

    Attributes:
        theatre: Where it was made; its server is slow enough to be cut short.
        run: The build.
        evaluation: The evaluation.
        built: How often the build sent each body.
        compared: How often the evaluation did.
    """

    theatre: Theatre
    run: Path
    evaluation: Path
    built: Counter[str]
    compared: Counter[str]


def settle(server: FakeProvider) -> None:
    """Wait until the server has read whatever a process that is gone has sent."""
    while True:
        seen = len(server.requests)
        time.sleep(0.08)
        if len(server.requests) == seen:
            return


def asked(server: FakeProvider, since: int = 0) -> Counter[str]:
    """How often each body was sent."""
    return Counter(json.dumps(body, sort_keys=True) for body in server.bodies[since:])


def states(run: Path) -> Counter[str]:
    """How many calls are in which state; the store has to be sound."""
    if not (run / "run.db").exists():
        return Counter()
    with closing(sqlite3.connect(run / "run.db")) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'calls'").fetchone():
            return Counter()
        return Counter(dict(connection.execute("SELECT state, count(*) FROM calls GROUP BY state")))


def evaluated(run: Path) -> dict[str, bytes]:
    """The files an evaluation emits."""
    return {name: (run / name).read_bytes() for name in ("evaluations.jsonl", "results.json")}


def copied(run: Path, to: Path) -> Path:
    """A copy of a run."""
    return Path(shutil.copytree(run, to))
