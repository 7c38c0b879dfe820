"""Chat completions: OpenAI, and every server that speaks its protocol (vLLM, Ollama, DeepSeek, Qwen, Gemini …)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import openai

from screentest.llms.ladder import plain_schema, strict_schema, told_the_schema
from screentest.llms.model import Finish, Reply, Request, Usage
from screentest.llms.redaction import Redaction
from screentest.llms.served import ServedModel
from screentest.llms.spec import Rung
from screentest.llms.wire import LIMITS, Client, SdkErrors, Wire, trust

BASE_URL = "https://api.openai.com/v1"

_FINISHES: dict[str, Finish] = {
    "stop": "stop",
    "eos": "stop",
    "stop_sequence": "stop",
    "end_turn": "stop",
    "tool_calls": "stop",
    "function_call": "stop",
    "length": "length",
    "max_tokens": "length",
    "content_filter": "filtered",
    "sensitive": "filtered",
    "safety": "filtered",
    "recitation": "filtered",
}


def wire(base_url: str | None, key: str | None, timeout: float, path: str = "/chat/completions") -> Wire:
    """A client to one server.

    Args:
        base_url: Where it is; OpenAI if ``None``.
        key: The key; ``None`` for a local server that asks for none.
        timeout: Seconds to connect, and between two bytes.
        path: Where requests go, below the base URL.
    """
    redaction = Redaction(key)
    hooks = {"response": [redaction.headers]}
    client = openai.AsyncOpenAI(
        api_key=key or "none",
        base_url=base_url or BASE_URL,
        max_retries=0,
        timeout=timeout,
        http_client=openai.DefaultAioHttpClient(limits=LIMITS, timeout=timeout, verify=trust(), event_hooks=hooks),
    )
    errors = SdkErrors(openai.APIStatusError, openai.APITimeoutError, openai.APIConnectionError)
    return Wire(cast(Client, client), errors, path, redaction)


class OpenAIModel(ServedModel):
    """A model served over chat completions."""

    provider = "openai"

    def _body(self, request: Request, rung: Rung | None) -> dict[str, Any]:
        spec, row = self._spec, self._row
        temperature, max_tokens = spec.sampled(request.sampling)
        body: dict[str, Any] = {"model": spec.model, "messages": request.messages, row.max_tokens: max_tokens}
        if row.sampling and temperature is not None:
            body["temperature"] = temperature
        if row.sampling and spec.top_p is not None:
            body["top_p"] = spec.top_p
        if row.effort and spec.effort is not None:
            body["reasoning_effort"] = spec.effort
        if request.schema is not None:
            name = request.schema.__name__
            if rung == "native":
                schema = strict_schema(request.schema, constraints=True)
                body["response_format"] = {
                    "type": "json_schema",
                    "json_schema": {"name": name, "schema": schema, "strict": True},
                }
            elif rung == "tool":
                function = {"name": name, "parameters": plain_schema(request.schema)}
                body["tools"] = [{"type": "function", "function": function}]
                body["tool_choice"] = {"type": "function", "function": {"name": name}}
            else:
                body["messages"] = told_the_schema(request, request.schema)
        return body | spec.extra

    def _reply(self, body: dict[str, Any], rung: Rung | None, latency: float) -> Reply:
        message, ended = self._choice(body)
        text, thoughts = _split(message.get("content"))
        for field in ("reasoning_content", "reasoning"):
            if isinstance(told := message.get(field), str) and told:
                thoughts = told
                break
        if rung == "tool" and (arguments := _arguments(message)) is not None:
            text = arguments
        finish = _FINISHES.get(ended, "unknown")
        if finish == "stop" and isinstance(refusal := message.get("refusal"), str) and refusal:
            text, finish = refusal, "refusal"
        usage = _usage(body.get("usage"))
        return self._made(body, text=text, finish=finish, thoughts=thoughts, usage=usage, latency=latency)

    def _choice(self, body: dict[str, Any]) -> tuple[Mapping[str, Any], str]:
        choices = body.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        message = choice.get("message") if isinstance(choice, dict) else None
        if not isinstance(choice, dict) or not isinstance(message, dict):
            raise self._unusable(body, "the response holds no message")
        return message, str(choice.get("finish_reason")).lower()


def _split(content: object) -> tuple[str, str]:
    """The text of a message, and the thoughts that open models put in front of it."""
    if isinstance(content, list):
        parts = [part for part in content if isinstance(part, dict)]
        content = "".join(part["text"] for part in parts if isinstance(part.get("text"), str))
    text = content if isinstance(content, str) else ""
    thoughts, closed, rest = text.partition("</think>")
    if closed:
        return rest.lstrip(), thoughts.replace("<think>", "", 1).strip()
    if text.lstrip().startswith("<think>"):
        return "", text.replace("<think>", "", 1).strip()
    return text, ""


def _arguments(message: Mapping[str, Any]) -> str | None:
    """What the forced tool was called with."""
    calls = message.get("tool_calls")
    call = calls[0] if isinstance(calls, list) and len(calls) == 1 else None
    function = call.get("function") if isinstance(call, dict) else None
    arguments = function.get("arguments") if isinstance(function, dict) else None
    return arguments if isinstance(arguments, str) else None


def _usage(told: object) -> Usage | None:
    """Tokens; some servers leave reasoning out of ``completion_tokens`` but count it in ``total_tokens``."""
    if not isinstance(told, dict):
        return None
    prompt, completion, total = (told.get(key) for key in ("prompt_tokens", "completion_tokens", "total_tokens"))
    if not isinstance(prompt, int) or not isinstance(completion, int):
        return None
    output = max(completion, total - prompt) if isinstance(total, int) else completion
    cached = _detail(told, "prompt_tokens_details", "cached_tokens") or _whole(told.get("prompt_cache_hit_tokens"))
    reasoning = _detail(told, "completion_tokens_details", "reasoning_tokens")
    return Usage(input=prompt, output=output, cached=min(cached, prompt), reasoning=min(reasoning, output))


def _detail(told: Mapping[str, Any], group: str, key: str) -> int:
    details = told.get(group)
    return _whole(details.get(key)) if isinstance(details, dict) else 0


def _whole(value: object) -> int:
    return value if isinstance(value, int) else 0
