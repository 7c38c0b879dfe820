"""SIGKILL, again and again, at random moments: is every call still paid once, and every byte the same?

A build, an evaluation and an evaluation in batches work against a server on loopback that counts what it is asked. Each
round starts one of them afresh, kills it several times, goes on with the same command every time, lets it end, and
compares it with a run that nobody interrupted. It is killed while it starts, some time after a call chosen at random,
at a random time of what is left to do, when its last call is under way, and before a file that it emits is on disk or
takes its name. Replies take random times, so that every process gets them in another order.

After a kill the store must be sound and hold every row that it held before, and every file that is there must be whole.
In flight is what the server received from the process and the store does not have; in the end the server may have
received what is needed and that, once more. That can be more than the calls that may be made at once, for a reply
frees its place before it is on disk; but nothing is built on it until then, so that it can never be more than the calls
that are independent of each other. What was handed in in a batch may never be handed in again.

``python benchmarks/kills.py [--kills N] [--seed S]`` prints a table and exits with 1 if anything was violated; it then
names the seed, the round and its moments, and leaves the run for inspection. ``--round R`` plays that round alone.
"""

from __future__ import annotations

import argparse
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))

from builders.projects import MIRIAM, SCENES, SHEN, everything, generous
from fakes import FakeProvider, Says, Seen
from runs.theatre import CONCURRENCY, PATIENCE, ROLES, Theatre, asked, settle, states, written
from screentest.builders.verification import verify
from screentest.errors import ScreentestError
from screentest.randomness import generator

KILLS, SEED = 200, 1
FEWEST, MOST = 3, 8
LATENCY = (0.01, 0.09)
BUILD = {"scenes": 3, "turns": 8}
INDEPENDENT = 4 * CONCURRENCY
"""Eight items, each with four verdicts at once; or two conversations in each of four cells, with fewer."""
OWN = {"run.db", "run.db-wal", "run.db-shm", ".lock", ".lock.json"}

AT_THE_START, AFTER_A_CALL, AT_ANY_TIME, AT_THE_END, AT_A_FILE = MOMENTS = (
    "  while it starts",
    "  after a random call",
    "  at a random time",
    "  after the last call",
    "  while a file is written",
)
FIGURES = (
    "kills",
    *MOMENTS,
    "  that left some files, not all",
    "rounds",
    "calls needed",
    "calls received",
    "calls in flight at the kills",
    "kills with more in flight than places",
)
MUST_BE_ZERO = (
    "calls received beyond that",
    "calls never received, or never needed",
    "kills with more in flight than independent",
    "stores that are not sound",
    "finished calls lost from a store",
    "torn files",
    "outputs that are not the same",
    "checks of `verify` that fail",
    "processes that fail",
)

_COMMAND = """
from screentest.cli import main
main()
"""
_IN_BATCHES = """
import asyncio, sys
from pathlib import Path
from screentest.builders import Benchmark, evaluate, load_config
from screentest.llms import Pace
from screentest.sim import Session
benchmark, config, run = map(Path, sys.argv[1:])
session = Session(batch=True, pace=Pace(quiet=0.05, first_poll=0.1, longest_poll=0.2, settle=0.5))
asyncio.run(evaluate(Benchmark.open(benchmark), load_config(config), run, session=session))
"""
_DIES_AT_A_FILE = """
import os, signal, sys
left = int(sys.argv.pop(1))
def fused(act):
    def step(*arguments, **named):
        global left
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return act(*arguments, **named)
    return step
os.fsync, os.replace = fused(os.fsync), fused(os.replace)
"""


@dataclass(frozen=True)
class Work:
    """A program to kill.

    Attributes:
        name: For the table.
        program: What is run.
        arguments: Its arguments, for a run directory.
        server: Where its calls arrive.
        batched: Whether they arrive in batches.
    """

    name: str
    program: str
    arguments: Callable[[Path], Sequence[str]]
    server: FakeProvider
    batched: bool = False

    def command(self, run: Path) -> list[str]:
        """The command line that works on a run directory."""
        return [sys.executable, "-c", self.program, *self.arguments(run)]

    def dying(self, run: Path, survived: int) -> list[str]:
        """The same, killing itself after so many files were put on disk or renamed, each counting twice."""
        return [sys.executable, "-c", _DIES_AT_A_FILE + self.program, str(survived), *self.arguments(run)]

    def forget(self) -> None:
        """Count from zero."""
        self.server.requests.clear()
        self.server.batches.gone()

    def received(self) -> int:
        """How many calls the server has received."""
        return self.server.batches.handed_in.total() if self.batched else len(self.server.requests)

    def calls(self) -> Counter[str]:
        """How often it has received each."""
        return self.server.batches.handed_in if self.batched else asked(self.server)


@dataclass(frozen=True)
class Whole:
    """A run that nobody interrupted.

    Attributes:
        files: Every file it left but the store and the lock.
        calls: How often the server received each call.
        starting: Seconds until its first call.
        working: Seconds from its first call to its last.
        ending: Seconds from its last call to its last file.
    """

    files: dict[str, bytes]
    calls: Counter[str]
    starting: float
    working: float
    ending: float


@dataclass(frozen=True)
class Moment:
    """When to kill.

    Attributes:
        kind: For the table.
        call: After this call of the process has arrived, or after its start if 0 …
        wait: … this many seconds.
        survived: Or: when it has put so many files on disk or renamed them.
    """

    kind: str
    call: int = 0
    wait: float = 0.0
    survived: int | None = None

    def __str__(self) -> str:
        if self.survived is not None:
            return f"after {self.survived} steps of writing files"
        return f"{self.wait:.3f} s after {f'call {self.call}' if self.call else 'the start'}"


@dataclass
class Round:
    """One run, killed several times.

    Attributes:
        theatre: Where it is played.
        work: What is killed.
        whole: What is to come out.
        run: The run's directory.
        draw: What moments are drawn from.
        figures: What was counted.
        moments: When it was killed.
        violations: What must not be.
    """

    theatre: Theatre
    work: Work
    whole: Whole
    run: Path
    draw: Random
    figures: Counter[str] = field(default_factory=Counter[str])
    moments: list[Moment] = field(default_factory=list[Moment])
    violations: list[str] = field(default_factory=list[str])

    def play(self) -> None:
        """Kill, go on, kill again, let it end, and compare."""
        self.work.forget()
        stored: dict[bytes, Any] = {}
        for _ in range(self.draw.randint(FEWEST, MOST)):
            left = self.whole.calls.total() - len(stored)
            moment, before = self._moment(left), self.work.received()
            code, said = self._kill(moment)
            if code != -signal.SIGKILL:
                self._expect(code == 0, "processes that fail", said)
                break
            self.moments.append(moment)
            self.figures.update(("kills", moment.kind))
            stored = self._inspected(stored, self.work.received() - before)
        code, said = self._gone(self.theatre.start(self.work.command(self.run)))
        self._expect(code == 0, "processes that fail", said)
        self._compare()

    def _moment(self, left: int) -> Moment:
        whole, kind = self.whole, self.draw.choices(MOMENTS, (1, 5, 3, 1, 2))[0]
        if kind == AT_A_FILE:
            return Moment(kind, survived=self.draw.randrange(2 * len(_emitted(whole.files))))
        if kind == AT_THE_START:
            return Moment(kind, 0, self.draw.uniform(0, whole.starting))
        if kind == AFTER_A_CALL and left and not self.work.batched:
            return Moment(kind, self.draw.randint(1, left), self.draw.uniform(0, LATENCY[1]))
        if kind == AT_THE_END:
            start = 0.0 if left else whole.starting
            return Moment(kind, left, start + self.draw.uniform(0, LATENCY[1] + whole.ending))
        working = whole.working * left / whole.calls.total()
        return Moment(AT_ANY_TIME, 0, self.draw.uniform(0, whole.starting + working + whole.ending))

    def _kill(self, moment: Moment) -> tuple[int, str]:
        """Kill at a moment; how it ended, if it did by itself, and what it said."""
        before, hung = self.work.received(), time.monotonic() + PATIENCE
        if moment.survived is not None:
            return self._gone(self.theatre.start(self.work.dying(self.run, moment.survived)))
        process = self.theatre.start(self.work.command(self.run))
        while self.work.received() < before + moment.call and process.poll() is None and time.monotonic() < hung:
            time.sleep(0.001)
        try:
            process.wait(moment.wait)
        except subprocess.TimeoutExpired:
            process.kill()
        return self._gone(process)

    def _gone(self, process: subprocess.Popen[str]) -> tuple[int, str]:
        """Wait until a process is gone and the server has read all that it sent; how it ended, and what it said."""
        try:
            ended = self.theatre.finish(process)
        except subprocess.TimeoutExpired:
            return 1, f"it was not done after {PATIENCE:.0f} s"
        settle(self.work.server)
        return ended.code, ended.err

    def _inspected(self, before: dict[bytes, Any], received: int) -> dict[bytes, Any]:
        """Look at what a kill left; the calls that are stored now."""
        try:
            stored = _stored(self.run)
        except (AssertionError, sqlite3.Error) as error:
            self._expect(False, "stores that are not sound", str(error))
            return before
        lost = [digest for digest, row in before.items() if stored.get(digest) != row]
        self._expect(not lost, "finished calls lost from a store", f"{len(lost)}", len(lost))
        files = _files(self.run)
        torn = [name for name in files if not _is_draft(name) and files[name] != self.whole.files.get(name)]
        self._expect(not torn, "torn files", ", ".join(torn), len(torn))
        self.figures["  that left some files, not all"] += 0 < len(_emitted(files)) < len(_emitted(self.whole.files))
        if not self.work.batched:
            in_flight = received - len(stored.keys() - before.keys())
            self.figures["calls in flight at the kills"] += in_flight
            self.figures["kills with more in flight than places"] += in_flight > CONCURRENCY
            self._expect(0 <= in_flight <= INDEPENDENT, "kills with more in flight than independent", f"{in_flight}")
        return stored

    def _compare(self) -> None:
        needed, calls = self.whole.calls, self.work.calls()
        in_flight = self.figures["calls in flight at the kills"]
        self.figures.update({"rounds": 1, "calls needed": needed.total(), "calls received": calls.total()})
        beyond = calls.total() - needed.total() - in_flight
        self._expect(beyond <= 0, "calls received beyond that", f"{beyond}", beyond)
        wrong = (needed - calls).total() + len(calls.keys() - needed.keys())
        self._expect(not wrong, "calls never received, or never needed", f"{wrong}", wrong)
        files = _files(self.run)
        names = sorted(files.keys() | self.whole.files.keys())
        differ = [name for name in names if files.get(name) != self.whole.files.get(name)]
        self._expect(not differ, "outputs that are not the same", ", ".join(differ))
        try:
            problems = [f"{check.what}: {check.problem}" for check in verify(self.run) if check.problem]
        except ScreentestError as error:
            problems = [str(error)]
        self._expect(not problems, "checks of `verify` that fail", "; ".join(problems), len(problems))

    def _expect(self, holds: bool, what: str, found: str, times: int = 1) -> None:
        if not holds:
            self.figures[what] += times
            self.violations.append(f"{what}: {found.strip()}")


def uninterrupted(theatre: Theatre, work: Work, run: Path) -> Whole:
    """Run ``work`` to its end, and take the times."""
    work.forget()
    arrivals, began = [0], time.time()
    first = last = began
    process = theatre.start(work.command(run))
    while process.poll() is None:
        if (received := work.received()) > arrivals[-1]:
            arrivals.append(received)
            last = time.time()
            first = last if len(arrivals) == 2 else first
        time.sleep(0.001)
    ended = theatre.finish(process)
    assert ended.code == 0, ended.err
    settle(work.server)
    emitted = max(file.stat().st_mtime for file in run.glob("*.sha256"))
    return Whole(_files(run), work.calls(), first - began, last - first, max(0.0, emitted - last))


def works(theatre: Theatre, benchmark: Path) -> list[Work]:
    """All that is killed; evaluations are of ``benchmark``."""
    server, config = theatre.server, theatre.config
    return [
        Work("build", _COMMAND, lambda run: theatre.building(run)[3:], server),
        Work("eval", _COMMAND, lambda run: theatre.evaluating(benchmark, run)[3:], server),
        Work("eval in batches", _IN_BATCHES, lambda run: [str(benchmark), str(config), str(run)], server, batched=True),
    ]


def table(figures: dict[str, Counter[str]]) -> str:
    """What was counted, for each work and in all."""
    columns = figures | {"all": sum(figures.values(), Counter[str]())}

    def row(title: str) -> str:
        return f"{title:<46}" + "".join(f"{column[title]:>17}" for column in columns.values())

    head = " " * 46 + "".join(f"{name:>17}" for name in columns)
    return "\n".join([head, *map(row, FIGURES), "must be 0:", *map(row, MUST_BE_ZERO)])


def unsteady(server: FakeProvider, draw: Random) -> None:
    """Have replies take random times."""

    def slow(seen: Seen) -> Says:
        server.latency = draw.uniform(*LATENCY)
        return generous(seen)

    server.behaviour = slow


def played(root: Path, kills: int, seed: int, only: int | None) -> bool:
    """Play rounds until there were so many kills, or ``only`` one of them, and print what came of it.

    Returns:
        Whether all is well.
    """
    figures: dict[str, Counter[str]] = {}
    violated = False
    with FakeProvider.threaded() as server:
        unsteady(server, generator(seed))
        roles = ROLES | {"sources": ["alice", "bob"], "tested": ["alice", "bob"]}
        config = written(root, server, characters=(MIRIAM, SHEN), scenes=SCENES, roles=roles, build=BUILD)
        theatre = Theatre(server, root, config)
        all_works = works(theatre, root / "whole build" / "benchmark")
        wholes = {work.name: uninterrupted(theatre, work, root / f"whole {work.name}") for work in all_works}
        for number in count(1) if only is None else (only,):
            work = all_works[(number - 1) % len(all_works)]
            one = Round(theatre, work, wholes[work.name], root / f"round {number}", generator(seed, number))
            one.play()
            figures[work.name] = figures.get(work.name, Counter()) + one.figures
            violated = violated or bool(one.violations)
            for violation in one.violations:
                moments = ", ".join(map(str, one.moments))
                print(f"seed {seed}, round {number}, {work.name}, killed {moments}: {violation}", flush=True)
            if not one.violations:
                shutil.rmtree(one.run)
            killed = sum(counted["kills"] for counted in figures.values())
            print(f"\r{killed}/{kills} kills", end="", file=sys.stderr, flush=True)
            if killed >= kills:
                break
    print(file=sys.stderr)
    print(table(figures))
    return not violated


def main(arguments: Sequence[str] | None = None) -> int:
    """Kill, print, judge."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=KILLS, help="how many, in all")
    parser.add_argument("--seed", type=int, default=SEED, help="what moments are drawn from")
    parser.add_argument("--round", type=int, help="play this round only")
    options = parser.parse_args(arguments)
    root, began = Path(tempfile.mkdtemp(prefix="kills-")), time.monotonic()
    well = played(root, options.kills, options.seed, options.round)
    print(f"seed {options.seed}, {time.monotonic() - began:.0f} s")
    if well:
        shutil.rmtree(root)
    else:
        print(f"the runs that went wrong are in {root}")
    return int(not well)


def _files(run: Path) -> dict[str, bytes]:
    return {name: data for name, data in everything(run).items() if name not in OWN}


def _emitted(files: Collection[str]) -> list[str]:
    """Those that are no drafts, and not what the run froze when it began."""
    frozen = ("config.yaml", "identity.json")
    return [name for name in files if not _is_draft(name) and not name.endswith(frozen)]


def _is_draft(name: str) -> bool:
    return Path(name).name.startswith(".")


def _stored(run: Path) -> dict[bytes, Any]:
    """The calls that ended, read from a copy, so that the next process meets the store as the kill left it."""
    with tempfile.TemporaryDirectory() as copy:
        for file in run.glob("run.db*"):
            shutil.copy(file, copy)
        if not states(Path(copy)):
            return {}
        with closing(sqlite3.connect(Path(copy) / "run.db")) as connection:
            rows = connection.execute("SELECT * FROM calls WHERE state <> 'begun'")
            return {row[0]: row[1:] for row in rows}


if __name__ == "__main__":
    sys.exit(main())
