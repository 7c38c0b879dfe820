"""Whatever order replies come in, at whatever concurrency: the same bytes, out of the same calls."""

from __future__ import annotations

import asyncio
import hashlib
import json
import random
import selectors
import shutil
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from builders.projects import MIRIAM, SHEN, emitted, project
from doubles import directs, improvised
from runs.theatre import evaluated
from screentest.builders import Benchmark, build, evaluate, load_config
from screentest.errors import CallError, EmptyReply, Rejected, TimedOut, Unavailable
from screentest.llms import Model, ModelSpec, Reply, Request
from screentest.sim import Session
from screentest.sim.database import Writer

EXAMPLES = 20
LABELS = ("director", "scene", "base", "judge", "alice", "bob")
ROLES = {
    **{"director": "director", "scene": "scene", "base": "base", "judge": "judge", "filter": "judge"},
    **{"sources": ["alice", "bob"], "tested": ["alice", "bob"]},
}
SCENES = ("en-goat-court", "en-obituary-desk", "zh-yamen-melon", "zh-dig-watch")
SCENARIOS: tuple[dict[str, Any], ...] = (
    {"seed": 7, "build": {"quota": 1, "lag": 1, "scenes": 4}},
    {"seed": 8, "build": {"quota": 2, "lag": 2, "scenes": 5, "orders": "both"}},
    {"seed": 9, "build": {"quota": 2, "lag": 3, "scenes": 6, "emphasis": "sample"}},
)

Latency = Callable[[str], float]
"""Seconds until a model's next reply, given its label."""


class Unhurried(selectors.DefaultSelector):
    """Time jumps to the next timer, but stands still while rows are on their way to the disk.

    So latencies alone decide the order of replies.
    """

    now, writing = 0.0, 0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout == 0 or (timeout is None and not self.writing):
            return super().select(timeout)
        if self.writing:
            return super().select(None)
        self.now += timeout or 0.0
        return super().select(0)


class UnhurriedLoop(asyncio.SelectorEventLoop):
    """A loop on which waiting takes no time."""

    def __init__(self) -> None:
        self.selector = Unhurried()
        super().__init__(self.selector)

    def time(self) -> float:
        """Virtual seconds."""
        return self.selector.now


@dataclass(frozen=True)
class Answers:
    """What the server of a run answers: decided by the prompt, faults by the call's place, neither by time.

    Attributes:
        latency: How long it takes.
        attempts: How often each call was attempted.
    """

    latency: Latency
    attempts: Counter[tuple[str, str]]

    async def reply(self, label: str, request: Request) -> Reply:
        """Answer, late."""
        await asyncio.sleep(self.latency(label))
        self.attempts[label, request.key] += 1
        told = json.dumps([label, *(message.content for message in request.messages)])
        draw = random.Random(hashlib.sha256(told.encode()).hexdigest())
        if error := _fault(label, request.key, self.attempts[label, request.key]):
            raise error
        finish = "length" if draw.random() < 0.005 else "stop"
        return Reply(text=_text(request, draw), finish=finish, model=label, latency=0.0)


def _fault(label: str, key: str, attempt: int) -> CallError | EmptyReply | None:
    """Some calls fail for good, some until their second or third attempt."""
    luck = random.Random(f"{label} {key}").random()
    if luck < 0.004:
        return Rejected("no", model=label, status=400)
    if luck < 0.007:
        return Unavailable("down", model=label, status=503)
    if luck < 0.04:
        return TimedOut("late", model=label) if attempt == 1 else None
    if luck < 0.05:
        return Unavailable("down", model=label, status=500) if attempt <= 2 else None
    return None


def _text(request: Request, draw: random.Random) -> str:
    if draw.random() < 0.03 and request.schema:
        return "I would rather not say."
    if request.purpose == "direct" and draw.random() < 0.1:
        return directs(request.facts["speakers"][0], end=True)
    return improvised(replace(request, seed=draw.randrange(2**32)))


@dataclass(frozen=True)
class Answering:
    """One model of the server."""

    name: str
    answers: Answers

    async def reply(self, request: Request) -> Reply:
        """Answer."""
        return await self.answers.reply(self.name, request)


@dataclass(frozen=True)
class Outcome:
    """What a run came to.

    Attributes:
        files: What it emitted.
        calls: Every call in its store, but for the time it took.
        attempts: How often each call was attempted.
    """

    files: dict[str, bytes]
    calls: list[tuple[Any, ...]]
    attempts: Counter[tuple[str, str]]


def _calls(run: Path) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(run / "run.db")) as connection:
        return connection.execute(
            "SELECT digest, key, purpose, model, state, text, finish, error FROM calls ORDER BY digest"
        ).fetchall()


def performed(job: Callable[[], Any], latency: Latency) -> Counter[tuple[str, str]]:
    """Run a job against models that take their time; returns how often each call was attempted."""
    answers = Answers(latency, Counter())

    def provider(label: str, spec: ModelSpec, wire: object) -> Model:
        del spec, wire
        return Answering(label, answers)

    async def counted(writer: Writer, statement: str, row: tuple[Any, ...]) -> None:
        selector.writing += 1
        try:
            await write(writer, statement, row)
        finally:
            selector.writing -= 1

    write = Writer.write
    with pytest.MonkeyPatch.context() as patch, asyncio.Runner(loop_factory=UnhurriedLoop) as runner:
        loop = runner.get_loop()
        assert isinstance(loop, UnhurriedLoop)
        selector = loop.selector
        patch.setattr("screentest.llms.connect._provider", provider)
        patch.setattr(Writer, "write", counted)
        runner.run(job())
    return answers.attempts


@dataclass(frozen=True)
class Production:
    """A project, and what its build and its evaluation come to when one call is made after another.

    Attributes:
        config: Its configuration file.
        built: The build.
        compared: The evaluation.
        benchmark: What is evaluated on.
    """

    config: Path
    built: Outcome
    compared: Outcome
    benchmark: Path

    @classmethod
    def staged(cls, root: Path, scenario: dict[str, Any]) -> Production:
        """Build and evaluate serially."""
        root.mkdir()
        at = {"provider": "openai", "base_url": "http://127.0.0.1:9/v1", "retries": 3}
        models = {label: {**at, "model": label} for label in LABELS}
        settings = {"turns": 8, "min_turns": 5, "max_failures": 1, **scenario["build"]}
        config = project(
            root,
            scenes=SCENES,
            characters=(MIRIAM, SHEN),
            models=models,
            roles=ROLES,
            build=settings,
            seed=scenario["seed"],
            evaluate={"resamples": 100, "max_failures": 1},
        )
        built = build_at(config, root / "run", 1, lambda _: 0.0)
        compared = evaluate_at(config, root / "run/benchmark", root / "eval", 1, lambda _: 0.0)
        return cls(config, built, compared, root / "run/benchmark")


def build_at(config: Path, run: Path, concurrency: int, latency: Latency, quota: int | None = None) -> Outcome:
    """Build, or go on with it, perhaps with a quota of its own."""
    loaded = load_config(config)
    if quota is not None:
        loaded = loaded.model_copy(update={"build": loaded.build.model_copy(update={"quota": quota})})
    attempts = performed(lambda: build(loaded, run, session=Session(concurrency=concurrency)), latency)
    return Outcome(emitted(run), _calls(run), attempts)


def evaluate_at(config: Path, benchmark: Path, run: Path, concurrency: int, latency: Latency) -> Outcome:
    """Evaluate."""
    session, opened = Session(concurrency=concurrency), Benchmark.open(benchmark)
    attempts = performed(lambda: evaluate(opened, load_config(config), run, session=session), latency)
    return Outcome(evaluated(run), _calls(run), attempts)


@pytest.fixture(scope="module")
def productions(tmp_path_factory: pytest.TempPathFactory) -> list[Production]:
    """Every scenario, played serially."""
    root = tmp_path_factory.mktemp("order")
    return [Production.staged(root / str(number), scenario) for number, scenario in enumerate(SCENARIOS)]


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[], Path]]:
    """A new directory for every example, all gone in the end."""
    root, numbers = tmp_path_factory.mktemp("examples"), count()
    yield lambda: root / str(next(numbers))
    shutil.rmtree(root)


def _orders() -> st.SearchStrategy[Latency]:
    """Latencies: even, wild, one model far slower than the others, last come first served, or any list over again."""

    def even(seed: int) -> Latency:
        draw = random.Random(seed)
        return lambda _: draw.random()

    def wild(seed: int) -> Latency:
        draw = random.Random(seed)
        return lambda _: 10 ** draw.uniform(-3, 3)

    def slow(label: str) -> Latency:
        return lambda asked: 500.0 if asked == label else 0.5

    def backwards(start: int) -> Latency:
        numbers = count()
        return lambda _: max(0.0, start - 0.7 * next(numbers))

    def listed(latencies: list[int]) -> Latency:
        numbers = count()
        return lambda _: float(latencies[next(numbers) % len(latencies)])

    seeds = st.integers(0, 2**32)
    return st.one_of(
        st.builds(wild, seeds),
        st.builds(even, seeds),
        st.builds(slow, st.sampled_from(LABELS)),
        st.builds(backwards, st.integers(10, 1000)),
        st.builds(listed, st.lists(st.integers(0, 9), min_size=1, max_size=40)),
    )


_order = settings(max_examples=EXAMPLES, deadline=None, derandomize=True, database=None, phases=[Phase.generate])
_scenarios = st.integers(0, len(SCENARIOS) - 1)
_concurrency = st.sampled_from((1, 2, 8, 64))


def test_the_scenarios_have_everything_that_order_could_show_in(productions: list[Production]) -> None:
    states, retried, lengths = Counter[str](), 0, set[int]()
    for production in productions:
        report = Benchmark.open(production.benchmark).manifest.report
        assert len(report.cells) == 4 and report.items and report.failed and report.faults
        lengths |= {cell.scenes for cell in report.cells}
        states.update(call[4] for call in (*production.built.calls, *production.compared.calls))
        retried += sum(attempts > 1 for attempts in production.built.attempts.values())
    assert states["failed"] and retried > 10 and len(lengths) > 1


@_order
@given(_scenarios, _concurrency, _orders(), st.booleans())
def test_a_build_is_the_same_whatever_order_replies_come_in(
    productions: list[Production],
    fresh: Callable[[], Path],
    scenario: int,
    concurrency: int,
    latency: Latency,
    grown: bool,
) -> None:
    production, run = productions[scenario], fresh()
    smaller = build_at(production.config, run, concurrency, latency, quota=1).attempts if grown else Counter()
    found = build_at(production.config, run, concurrency, latency)
    assert found.files == production.built.files
    assert found.calls == production.built.calls
    assert smaller + found.attempts == production.built.attempts


@_order
@given(_scenarios, _concurrency, _orders())
def test_an_evaluation_is_the_same_whatever_order_replies_come_in(
    productions: list[Production], fresh: Callable[[], Path], scenario: int, concurrency: int, latency: Latency
) -> None:
    production = productions[scenario]
    found = evaluate_at(production.config, production.benchmark, fresh(), concurrency, latency)
    assert found.files == production.compared.files
    assert found.calls == production.compared.calls
    assert found.attempts == production.compared.attempts
