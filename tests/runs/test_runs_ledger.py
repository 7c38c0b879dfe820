"""The ledger: by stage, role and model; every retry is kept with its cause, and what may have been billed is not 0."""

from __future__ import annotations

import asyncio
import json
import signal
import sqlite3
import sys
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from builders.projects import generous, served
from cli.terminal import screentest
from fakes import Fails, FakeProvider, Says, Seen
from fakes.models import Scripted, said
from runs.theatre import KEY, LABELS, Theatre, states, written
from screentest.builders import Benchmark, build, evaluate, load_config
from screentest.errors import Disconnected, EmptyReply, RateLimited, TimedOut, Unavailable
from screentest.llms import Journaled, Message, Model, Noted, Request, Retrying
from screentest.sim import LedgerRow, Session, Store, fork, ledger
from screentest.sim.ledger import role

IDENTITY = {"model": "m"}
REQUEST = Request(
    messages=(Message("user", "Who keeps the light?"),), purpose="play.test", key="a/turn/01/source/play.test"
)
ENVIRONMENT = {"SENTINEL_KEY": KEY}
PRICE = {"input": 3.0, "output": 15.0}


@asynccontextmanager
async def kept(directory: Path, model: Model, *, retry_failed: bool = False) -> AsyncIterator[tuple[Journaled, Store]]:
    """A model that is retried at once, and the store that notes its attempts."""

    async def at_once(_: float) -> None:
        await asyncio.sleep(0)

    store = Store(directory / "run.db", retry_failed=retry_failed)
    try:
        retrying = Retrying(Noted(model, store, IDENTITY), attempts=4, sleep=at_once)
        yield Journaled(retrying, store, IDENTITY), store
    finally:
        await store.drain(5)
        store.close()


async def stopped_after(directory: Path, model: Model, attempts: int) -> None:
    """A session that stops while its only call waits, after so many attempts."""
    naps, asleep = iter(range(1, attempts + 1)), asyncio.Event()

    async def nap(_: float) -> None:
        if next(naps) == attempts:
            asleep.set()
            await asyncio.sleep(60)

    store = Store(directory / "run.db")
    journaled = Journaled(Retrying(Noted(model, store, IDENTITY), sleep=nap), store, IDENTITY)
    caller = asyncio.create_task(journaled.reply(REQUEST))
    await asleep.wait()
    await store.drain(20)
    await asyncio.gather(caller, return_exceptions=True)
    store.close()


def only(directory: Path) -> LedgerRow:
    """The one row of a ledger."""
    (row,) = ledger(directory / "run.db")
    return row


@pytest.mark.parametrize(
    ("key", "purpose", "expected"),
    [
        ("vera/alice/003/turn/07/direct", "direct", "director"),
        ("vera/alice/003/turn/07/play.scene", "play.scene", "scene"),
        ("vera/base/003/turn/07/source/play.test", "play.test", "source"),
        ("vera/source/003/turn/07/base/play.test", "play.test", "base"),
        ("tested/base/003/turn/07/source/play.test", "play.test", "source"),
        ("vera/alice/003/turn/07/judge.dimension", "judge.dimension", "judge"),
        ("vera/alice/003/turn/07/judge.pairwise/challenger_first/reask", "judge.pairwise", "judge"),
        ("vera/alice/003/filter", "filter", "filter"),
        ("@eval/vera/alice/003/07/base/play.test", "play.test", "base"),
        ("@eval/vera/alice/003/07/tested/base/play.test", "play.test", "tested"),
        ("@eval/vera/alice/003/07/tested/tested/play.test", "play.test", "tested"),
        ("@eval/vera/alice/003/07/tested/alice/by/base/judge.pairwise/reference_first", "judge.pairwise", "judge"),
        ("somewhere/else", "play.test", "play.test"),
        ("play.test", "play.test", "play.test"),
        ("a/turn/01", "embroider", "embroider"),
    ],
)
def test_the_place_of_a_call_tells_the_role(key: str, purpose: str, expected: str) -> None:
    assert role(key, purpose) == expected


async def test_a_model_in_several_roles_has_a_row_for_each(tmp_path: Path) -> None:
    async with FakeProvider(generous) as server:
        models = served(server, *LABELS, key_env="SENTINEL_KEY", price=PRICE)
        parts = {"director": "director", "scene": "scene", "sources": ["alice", "bob"], "base": "bob"}
        roles = {**parts, "judge": "judge", "filter": "alice", "tested": ["alice", "bob"]}
        config = load_config(written(tmp_path, server, models=models, roles=roles, build={"max_failures": 1}))
        session = Session(environment=ENVIRONMENT)
        benchmark = await build(config, tmp_path / "run", session=session)
        await evaluate(Benchmark.open(benchmark.path), config, tmp_path / "run", session=session)
        rows = ledger(tmp_path / "run/run.db")
        asked = Counter(seen.body["model"] for seen in server.requests)
    calls = {(row.stage, row.role, row.model, row.purpose): row.calls for row in rows}
    assert {place[:3] for place in calls} == {
        ("build", "director", "director"),
        ("build", "scene", "scene"),
        ("build", "source", "alice"),
        ("build", "source", "bob"),
        ("build", "base", "bob"),
        ("build", "judge", "judge"),
        ("build", "filter", "alice"),
        ("eval", "tested", "alice"),
        ("eval", "tested", "bob"),
        ("eval", "base", "bob"),
        ("eval", "judge", "judge"),
    }
    auditions = calls["build", "base", "bob", "play.test"]
    assert auditions == sum(calls["build", "source", label, "play.test"] for label in ("alice", "bob"))
    assert len({calls["eval", part, "bob", "play.test"] for part in ("tested", "base")}) == 1
    for label in LABELS:
        assert sum(row.calls for row in rows if row.model == label) == asked[label]


@pytest.mark.parametrize(
    ("errors", "retries", "unsure"),
    [
        ([RateLimited("429"), RateLimited("429"), Unavailable("503")], {"rate_limited": 2, "unavailable": 1}, 0),
        ([TimedOut("late")], {"timed_out": 1}, 1),
        ([Unavailable("503"), Disconnected("cut")], {"unavailable": 1, "disconnected": 1}, 1),
        ([EmptyReply("x", reply=said(""))], {"empty": 1}, 0),
        ([], {}, 0),
    ],
)
async def test_every_attempt_beyond_the_first_is_kept_with_its_cause(
    tmp_path: Path, errors: list[Exception], retries: dict[str, int], unsure: int
) -> None:
    async with kept(tmp_path, Scripted(*errors, said("Aye."))) as (model, _):
        assert (await model.reply(REQUEST)).text == "Aye."
    row = only(tmp_path)
    assert (row.calls, row.failed, row.retries, row.unsure) == (1, 0, retries, unsure)


async def test_a_call_that_failed_for_good_was_attempted_once_more_than_it_was_retried(tmp_path: Path) -> None:
    model = Scripted(Unavailable("503"), RateLimited("429"), Unavailable("503"), TimedOut("late"), "At last.")
    async with kept(tmp_path, model) as (journaled, _):
        with pytest.raises(TimedOut):
            await journaled.reply(REQUEST)
    row = only(tmp_path)
    assert (row.calls, row.failed, row.retries) == (0, 1, {"unavailable": 2, "rate_limited": 1})
    assert (row.cost, row.unsure) == (0, 1), "the attempt that timed out may have been billed"
    async with kept(tmp_path, model, retry_failed=True) as (journaled, _):
        await journaled.reply(REQUEST)
    row = only(tmp_path)
    assert (row.calls, row.failed, row.unsure) == (1, 0, 1)
    assert row.retries == {"unavailable": 2, "rate_limited": 1, "timed_out": 1}, "what an earlier session did is kept"


async def test_a_call_that_waits_for_its_next_attempt_is_not_in_flight_and_nobody_waits_for_it(tmp_path: Path) -> None:
    scripted = Scripted(RateLimited("slow down", retry_after=60), "At last.")
    async with asyncio.timeout(5):
        await stopped_after(tmp_path, scripted, attempts=1)
    row = only(tmp_path)
    assert (row.calls, row.failed, row.unsure, row.retries) == (0, 0, 0, {}), "a 429 is not billed, and none followed"
    async with kept(tmp_path, scripted) as (model, store):
        assert store.tally.interrupted == 0
        await model.reply(REQUEST)
        assert (store.tally.made, store.tally.repeated) == (1, 0)
    assert only(tmp_path).retries == {"rate_limited": 1}


async def test_an_attempt_that_fails_while_the_run_is_stopping_is_the_last(tmp_path: Path) -> None:
    scripted = Scripted(Unavailable("503"), seconds=0.05)
    async with kept(tmp_path, scripted) as (model, store):
        caller = asyncio.create_task(model.reply(REQUEST))
        await asyncio.sleep(0.01)
        await store.drain(20)
        assert isinstance((await asyncio.gather(caller, return_exceptions=True))[0], asyncio.CancelledError)
    assert len(scripted.requests) == 1
    assert only(tmp_path).unsure == 0


async def test_a_call_is_counted_once_however_often_it_is_attempted(tmp_path: Path) -> None:
    async with kept(tmp_path, Scripted(Unavailable("503"), Unavailable("503"), "Aye.")) as (model, store):
        await model.reply(REQUEST)
        assert (store.tally.made, store.tally.failed) == (1, 0)


async def cut_off(directory: Path) -> None:
    """A session that ends while its only call is in flight."""
    store = Store(directory / "run.db")
    model = Journaled(Noted(Scripted("lost", seconds=60), store, IDENTITY), store, IDENTITY)
    caller = asyncio.create_task(model.reply(REQUEST))
    await asyncio.sleep(0.01)
    await store.drain(0)
    await asyncio.gather(caller, return_exceptions=True)
    store.close()


async def test_a_call_that_was_cut_off_with_its_session_may_have_been_billed(tmp_path: Path) -> None:
    await cut_off(tmp_path)
    assert (only(tmp_path).calls, only(tmp_path).unsure) == (0, 1)
    async with kept(tmp_path, Scripted("Aye.")) as (model, _):
        await model.reply(REQUEST)
    row = only(tmp_path)
    assert (row.calls, row.retries, row.unsure) == (1, {"interrupted": 1}, 1)


async def test_a_call_that_is_fetched_from_an_earlier_batch_was_attempted_once(tmp_path: Path) -> None:
    await cut_off(tmp_path)
    store = Store(tmp_path / "run.db")
    noted = Noted(Scripted("Aye."), store, IDENTITY, handed_in=lambda request: request is REQUEST)
    await Journaled(noted, store, IDENTITY).reply(REQUEST)
    store.close()
    assert store.tally.repeated == 1
    row = only(tmp_path)
    assert (row.calls, row.retries, row.unsure) == (1, {}, 0)


async def test_a_store_without_a_place_for_retries_is_given_one(tmp_path: Path) -> None:
    async with kept(tmp_path, Scripted(said("Aye."))) as (model, _):
        await model.reply(REQUEST)
    with closing(sqlite3.connect(tmp_path / "run.db")) as old:
        old.execute("DROP TABLE retries")
        old.execute("PRAGMA user_version = 1")
    assert (only(tmp_path).calls, only(tmp_path).retries) == (1, {})
    async with kept(tmp_path, Scripted(Unavailable("503"), said("Nay."))) as (model, _):
        assert (await model.reply(REQUEST)).text == "Aye."
        await model.reply(replace(REQUEST, key="b/turn/01/source/play.test"))
    assert (only(tmp_path).calls, only(tmp_path).retries) == (2, {"unavailable": 1})


async def test_a_fork_takes_along_the_retries_of_the_calls_it_takes(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.mkdir()
    async with kept(one, Scripted(Unavailable("503"), "Aye.")) as (model, _):
        await model.reply(replace(REQUEST, key="b/turn/01/source/play.test"))
    await stopped_after(one, Scripted(TimedOut("late")), attempts=3)
    assert (only(one).retries, only(one).unsure) == ({"unavailable": 1, "timed_out": 2}, 1)
    fork(one, two)
    assert (only(two).retries, only(two).unsure) == ({"unavailable": 1}, 0)
    async with kept(two, Scripted("Aye.")) as (model, _):
        await model.reply(REQUEST)
    assert (only(two).calls, only(two).retries, only(two).unsure) == (2, {"unavailable": 1}, 0)


def _stumbling(server: FakeProvider) -> Any:
    """Every body is refused twice, with 429 and 503 or 503 and 503, before it is answered."""

    def answer(seen: Seen) -> Says | Fails:
        times = sum(earlier.body == seen.body for earlier in server.requests)
        if times == 1 and seen.generator.random() < 0.5:
            return Fails(429, headers={"retry-after-ms": "1"})
        return Fails(503) if times <= 2 else generous(seen)

    return answer


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Retries come at once, storms break nothing off."""
    monkeypatch.setattr("screentest.llms.retries._FIRST_WAIT", 0.001)
    monkeypatch.setattr("screentest.llms.limits._STORM", 10**6)


@pytest.mark.usefixtures("impatient")
def test_the_ledger_and_the_end_of_a_run_tell_what_the_server_saw(tmp_path: Path) -> None:
    with FakeProvider.threaded(generous) as server:
        models = served(server, *LABELS, key_env="SENTINEL_KEY", price=PRICE, retries=4)
        file = written(tmp_path, server, models=models)
        server.behaviour = _stumbling(server)
        ended = screentest("build", file, "--run", tmp_path / "run", "--json-progress", SENTINEL_KEY=KEY)
        assert ended.exit_code == 0, ended.output
        told = [json.loads(line) for line in ended.stderr.splitlines()]
        seen = len(server.requests)
        again = screentest("build", file, "--run", tmp_path / "run", SENTINEL_KEY=KEY)
        assert len(server.requests) == seen
    rows = ledger(tmp_path / "run/run.db")
    retries = sum((Counter(row.retries) for row in rows), Counter[str]())
    assert retries.keys() == {"rate_limited", "unavailable"}
    assert sum(row.calls for row in rows) + retries.total() == seen
    for row in rows:
        assert sum(row.retries.values()) == 2 * row.calls
    end = next(record for record in told if record["event"] == "end")
    assert (end["retries"], end["unsure"]) == (retries, 0)
    causes = ", ".join(f"{count} {cause}" for cause, count in retries.most_common())
    assert f"All sessions, retries: {causes}." in " ".join(again.stderr.split())
    shown = screentest("ledger", tmp_path / "run").output
    assert f"retries: {causes}" in shown
    header, *lines = (line.split() for line in shown.splitlines())
    assert " ".join(header) == "stage role model calls failed retries input cached output reasoning USD"
    assert " ".join(line[1] for line in lines if line[0] == "build") == "director scene source base judge filter"
    total = next(line for line in lines if line[0] == "all")
    assert total[1:4] == [str(sum(row.calls for row in rows)), "0", str(retries.total())]
    assert "?" not in total[-1], "neither a 429 nor a 503 is billed"


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_what_was_in_flight_at_a_kill_is_of_unknown_cost_for_ever(tmp_path: Path) -> None:
    with FakeProvider.threaded(generous, latency=0.3) as server:
        models = served(server, *LABELS, key_env="SENTINEL_KEY", price=PRICE)
        theatre = Theatre(server, tmp_path, written(tmp_path, server, models=models))
        run = tmp_path / "run"
        theatre.cut(theatre.building(run), 6, signal.SIGKILL)
        lost = states(run)["begun"]
        assert lost
        assert sum(row.unsure for row in ledger(run / "run.db")) == lost
        assert f"may have cost more: {lost} calls" in screentest("ledger", run).output
        server.latency = 0.0
        theatre.done(theatre.building(run))
    rows = ledger(run / "run.db")
    assert sum((Counter(row.retries) for row in rows), Counter[str]()) == {"interrupted": lost}
    assert sum(row.unsure for row in rows) == lost
    (total,) = (line.split() for line in screentest("ledger", run).output.splitlines() if line.startswith("all"))
    assert total[-1].endswith("+?"), "the sum lacks something"


@pytest.mark.usefixtures("impatient")
async def test_a_run_that_failed_keeps_its_attempts_too(tmp_path: Path) -> None:
    def moody(seen: Seen) -> Says | Fails:
        return Fails(500) if seen.body["model"] == "alice" else generous(seen)

    async with FakeProvider(moody) as server:
        models = served(server, *LABELS, key_env="SENTINEL_KEY", price=PRICE, retries=3)
        config = load_config(written(tmp_path, server, models=models))
        with pytest.raises(Exception, match="conversations failed"):
            await build(config, tmp_path / "run", session=Session(environment=ENVIRONMENT))
        (row,) = (row for row in ledger(tmp_path / "run/run.db") if row.model == "alice")
        asked = sum(seen.body["model"] == "alice" for seen in server.requests)
    assert row.failed + sum(row.retries.values()) == asked == 3 * row.failed
    assert row.retries == {"unavailable": 2 * row.failed}
