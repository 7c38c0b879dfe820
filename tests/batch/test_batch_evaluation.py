"""An evaluation in batches: the same outcome as online, at half the price, whatever happens to single requests."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from batch.stage import PACE, Protocol, batched, config, online, outcome
from builders.projects import load_with, records
from fakes import Behaviour, Cancels, Expires, Fails, FakeProvider, Says, Seen, improvise
from fakes.batches import Result
from fakes.behaviours import Answer
from screentest.builders import Benchmark, Results, evaluate
from screentest.errors import BatchUnreachable, BudgetExhausted
from screentest.llms import Meter
from screentest.sim import Session, Store

PROTOCOLS: tuple[Protocol, ...] = ("openai", "anthropic")
both = pytest.mark.parametrize("protocol", PROTOCOLS)


def _first_attempts(result: Result) -> Callable[[str, Seen], Result | None]:
    return lambda custom_id, seen: result if custom_id.endswith("-0") else None


def _attempts(server: FakeProvider) -> set[str]:
    return {custom_id.rpartition("-")[2] for custom_id in server.batches.handed_in}


@both
async def test_the_outcome_is_that_of_an_online_run_at_half_the_cost(
    benchmark: Benchmark, tmp_path: Path, protocol: Protocol
) -> None:
    async with FakeProvider() as server:
        settings = config(server, protocol)
        await online(benchmark, settings, tmp_path / "online")
        online_calls = len(server.requests)
        meter = await batched(benchmark, settings, tmp_path / "batched")
        assert len(server.requests) == online_calls, "no call was made one by one"
    assert outcome(tmp_path / "batched") == outcome(tmp_path / "online")
    assert server.batches.handed_in.total() == online_calls == meter.finished
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", custom_id) for custom_id in server.batches.handed_in)
    assert all(len(batch.models) == 1 for batch in server.batches.handed)
    assert (meter.batches.ended, meter.batches.open, meter.batches.submitted, meter.batches.waiting) == (
        len(server.batches.handed),
        *(0, 0, 0),
    )
    spent = {}
    for name in ("online", "batched"):
        store = Store(tmp_path / name / "run.db")
        spent[name] = store.spent()
        store.close()
    assert spent["batched"] == pytest.approx(meter.cost) == pytest.approx(spent["online"] / 2)
    assert meter.cost > 0


@both
async def test_what_is_sent_is_what_goes_out_online(benchmark: Benchmark, tmp_path: Path, protocol: Protocol) -> None:
    async with FakeProvider() as server:
        settings = config(server, protocol)
        await online(benchmark, settings, tmp_path / "online")
        await batched(benchmark, settings, tmp_path / "batched")
    handed = [seen for batch in server.batches.handed for seen in batch.requests.values()]
    order = repr
    assert sorted((seen.body for seen in handed), key=order) == sorted(server.bodies, key=order)
    if protocol == "anthropic":
        versions = {seen.headers["anthropic-version"] for seen in handed}
        assert versions == {seen.headers["anthropic-version"] for seen in server.requests}


async def test_custom_ids_depend_on_nothing_but_the_calls(benchmark: Benchmark, tmp_path: Path) -> None:
    async with FakeProvider() as server:
        seen: list[set[str]] = []
        settings = config(server), config(server, retries=9), config(server, temperature=0.3)
        for number, changed in enumerate(settings):
            await batched(benchmark, changed, tmp_path / str(number))
            seen.append(set(server.batches.handed_in))
            server.batches.gone()
    assert seen[0] == seen[1]
    assert not seen[0] & seen[2]


async def test_waiting_calls_go_in_few_batches(benchmark: Benchmark, tmp_path: Path) -> None:
    async with FakeProvider() as server:
        pace = type(PACE)(quiet=0.3, first_poll=0.001, longest_poll=0.004, settle=0.01)
        session = Session(batch=True, pace=pace, concurrency=1)
        await evaluate(benchmark, config(server), tmp_path / "run", session=session)
    assert sorted(model for batch in server.batches.handed for model in batch.models) == ["base", "judge", "tested"]


def _unsteady(seen: Seen) -> Answer:
    luck = seen.generator.random()
    return Fails(400, "not with me", "invalid_request_error") if luck < 0.3 else improvise(seen)


def _speechless(seen: Seen) -> Answer:
    return Says("") if seen.body["model"].endswith("tested") else improvise(seen)


def _unstructured(seen: Seen) -> Answer:
    return Says("no JSON, ever") if seen.schema else improvise(seen)


def _filtering(seen: Seen) -> Answer:
    return Says("", finish="filtered") if seen.body["model"].endswith("base") else improvise(seen)


def _without_schemas(seen: Seen) -> Answer:
    refused = seen.body.keys() & {"response_format", "output_config"}
    return Fails(400, f"{min(refused)} is not supported", "invalid_request_error") if refused else improvise(seen)


def _without_structure(seen: Seen) -> Answer:
    refused = seen.body.keys() & {"response_format", "output_config", "tools"}
    return Fails(400, f"{min(refused)} is not supported", "invalid_request_error") if refused else improvise(seen)


def _without_temperature(seen: Seen) -> Answer:
    refused = "temperature" in seen.body
    return Fails(400, "temperature is not supported", "invalid_request_error") if refused else improvise(seen)


@both
@pytest.mark.parametrize(
    "behaviour",
    [
        _unsteady,
        _speechless,
        _unstructured,
        _filtering,
        _without_schemas,
        _without_structure,
        _without_temperature,
    ],
)
async def test_failures_and_refusals_end_as_they_do_online(
    benchmark: Benchmark, tmp_path: Path, protocol: Protocol, behaviour: Behaviour
) -> None:
    async with FakeProvider(behaviour) as server:
        settings = config(server, protocol)
        for name, evaluated in (("online", online), ("batched", batched)):
            await evaluated(benchmark, settings, tmp_path / name)
    assert outcome(tmp_path / "batched") == outcome(tmp_path / "online")
    assert set(server.batches.handed_in.values()) == {1}


@both
async def test_what_expired_goes_into_the_next_batch(benchmark: Benchmark, tmp_path: Path, protocol: Protocol) -> None:
    async with FakeProvider() as server:
        settings = config(server, protocol)
        await batched(benchmark, settings, tmp_path / "whole")
        server.batches.gone()
        server.batches.result = _first_attempts(Expires())
        meter = await batched(benchmark, settings, tmp_path / "run")
    assert outcome(tmp_path / "run") == outcome(tmp_path / "whole")
    assert _attempts(server) == {"0", "1"}
    assert meter.retries == meter.finished


@both
async def test_a_partly_failed_batch_costs_only_what_failed(
    benchmark: Benchmark, tmp_path: Path, protocol: Protocol
) -> None:
    def now_and_then(custom_id: str, seen: Seen) -> Result | None:
        failing = custom_id.endswith("-0") and seen.generator.random() < 0.5
        return Fails(529 if protocol == "anthropic" else 503, "busy", "overloaded_error") if failing else None

    async with FakeProvider() as server:
        settings = config(server, protocol)
        await batched(benchmark, settings, tmp_path / "whole")
        needed = server.batches.handed_in.total()
        server.batches.gone()
        server.batches.result = now_and_then
        await batched(benchmark, settings, tmp_path / "run")
    assert outcome(tmp_path / "run") == outcome(tmp_path / "whole")
    assert set(server.batches.handed_in.values()) == {1}
    assert needed < server.batches.handed_in.total() < 2 * needed


@both
async def test_what_was_cancelled_fails_and_is_made_by_the_next_session(
    benchmark: Benchmark, tmp_path: Path, protocol: Protocol
) -> None:
    async with FakeProvider() as server:
        settings = config(server, protocol)
        await online(benchmark, settings, tmp_path / "online")
        server.batches.result = _first_attempts(Cancels())
        await batched(benchmark, settings, tmp_path / "run")
        assert _attempts(server) == {"0"}
        before = Results.model_validate_json((tmp_path / "run/results.json").read_bytes())
        assert before.models["tested"].overall.scored == 0
        assert all("cancelled" in row["failures"][0]["detail"] for row in records(tmp_path / "run/evaluations.jsonl"))
        server.batches.result = lambda custom_id, seen: None
        await batched(benchmark, settings, tmp_path / "run")
    assert outcome(tmp_path / "run") == outcome(tmp_path / "online")
    assert set(server.batches.handed_in.values()) == {1}


@both
async def test_a_batch_created_behind_a_failure_is_found(
    benchmark: Benchmark, tmp_path: Path, protocol: Protocol
) -> None:
    async with FakeProvider() as server:
        server.batches.deaf = 2
        await batched(benchmark, config(server, protocol), tmp_path / "run")
    assert server.batches.deaf == 0
    assert set(server.batches.handed_in.values()) == {1}


@both
async def test_a_provider_that_is_down_for_a_while_is_waited_for(
    benchmark: Benchmark, tmp_path: Path, protocol: Protocol
) -> None:
    async with FakeProvider() as server:
        server.batches.down = 12
        await batched(benchmark, config(server, protocol), tmp_path / "run")
    assert set(server.batches.handed_in.values()) == {1}


@both
async def test_a_provider_that_stays_down_stops_the_run_which_goes_on_later(
    benchmark: Benchmark, tmp_path: Path, protocol: Protocol
) -> None:
    async with FakeProvider() as server:
        settings = config(server, protocol)
        server.batches.result = lambda custom_id, seen: _go_down(server)
        with pytest.raises(BatchUnreachable, match=r"run the same command again") as caught:
            await batched(benchmark, settings, tmp_path / "run")
        assert caught.value.exit_code == 75
        server.batches.down, server.batches.result = 0, lambda custom_id, seen: None
        await batched(benchmark, settings, tmp_path / "run")
        assert set(server.batches.handed_in.values()) == {1}
        await online(benchmark, settings, tmp_path / "online")
    assert outcome(tmp_path / "run") == outcome(tmp_path / "online")


def _go_down(server: FakeProvider) -> None:
    server.batches.down = 1_000


@both
async def test_a_batch_that_the_provider_has_no_more_is_asked_again(
    benchmark: Benchmark, tmp_path: Path, protocol: Protocol
) -> None:
    async with FakeProvider() as server:
        settings = config(server, protocol)
        server.batches.result = lambda custom_id, seen: _go_down(server)
        with pytest.raises(BatchUnreachable):
            await batched(benchmark, settings, tmp_path / "run")
        server.batches.down, server.batches.result = 0, lambda custom_id, seen: None
        server.batches.gone()
        await batched(benchmark, settings, tmp_path / "run")
        await online(benchmark, settings, tmp_path / "online")
    assert outcome(tmp_path / "run") == outcome(tmp_path / "online")
    assert {"1"} <= _attempts(server)
    assert set(server.batches.handed_in.values()) == {1}


async def test_going_on_without_batches_is_warned_of(
    benchmark: Benchmark, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with FakeProvider() as server:
        settings = config(server)
        server.batches.result = lambda custom_id, seen: _go_down(server)
        with pytest.raises(BatchUnreachable):
            await batched(benchmark, settings, tmp_path / "run")
        await online(benchmark, settings, tmp_path / "run")
    (warning,) = [record.getMessage() for record in caplog.records if record.name == "screentest.sim.run"]
    assert "2 batches are still at the provider" in warning


async def test_batches_shrink_to_what_the_account_may_enqueue(benchmark: Benchmark, tmp_path: Path) -> None:
    async with FakeProvider() as server:
        settings = config(server)
        await online(benchmark, settings, tmp_path / "online")
        server.batches.enqueued = 1
        await batched(benchmark, settings, tmp_path / "run")
        assert {len(batch.requests) for batch in server.batches.handed if not batch.errors} == {1}
        assert any(batch.errors for batch in server.batches.handed)
    assert outcome(tmp_path / "run") == outcome(tmp_path / "online")
    assert set(server.batches.handed_in.values()) == {1}


async def test_a_local_server_without_batches_is_asked_online(benchmark: Benchmark, tmp_path: Path) -> None:
    async with FakeProvider() as server:
        settings = config(server)
        await online(benchmark, settings, tmp_path / "online")
        calls = len(server.requests)
        server.batches.missing = True
        meter = await batched(benchmark, settings, tmp_path / "run")
    assert outcome(tmp_path / "run") == outcome(tmp_path / "online")
    assert len(server.requests) == 2 * calls
    assert meter.finished == calls


async def test_understudies_answer_at_once(benchmark: Benchmark, tmp_path: Path) -> None:
    models = {skill: {"provider": "understudy", "skill": skill} for skill in ("adept", "expert")}
    settings = load_with(models=models, evaluate={"resamples": 100})
    await evaluate(benchmark, settings, tmp_path / "online")
    meter = Meter()
    await evaluate(benchmark, settings, tmp_path / "run", session=Session(batch=True), meter=meter)
    assert outcome(tmp_path / "run") == outcome(tmp_path / "online")
    assert meter.batches.ended == 0


async def test_a_budget_stops_the_run_before_a_batch_that_it_could_not_pay(
    benchmark: Benchmark, tmp_path: Path
) -> None:
    async with FakeProvider() as server:
        settings = config(server)
        with pytest.raises(BudgetExhausted):
            await batched(benchmark, settings, tmp_path / "run", max_usd=0.0001)
        assert not server.batches.handed
        await batched(benchmark, settings, tmp_path / "run", max_usd=1.0)
        await online(benchmark, settings, tmp_path / "online")
    assert outcome(tmp_path / "run") == outcome(tmp_path / "online")


@both
async def test_a_finished_run_is_replayed_without_a_provider(
    benchmark: Benchmark, tmp_path: Path, protocol: Protocol
) -> None:
    async with FakeProvider() as server:
        settings = config(server, protocol)
        await batched(benchmark, settings, tmp_path / "run")
    before = outcome(tmp_path / "run")
    await evaluate(benchmark, settings, tmp_path / "run", session=Session(replay=True))
    assert outcome(tmp_path / "run") == before
