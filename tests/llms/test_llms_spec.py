"""Naming models: what a config may say, what it costs, where keys come from, and that no key ever comes out."""

from __future__ import annotations

import asyncio
import logging
import traceback
from typing import Any, Literal

import pytest
from pydantic import ValidationError

from fakes import Fails, FakeProvider, Hangs, Raw, says
from screentest.errors import InputError, ScreentestError
from screentest.llms import Message, Meter, ModelSpec, Price, Request, Usage, open_models

KEY = "sk-live-4f9a0c77e1b2"
CANARY = "a private thought"


def question(text: str = "Who goes there?") -> Request:
    return Request(messages=(Message("user", text),), purpose="test", key="test/1")


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"provider": "openai"}, "'model' is missing"),
        ({"provider": "gpt"}, "'openai', 'anthropic', 'embeddings' or 'understudy'"),
        ({"provider": "openai", "model": "m", "rpm": 0}, "greater than or equal to 1"),
        ({"provider": "openai", "model": "m", "tmp": 5}, "Extra inputs are not permitted"),
        ({"provider": "openai", "model": "m", "base_url": "localhost:8000"}, "must start with http://"),
        ({"provider": "openai", "model": "m", "base_url": "http://me:pw@host/v1"}, "no user name, password"),
        ({"provider": "openai", "model": "m", "base_url": "https://api.deepseek.com"}, "'key_env' is missing"),
        ({"provider": "openai", "model": "m", "key_env": KEY}, "not the key itself"),
        ({"provider": "openai", "model": "m", "thinking": 4000}, "set 'effort'"),
        ({"provider": "openai", "model": "m", "skill": "adept"}, "belongs to the understudy"),
        ({"provider": "openai", "model": "m", "extra": {"stream": True}}, "must not set stream"),
        ({"provider": "anthropic", "model": "m", "thinking": 100}, "greater than or equal to 1024"),
        ({"provider": "understudy", "rpm": 5}, "takes only 'skill', not rpm"),
        ({"provider": "openai", "model": "m", "price": {"input": 1}}, "price.output"),
        ({"provider": "openai", "model": "m", "price": {"input": -1, "output": 1}}, "greater than or equal to 0"),
        ({"provider": "openai", "model": "m", "timeout": float("inf")}, "finite"),
    ],
)
def test_complaints_read_well_and_hide_values(fields: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValidationError) as caught:
        ModelSpec.model_validate(fields)
    assert complaint in str(caught.value)
    assert KEY not in str(caught.value)


@pytest.mark.parametrize(
    ("fields", "variable"),
    [
        ({"provider": "openai", "model": "m"}, "OPENAI_API_KEY"),
        ({"provider": "anthropic", "model": "m"}, "ANTHROPIC_API_KEY"),
        ({"provider": "openai", "model": "m", "key_env": "MY_KEY"}, "MY_KEY"),
        ({"provider": "openai", "model": "m", "base_url": "https://x.example/v1", "key_env": "X_KEY"}, "X_KEY"),
        ({"provider": "openai", "model": "m", "base_url": "http://localhost:8000/v1"}, None),
        ({"provider": "openai", "model": "m", "base_url": "http://192.168.0.7:8000/v1"}, None),
        ({"provider": "openai", "model": "m", "base_url": "http://vllm:8000/v1"}, None),
        ({"provider": "understudy"}, None),
    ],
)
def test_where_a_key_is_read_from(fields: dict[str, Any], variable: str | None) -> None:
    assert ModelSpec.model_validate(fields).key_variable == variable


def test_prices() -> None:
    usage = Usage(input=1_000_000, cached=400_000, output=200_000, reasoning=50_000)
    assert Price(input=2, output=8).cost(usage) == pytest.approx(2 + 1.6)
    assert Price(input=2, cached=0.5, output=8).cost(usage) == pytest.approx(1.2 + 0.2 + 1.6)
    assert Price(input=2, output=8, reasoning=10).cost(usage) == pytest.approx(2 + 1.2 + 0.5)
    assert Price(input=2, output=8).cost(None) is None
    assert Price(input=0, output=0).cost(usage) == 0


@pytest.mark.parametrize("environment", [{}, {"OPENAI_API_KEY": " "}])
async def test_a_missing_key_is_named(environment: dict[str, str]) -> None:
    specs = {"gpt": ModelSpec(provider="openai", model="gpt-4.1")}
    with pytest.raises(InputError) as caught:
        async with open_models(specs, environment=environment):
            pass
    assert "models.gpt" in str(caught.value)
    assert "OPENAI_API_KEY is not set" in str(caught.value)


async def test_the_understudy_needs_nothing() -> None:
    specs = {"ann": ModelSpec(provider="understudy", skill="novice"), "bob": ModelSpec(provider="understudy")}
    async with open_models(specs, environment={}) as models:
        assert [models[label].name for label in specs] == ["ann", "bob"]


async def test_one_account_shares_connections_and_limits() -> None:
    async with FakeProvider(says("a"), latency=0.01) as server:
        specs = {label: server.spec("openai", model=f"m-{label}", concurrency=2) for label in "abc"}
        meter = Meter()
        async with open_models(specs, environment={}, meter=meter) as models:
            await asyncio.gather(*(models[label].reply(question()) for label in "abc" * 4))
    assert server.peak <= 2
    assert server.connections <= 2
    assert meter.finished == 12
    assert {body["model"] for body in server.bodies} == {"m-a", "m-b", "m-c"}


async def test_connections_never_outnumber_calls_in_flight() -> None:
    async with (
        FakeProvider(says("a"), latency=0.05) as server,
        open_models({"m": server.spec("openai", concurrency=150)}, environment={}) as models,
    ):
        for _ in range(4):
            await asyncio.gather(*(models["m"].reply(question()) for _ in range(150)))
    assert server.peak > 100
    assert server.connections <= server.peak * 1.05


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
async def test_the_key_goes_to_the_server_and_nowhere_else(
    provider: Literal["openai", "anthropic"], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    told = f"Incorrect API key provided: {KEY}"
    answers = [Fails(401, told), Fails(429, told), Fails(500, told), Raw(KEY.encode()), Raw(b"{}"), Hangs()]
    shown: list[str] = []
    async with FakeProvider(lambda _: answers.pop(0)) as server:
        spec = server.spec(provider, key_env="MY_KEY", retries=1, timeout=1.0)
        async with open_models({"m": spec}, environment={"MY_KEY": KEY}) as models:
            shown += [repr(models["m"]), repr(models), repr(spec), repr(vars(models["m"]))]
            while answers:
                with pytest.raises(ScreentestError) as caught:
                    await models["m"].reply(question(CANARY))
                shown += ["".join(traceback.format_exception(caught.value)), repr(caught.value)]
                assert caught.value.__context__ is None
    assert all(KEY in seen.headers["authorization"] for seen in server.requests)
    assert len(server.requests) == 6
    ours = [record.getMessage() for record in caplog.records if record.name.startswith("screentest")]
    assert ours
    for text in (*shown, *ours):
        assert KEY not in text
        assert CANARY not in text
    assert KEY not in caplog.text


def test_a_threaded_server_answers_and_repeats_itself() -> None:
    async def ask_twice(spec: ModelSpec) -> list[str]:
        async with open_models({"m": spec}, environment={}) as models:
            texts = [(await models["m"].reply(question(text))).text for text in ("a", "b", "a")]
            return [*texts, (await models["m"].reply(question("灯塔的钟声响了"))).text]

    with FakeProvider.threaded() as server:
        first, second, third, chinese = asyncio.run(ask_twice(server.spec("openai")))
    assert first == third != second
    assert first.startswith("(")
    assert chinese.endswith("。")
