"""What a fake provider does with a request: a behaviour maps what it has seen to what it answers."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from fakes.instances import described_schema, instance


@dataclass(frozen=True)
class Seen:
    """One request as it came over the wire."""

    protocol: Literal["openai", "anthropic", "embeddings"]
    headers: dict[str, str]
    body: dict[str, Any]

    @cached_property
    def prompt(self) -> str:
        """All text of the prompt."""
        return "\n".join(text for _, text in self.messages)

    @property
    def messages(self) -> list[tuple[str, str]]:
        """(role, text) of every message, Anthropic's system prompt first."""
        told = [("system", _text(self.body["system"]))] if "system" in self.body else []
        return told + [(message["role"], _text(message["content"])) for message in self.body["messages"]]

    @property
    def tool(self) -> str | None:
        """The name of the forced tool."""
        choice = self.body.get("tool_choice") or {}
        return choice.get("name") or choice.get("function", {}).get("name")

    @cached_property
    def schema(self) -> dict[str, Any] | None:
        """The JSON schema the answer must fit, by whichever way it was asked for."""
        body = self.body
        if "response_format" in body:
            return body["response_format"]["json_schema"]["schema"]
        if "format" in body.get("output_config", {}):
            return body["output_config"]["format"]["schema"]
        if self.tool:
            (tool,) = body["tools"]
            return tool.get("input_schema") or tool["function"]["parameters"]
        return described_schema(self.prompt)

    @property
    def generator(self) -> random.Random:
        """Randomness that depends on nothing but the body."""
        return random.Random(hashlib.sha256(json.dumps(self.body, sort_keys=True).encode()).hexdigest())


@dataclass(frozen=True)
class Says:
    """A regular reply. ``reasoning_field`` is where a chat-completions server puts what the model thought."""

    text: str | None = ""
    finish: Literal["stop", "length", "refusal", "filtered"] = "stop"
    reasoning: str = ""
    reasoning_field: str = "reasoning_content"
    usage: bool = True
    cached: int = 0
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Fails:
    """An error status with the protocol's error body."""

    status: int
    message: str = "something went wrong"
    code: str = ""
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Raw:
    """Any bytes."""

    body: bytes
    status: int = 200


@dataclass(frozen=True)
class Cuts:
    """The connection is closed before the headers, or in the middle of the body; or reset there."""

    where: Literal["before_headers", "mid_body"]
    reset: bool = False


@dataclass(frozen=True)
class Hangs:
    """No answer, ever."""


@dataclass(frozen=True)
class Drips:
    """A regular reply, one byte at a time, with so many seconds between two."""

    pause: float


Answer = Says | Fails | Raw | Cuts | Hangs | Drips
Behaviour = Callable[[Seen], Answer]


def improvise(seen: Seen) -> Says:
    """Whatever is asked for: an instance of the schema, or one line of role-play; the same for the same body."""
    draw = seen.generator
    if seen.schema is not None:
        return Says(json.dumps(instance(seen.schema, draw), ensure_ascii=False))
    return Says(_line(draw, chinese=_mostly_chinese(seen.prompt)))


def says(text: str, **rest: Any) -> Behaviour:
    """Always the same reply."""
    return lambda _: Says(text, **rest)


def rate_limited(**headers: str) -> Fails:
    """A 429, e.g. ``rate_limited(retry_after="2")``."""
    return Fails(429, "slow down", "rate_limit_exceeded", {key.replace("_", "-"): v for key, v in headers.items()})


def in_turn(*answers: Answer, then: Behaviour = improvise) -> Behaviour:
    """The given answers one after the other, then ``then``."""
    left = list(answers)
    return lambda seen: left.pop(0) if left else then(seen)


def structured_badly(text: str) -> Behaviour:
    """``text`` where JSON is asked for, a line otherwise."""
    return lambda seen: Says(text) if seen.schema is not None else improvise(seen)


def _text(content: str | list[dict[str, Any]]) -> str:
    return content if isinstance(content, str) else "".join(block.get("text", "") for block in content)


def _mostly_chinese(text: str) -> bool:
    return sum("一" <= char <= "鿿" for char in text) > len(text) / 5


_ENGLISH = (
    "lifts a lamp|looks away|leans closer|folds both hands|turns to the door|smiles thinly|paces|shuts the book",
    "I never|we always|nobody here ever|you once|my father never|the crew always|our neighbours once|she never",
    "trusted|forgot|counted|feared|mended|followed|sold|buried",
    "the harbour bell|that old promise|a debt of salt|the northern road|your brother's map|the winter stores",
    "before the storm|and it cost us dearly|whatever the letters say|while the candles lasted|since the flood|in vain",
)
_CHINESE = (
    "举起灯|移开目光|走近一步|合上书|转身看门|微微一笑|来回踱步|攥紧双手",
    "我从不|我们总是|这里没人|你曾经|父亲从来不|船员们一直|邻居们当年|她绝不",
    "相信|忘记|清点|害怕|修补|追随|变卖|埋葬",
    "港口的钟|那个旧约|一笔盐债|北边的路|你兄长的地图|过冬的存粮",
    ",在风暴之前|,代价很大|,不管信里怎么写|,直到烛火燃尽|,自那场洪水以后|,终究徒劳",
)


def _line(draw: random.Random, *, chinese: bool) -> str:
    action, *speech = (draw.choice(choices.split("|")) for choices in (_CHINESE if chinese else _ENGLISH))
    if chinese:
        return f"({action}){''.join(speech)}。"
    words = " ".join(speech)
    return f"({action}) {words[0].upper()}{words[1:]}."
