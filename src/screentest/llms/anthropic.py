"""Anthropic's messages."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from typing import Any, cast

import anthropic
import orjson

from screentest.llms.ladder import plain_schema, strict_schema, told_the_schema
from screentest.llms.model import Finish, Message, Reply, Request, Usage
from screentest.llms.redaction import Redaction
from screentest.llms.served import ServedModel
from screentest.llms.spec import Rung
from screentest.llms.wire import LIMITS, Client, SdkErrors, Wire, trust

BASE_URL = "https://api.anthropic.com"

_SAMPLING_VERSION = {"anthropic-version": "2023-06-01"}
_WORTH_CACHING = 4000
_FINISHES: dict[str, Finish] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refusal",
}


def wire(base_url: str | None, key: str | None, timeout: float) -> Wire:
    """A client to one server.

    Args:
        base_url: Where it is, with or without ``/v1``; Anthropic if ``None``.
        key: The key; ``None`` for a local server that asks for none.
        timeout: Seconds to connect, and between two bytes.
    """
    redaction = Redaction(key)
    hooks = {"response": [redaction.headers]}
    client = anthropic.AsyncAnthropic(
        api_key=key or "none",
        base_url=(base_url or BASE_URL).removesuffix("/v1"),
        max_retries=0,
        timeout=timeout,
        open_telemetry=False,
        http_client=anthropic.DefaultAioHttpClient(limits=LIMITS, timeout=timeout, verify=trust(), event_hooks=hooks),
    )
    errors = SdkErrors(anthropic.APIStatusError, anthropic.APITimeoutError, anthropic.APIConnectionError)
    return Wire(cast(Client, client), errors, "/v1/messages", redaction)


class AnthropicModel(ServedModel):
    """A model served over Anthropic's messages."""

    provider = "anthropic"

    def _headers(self, body: Mapping[str, Any]) -> Mapping[str, str] | None:
        return _SAMPLING_VERSION if body.keys() & {"temperature", "top_p"} else None

    def _body(self, request: Request, rung: Rung | None) -> dict[str, Any]:
        spec, row = self._spec, self._row
        temperature, _ = spec.sampled(request.sampling)
        messages = told_the_schema(request, request.schema) if request.schema and rung == "text" else request.messages
        body: dict[str, Any] = {
            "model": spec.model,
            "max_tokens": spec.longest_output(request.sampling),
            "messages": _turns(messages),
        }
        if system := "\n\n".join(message.content for message in messages if message.role == "system"):
            body["system"] = _cacheable(system)
        if spec.thinking is not None:
            budget = {"type": "enabled", "budget_tokens": spec.thinking}
            body["thinking"] = budget if row.thinking == "budget" else {"type": "adaptive"}
        elif row.sampling and temperature is not None:
            body["temperature"] = min(temperature, 1.0)
        elif row.sampling and spec.top_p is not None:
            body["top_p"] = spec.top_p
        if row.effort and spec.effort is not None:
            body["output_config"] = {"effort": spec.effort}
        if request.schema is not None and rung == "native":
            schema = strict_schema(request.schema, constraints=False)
            body["output_config"] = body.get("output_config", {}) | {
                "format": {"type": "json_schema", "schema": schema}
            }
        if request.schema is not None and rung == "tool":
            name = request.schema.__name__
            body["tools"] = [{"name": name, "input_schema": plain_schema(request.schema)}]
            body["tool_choice"] = {"type": "tool", "name": name}
        return body | spec.extra

    def _reply(self, body: dict[str, Any], rung: Rung | None, latency: float) -> Reply:
        content, ended = body.get("content"), str(body.get("stop_reason"))
        if not isinstance(content, list) or not all(isinstance(block, dict) for block in content):
            raise self._unusable(body, "the response holds no content")
        text = _joined(content, "text")
        calls = [block["input"] for block in content if block.get("type") == "tool_use" and "input" in block]
        if rung == "tool" and len(calls) == 1:
            text = orjson.dumps(calls[0]).decode()
        finish, usage = _FINISHES.get(ended, "unknown"), _usage(body.get("usage"))
        thoughts = _joined(content, "thinking")
        return self._made(body, text=text, finish=finish, thoughts=thoughts, usage=usage, latency=latency)


def _turns(messages: tuple[Message, ...]) -> list[dict[str, str]]:
    """The conversation, as turns that alternate."""
    spoken = (message for message in messages if message.role != "system")
    return [
        {"role": role, "content": "\n\n".join(message.content for message in said)}
        for role, said in groupby(spoken, key=lambda message: message.role)
    ]


def _cacheable(system: str) -> str | list[dict[str, Any]]:
    """The system prompt, marked for the provider's prefix cache when it is long enough to matter."""
    if len(system) < _WORTH_CACHING:
        return system
    return [{"type": "text", "text": system, "cache_control": {"type": "ephemeral"}}]


def _joined(content: list[dict[str, Any]], kind: str) -> str:
    return "".join(block[kind] for block in content if block.get("type") == kind and isinstance(block.get(kind), str))


def _usage(told: object) -> Usage | None:
    """Tokens; Anthropic counts those read from and written to its cache apart from ``input_tokens``."""
    if not isinstance(told, dict):
        return None
    fresh, output = told.get("input_tokens"), told.get("output_tokens")
    if not isinstance(fresh, int) or not isinstance(output, int):
        return None
    read, written = told.get("cache_read_input_tokens") or 0, told.get("cache_creation_input_tokens") or 0
    details = told.get("output_tokens_details")
    reasoning = details.get("thinking_tokens") if isinstance(details, dict) else 0
    return Usage(input=fresh + read + written, output=output, cached=read, reasoning=min(reasoning or 0, output))
