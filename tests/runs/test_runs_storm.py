"""A provider in a storm: everything ends by itself, attempts are bounded, and the report says what happened."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from builders.projects import MIRIAM, emitted, generous, served
from cli.terminal import failed, screentest
from fakes import Answer, Cuts, Drips, Fails, FakeProvider, Hangs, Raw, Seen, rate_limited, talking
from fakes.clock import run_virtually
from runs.theatre import KEY, LABELS, asked, edited, evaluated, states, written
from screentest.builders import Benchmark, Config, build, evaluate, load_config
from screentest.builders.verification import verify
from screentest.errors import CallError, Disconnected, RateLimited, TimedOut, TooManyFailures, Unavailable
from screentest.llms import Message, Meter, Request
from screentest.sim import STORE, Session, ledger

NELL = MIRIAM.model_copy(update={"id": "nell", "name": "Nell Hask"})
ATTEMPTS, TIMEOUT = 6, 60.0
PATIENCE = 0.01
ILLS: tuple[Answer, ...] = (
    Fails(500),
    Fails(503, "overloaded"),
    Fails(529),
    rate_limited(),
    rate_limited(retry_after="2"),
    Cuts("before_headers"),
    Cuts("before_headers", reset=True),
    Cuts("mid_body"),
    Cuts("mid_body", reset=True),
    Raw(b"<html>Bad gateway</html>"),
    Hangs(),
    Drips(TIMEOUT / 20),
)


@pytest.mark.parametrize(
    ("ill", "kind"),
    [
        (Drips(0.02), TimedOut),
        (Hangs(), TimedOut),
        (Cuts("before_headers", reset=True), Disconnected),
        (Cuts("mid_body", reset=True), Disconnected),
        (Cuts("mid_body"), Disconnected),
        (Raw(b"<html>Bad gateway</html>"), Unavailable),
        (Fails(529), Unavailable),
        (rate_limited(), RateLimited),
    ],
    ids=repr,
)
@pytest.mark.parametrize("provider", ["openai", "anthropic"])
async def test_every_ill_has_its_name_and_takes_no_longer_than_a_call_may(
    ill: Answer, kind: type[CallError], provider: Any
) -> None:
    async with asyncio.timeout(10), talking(lambda _: ill, provider, timeout=0.5, retries=1) as (server, model):
        with pytest.raises(kind):
            await model.reply(Request(messages=(Message("user", "Ahoy?"),), purpose="test", key="a"))
        assert len(server.requests) == 1


class Storm:
    """A server that answers nine of ten requests with something bad, while the storm lasts.

    Attributes:
        answers: What each request was answered: nothing if it was good.
        raging: Whether the storm lasts.
    """

    def __init__(self, seed: int, *ills: Answer, share: float = 0.9) -> None:
        self._draw, self._ills, self._share = random.Random(seed), ills or ILLS, share
        self.answers: list[tuple[float, Seen, Answer | None]] = []
        self.raging = True

    def __call__(self, seen: Seen) -> Answer:
        ill = self._draw.choice(self._ills) if self.raging and self._draw.random() < self._share else None
        self.answers.append((asyncio.get_running_loop().time(), seen, ill))
        return generous(seen) if ill is None else ill

    @property
    def good(self) -> int:
        """Requests that were answered well."""
        return sum(ill is None for *_, ill in self.answers)


def _project(directory: Path, server: FakeProvider, **changes: Any) -> Config:
    fields = {"retries": ATTEMPTS, "timeout": TIMEOUT, "key_env": "SENTINEL_KEY"}
    return load_config(written(directory, server, models=served(server, *LABELS, **fields), **changes))


def _session(**more: Any) -> Session:
    return Session(environment={"SENTINEL_KEY": KEY}, **more)


def _assert_truthful(run: Path, meter: Meter, server: FakeProvider, since: int = 0) -> None:
    """What was counted, what is stored and what the server saw are the same."""
    assert (meter.in_flight, meter.cancelled) == (0, 0)
    assert meter.started == meter.finished + meter.failed.total()
    assert len(server.requests) - since == meter.started + meter.retries
    rows = ledger(run / STORE)
    assert sum(row.failed for row in rows) == meter.failed.total()
    assert states(run).keys() <= {"done", "failed"}
    assert not [check for check in verify(run) if check.problem]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_build_in_a_storm_ends_and_its_report_is_true(tmp_path: Path, seed: int) -> None:
    async def scenario() -> None:
        storm, meter = Storm(seed), Meter()
        async with FakeProvider(storm) as server:
            settings = _project(tmp_path, server, characters=(MIRIAM, NELL))
            with pytest.raises(TooManyFailures, match=r"\d of \d conversations failed") as ended:
                await build(settings, tmp_path / "run", session=_session(), meter=meter)
            assert ended.value.exit_code == 4
            report = Benchmark.open(tmp_path / "run").manifest.report
            assert report.conversations == report.kept + report.graded_low + report.ungraded + report.failed
            assert report.failed == sum(report.faults.values()) == meter.failed.total() > 0
            assert report.faults == dict(sorted(meter.failed.items())), "each conversation ended by a failed call"
            assert meter.finished == storm.good
            assert max(asked(server).values()) <= ATTEMPTS
            _assert_truthful(tmp_path / "run", meter, server)

    run_virtually(scenario(), PATIENCE)


@pytest.mark.parametrize("seed", [1, 2])
def test_an_evaluation_in_a_storm_ends_and_is_completed_when_it_is_over(tmp_path: Path, seed: int) -> None:
    async def scenario() -> None:
        storm = Storm(seed)
        storm.raging = False
        async with FakeProvider(storm) as server:
            settings = _project(tmp_path, server, build={"scenes": 6, "quota": 2})
            benchmark = await build(settings, tmp_path / "run", session=_session())
            await evaluate(benchmark, settings, tmp_path / "calm", session=_session())
            before, good, meter = len(server.requests), storm.good, Meter()

            storm.raging = True
            with pytest.raises(TooManyFailures, match=r"\d of \d items have no score") as ended:
                await evaluate(benchmark, settings, tmp_path / "eval", session=_session(), meter=meter)
            assert ended.value.exit_code == 4
            assert asyncio.get_running_loop().time() > 120.0, "it went on for minutes"
            assert max(asked(server, before).values()) <= ATTEMPTS
            assert meter.finished == storm.good - good
            _assert_truthful(tmp_path / "eval", meter, server, before)

            storm.raging, before = False, len(server.requests)
            stored = states(tmp_path / "eval")["done"]
            await evaluate(benchmark, settings, tmp_path / "eval", session=_session())
            assert evaluated(tmp_path / "eval") == evaluated(tmp_path / "calm")
            assert states(tmp_path / "eval") == states(tmp_path / "calm")
            assert len(server.requests) - before == states(tmp_path / "calm")["done"] - stored, "what was missing"

    run_virtually(scenario(), PATIENCE)


def test_a_storm_that_passes_in_time_leaves_no_trace(tmp_path: Path) -> None:
    async def scenario() -> None:
        storm = Storm(5, share=0.5)
        async with FakeProvider(generous) as server:
            settings = _project(tmp_path, server)
            await build(settings, tmp_path / "calm", session=_session())
            server.behaviour = storm
            edited(tmp_path / "config.yaml", lambda data: [spec.update(retries=30) for spec in data["models"].values()])
            await build(load_config(tmp_path / "config.yaml"), tmp_path / "run", session=_session())
            assert len(storm.answers) > 1.5 * storm.good
            assert emitted(tmp_path / "run") == emitted(tmp_path / "calm")

    run_virtually(scenario(), PATIENCE)


def test_a_server_that_is_down_is_asked_less_and_less_often(tmp_path: Path) -> None:
    async def scenario() -> None:
        down = Storm(1, Fails(503), Cuts("before_headers", reset=True), share=1.0)
        async with FakeProvider(generous) as server:
            settings = _project(tmp_path, server, build={"scenes": 6, "quota": 2})
            benchmark = await build(settings, tmp_path / "run", session=_session())
            before, meter, server.behaviour = len(server.requests), Meter(), down
            with pytest.raises(TooManyFailures):
                await evaluate(benchmark, settings, tmp_path / "eval", session=_session(concurrency=64), meter=meter)
            answers = 2 * benchmark.manifest.items
            assert meter.failed.total() == meter.started == answers, "nothing is judged that nobody said"
            assert Counter(asked(server, before).values()) == {ATTEMPTS: answers}
            times = [at for at, *_ in down.answers]
            gaps = [later - earlier for earlier, later in pairwise(times)]
            assert len(gaps) > 32
            assert min(gaps[16:]) >= 2.0, "the gate opens for sixteen calls at most, and eight failures close it"
            assert min(gaps[24:]) >= 60.0
            _assert_truthful(tmp_path / "eval", meter, server, before)

    run_virtually(scenario(), PATIENCE)


def test_the_command_line_says_in_one_line_how_a_storm_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SENTINEL_KEY", KEY)
    ills = iter((Cuts("mid_body", reset=True), Fails(503), Drips(0.02)))
    with FakeProvider.threaded(lambda _: next(ills)) as server:
        models = served(server, *LABELS, key_env="SENTINEL_KEY", retries=1, timeout=1.0)
        file = written(tmp_path, server, models=models, build={"scenes": 40, "lag": 1})
        said = failed(screentest("build", file, "--run", tmp_path / "run"), code=4)
    assert "3 of 3 conversations failed (1 disconnected, 1 timed_out, 1 unavailable)" in said
    assert screentest("verify", tmp_path / "run").exit_code == 0
    assert len(server.requests) == 3
