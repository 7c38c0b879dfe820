"""The journal: every finished call is kept before anything is built on it, and never made twice."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

import orjson
from pydantic import BaseModel

from screentest.errors import BadReply, CallError, EmptyReply, ScreentestError
from screentest.llms.model import Model, Reply, Request


@dataclass(frozen=True, slots=True)
class Call:
    """One call's identity.

    Attributes:
        digest: Hash of everything that decides the reply, and of the call's place in the run.
        key: Its place in the run.
        purpose: What it is for.
        model: The model's label.
    """

    digest: bytes
    key: str
    purpose: str
    model: str


class Journal(Protocol):
    """Where calls are kept."""

    def find(self, call: Call) -> Reply | ScreentestError | None:
        """The reply to a call that finished, or the error of one that failed for good and is not to be retried."""
        ...

    def begin(self, call: Call, *, resumed: bool = False) -> None:
        """An attempt at the current task's call sets out.

        Args:
            call: The call.
            resumed: It is no new attempt, but goes on waiting for one that an earlier session made.
        """
        ...

    def missed(self, call: Call, error: CallError | BadReply) -> None:
        """An attempt at the current task's call failed; another one may follow."""
        ...

    async def finish(self, call: Call, reply: Reply) -> None:
        """A call brought a reply; returns once that is on disk."""
        ...

    async def fail(self, call: Call, error: ScreentestError) -> None:
        """A call failed for good; returns once that is on disk."""
        ...

    def guard(self, work: Coroutine[Any, Any, Reply]) -> asyncio.Task[Reply]:
        """Run a call so that it reaches the journal even when nobody waits for it any more."""
        ...


class Journaled:
    """A model whose finished calls are kept, and answered from there when they are asked for again.

    A call that is under way when its conversation is cancelled is still waited for and kept: it is being paid for.

    Args:
        model: The model.
        journal: Where calls are kept.
        identity: What the model is, apart from its label: provider, name, parameters.
    """

    def __init__(self, model: Model, journal: Journal, identity: object) -> None:
        self._model, self._journal = model, journal
        self._identity = encoded_identity(identity)

    @property
    def name(self) -> str:
        """The label of the model within."""
        return self._model.name

    async def reply(self, request: Request) -> Reply:
        """Answer ``request``, from the journal if it is there."""
        call = Call(digest(self._identity, request), request.key, request.purpose, self.name)
        found = self._journal.find(call)
        if found is None:
            return await asyncio.shield(self._journal.guard(self._make(call, request)))
        if isinstance(found, ScreentestError):
            raise found
        if found.finish == "stop" and not found.text:
            raise EmptyReply("the reply has no text", model=self.name, reply=found)
        return found

    async def _make(self, call: Call, request: Request) -> Reply:
        try:
            reply = await self._model.reply(request)
        except BadReply as error:
            if error.reply is None:
                await self._journal.fail(call, error)
            else:
                await self._journal.finish(call, error.reply)
            raise
        except CallError as error:
            await self._journal.fail(call, error)
            raise
        await self._journal.finish(call, reply)
        return reply


class Noted:
    """A model whose every attempt is noted in the journal: as it sets out, past all that could still hold it back, and
    if it fails.

    Args:
        model: The model.
        journal: Where calls are kept.
        identity: As for :class:`Journaled`.
        handed_in: Whether an earlier session has made the attempt that is to be made at a request; none has by default.
    """

    def __init__(
        self,
        model: Model,
        journal: Journal,
        identity: object,
        handed_in: Callable[[Request], bool] | None = None,
    ) -> None:
        self._model, self._journal, self._handed_in = model, journal, handed_in
        self._identity = encoded_identity(identity)

    @property
    def name(self) -> str:
        """The label of the model within."""
        return self._model.name

    async def reply(self, request: Request) -> Reply:
        """Note an attempt at ``request``, and pass it on."""
        call = Call(digest(self._identity, request), request.key, request.purpose, self.name)
        self._journal.begin(call, resumed=self._handed_in is not None and self._handed_in(request))
        try:
            return await self._model.reply(request)
        except (CallError, BadReply) as error:
            self._journal.missed(call, error)
            raise


def encoded_identity(identity: object) -> bytes:
    """What a model is, ready for :func:`digest`."""
    return orjson.dumps(identity, option=orjson.OPT_SORT_KEYS)


def _encoded(parts: object) -> bytes:
    try:
        return orjson.dumps(parts)
    except orjson.JSONEncodeError:  # text that is no Unicode; the provider will say so
        return json.dumps(parts).encode()


def digest(identity: bytes, request: Request) -> bytes:
    """Hash of everything that decides the reply of a model, and of the request's place in the run."""
    sampling = request.sampling
    parts = (
        request.key,
        [(message.role, message.content) for message in request.messages],
        (sampling.temperature, sampling.max_tokens, request.seed),
        _schema(request.schema) if request.schema else None,
    )
    return hashlib.sha256(identity + b"\n" + _encoded(parts)).digest()


@lru_cache(maxsize=2048)
def _schema(schema: type[BaseModel]) -> str:
    return hashlib.sha256(orjson.dumps(schema.model_json_schema(), option=orjson.OPT_SORT_KEYS)).hexdigest()
