"""Batches by themselves: how large they get, whose they are, and what their results say."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import orjson
import pytest
from pydantic import BaseModel

from batch.stage import PACE
from fakes import Cancels, Expires, Fails, FakeProvider, Says, improvise, says
from screentest.errors import CallError, NoBatchApi, Rejected, TimedOut, Unavailable
from screentest.llms import Batches, BatchProgress, BatchRecord, Message, Request, anthropic, half_price, openai
from screentest.llms.batch import BatchApi, Crowded
from screentest.llms.batch_anthropic import AnthropicBatches
from screentest.llms.batch_openai import OpenAIBatches
from screentest.llms.batched import Batched
from screentest.llms.openai import OpenAIModel
from screentest.llms.wire import Wire


class Log:
    """A log that is not on disk."""

    def __init__(self, *records: BatchRecord) -> None:
        self.kept = {record.id: record for record in records}

    def batches(self) -> list[BatchRecord]:
        return list(self.kept.values())

    async def note(self, batch: BatchRecord) -> None:
        self.kept[batch.id] = replace(batch, rungs=dict(batch.rungs))

    @property
    def states(self) -> list[str]:
        return [record.state for record in self.kept.values()]


@asynccontextmanager
async def _wire(server: FakeProvider, protocol: str = "openai") -> AsyncIterator[Wire]:
    module, url = (openai, server.openai_url) if protocol == "openai" else (anthropic, server.anthropic_url)
    wire = module.wire(url, "a-key", 5.0)
    try:
        yield wire
    finally:
        await wire.close()


def _batches(log: Log) -> Batches:
    return Batches(log, PACE, BatchProgress())


def _body(number: int, model: str = "gpt") -> bytes:
    message = {"role": "user", "content": f"Say {number}."}
    return orjson.dumps({"model": model, "messages": [message], "max_tokens": 9})


async def _send(batches: Batches, api: BatchApi, number: int, model: str = "gpt") -> object:
    line = api.line(f"st-{number}-0", _body(number, model))
    return await batches.send(f"st-{number}-0", line, None, api=api, model=model)


async def _send_all(batches: Batches, api: BatchApi, many: int) -> list[object]:
    return await asyncio.gather(*(_send(batches, api, number) for number in range(many)))


@pytest.mark.parametrize("protocol", ["openai", "anthropic"])
async def test_a_full_batch_goes_at_once_and_the_next_one_is_opened(protocol: str) -> None:
    async with FakeProvider() as server, _wire(server, protocol) as wire:
        api = OpenAIBatches(wire, most=3) if protocol == "openai" else AnthropicBatches(wire, most=3)
        batches = _batches(Log())
        assert all(isinstance(one, bytes) for one in await _send_all(batches, api, 8))
    assert sorted(len(batch.requests) for batch in server.batches.handed) == [2, 3, 3]
    assert set(server.batches.handed_in.values()) == {1}
    assert batches.progress == BatchProgress(ended=3)


@pytest.mark.parametrize("protocol", ["openai", "anthropic"])
async def test_a_batch_holds_no_more_bytes_than_it_may(protocol: str) -> None:
    async with FakeProvider() as server, _wire(server, protocol) as wire:
        unlimited = OpenAIBatches(wire) if protocol == "openai" else AnthropicBatches(wire)
        largest = 2 * len(unlimited.line("st-0-0", _body(0))) + 10
        await _send_all(_batches(Log()), replace(unlimited, largest=largest), 5)
    assert sorted(len(batch.requests) for batch in server.batches.handed) == [1, 2, 2]
    if protocol == "openai":
        uploads = [content for name, content in server.batches.files.items() if name.startswith("file-")]
        assert all(len(content) <= largest for content in uploads)


def test_the_documented_limits_are_kept() -> None:
    wire: Any = None
    assert (OpenAIBatches(wire).most, OpenAIBatches(wire).largest) == (50_000, 200_000_000)
    body = len('{"requests":[]}')
    assert AnthropicBatches(wire).most == 100_000
    assert AnthropicBatches(wire).largest + body - 1 <= 256_000_000


async def test_models_do_not_share_a_batch() -> None:
    async with FakeProvider() as server, _wire(server) as wire:
        batches, api = _batches(Log()), OpenAIBatches(wire)
        await asyncio.gather(_send(batches, api, 1, "a"), _send(batches, api, 2, "b"), _send(batches, api, 3, "a"))
    assert sorted((*batch.models, len(batch.requests)) for batch in server.batches.handed) == [("a", 2), ("b", 1)]


async def test_a_request_that_is_sent_twice_is_handed_in_once() -> None:
    async with FakeProvider() as server, _wire(server) as wire:
        batches, api = _batches(Log()), OpenAIBatches(wire)
        one, other = await asyncio.gather(_send(batches, api, 1), _send(batches, api, 1))
        again = await _send(batches, api, 1)
    assert one == other == again
    assert server.batches.handed_in == {"st-1-0": 1}


@pytest.mark.parametrize("theirs_in_progress", [False, True])
async def test_somebody_elses_batch_of_the_same_size_is_not_taken_for_ours(theirs_in_progress: bool) -> None:
    lost = BatchRecord(id="lost", model="gpt", state="submitting", noted=time.time(), rungs={"st-1-0": None})
    async with FakeProvider() as server, _wire(server, "anthropic") as wire:
        api, log = AnthropicBatches(wire), Log(lost)
        await _send(_batches(Log()), api, 2)
        if theirs_in_progress:
            server.batches.handed[0].polls = -5
        batches = _batches(log)
        assert batches.earlier("st-1-0")
        assert await batches.recall("st-1-0", api) is None
        assert not batches.earlier("st-1-0")
        assert server.batches.handed[0].polls > server.batches.polls, "it must not decide before that batch has ended"
    assert log.states == ["void"]


@pytest.mark.parametrize("protocol", ["openai", "anthropic"])
async def test_a_lost_batch_is_found_among_many(protocol: str) -> None:
    async with FakeProvider() as server, _wire(server, protocol) as wire:
        api = OpenAIBatches(wire) if protocol == "openai" else AnthropicBatches(wire)
        first = Log()
        await _send(_batches(first), api, 1)
        (record,) = first.batches()
        others = _batches(Log())
        await asyncio.gather(*(_send(others, replace(api, most=1), number) for number in range(2, 130)))
        log = Log(replace(record, state="submitting", remote=None))
        answer = await _batches(log).recall("st-1-0", api)
        assert isinstance(answer, bytes)
        assert b"st-1-0" in answer
        assert log.kept[record.id] == record
    assert set(server.batches.handed_in.values()) == {1}


async def _results(protocol: str, results: Mapping[str, Any]) -> list[object]:
    async with FakeProvider() as server, _wire(server, protocol) as wire:
        api = OpenAIBatches(wire) if protocol == "openai" else AnthropicBatches(wire)
        server.batches.result = lambda custom_id, seen: results.get(custom_id)
        outcomes = await _send_all(_batches(Log()), api, len(results))
        read: list[object] = []
        for outcome in outcomes:
            try:
                read.append(api.answer(outcome, "gpt") if isinstance(outcome, bytes) else outcome)
            except CallError as error:
                read.append(error)
        return read


@pytest.mark.parametrize("protocol", ["openai", "anthropic"])
async def test_every_kind_of_result_is_told_apart(protocol: str) -> None:
    kinds = {
        "st-0-0": Says("Hello."),
        "st-1-0": Fails(400, "bad request", "invalid_request_error"),
        "st-2-0": Fails(500, "our fault", "api_error"),
        "st-3-0": Expires(),
        "st-4-0": Cancels(),
    }
    said, refused, failed, expired, cancelled = await _results(protocol, kinds)
    assert isinstance(said, dict) and "Hello." in str(said)
    assert isinstance(refused, Rejected) and refused.status == 400 and "bad request" in str(refused)
    assert isinstance(failed, Unavailable) and failed.retriable
    assert isinstance(expired, TimedOut) and expired.retriable
    assert isinstance(cancelled, Rejected) and "cancelled" in str(cancelled)


async def test_a_batch_refused_because_of_one_line_blames_that_line() -> None:
    async with FakeProvider() as server, _wire(server) as wire:
        api = OpenAIBatches(wire)
        errors = {"object": "list", "data": [{"code": "invalid_json_line", "line": 2, "message": "not this"}]}
        results = await api.results({"id": "b", "status": "failed", "errors": errors}, ["a", "b", "c"])
        assert [type(results[name]) for name in "abc"] == [Unavailable, Rejected, Unavailable]
        crowded = {"data": [{"code": "token_limit_exceeded", "line": None, "message": "too much"}]}
        results = await api.results({"id": "b", "status": "failed", "errors": crowded}, ["a"])
        assert isinstance(results["a"], Crowded)
    assert not server.batches.handed


async def test_no_batches_on_a_server_that_is_not_local_stop_the_run() -> None:
    async with FakeProvider() as server, _wire(server) as wire:
        server.batches.missing = True
        spec = server.spec("openai")
        model = Batched(OpenAIModel("gpt", spec, wire), _batches(Log()), lambda _: OpenAIBatches(wire), b"", None)
        with pytest.raises(NoBatchApi, match="without --batch") as caught:
            await model.reply(Request(messages=(Message("user", "Hello?"),), purpose="test", key="k"))
        assert caught.value.exit_code == 2
        assert not server.requests


class _Choice(BaseModel):
    name: str


async def test_a_result_is_read_by_the_way_it_was_asked_for() -> None:
    request = Request(messages=(Message("user", "Whom?"),), purpose="test", key="k", schema=_Choice)
    async with FakeProvider() as server, _wire(server) as wire:
        log, texts = Log(), []
        for fields in ({"structured": "tool"}, {}):
            model = OpenAIModel("gpt", server.spec("openai", **fields), wire)
            batched = Batched(model, _batches(log), lambda _: OpenAIBatches(wire), b"the same", None)
            texts.append((await batched.reply(request)).text)
    assert texts[0] == texts[1]
    assert server.batches.handed_in.total() == 1


async def test_a_batch_is_noted_before_the_provider_has_it_and_when_it_has_it() -> None:
    async with FakeProvider(says("Hello.")) as server, _wire(server) as wire:
        log, seen = Log(), []
        note = log.note

        async def noting(batch: BatchRecord) -> None:
            seen.append((batch.state, len(server.batches.handed), batch.remote))
            await note(batch)

        log.note = noting
        await _send(_batches(log), OpenAIBatches(wire), 1)
        remote = server.batches.handed[0].id
    assert seen == [("submitting", 0, None), ("submitted", 1, remote), ("ended", 1, remote)]


def test_half_of_every_price() -> None:
    spec = FakeProvider(improvise).spec("openai", price={"input": 3.0, "output": 10.0, "cached": 0.5})
    price = half_price(spec).price
    assert price is not None
    assert price.model_dump() == {"input": 1.5, "output": 5.0, "cached": 0.25, "reasoning": None}
    assert half_price(spec.model_copy(update={"price": None})).price is None
