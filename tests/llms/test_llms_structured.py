"""The ladder to a structured reply: from what a model said to a validated object or a typed error."""

from __future__ import annotations

import json
from typing import Annotated, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from fakes import Fails, Says, Seen, improvise, structured_badly, talking
from fakes.models import USAGE, Scripted, said
from screentest.errors import EmptyReply, FilteredReply, InvalidReply, RefusedReply, Rejected, TruncatedReply
from screentest.llms import Message, ModelSpec, Request, ask
from screentest.llms.capabilities import capabilities
from screentest.llms.ladder import Ladder, strict_schema
from screentest.llms.structured import parse


class Verdict(BaseModel):
    explanation: str
    rating: Annotated[int, Field(ge=1, le=5)]


class Cast(BaseModel):
    lead: Verdict
    others: list[Verdict] = []
    mood: Literal["calm", "tense"] = "calm"
    note: str | None = None
    length: Annotated[int, Field(ge=0, le=5000)] = 0


GOOD = '{"explanation": "steady", "rating": 4}'


def question(schema: type[BaseModel] | None = Verdict) -> Request:
    messages = (Message("system", "Judge."), Message("user", "A or B?"))
    return Request(messages=messages, purpose="judge", key="scene/1/judge", schema=schema)


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        f"  {GOOD}\n",
        f"```json\n{GOOD}\n```",
        f"```\n{GOOD}```",
        f"Here is my verdict:\n{GOOD}\nI hope this helps.",
        '{"explanation": "steady", "rating": 4,}',
        "{'explanation': 'steady', 'rating': 4}",
        '{explanation: "steady", "rating": 4',
        '{"explanation": "steady" "rating": 4}',
        "{“explanation”: “steady”, “rating”: 4}",
    ],
)
def test_slips_of_the_pen_are_mended(text: str) -> None:
    assert parse(text, Verdict) == Verdict(explanation="steady", rating=4)


def test_mending_loses_no_field() -> None:
    torn = '{"lead": {"explanation": "steady", "rating": 4}, "mood": "tense", "length": 7'
    mended = parse(torn, Cast)
    assert mended == Cast(lead=Verdict(explanation="steady", rating=4), mood="tense", length=7)


def test_a_line_break_inside_a_string_is_kept() -> None:
    assert parse('{"explanation": "one\ntwo", "rating": 4}', Verdict) == Verdict(explanation="one\ntwo", rating=4)


@pytest.mark.parametrize(
    "text",
    [
        "A is better.",
        "[4]",
        "4",
        "{}",
        '{"rating": 4}',
        '{"explanation": "steady", "rating": 6}',
        '{"explanation": "steady", "rating": "high"}',
        '{"explanation": , "rating": 4}',
        '{"explanation": "steady", "rating": }',
        '{"explanation": "steady", "rating": 4, "rating": 2}',
        f"{GOOD} {GOOD}",
        f'{GOOD}\nOn second thought: {{"explanation": "weak", "rating": 2}}',
        f'The candidate wrote {{"rating": 1}}, so: {GOOD}',
        f'{{"explanation": "x", "rating": 1,, }} {GOOD}',
        f'{GOOD} {{"explanation": "cut o',
    ],
)
def test_what_would_have_to_be_guessed_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        parse(text, Verdict)


@given(st.text(), st.integers(1, 5))
def test_any_text_survives_the_way_through_json(explanation: str, rating: int) -> None:
    verdict = Verdict(explanation=explanation, rating=rating)
    plain = json.dumps(verdict.model_dump())
    for text in (plain, json.dumps(verdict.model_dump(), ensure_ascii=False, indent=2), f"```json\n{plain}\n```"):
        assert parse(text, Verdict) == verdict


@given(st.text(alphabet='{}[]",:\\ \nab1'))
def test_parsing_never_fails_otherwise(text: str) -> None:
    try:
        parsed = parse(text, Verdict)
    except ValueError:
        return
    assert isinstance(parsed, Verdict)


async def test_plain_text_comes_back_stripped() -> None:
    reply = await ask(Scripted("  (nods) Aye.\n"), question(None))
    assert (reply.text, reply.parsed) == ("(nods) Aye.", None)


@pytest.mark.parametrize(
    ("finish", "error"), [("length", TruncatedReply), ("refusal", RefusedReply), ("filtered", FilteredReply)]
)
@pytest.mark.parametrize("schema", [None, Verdict])
async def test_the_end_is_checked_first(finish: str, error: type[Exception], schema: type[BaseModel] | None) -> None:
    model = Scripted(said(GOOD, finish=finish))
    with pytest.raises(error) as caught:
        await ask(model, question(schema))
    assert getattr(caught.value, "reply").text == GOOD  # noqa: B009 - the two share no annotated base
    assert len(model.requests) == 1


async def test_a_blank_reply_is_empty() -> None:
    with pytest.raises(EmptyReply):
        await ask(Scripted(said(" ")), question(None))


async def test_a_good_object_needs_one_call() -> None:
    reply = await ask(Scripted(GOOD), question())
    assert reply.parsed == Verdict(explanation="steady", rating=4)
    assert (reply.usage, reply.cost) == (USAGE, 0.25)


async def test_a_bad_object_is_asked_for_once_more_with_the_error_shown() -> None:
    model = Scripted('{"explanation": "steady", "rating": 9}', GOOD)
    reply = await ask(model, question())
    assert reply.parsed == Verdict(explanation="steady", rating=4)
    assert (reply.usage, reply.cost, reply.latency) == (USAGE + USAGE, 0.5, 2.0)
    again = model.requests[1]
    assert again.key == "scene/1/judge/reask"
    assert again.messages[:2] == question().messages
    assert again.messages[2] == Message("assistant", '{"explanation": "steady", "rating": 9}')
    assert again.messages[3].role == "user"
    assert "rating: Input should be less than or equal to 5" in again.messages[3].content


async def test_a_second_bad_object_is_invalid() -> None:
    model = Scripted("none", "nothing")
    with pytest.raises(InvalidReply, match="no JSON object") as caught:
        await ask(model, question())
    assert caught.value.reply is not None
    assert (caught.value.reply.text, caught.value.reply.usage) == ("nothing", USAGE + USAGE)
    assert len(model.requests) == 2


async def test_what_one_of_two_calls_cost_is_not_known_is_not_known() -> None:
    reply = await ask(Scripted(said("none", usage=None, cost=None), GOOD), question())
    assert (reply.usage, reply.cost) == (None, None)


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
@pytest.mark.parametrize("rung", ["native", "tool", "text"])
@pytest.mark.parametrize("schema", [Verdict, Cast])
async def test_every_rung_brings_an_object(
    provider: Literal["openai", "anthropic"], rung: str, schema: type[BaseModel]
) -> None:
    async with talking(provider=provider, structured=rung) as (server, model):
        reply = await ask(model, question(schema))
    assert isinstance(reply.parsed, schema)
    (body,) = server.bodies
    assert ("tools" in body) == (rung == "tool")
    assert ("response_format" in body or "output_config" in body) == (rung == "native")
    assert server.requests[0].schema is not None


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
async def test_the_ladder_is_climbed_down_once(provider: Literal["openai", "anthropic"]) -> None:
    def old_server(seen: Seen) -> Says | Fails:
        for field in ("response_format", "output_config", "tools"):
            if field in seen.body:
                return Fails(400, f"{field}: Extra inputs are not permitted")
        return improvise(seen)

    async with talking(old_server, provider) as (server, model):
        for _ in range(2):
            assert (await ask(model, question())).parsed is not None
    assert len(server.requests) == 4
    assert [message[0] for message in server.requests[-1].messages] == ["system", "user"]


@pytest.mark.parametrize(
    ("status", "message"), [(401, "no access to response_format"), (400, "prompt too long"), (404, "no such model")]
)
async def test_other_refusals_are_not_the_ladders_fault(status: int, message: str) -> None:
    async with talking(lambda _: Fails(status, message)) as (server, model):
        with pytest.raises(Rejected):
            await ask(model, question())
    assert len(server.requests) == 1


async def test_a_pinned_rung_is_kept() -> None:
    async with talking(lambda _: Fails(400, "response_format is unknown"), structured="native") as (server, model):
        with pytest.raises(Rejected):
            await ask(model, question())
    assert len(server.requests) == 1


async def test_bad_json_over_the_wire_is_reasked_then_invalid() -> None:
    async with talking(structured_badly("A wins")) as (server, model):
        with pytest.raises(InvalidReply):
            await ask(model, question())
    assert len(server.requests) == 2


def test_concurrent_refusals_step_down_once() -> None:
    ladder = Ladder(ModelSpec(provider="openai", model="gpt-4.1"), capabilities("openai", "gpt-4.1"))
    refused = Rejected("400 response_format is unknown", status=400)
    assert [ladder.step_down("native", refused) for _ in range(3)] == [True, True, True]
    assert ladder.rung == "tool"
    assert not ladder.step_down("tool", refused)


def test_claude_with_a_thinking_budget_is_never_forced_to_a_tool() -> None:
    spec = ModelSpec(provider="anthropic", model="claude-sonnet-4-20250514", thinking=2000)
    assert Ladder(spec, capabilities("anthropic", spec.model)).rung == "text"


def test_a_strict_schema_is_closed_and_complete() -> None:
    schema = strict_schema(Cast, constraints=True)
    for node in (schema, schema["$defs"]["Verdict"]):
        assert node["additionalProperties"] is False
        assert node["required"] == list(node["properties"])
    assert "default" not in json.dumps(schema)
    assert schema["$defs"]["Verdict"]["properties"]["rating"] == {"type": "integer", "minimum": 1, "maximum": 5}


def test_without_constraints_a_small_range_is_an_enumeration() -> None:
    schema = strict_schema(Cast, constraints=False)
    assert schema["$defs"]["Verdict"]["properties"]["rating"] == {"type": "integer", "enum": [1, 2, 3, 4, 5]}
    assert schema["properties"]["length"] == {"type": "integer"}


@pytest.mark.parametrize(
    ("provider", "model", "sampling", "limit", "rung"),
    [
        ("openai", "gpt-4.1-mini", True, "max_completion_tokens", "native"),
        ("openai", "openai/gpt-4o", True, "max_completion_tokens", "native"),
        ("openai", "gpt-4-turbo", True, "max_completion_tokens", "tool"),
        ("openai", "gpt-5-mini", False, "max_completion_tokens", "native"),
        ("openai", "gpt-5-chat-latest", True, "max_completion_tokens", "native"),
        ("openai", "gpt-6.1-sol", False, "max_completion_tokens", "native"),
        ("openai", "o4-mini", False, "max_completion_tokens", "native"),
        ("openai", "openai/gpt-oss-120b", True, "max_tokens", "native"),
        ("openai", "Qwen3-235B-A22B", True, "max_tokens", "native"),
        ("openai", "deepseek-chat", True, "max_tokens", "tool"),
        ("anthropic", "claude-3-5-haiku-20241022", True, "max_tokens", "tool"),
        ("anthropic", "claude-4-sonnet", True, "max_tokens", "tool"),
        ("anthropic", "claude-opus-4-20250514", True, "max_tokens", "tool"),
        ("anthropic", "claude-sonnet-4-5", True, "max_tokens", "native"),
        ("anthropic", "claude-opus-4-7", False, "max_tokens", "native"),
        ("anthropic", "claude-haiku-5-5", False, "max_tokens", "native"),
    ],
)
def test_what_models_take(
    provider: Literal["openai", "anthropic"], model: str, sampling: bool, limit: str, rung: str
) -> None:
    row = capabilities(provider, model)
    assert (row.sampling, row.max_tokens, row.rungs[0]) == (sampling, limit, rung)
