"""Vectors from an endpoint: over real sockets and the real SDK, kept and never paid for twice."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from fakes import Behaviour, Fails, FakeProvider, Raw, in_turn, rate_limited, talking, vectors
from fakes.models import Scripted
from memory.minds import PLACE, asked, ids, remembering
from screentest.agents.memory import EndpointEmbedder, Memories
from screentest.builders.doctor.contact import contact
from screentest.errors import BudgetExhausted, InvalidReply, Rejected, Unavailable
from screentest.llms import (
    Batches,
    BatchProgress,
    Budget,
    Budgeted,
    Journaled,
    Message,
    Model,
    ModelSpec,
    Noted,
    Pace,
    Request,
    Usage,
    open_models,
)
from screentest.sim import Store

TEXTS = ("the mill stopped", "the wheel turned", "rain fell")
PRICE = {"input": 0.5, "output": 0.0}


@asynccontextmanager
async def serving(behaviour: Behaviour | None = None, **fields: Any) -> AsyncIterator[tuple[FakeProvider, Model]]:
    """A server and an embedding model there."""
    fields.setdefault("retries", 1)
    async with talking(provider="embeddings", **fields) as (server, model):
        server.embeddings = behaviour or vectors()
        yield server, model


async def embedded(model: Model, *texts: str) -> np.ndarray:
    return await EndpointEmbedder(model).embed(texts or TEXTS, place=PLACE)


async def test_many_texts_go_in_one_request() -> None:
    async with serving() as (server, model):
        rows = await embedded(model)
    (body,) = server.bodies
    assert body == {"model": "text-embedding-3-small", "input": list(TEXTS), "encoding_format": "base64"}
    assert np.linalg.norm(rows, axis=1) == pytest.approx([1, 1, 1])
    assert rows.dtype == np.float32


async def test_the_reply_tells_usage_cost_and_model() -> None:
    messages = tuple(Message("user", text) for text in TEXTS)
    async with serving(price=PRICE) as (_, model):
        reply = await model.reply(Request(messages=messages, purpose="embed", key="a"))
    tokens = sum(map(len, TEXTS))
    assert (reply.usage, reply.model, reply.finish) == (Usage(input=tokens), "text-embedding-3-small-v1", "stop")
    assert reply.cost == tokens * 0.5 / 1_000_000
    assert reply.latency > 0


@pytest.mark.parametrize("behaviour", [vectors(shuffled=True), vectors(numbers=True)])
async def test_order_and_encoding_are_the_servers_choice(behaviour: Behaviour) -> None:
    async with serving() as (_, model):
        plain = await embedded(model)
    async with serving(behaviour) as (_, model):
        assert (await embedded(model) == plain).all()


async def test_dimensions_are_asked_for_and_checked() -> None:
    async with serving(dimensions=8, extra={"user": "u"}) as (server, model):
        assert (await embedded(model)).shape == (3, 8)
    assert (server.bodies[0]["dimensions"], server.bodies[0]["user"]) == (8, "u")
    async with serving(lambda _: vectors(width=5)(_without_dimensions(_)), dimensions=8) as (_, model):
        with pytest.raises(InvalidReply, match="width 5, where 8 was asked for"):
            await embedded(model)


def _without_dimensions(seen: Any) -> Any:
    del seen.body["dimensions"]
    return seen


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        (lambda body: body["data"].pop(), "2 vectors for 3 texts"),
        (lambda body: body["data"].append(body["data"][0]), "4 vectors for 3 texts"),
        (lambda body: body["data"][1].update(index=0), "indices"),
        (lambda body: body["data"][1].pop("index"), "without an index"),
        (lambda body: body["data"][1].update(embedding=[1.0] * 5), "different widths"),
        (lambda body: body["data"][1].update(embedding=[]), "empty"),
        (lambda body: body["data"][1].update(embedding=[1.0, None]), "neither numbers nor base64"),
        (lambda body: body["data"][1].update(embedding="?"), "neither numbers nor base64"),
        (lambda body: body["data"][1].update(embedding=[1e300] * 32), "no finite numbers"),
    ],
)
async def test_a_misfit_is_an_error_and_is_paid_for_once(damage: Any, problem: str, tmp_path: Path) -> None:
    async with serving(vectors(damage=damage), retries=6, price=PRICE) as (server, model):
        with closing(Store(tmp_path / "run.db")) as store:
            said: set[str] = set()
            for _ in range(2):
                with pytest.raises(InvalidReply, match=problem) as caught:
                    await embedded(Journaled(model, store, {}))
                assert caught.value.reply is not None and caught.value.reply.cost
                said.add(str(caught.value))
    assert len(server.requests) == 1
    assert len(said) == 1, "it fails the same way when it is read back"


async def test_what_passes_is_retried_and_what_does_not_is_told() -> None:
    async with serving(in_turn(Fails(500), rate_limited(retry_after="0"), then=vectors()), retries=6) as (
        server,
        model,
    ):
        assert (await embedded(model)).shape[0] == 3
    assert len(server.requests) == 3
    async with serving(lambda _: Fails(400, "input is too long")) as (_, model):
        with pytest.raises(Rejected, match="too long"):
            await embedded(model)
    for body in (b"{}", b'{"data": null}', b'{"error": {"message": "overloaded"}}'):
        async with serving(lambda _, body=body: Raw(body)) as (_, model):
            with pytest.raises(Unavailable):
                await embedded(model)


async def test_a_resumed_run_makes_no_second_call(tmp_path: Path) -> None:
    async def live(model: Model) -> list[list[Any]]:
        with closing(Store(tmp_path / "run.db")) as store:
            memories = Memories(EndpointEmbedder(Journaled(model, store, {"model": "m"})))
            told: list[list[Any]] = []
            for turn, text in enumerate(TEXTS):
                memories.note("saw", text, turn=turn, minutes=turn)
                place = type(PLACE)(7, f"mill/turn/{turn}")
                told.append(list(await memories.recall("the mill", minutes=turn, place=place)))
            return told

    async with serving() as (server, model):
        first = await live(model)
        assert [len(body["input"]) for body in server.bodies] == [2, 2, 2]
        assert await live(model) == first
        assert len(server.requests) == 3
    assert await live(Scripted(Unavailable("no network"))) == first


async def test_what_is_in_flight_when_a_conversation_is_cancelled_is_kept(tmp_path: Path) -> None:
    async with serving() as (server, model):
        server.latency = 0.05
        with closing(Store(tmp_path / "run.db")) as store:
            kept = Journaled(Noted(model, store, {}), store, {})
            recall = asyncio.create_task(embedded(kept))
            while not server.requests:  # noqa: ASYNC110 - the server knows no events
                await asyncio.sleep(0.005)
            recall.cancel()
            await asyncio.gather(recall, return_exceptions=True)
            await store.drain(5)
            assert (await embedded(kept)).shape[0] == 3
    assert len(server.requests) == 1


async def test_a_budget_bounds_it() -> None:
    async with serving(price={"input": 1000.0, "output": 0.0}) as (server, model):
        spec = server.spec("embeddings", price={"input": 1000.0, "output": 0.0}, retries=1)
        with pytest.raises(BudgetExhausted):
            await embedded(Budgeted(model, Budget(0.01), spec))
        assert not server.requests
        assert spec.longest_output(Request(messages=(), purpose="", key="").sampling) == 0


async def test_in_a_batched_run_it_still_answers_at_once(tmp_path: Path) -> None:
    with closing(Store(tmp_path / "run.db")) as store:
        async with FakeProvider() as server:
            specs = {"memory": server.spec("embeddings")}
            async with open_models(specs, environment={}, batches=Batches(store, Pace(), BatchProgress())) as models:
                assert (await embedded(models["memory"])).shape[0] == 3
    assert len(server.requests) == 1


async def test_very_many_texts_go_in_several_requests_in_their_order() -> None:
    async with serving() as (server, model):
        many = [f"day {number}" for number in range(300)]
        rows = await embedded(model, *many)
        alone = await embedded(model, many[299])
        await embedded(model, "x" * 90_000, "y" * 20_000)
    assert [len(body["input"]) for body in server.bodies] == [256, 44, 1, 1, 1]
    assert (rows[299] == alone[0]).all()


async def test_it_finds_what_fits_and_refuses_a_changed_width() -> None:
    async with serving() as (server, model):
        memories = remembering(*TEXTS, embedder=EndpointEmbedder(model))
        assert ids(await asked(memories, "the wheel turned"))[0] == 1
        server.embeddings = vectors(width=9)
        with pytest.raises(InvalidReply, match="width 9, where those before have 32"):
            await asked(memories, "the wheel")


async def test_saved_memories_know_their_model(tmp_path: Path) -> None:
    model = Scripted("")
    memories = remembering(embedder=EndpointEmbedder(model, served="text-embedding-3-small", dimensions=256))
    memories.save(tmp_path)
    with pytest.raises(Exception, match="text-embedding-3-small-256"):
        Memories.load(tmp_path, EndpointEmbedder(model, served="text-embedding-3-large"))


async def test_a_model_that_writes_prose_is_no_embedder() -> None:
    with pytest.raises(InvalidReply, match="provider: embeddings"):
        await embedded(Scripted("Once upon a time"))


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"temperature": 0.5, "max_tokens": 5}, "does not take max_tokens, temperature"),
        ({"provider": "openai", "dimensions": 8}, "belongs to embeddings only"),
        ({"extra": {"input": "x"}}, "must not set input"),
        ({"dimensions": 0}, "greater than or equal to 1"),
    ],
)
def test_a_specification_that_makes_no_sense(fields: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValidationError, match=problem):
        ModelSpec.model_validate({"provider": "embeddings", "model": "m"} | fields)


async def test_the_doctor_tries_it() -> None:
    async with serving(price=PRICE) as (server, _):
        found, findings = await contact("memory", server.spec("embeddings", price=PRICE), ("memory",), {})
        assert (found.replied, found.usage, found.calls, findings) == (True, True, 1, [])
        server.embeddings = lambda _: Fails(404, "no such model")
        found, findings = await contact("memory", server.spec("embeddings", price=PRICE), ("memory",), {})
    assert not found.replied
    assert [finding.where for finding in findings] == ["models.memory"]


def test_its_key_is_the_providers_own() -> None:
    assert ModelSpec(provider="embeddings", model="m").key_variable == "OPENAI_API_KEY"
    assert ModelSpec(provider="embeddings", model="m").identity() == {"provider": "embeddings", "model": "m"}
