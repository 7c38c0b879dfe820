"""What a model is to this package: a name, and a way to reply to a request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol

from pydantic import BaseModel

Role = Literal["system", "user", "assistant"]
Finish = Literal["stop", "length", "refusal", "filtered", "unknown"]


@dataclass(frozen=True, slots=True)
class Message:
    """One chat message."""

    role: Role
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """Sampling parameters a request suggests; what the model's configuration says wins, ``None`` leaves it open."""

    temperature: float | None = None
    max_tokens: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One question to a model.

    Attributes:
        messages: The prompt, stable part first.
        purpose: What the call is for, dotted: ``"judge.pairwise"``.
        key: Its place in the run: ``"<conversation>/turn/07/judge.pairwise"``. Unique within a run.
        seed: Seeds whoever answers offline; derived from the run's seed and ``key``. Not sent to providers.
        sampling: Suggested sampling parameters.
        language: The language of the prompt, ``"en"`` or ``"zh"``.
        schema: The pydantic class the reply's text must be JSON of, or ``None`` for plain text.
        facts: The structured inputs the prompt was rendered from. Never sent to a provider: the understudy
            reads them instead of parsing prose.
    """

    messages: tuple[Message, ...]
    purpose: str
    key: str
    seed: int = 0
    language: Literal["en", "zh"] = "en"
    sampling: Sampling = field(default_factory=Sampling)
    schema: type[BaseModel] | None = None
    facts: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens of one call. ``cached`` is part of ``input``, ``reasoning`` is part of ``output``."""

    input: int = 0
    output: int = 0
    cached: int = 0
    reasoning: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            input=self.input + other.input,
            output=self.output + other.output,
            cached=self.cached + other.cached,
            reasoning=self.reasoning + other.reasoning,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """One answer from a model.

    Attributes:
        text: The answer. With a schema: the JSON text, as it came.
        finish: Why it ended.
        model: The model that served it, as the provider names it.
        reasoning: What the model thought, kept apart: it never enters history, a judge's prompt or a stream.
        parsed: The validated object, once :func:`screentest.llms.ask` has climbed down the ladder.
        usage: Tokens; ``None`` when the provider did not say.
        latency: Seconds from sending to the last byte.
        cost: US dollars; ``None`` when the price or the usage is not known, never 0 for "unknown".
    """

    text: str
    finish: Finish
    model: str
    reasoning: str = ""
    parsed: BaseModel | None = None
    usage: Usage | None = None
    latency: float = 0.0
    cost: float | None = None

    def after(self, first: Reply) -> Reply:
        """This reply, with usage, latency and cost of one that was paid for before it added."""
        return replace(
            self,
            usage=None if first.usage is None or self.usage is None else first.usage + self.usage,
            cost=None if first.cost is None or self.cost is None else first.cost + self.cost,
            latency=first.latency + self.latency,
        )


class Model(Protocol):
    """Anything that replies. Behaviour is added by wrapping one model in another."""

    @property
    def name(self) -> str:
        """The configured label, as reports show it."""
        ...

    async def reply(self, request: Request) -> Reply:
        """Answer ``request``.

        Raises:
            CallError: No reply came.
            BadReply: The reply has no text at all (:class:`~screentest.errors.EmptyReply`). A reply with another
                ``finish`` than ``stop`` is returned, and refused by :func:`screentest.llms.ask`.
        """
        ...
