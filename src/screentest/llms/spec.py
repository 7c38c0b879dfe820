"""How a model is named in a config: who serves it, under which limits, at what price."""

from __future__ import annotations

import hashlib
import ipaddress
import json
import re
from collections.abc import Iterator
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from screentest.llms.model import Sampling, Usage

Provider = Literal["openai", "anthropic", "embeddings", "understudy"]
Skill = Literal["novice", "adept", "expert"]
Rung = Literal["native", "tool", "text"]

DEFAULT_MAX_TOKENS = 2048
DEFAULT_CONCURRENCY = 64
_DEFAULT_KEY_ENV: dict[Provider, str] = {
    "openai": "OPENAI_API_KEY",
    "anthropic": "ANTHROPIC_API_KEY",
    "embeddings": "OPENAI_API_KEY",
}
_KEY_ENV = re.compile(r"[A-Z_][A-Z0-9_]*")
_SECRET = re.compile(
    r"^key$|api[-_]?key|auth(?!or)|secret|passw|credential|bearer|private[-_]?key|(^|[-_])token$", re.IGNORECASE
)
_RESERVED_EXTRA = {"model", "messages", "system", "stream", "n", "input", "encoding_format", "dimensions"}
_ONLY_CHAT = {"temperature", "top_p", "max_tokens", "thinking", "effort", "structured"}

Dollars = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Price(BaseModel):
    """What tokens cost, in US dollars per million.

    Attributes:
        input: Prompt tokens. Tokens written to a provider's cache count as these.
        output: Reply tokens.
        cached: Prompt tokens served from the provider's cache; the price of ``input`` if not given.
        reasoning: Reasoning tokens, which are part of the output; the price of ``output`` if not given.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    input: Dollars
    output: Dollars
    cached: Dollars | None = None
    reasoning: Dollars | None = None

    def cost(self, usage: Usage | None) -> float | None:
        """US dollars for ``usage``, or ``None`` when the usage is not known."""
        if usage is None:
            return None
        cached = self.input if self.cached is None else self.cached
        reasoning = self.output if self.reasoning is None else self.reasoning
        total = (
            (usage.input - usage.cached) * self.input
            + usage.cached * cached
            + (usage.output - usage.reasoning) * self.output
            + usage.reasoning * reasoning
        )
        return total / 1_000_000

    def worst(self, prompt: int, longest: int) -> float:
        """US dollars for a prompt of so many tokens, none of them cached, and the longest reply.

        An estimate of a prompt may be short of the truth, so half as much again is added.
        """
        dearest = max(self.output, self.reasoning or 0.0)
        return (1.5 * prompt * self.input + longest * dearest) / 1_000_000


class ModelSpec(BaseModel):
    """One entry of a config's ``models``.

    Attributes:
        provider: The protocol the model speaks: ``openai`` is chat completions, wherever it is served; ``embeddings``
            is OpenAI's embeddings, likewise, for a memory's vectors.
        model: The provider's name for the model. Required, except for the understudy.
        base_url: Where it is served, e.g. ``http://localhost:8000/v1``; the provider's own address if not given.
        key_env: The environment variable that holds the key. ``OPENAI_API_KEY`` or ``ANTHROPIC_API_KEY`` at the
            provider's own address; to be named for any other, except that a local server may do without a key.
        rpm: Requests per minute.
        tpm: Tokens per minute, prompts and replies together.
        concurrency: The most calls in flight at once.
        timeout: Seconds until a call counts as timed out.
        retries: How often a call is attempted at most.
        temperature: Wins over what a request suggests.
        top_p: Nucleus sampling.
        max_tokens: The longest reply; wins over what a request suggests. 2048 if neither says.
        thinking: Tokens Claude may think before it answers (at least 1024), on top of ``max_tokens``.
        effort: Reasoning effort, for models that take one.
        structured: How a reply is made to fit a schema: ``native`` schema, forced ``tool``, or described in the prompt
            (``text``). If not given, starts at the best the model takes and climbs down when the server refuses it.
        price: What its tokens cost.
        skill: How good the understudy is.
        dimensions: How wide an embedding shall be, for models that can shorten theirs.
        extra: Put into the request's body as it is, for what only some servers take.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    provider: Provider
    model: str = ""
    base_url: str | None = None
    key_env: str | None = None
    rpm: Annotated[int, Field(ge=1)] | None = None
    tpm: Annotated[int, Field(ge=1)] | None = None
    concurrency: Annotated[int, Field(ge=1)] = DEFAULT_CONCURRENCY
    timeout: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 120.0
    retries: Annotated[int, Field(ge=1, le=100)] = 6
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    top_p: Annotated[float, Field(gt=0, le=1)] | None = None
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    thinking: Annotated[int, Field(ge=1024)] | None = None
    effort: Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"] | None = None
    structured: Rung | None = None
    price: Price | None = None
    skill: Skill | None = None
    dimensions: Annotated[int, Field(ge=1, le=65_536)] | None = None
    extra: dict[str, Any] = Field(default_factory=dict)

    @field_validator("base_url")
    @classmethod
    def _is_plain_http(cls, value: str | None) -> str | None:
        if value is None:
            return None
        parts = urlsplit(value)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise ValueError("must start with http:// or https:// and name a host, as in http://localhost:8000/v1")
        if parts.username or parts.password or parts.query or parts.fragment:
            raise ValueError("must hold no user name, password or query: the key comes from the environment (key_env)")
        return value.rstrip("/")

    @field_validator("key_env")
    @classmethod
    def _is_a_variable(cls, value: str | None) -> str | None:
        if value is not None and not _KEY_ENV.fullmatch(value):
            raise ValueError("must be the name of an environment variable, in capitals like MY_KEY, not the key itself")
        return value

    @field_validator("extra")
    @classmethod
    def _adds_only(cls, value: dict[str, Any]) -> dict[str, Any]:
        if taken := sorted(_RESERVED_EXTRA & value.keys()):
            raise ValueError(f"must not set {', '.join(taken)}: these are filled in for every call")
        if secret := next((key for key in _keys(value) if _SECRET.search(key)), None):
            raise ValueError(f"must hold no secret ({secret}): the key comes from the environment (key_env)")
        return value

    @model_validator(mode="after")
    def _belongs_together(self) -> ModelSpec:
        if self.provider == "understudy":
            set_in_vain = sorted(self.model_fields_set - {"provider", "skill", "model"})
            if set_in_vain:
                raise ValueError(f"the understudy is offline and takes only 'skill', not {', '.join(set_in_vain)}")
            return self
        if not self.model:
            raise ValueError(f"'model' is missing: the name under which {self.provider} serves it")
        if self.skill is not None:
            raise ValueError("'skill' belongs to the understudy only")
        if self.provider == "embeddings" and (in_vain := sorted(self.model_fields_set & _ONLY_CHAT)):
            raise ValueError(f"an embedding model writes nothing, and does not take {', '.join(in_vain)}")
        if self.dimensions is not None and self.provider != "embeddings":
            raise ValueError("'dimensions' belongs to embeddings only")
        if self.thinking is not None and self.provider != "anthropic":
            raise ValueError("'thinking' is a budget for anthropic models; for others set 'effort' or 'extra'")
        if self.base_url is not None and self.key_env is None and not self.local:
            raise ValueError(
                f"'key_env' is missing: name the environment variable that holds the key for {self.base_url}"
            )
        return self

    @property
    def key_variable(self) -> str | None:
        """The environment variable to read the key from; ``None`` where no key is needed."""
        if self.key_env is not None or self.base_url is not None:
            return self.key_env
        return _DEFAULT_KEY_ENV.get(self.provider)

    @property
    def local(self) -> bool:
        """Whether ``base_url`` is on this machine or in a private network."""
        host = urlsplit(self.base_url or "").hostname
        if not host:
            return False
        try:
            return ipaddress.ip_address(host).is_private
        except ValueError:
            return "." not in host or host.endswith((".local", ".localhost", ".internal"))

    def identity(self) -> dict[str, Any]:
        """What decides the replies, for a record of what was run: no limits, prices, addresses or names of keys.

        ``extra`` is there as a hash, since the record is published.
        """
        runtime = {"base_url", "key_env", "rpm", "tpm", "concurrency", "timeout", "retries", "price"}
        data = self.model_dump(mode="json", exclude=runtime, exclude_defaults=True)
        if self.extra:
            data["extra"] = hashlib.sha256(json.dumps(data["extra"], sort_keys=True).encode()).hexdigest()[:16]
        return data

    def sampled(self, suggested: Sampling) -> tuple[float | None, int]:
        """The temperature (if any) and the longest reply for one call."""
        temperature = suggested.temperature if self.temperature is None else self.temperature
        return temperature, self.max_tokens or suggested.max_tokens or DEFAULT_MAX_TOKENS

    def longest_output(self, suggested: Sampling) -> int:
        """The most tokens one call can bring, thinking included."""
        if self.provider == "embeddings":
            return 0
        return self.sampled(suggested)[1] + (self.thinking or 0)


def _keys(value: object) -> Iterator[str]:
    """Every key in nested data."""
    if isinstance(value, dict):
        for key, part in value.items():
            yield str(key)
            yield from _keys(part)
    elif isinstance(value, list):
        for part in value:
            yield from _keys(part)
