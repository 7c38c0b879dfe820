"""The journal: replies are kept whole and never asked for again, failures are; two different calls never meet."""

from __future__ import annotations

import asyncio
import re
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from fakes.models import Scripted, said
from screentest.errors import (
    BadReply,
    CallError,
    EmptyReply,
    FilteredReply,
    InputError,
    Rejected,
    ScreentestError,
    StoreError,
    TimedOut,
    TruncatedReply,
    Unavailable,
)
from screentest.llms import Journaled, Message, Model, Noted, Reply, Request, Sampling, Usage, ask
from screentest.llms.journal import digest, encoded_identity
from screentest.sim import Store, ledger

IDENTITY = {"model": "m"}
REQUEST = Request(messages=(Message("user", "Who keeps the light?"),), purpose="test", key="a/turn/01")


@asynccontextmanager
async def kept(
    directory: Path, model: Model, *, replay: bool = False, retry_failed: bool = False
) -> AsyncIterator[tuple[Journaled, Store]]:
    """A model and the store behind it."""
    store = Store(directory / "run.db", replay=replay, retry_failed=retry_failed)
    try:
        yield Journaled(Noted(model, store, IDENTITY), store, IDENTITY), store
    finally:
        await store.drain(5)
        store.close()


async def _outcome(model: Model, request: Request = REQUEST) -> Reply | tuple[str, str, object]:
    try:
        return await ask(model, request)
    except (CallError, BadReply) as error:
        return error.kind, str(error), getattr(error, "status", None)


async def test_a_reply_is_asked_for_once_and_comes_back_whole(tmp_path: Path) -> None:
    reply = said(
        "(nods) Aye.",
        reasoning="She would nod.\nThen agree.",
        usage=Usage(input=900, output=80, cached=512, reasoning=31),
        cost=0.00123,
        latency=1.75,
        model="served-2026",
    )
    model = Scripted(reply)
    for _ in range(3):
        async with kept(tmp_path, model) as (journaled, _):
            assert await journaled.reply(REQUEST) == reply
    assert len(model.requests) == 1


async def test_a_reply_of_unknown_usage_and_cost_comes_back_unknown(tmp_path: Path) -> None:
    model = Scripted(said("Aye.", usage=None, cost=None))
    for _ in range(2):
        async with kept(tmp_path, model) as (journaled, _):
            reply = await journaled.reply(REQUEST)
            assert (reply.usage, reply.cost) == (None, None)
            (row,) = ledger(tmp_path / "run.db")
            assert (row.calls, row.unmetered, row.unpriced, row.cost) == (1, 1, 1, 0)


@pytest.mark.parametrize(
    "error", [Unavailable("503", model="m", status=503), TimedOut("no answer", model="m"), Rejected("400", status=400)]
)
async def test_a_failed_call_stays_failed_until_it_is_to_be_retried(tmp_path: Path, error: CallError) -> None:
    model = Scripted(error, said("At last."))
    async with kept(tmp_path, model) as (journaled, _):
        with pytest.raises(type(error)):
            await journaled.reply(REQUEST)
        (row,) = ledger(tmp_path / "run.db")
        assert (row.calls, row.failed) == (0, 1)
    async with kept(tmp_path, model) as (journaled, store):
        with pytest.raises(type(error), match=re.escape(str(error))):
            await journaled.reply(REQUEST)
    assert len(model.requests) == 1
    async with kept(tmp_path, model, retry_failed=True) as (journaled, store):
        assert (await journaled.reply(REQUEST)).text == "At last."
        (row,) = ledger(tmp_path / "run.db")
        assert (row.calls, row.failed) == (1, 0)
        assert (store.tally.repeated, store.tally.interrupted) == (0, 0), "it was not in flight, it had failed"
    assert len(model.requests) == 2


OUTCOMES: dict[str, Reply | ScreentestError] = {
    "stop": said("Aye."),
    "blank": EmptyReply("the reply has no text", model="scripted", reply=said("", reasoning="hm")),
    "nothing came of thinking": said("", finish="length", reasoning="hm …"),
    "cut": said("Ay", finish="length"),
    "refused without a word": said("", finish="refusal"),
    "refused": said("No.", finish="refusal"),
    "filtered without a word": said("", finish="filtered"),
    "the filter refused the prompt": FilteredReply("400 content", model="scripted"),
    "down": Unavailable("502 bad gateway", model="scripted", status=502),
    "late": TimedOut("no answer within 3 s", model="scripted"),
}


@pytest.mark.parametrize("happened", OUTCOMES.values(), ids=OUTCOMES.keys())
async def test_a_replay_ends_in_just_what_happened(tmp_path: Path, happened: Reply | ScreentestError) -> None:
    model = Scripted(happened, said("something else"))
    async with kept(tmp_path, model) as (journaled, _):
        first = await _outcome(journaled)
    async with kept(tmp_path, model, replay=True) as (journaled, _):
        assert await _outcome(journaled) == first
    assert len(model.requests) == 1


async def test_a_reply_that_was_cut_before_its_first_word_stays_a_cut_one_when_resumed(tmp_path: Path) -> None:
    model = Scripted(said("", finish="length", reasoning="on and on"), said("something else"))
    for _ in range(2):
        async with kept(tmp_path, model) as (journaled, _):
            with pytest.raises(TruncatedReply):
                await ask(journaled, REQUEST)
    assert len(model.requests) == 1


@pytest.mark.parametrize(
    "text",
    ["她说：“不。” 🕯️ e\u0301", "nul \x00 and \x1b[31m", "half a pair \ud83d here", "\udcff", "long " * 1_000_000],
    ids=["unicode", "control", "surrogate", "low surrogate", "5 MB"],
)
async def test_any_text_survives(tmp_path: Path, text: str) -> None:
    model = Scripted(said(text, reasoning=text))
    for _ in range(2):
        async with asyncio.timeout(10):
            async with kept(tmp_path, model) as (journaled, _):
                reply = await journaled.reply(REQUEST)
        assert (reply.text, reply.reasoning) == (text, text)
    assert len(model.requests) == 1


async def test_a_prompt_that_is_no_unicode_fails_as_one_call(tmp_path: Path) -> None:
    model = Scripted(Rejected("the prompt is not valid Unicode text", model="scripted"))
    request = replace(REQUEST, messages=(Message("user", "\ud83d"),))
    async with asyncio.timeout(10), kept(tmp_path, model) as (journaled, _):
        with pytest.raises(Rejected):
            await journaled.reply(request)


async def test_a_server_that_counts_beyond_reason_does_not_stop_the_run(tmp_path: Path) -> None:
    model = Scripted(said("Aye.", usage=Usage(input=2**70, output=1)), said("Nay."))
    async with asyncio.timeout(10), kept(tmp_path, model) as (journaled, _):
        with pytest.raises(StoreError):
            await journaled.reply(REQUEST)


async def test_a_call_whose_caller_went_away_is_kept_all_the_same(tmp_path: Path) -> None:
    model = Scripted(said("Paid for."), seconds=0.05)
    async with kept(tmp_path, model) as (journaled, _):
        caller = asyncio.create_task(journaled.reply(REQUEST))
        await asyncio.sleep(0.01)
        caller.cancel()
        with pytest.raises(asyncio.CancelledError):
            await caller
    async with kept(tmp_path, model, replay=True) as (journaled, _):
        assert (await journaled.reply(REQUEST)).text == "Paid for."
    assert len(model.requests) == 1


async def test_a_refused_key_may_be_mended(tmp_path: Path) -> None:
    model = Scripted(Rejected("wrong key", model="m", status=401), said("Now it is right."))
    async with kept(tmp_path, model) as (journaled, _):
        with pytest.raises(Rejected):
            await journaled.reply(REQUEST)
    async with kept(tmp_path, model) as (journaled, _):
        assert (await journaled.reply(REQUEST)).text == "Now it is right."


async def test_a_replay_of_a_call_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    model = Scripted(said("never"))
    async with kept(tmp_path, model):
        pass
    async with kept(tmp_path, model, replay=True) as (journaled, _):
        with pytest.raises(StoreError, match="a/turn/01 of scripted is not in the store"):
            await journaled.reply(REQUEST)
    assert not model.requests


async def test_a_store_that_cannot_be_written_stops_the_run_and_does_not_hang(tmp_path: Path) -> None:
    model = Scripted(said("one"), said("two"))
    async with asyncio.timeout(10), kept(tmp_path, model) as (journaled, _):
        await journaled.reply(REQUEST)
        with sqlite3.connect(tmp_path / "run.db") as other:
            other.execute("ALTER TABLE calls RENAME TO elsewhere")
        for key in ("b", "c"):
            with pytest.raises((StoreError, sqlite3.Error)):
                await journaled.reply(replace(REQUEST, key=key))


def test_a_store_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    Store(tmp_path / "run.db").close()
    with sqlite3.connect(tmp_path / "run.db") as connection:
        connection.execute("PRAGMA user_version = 99")
    with pytest.raises(InputError, match="too new"):
        Store(tmp_path / "run.db")


@pytest.mark.parametrize("at", [0, 40, 4096])
async def test_a_damaged_store_is_one_clear_error(tmp_path: Path, at: int) -> None:
    model = Scripted(*(said(f"{n} " * 200) for n in range(60)))
    async with kept(tmp_path, model) as (journaled, _):
        for n in range(60):
            await journaled.reply(replace(REQUEST, key=str(n)))
    file = tmp_path / "run.db"
    content = bytearray(file.read_bytes())
    content[at : at + 3000] = b"\xa5" * 3000
    file.write_bytes(content)
    with pytest.raises((InputError, StoreError)):
        async with kept(tmp_path, model, replay=True) as (journaled, _):
            list(ledger(tmp_path / "run.db"))
            for n in range(60):
                await journaled.reply(replace(REQUEST, key=str(n)))


class _One(BaseModel):
    a: int


class _Other(BaseModel):
    a: str


_TEXT = st.text(max_size=20)
_MESSAGES = st.builds(Message, st.sampled_from(("system", "user", "assistant")), _TEXT)
_REQUESTS = st.builds(
    Request,
    messages=st.lists(_MESSAGES, max_size=3).map(tuple),
    purpose=st.just("test"),
    key=_TEXT,
    seed=st.integers(0, 2**63 - 1),
    sampling=st.builds(
        Sampling,
        temperature=st.none() | st.floats(0, 2, allow_nan=False),
        max_tokens=st.none() | st.integers(1, 10**6),
    ),
    schema=st.sampled_from((None, _One, _Other)),
)
_IDENTITIES = st.fixed_dictionaries({"model": _TEXT}, optional={"temperature": st.floats(0, 2), "extra": _TEXT})


def _parts(identity: dict[str, object], request: Request) -> tuple[object, ...]:
    return identity, request.messages, request.key, request.seed, request.sampling, request.schema


@given(_IDENTITIES, _REQUESTS, _IDENTITIES, _REQUESTS)
def test_two_calls_share_a_digest_only_if_nothing_differs(
    model: dict[str, object], one: Request, other_model: dict[str, object], other: Request
) -> None:
    same = _parts(model, one) == _parts(other_model, other)
    found = digest(encoded_identity(model), one) == digest(encoded_identity(other_model), other)
    assert found == same


@given(_IDENTITIES, _REQUESTS, st.data())
def test_changing_one_part_of_a_call_changes_its_digest(
    model: dict[str, object], request: Request, data: st.DataObject
) -> None:
    before = digest(encoded_identity(model), request)
    messages = request.messages
    changed = data.draw(
        st.sampled_from(
            (
                replace(request, key=request.key + "/"),
                replace(request, seed=request.seed ^ 1),
                replace(request, messages=(*messages, Message("user", ""))),
                replace(request, messages=(Message("system", ""), *messages)),
                replace(request, sampling=replace(request.sampling, max_tokens=(request.sampling.max_tokens or 0) + 1)),
                replace(request, sampling=replace(request.sampling, temperature=2.5)),
                replace(request, schema=_Other if request.schema is not _Other else _One),
            )
        )
    )
    assert digest(encoded_identity(model), changed) != before
    assert digest(encoded_identity({**model, "top_p": 0.5}), request) != before
    assert digest(encoded_identity(dict(reversed(model.items()))), request) == before
