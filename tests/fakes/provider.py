"""A provider on loopback: OpenAI's chat completions and embeddings, Anthropic's messages, and both ones' batches.

async with FakeProvider(says("Hello.")) as server:
    ...  # call server.openai_url or server.anthropic_url
assert server.requests[0].body["model"] == "gpt-4.1"

with FakeProvider.threaded() as server:
    ...  # the same, for subprocesses and for tests that run their own loop
"""

from __future__ import annotations

import asyncio
import http.client
import json
import socket
import struct
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from itertools import pairwise
from typing import Any, Literal, Self

from fakes.batches import FakeBatches
from fakes.behaviours import Answer, Behaviour, Cuts, Drips, Fails, Hangs, Raw, Says, Seen, improvise
from fakes.embeddings import vectors
from screentest.llms import Model, ModelSpec, open_models

Provider = Literal["openai", "anthropic", "embeddings"]

_PROTOCOLS: dict[str, Provider] = {
    "/v1/chat/completions": "openai",
    "/v1/embeddings": "embeddings",
    "/v1/messages": "anthropic",
}
_MODELS = {"openai": "gpt-4.1", "anthropic": "claude-sonnet-4-6", "embeddings": "text-embedding-3-small"}


class FakeProvider:
    """A provider's server.

    Args:
        behaviour: What it answers.
        latency: Seconds before each answer.

    Attributes:
        requests: Every request seen, in order of arrival.
        connections: How many connections were opened.
        peak: The most requests under way at once.
        batches: The batch endpoints.
        embeddings: What it answers where vectors are asked for.
    """

    def __init__(self, behaviour: Behaviour = improvise, *, latency: float = 0.0) -> None:
        self.behaviour, self.latency = behaviour, latency
        self.requests: list[Seen] = []
        self.connections = self.peak = self._under_way = self._port = 0
        self.batches = FakeBatches(self._said, _body)
        self.embeddings: Behaviour = vectors()
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    @property
    def openai_url(self) -> str:
        """The ``base_url`` for the provider ``openai``."""
        return f"http://127.0.0.1:{self._port}/v1"

    @property
    def anthropic_url(self) -> str:
        """The ``base_url`` for the provider ``anthropic``."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def bodies(self) -> list[dict[str, Any]]:
        """The body of every request seen."""
        return [seen.body for seen in self.requests]

    def spec(self, provider: Provider, **fields: Any) -> ModelSpec:
        """A model here; without a key, as on any local server."""
        url = self.anthropic_url if provider == "anthropic" else self.openai_url
        model = _MODELS[provider]
        return ModelSpec.model_validate({"provider": provider, "model": model, "base_url": url} | fields)

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0, backlog=1024)
        self._port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @classmethod
    @contextmanager
    def threaded(cls, behaviour: Behaviour = improvise, *, latency: float = 0.0) -> Iterator[Self]:
        """A server in a thread of its own."""
        provider, started = cls(behaviour, latency=latency), threading.Event()
        stop: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []

        async def serve() -> None:
            async with provider:
                stop.append((asyncio.get_running_loop(), asyncio.Event()))
                started.set()
                await stop[0][1].wait()

        thread = threading.Thread(target=asyncio.run, args=(serve(),), daemon=True)
        thread.start()
        if not started.wait(10):
            raise RuntimeError("the fake provider did not start")
        try:
            yield provider
        finally:
            loop, event = stop[0]
            loop.call_soon_threadsafe(event.set)
            thread.join(10)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.connections += 1
        try:
            while await self._exchange(reader, writer):
                pass
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, path, _ = head[0].split(" ")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
        content = await reader.readexactly(int(headers.get("content-length", 0)))
        self._under_way += 1
        self.peak = max(self.peak, self._under_way)
        try:
            answer = self._answer(method, path, headers, content)
            if self.latency:
                await asyncio.sleep(self.latency)
            return await self._write(writer, path, answer)
        finally:
            self._under_way -= 1

    def _answer(self, method: str, path: str, headers: dict[str, str], content: bytes) -> tuple[Seen | None, Answer]:
        if answer := self.batches.answer(method, path, headers, content):
            return None, answer
        if path not in _PROTOCOLS:
            return None, Fails(404, f"no such path: {path}")
        seen = Seen(_PROTOCOLS[path], headers, json.loads(content))
        self.requests.append(seen)
        return seen, self._said(seen)

    def _said(self, seen: Seen) -> Answer:
        behaviour = self.embeddings if seen.protocol == "embeddings" else self.behaviour
        return _refused(seen) or behaviour(seen)

    async def _write(self, writer: asyncio.StreamWriter, path: str, answered: tuple[Seen | None, Answer]) -> bool:
        seen, answer = answered
        if isinstance(answer, Hangs):
            await asyncio.Event().wait()
        if isinstance(answer, Cuts) and answer.where == "before_headers":
            return self._cut(writer, answer)
        status = answer.status if isinstance(answer, Fails | Raw) else 200
        headers = answer.headers if isinstance(answer, Fails | Says) else {}
        content = _encoded(path, seen, answer)
        head = [
            f"HTTP/1.1 {status} {http.client.responses.get(status, 'Overloaded')}",
            "content-type: application/json",
            f"content-length: {len(content)}",
            *(f"{name}: {value}" for name, value in headers.items()),
        ]
        if isinstance(answer, Cuts):
            content = content[: len(content) // 2]
        sent = "\r\n".join([*head, "", ""]).encode() + content
        if isinstance(answer, Drips):
            for byte in sent:
                writer.write(bytes([byte]))
                await writer.drain()
                await asyncio.sleep(answer.pause)
            return True
        writer.write(sent)
        await writer.drain()
        return self._cut(writer, answer) if isinstance(answer, Cuts) else True

    def _cut(self, writer: asyncio.StreamWriter, how: Cuts) -> bool:
        if how.reset:
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.transport.abort()
        return False


def _encoded(path: str, seen: Seen | None, answer: Answer) -> bytes:
    if isinstance(answer, Raw):
        return answer.body
    if isinstance(answer, Fails):
        return _error(path, answer)
    assert seen is not None
    said = answer if isinstance(answer, Says) else improvise(seen)
    return json.dumps(_body(seen, said)).encode()


def _body(seen: Seen, said: Says) -> dict[str, Any]:
    return _completion(seen, said) if seen.protocol == "openai" else _message(seen, said)


def _refused(seen: Seen) -> Fails | None:
    """What the real servers refuse, as far as our providers could get it wrong."""
    if "authorization" not in seen.headers and "x-api-key" not in seen.headers:
        return Fails(401, "no key", "authentication_error")
    if seen.protocol != "anthropic":
        return None
    body, version = seen.body, seen.headers.get("anthropic-version")
    roles = [message["role"] for message in body["messages"]]
    if version is None:
        return Fails(400, "anthropic-version: header is required", "invalid_request_error")
    if version >= "2026-10-21" and (extra := body.keys() & {"temperature", "top_p", "top_k"}):
        return Fails(400, f"{min(extra)}: Extra inputs are not permitted", "invalid_request_error")
    if "max_tokens" not in body:
        return Fails(400, "max_tokens: Field required", "invalid_request_error")
    if set(roles) - {"user", "assistant"} or any(a == b for a, b in pairwise(roles)):
        return Fails(400, "messages: roles must be user and assistant, in turn", "invalid_request_error")
    return None


def _completion(seen: Seen, said: Says) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": said.text, "refusal": None}
    if said.reasoning:
        message[said.reasoning_field] = said.reasoning
    finish = {"length": "length", "filtered": "content_filter"}.get(said.finish, "stop")
    if said.finish == "refusal":
        message |= {"content": None, "refusal": said.text}
    elif seen.tool and said.finish == "stop":
        call = {"id": "call_1", "type": "function", "function": {"name": seen.tool, "arguments": said.text}}
        message |= {"content": None, "tool_calls": [call]}
        finish = "tool_calls"
    body: dict[str, Any] = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 0,
        "model": f"{seen.body['model']}-2026-01-01",
        "choices": [{"index": 0, "message": message, "finish_reason": finish, "logprobs": None}],
    }
    if said.usage:
        prompt, completion, thought = _tokens(seen.prompt), _tokens(said.text), _tokens(said.reasoning)
        body["usage"] = {
            "prompt_tokens": prompt,
            "completion_tokens": completion + thought,
            "total_tokens": prompt + completion + thought,
            "prompt_tokens_details": {"cached_tokens": said.cached},
            "completion_tokens_details": {"reasoning_tokens": thought},
        }
    return body


def _message(seen: Seen, said: Says) -> dict[str, Any]:
    content: list[dict[str, Any]] = []
    if said.reasoning:
        content.append({"type": "thinking", "thinking": said.reasoning, "signature": "c2ln"})
    stop = {"length": "max_tokens", "refusal": "refusal", "filtered": "refusal"}.get(said.finish, "end_turn")
    if seen.tool and said.finish == "stop":
        content.append({"type": "tool_use", "id": "toolu_1", "name": seen.tool, "input": json.loads(said.text or "{}")})
        stop = "tool_use"
    elif said.text:
        content.append({"type": "text", "text": said.text})
    body: dict[str, Any] = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": f"{seen.body['model']}-20260101",
        "content": content,
        "stop_reason": stop,
        "stop_sequence": None,
    }
    if said.usage:
        prompt, thought = _tokens(seen.prompt), _tokens(said.reasoning)
        body["usage"] = {
            "input_tokens": max(0, prompt - said.cached),
            "cache_read_input_tokens": said.cached,
            "cache_creation_input_tokens": 0,
            "output_tokens": _tokens(said.text) + thought,
            "output_tokens_details": {"thinking_tokens": thought},
        }
    return body


def _error(path: str, failure: Fails) -> bytes:
    if path.startswith("/v1/messages"):
        error = {"type": failure.code or "api_error", "message": failure.message}
        return json.dumps({"type": "error", "error": error, "request_id": "req_1"}).encode()
    error = {"message": failure.message, "type": "error", "param": None, "code": failure.code or None}
    return json.dumps({"error": error}).encode()


def _tokens(text: str | None) -> int:
    return (len(text or "") + 3) // 4


@asynccontextmanager
async def talking(
    behaviour: Behaviour = improvise, provider: Provider = "openai", **fields: Any
) -> AsyncIterator[tuple[FakeProvider, Model]]:
    """A server, and a model there, labelled ``miriam``; ``fields`` are those of its :class:`ModelSpec`."""
    async with (
        FakeProvider(behaviour) as server,
        open_models({"miriam": server.spec(provider, **fields)}, environment={}) as models,
    ):
        yield server, models["miriam"]
