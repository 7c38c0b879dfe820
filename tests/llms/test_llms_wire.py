"""What both providers make of everything a server can do, over real sockets and the real SDKs."""

from __future__ import annotations

import email.utils
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, Literal

import pytest

from fakes import (
    Behaviour,
    Cuts,
    Fails,
    FakeProvider,
    Hangs,
    Raw,
    Says,
    Seen,
    improvise,
    in_turn,
    rate_limited,
    says,
    talking,
)
from screentest.errors import (
    CallError,
    Disconnected,
    EmptyReply,
    FilteredReply,
    RateLimited,
    Rejected,
    ScreentestError,
    TimedOut,
    Unavailable,
)
from screentest.llms import Message, Model, Request, Sampling, Usage, open_models
from screentest.llms.wire import retry_after

Provider = Literal["openai", "anthropic"]
Open = Callable[..., AbstractAsyncContextManager[tuple[FakeProvider, Model]]]
PROMPT = (Message("system", "You are Miriam."), Message("user", "Who goes there?"))


@pytest.fixture(params=["openai", "anthropic"])
def provider(request: pytest.FixtureRequest) -> Provider:
    return request.param


@pytest.fixture
def opened(provider: Provider) -> Open:
    return lambda behaviour=improvise, **fields: talking(behaviour, provider, **({"retries": 1} | fields))


def question(messages: tuple[Message, ...] = PROMPT, **rest: Any) -> Request:
    return Request(messages=messages, purpose="test", key="test/1", **rest)


async def failure(model: Model) -> ScreentestError:
    with pytest.raises(ScreentestError) as caught:
        await model.reply(question())
    return caught.value


async def test_a_reply_carries_text_usage_model_latency_and_cost(opened: Open) -> None:
    price = {"input": 2.0, "cached": 0.5, "output": 8.0}
    async with opened(says("(waves) Here.", cached=2), price=price) as (_, model):
        reply = await model.reply(question())
    assert (reply.text, reply.finish, reply.reasoning) == ("(waves) Here.", "stop", "")
    assert reply.usage == Usage(input=8, output=4, cached=2)
    assert reply.model in {"gpt-4.1-2026-01-01", "claude-sonnet-4-6-20260101"}
    assert reply.cost == pytest.approx((6 * 2.0 + 2 * 0.5 + 4 * 8.0) / 1e6)
    assert 0 < reply.latency < 5


async def test_what_is_not_known_is_none(opened: Open) -> None:
    async with opened(says("Here.", usage=False), price={"input": 1, "output": 1}) as (_, model):
        reply = await model.reply(question())
    assert reply.usage is None
    assert reply.cost is None


async def test_the_prompt_arrives_as_it_was(opened: Open) -> None:
    prompt = (Message("system", "规则 {{char}}"), Message("user", 'say "hi"\n\t🎭'), Message("assistant", "a"))
    async with opened() as (server, model):
        await model.reply(question((*prompt, Message("user", "b"))))
    assert server.requests[0].messages == [(m.role, m.content) for m in prompt] + [("user", "b")]


async def test_thoughts_stay_apart_from_text(opened: Open) -> None:
    async with opened(says("Here.", reasoning="secret plan")) as (_, model):
        reply = await model.reply(question())
    assert (reply.text, reply.reasoning) == ("Here.", "secret plan")
    assert reply.usage is not None
    assert reply.usage.reasoning == 3
    assert reply.usage.output == 5


@pytest.mark.parametrize("finish", ["length", "refusal"])
async def test_other_ends_are_told(opened: Open, finish: Literal["length", "refusal"]) -> None:
    async with opened(says("I can", finish=finish)) as (_, model):
        reply = await model.reply(question())
    assert (reply.finish, reply.text) == (finish, "I can")


async def test_a_truncated_reply_may_be_all_thought(opened: Open) -> None:
    async with opened(says("", finish="length", reasoning="hm")) as (_, model):
        reply = await model.reply(question())
    assert (reply.finish, reply.text, reply.reasoning) == ("length", "", "hm")


@pytest.mark.parametrize("text", ["", "  \n"])
async def test_an_empty_reply_is_an_error_that_was_paid_for(opened: Open, text: str) -> None:
    async with opened(says(text)) as (_, model):
        error = await failure(model)
    assert isinstance(error, EmptyReply)
    assert error.reply is not None
    assert error.reply.usage is not None


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (Fails(400, "bad field"), Rejected),
        (Fails(401, "who are you"), Rejected),
        (Fails(404, "no such model"), Rejected),
        (Fails(408), TimedOut),
        (Fails(409), Unavailable),
        (Fails(429), RateLimited),
        (Fails(429, "out of credit", "insufficient_quota"), Rejected),
        (Fails(400, "not that", "content_filter"), FilteredReply),
        (Fails(500), Unavailable),
        (Fails(503), Unavailable),
        (Fails(529, "overloaded"), Unavailable),
        (Raw(b"<html>Bad gateway</html>", 502), Unavailable),
        (Raw(b"<html>Welcome</html>"), Unavailable),
        (Raw(b'{"choices": [{"mess'), Unavailable),
        (Raw(b"[]"), Unavailable),
        (Raw(b"{}"), Unavailable),
        (Raw(b'{"choices": [], "content": null, "stop_reason": null}'), Unavailable),
        (Raw(b'{"error": {"code": 429, "message": "upstream is busy"}}'), RateLimited),
        (Cuts("before_headers"), Disconnected),
        (Cuts("mid_body"), Disconnected),
    ],
    ids=str,
)
async def test_every_failure_has_its_type(opened: Open, answer: Any, kind: type[ScreentestError]) -> None:
    async with opened(lambda _: answer) as (server, model):
        error = await failure(model)
    assert type(error) is kind
    assert str(error).startswith("miriam: ")
    assert len(server.requests) == 1, "the SDK must not retry by itself"


async def test_the_providers_words_are_in_the_message(opened: Open) -> None:
    async with opened(lambda _: Fails(400, "temperature must be below 2")) as (_, model):
        error = await failure(model)
    assert str(error) == "miriam: 400 temperature must be below 2"
    assert isinstance(error, CallError)
    assert error.status == 400


async def test_no_answer_is_a_timeout(opened: Open) -> None:
    async with opened(lambda _: Hangs(), timeout=0.15) as (_, model):
        started = time.perf_counter()
        error = await failure(model)
    assert isinstance(error, TimedOut)
    assert 0.1 < time.perf_counter() - started < 2


async def test_nobody_listening_is_a_disconnection(provider: Provider) -> None:
    async with FakeProvider() as server:
        spec = server.spec(provider, retries=1)
    async with open_models({"miriam": spec}, environment={}) as models:
        assert isinstance(await failure(models["miriam"]), Disconnected)


async def test_connections_are_reused(opened: Open) -> None:
    async with opened() as (server, model):
        for _ in range(5):
            await model.reply(question())
    assert server.connections == 1


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [({}, None), ({"retry_after": "2"}, 2.0), ({"retry_after_ms": "1500", "retry_after": "9"}, 1.5)],
    ids=str,
)
async def test_retry_after_is_read(opened: Open, headers: dict[str, str], seconds: float | None) -> None:
    async with opened(lambda _: rate_limited(**headers)) as (_, model):
        error = await failure(model)
    assert isinstance(error, RateLimited)
    assert error.retry_after == seconds


def test_retry_after_may_be_a_date() -> None:
    now = 1_800_000_000.0
    assert retry_after({"retry-after": email.utils.formatdate(now + 30, usegmt=True)}, now) == 30
    assert retry_after({"retry-after": email.utils.formatdate(now - 30, usegmt=True)}, now) == 0
    for nonsense in ("soon", "nan", "inf", ""):
        assert retry_after({"retry-after": nonsense}, now) is None
    assert retry_after({"retry-after": "-3"}, now) == 0


async def test_what_passes_is_retried(opened: Open) -> None:
    behaviour = in_turn(Fails(500), rate_limited(retry_after="0"), then=says("At last."))
    async with opened(behaviour, retries=6) as (server, model):
        assert (await model.reply(question())).text == "At last."
    assert len(server.requests) == 3


async def test_the_config_wins_over_the_request(opened: Open) -> None:
    suggested = question(sampling=Sampling(temperature=0.9, max_tokens=50))
    async with opened() as (server, model):
        await model.reply(suggested)
        await model.reply(question())
    async with opened(temperature=0.1, max_tokens=70) as (firm, model):
        await model.reply(suggested)
    limits = [body.get("max_tokens") or body.get("max_completion_tokens") for body in (*server.bodies, *firm.bodies)]
    assert limits == [50, 2048, 70]
    assert [body.get("temperature") for body in (*server.bodies, *firm.bodies)] == [0.9, None, 0.1]


def picky(seen: Seen) -> Says | Fails:
    told = "Unsupported value: 'temperature' does not support 0.0 with this model."
    return Fails(400, told, "unsupported_value") if "temperature" in seen.body else improvise(seen)


async def test_a_suggested_temperature_is_dropped_if_refused(opened: Open) -> None:
    steady = question(sampling=Sampling(temperature=0.0))
    async with opened(picky) as (server, model):
        for _ in range(2):
            await model.reply(steady)
    assert [body.get("temperature") for body in server.bodies] == [0.0, None, None]


async def test_a_configured_temperature_is_not(opened: Open) -> None:
    async with opened(picky, temperature=0.0) as (_, model):
        assert isinstance(await failure(model), Rejected)


async def test_what_a_model_does_not_take_is_said(provider: Provider, caplog: pytest.LogCaptureFixture) -> None:
    model = {"openai": "o4-mini", "anthropic": "claude-opus-5"}[provider]
    async with talking(provider=provider, model=model, temperature=0.5) as (server, miriam):
        await miriam.reply(question())
    assert "temperature" not in server.bodies[0]
    assert f"miriam: {model} does not take temperature" in caplog.text


async def test_extra_goes_into_the_body(opened: Open) -> None:
    async with opened(extra={"chat_template_kwargs": {"enable_thinking": False}}) as (server, model):
        await model.reply(question())
    assert server.bodies[0]["chat_template_kwargs"] == {"enable_thinking": False}


async def test_a_prompt_that_is_no_text_is_rejected(opened: Open) -> None:
    async with opened() as (server, model):
        with pytest.raises(Rejected, match="Unicode"):
            await model.reply(question((Message("user", "\ud83d"),)))
    assert server.requests == []


class TestOnlyOpenAI:
    @staticmethod
    async def reply(behaviour: Behaviour, **fields: Any) -> tuple[FakeProvider, Any]:
        async with talking(behaviour, retries=1, **fields) as (server, model):
            return server, await model.reply(question())

    async def test_content_filter(self) -> None:
        _, reply = await self.reply(says("I", finish="filtered"))
        assert reply.finish == "filtered"

    @pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
    async def test_thoughts_in_a_field(self, field: str) -> None:
        _, reply = await self.reply(says("Here.", reasoning="plan", reasoning_field=field))
        assert (reply.text, reply.reasoning) == ("Here.", "plan")

    @pytest.mark.parametrize("text", ["<think>\nplan\n</think>\n\nHere.", "plan</think>Here."])
    async def test_thoughts_in_front_of_the_text(self, text: str) -> None:
        _, reply = await self.reply(says(text))
        assert (reply.text, reply.reasoning) == ("Here.", "plan")

    async def test_thoughts_that_never_end_are_no_text(self) -> None:
        _, reply = await self.reply(says("<think>and then", finish="length"))
        assert (reply.text, reply.reasoning) == ("", "and then")

    async def test_an_unknown_end_is_told_and_asked_for_only_once(self) -> None:
        usage = b'{"prompt_tokens": 10, "completion_tokens": 5}'
        body = b'{"choices": [{"message": {"content": "Hi"}, "finish_reason": "gave_up"}], "usage": %s}' % usage
        server, reply = await self.reply(lambda _: Raw(body))
        assert (reply.finish, reply.usage, len(server.requests)) == ("unknown", Usage(input=10, output=5), 1)

    async def test_tokens_hidden_in_the_total_are_counted(self) -> None:
        usage = b'{"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 45}'
        body = b'{"choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}], "usage": %s}' % usage
        _, reply = await self.reply(lambda _: Raw(body))
        assert reply.usage == Usage(input=10, output=35)

    async def test_reasoning_models_take_other_parameters(self) -> None:
        server, _ = await self.reply(improvise, model="gpt-5.4", temperature=0.3, effort="low")
        assert server.bodies[0]["reasoning_effort"] == "low"
        assert server.bodies[0]["max_completion_tokens"] == 2048
        assert not server.bodies[0].keys() & {"temperature", "top_p", "max_tokens"}


class TestOnlyAnthropic:
    @staticmethod
    async def sent(*messages: Message, **fields: Any) -> FakeProvider:
        async with talking(provider="anthropic", retries=1, **fields) as (server, model):
            await model.reply(question(messages or PROMPT))
            return server

    async def test_turns_alternate_and_system_goes_first(self) -> None:
        said = [("user", "a"), ("user", "b"), ("system", "S"), ("assistant", "c"), ("user", "d")]
        server = await self.sent(*(Message(role, text) for role, text in said))  # pyright: ignore[reportArgumentType]
        assert server.bodies[0]["system"] == "S"
        assert server.requests[0].messages[1:] == [("user", "a\n\nb"), ("assistant", "c"), ("user", "d")]

    async def test_only_a_long_system_prompt_is_cached(self) -> None:
        server = await self.sent(Message("system", "x" * 5000), Message("user", "a"))
        (block,) = server.bodies[0]["system"]
        assert block["cache_control"] == {"type": "ephemeral"}
        assert (await self.sent()).bodies[0]["system"] == "You are Miriam."

    async def test_sampling_needs_the_older_api_version(self) -> None:
        plain, warm = await self.sent(), await self.sent(temperature=0.7)
        assert plain.requests[0].headers["anthropic-version"] >= "2026-10-21"
        assert warm.requests[0].headers["anthropic-version"] == "2023-06-01"

    async def test_thinking_comes_on_top_and_without_temperature(self) -> None:
        server = await self.sent(thinking=4000, max_tokens=500, temperature=0.7)
        body = server.bodies[0]
        assert body["thinking"] == {"type": "enabled", "budget_tokens": 4000}
        assert body["max_tokens"] == 4500
        assert "temperature" not in body

    async def test_later_models_decide_themselves(self) -> None:
        server = await self.sent(model="claude-opus-5", thinking=4000, temperature=0.7, effort="high")
        assert server.bodies[0]["thinking"] == {"type": "adaptive"}
        assert server.bodies[0]["output_config"] == {"effort": "high"}
        assert "temperature" not in server.bodies[0]
