"""From the models a config names to models that reply."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

from screentest.errors import InputError
from screentest.llms.batch import BatchApi, half_price
from screentest.llms.batches import Batches
from screentest.llms.gate import Gate, Gated
from screentest.llms.journal import Journal, Noted, encoded_identity
from screentest.llms.limits import Limited, Limiter
from screentest.llms.meter import Attempted, Meter, Metered
from screentest.llms.model import Model, Request
from screentest.llms.redaction import SHORTEST
from screentest.llms.retries import Retrying
from screentest.llms.spec import ModelSpec

if TYPE_CHECKING:
    from screentest.llms.batched import Batched
    from screentest.llms.served import ServedModel
    from screentest.llms.wire import Wire

Account = tuple[str, str | None, str | None]


@asynccontextmanager
async def open_models(
    specs: Mapping[str, ModelSpec],
    *,
    environment: Mapping[str, str] = os.environ,
    meter: Meter | None = None,
    batches: Batches | None = None,
    journal: Journal | None = None,
    places: Gate | None = None,
) -> AsyncIterator[Mapping[str, Model]]:
    """Models ready to reply, one for each label; their connections are closed at the end.

    Models with the same provider, address and key share one client and one limiter, which keeps the tightest of their
    limits.

    Args:
        specs: The models by label.
        environment: Where keys are read from.
        meter: Counts every call, if given.
        batches: Takes every call, if given, at half the price. The understudies and embedding models still answer
            at once, and so does a local server that takes no batches.
        journal: Every attempt is noted there, if given.
        places: Every attempt takes one of these, if given; those in batches do not.

    Raises:
        InputError: A key is missing, cannot be sent, or stands in the configuration.
    """
    keys = {label: _key(label, spec, environment) for label, spec in specs.items()}
    accounts: dict[Account, list[ModelSpec]] = defaultdict(list)
    for spec in specs.values():
        accounts[_account(spec)].append(spec)
    limiters = {account: _limiter(sharing, places) for account, sharing in accounts.items()}
    meter = meter or Meter()

    def watched(model: Model, handed_in: Callable[[Request], bool] | None = None) -> Model:
        model = Attempted(model, meter)
        return Noted(model, journal, specs[model.name].identity(), handed_in) if journal else model

    wires: dict[Account, Wire] = {}
    async with AsyncExitStack() as stack:
        models: dict[str, Model] = {}
        for label, spec in specs.items():
            account = _account(spec)
            if spec.provider == "understudy":
                model = watched(_understudy(label, spec))
                model = Gated(model, places) if places else model
            else:
                if account not in wires:
                    longest = max(sharing.timeout for sharing in accounts[account])
                    wires[account] = _wire(spec, keys[label], longest)
                    stack.push_async_callback(wires[account].close)
                embeds = spec.provider == "embeddings"
                provider = (_embedding_model if embeds else _provider)(label, spec, wires[account])
                if batches is None or embeds:
                    limited = Limited(watched(provider), limiters[account], spec)
                    model = Retrying(limited, attempts=spec.retries)
                else:
                    online = Limited(provider, limiters[account], spec)
                    batched = _batched(label, spec, wires[account], batches, online)
                    attempted = watched(batched, batched.handed_in)
                    model = Retrying(attempted, attempts=spec.retries, sleep=_with_the_others)
            models[label] = Metered(model, meter)
        yield models


def _account(spec: ModelSpec) -> Account:
    return spec.provider, spec.base_url, spec.key_variable


def _key(label: str, spec: ModelSpec, environment: Mapping[str, str]) -> str | None:
    variable = spec.key_variable
    if variable is None:
        return None
    key = environment.get(variable, "").strip()
    if not key:
        raise InputError(
            "a key is missing",
            where=f"models.{label}",
            why=f"the environment variable {variable} is not set",
            hint=f"export {variable}=…, or name another variable in key_env",
        )
    if not (key.isascii() and key.isprintable()):
        raise InputError(
            "a key cannot be sent",
            where=f"models.{label}",
            why=f"what {variable} holds has a line break, an accent or the like in it",
            hint=f"export {variable} again, as the provider shows it",
        )
    if len(key) >= SHORTEST and key in spec.model_dump_json():
        raise InputError(
            "a key stands in the configuration",
            where=f"models.{label}",
            why=f"a field holds what {variable} holds, and a run keeps a copy of its configuration",
            hint="take it out: the key comes from the environment (key_env)",
        )
    return key


def _limiter(sharing: list[ModelSpec], places: Gate | None) -> Limiter:
    return Limiter(
        rpm=min((spec.rpm for spec in sharing if spec.rpm), default=None),
        tpm=min((spec.tpm for spec in sharing if spec.tpm), default=None),
        concurrency=min(spec.concurrency for spec in sharing),
        places=places,
    )


def _understudy(label: str, spec: ModelSpec) -> Model:
    from screentest.llms.understudy import Understudy

    return Understudy(label, spec.skill or "adept")


def _wire(spec: ModelSpec, key: str | None, timeout: float) -> Wire:
    if spec.provider == "openai":
        from screentest.llms.openai import wire
    elif spec.provider == "embeddings":
        from screentest.llms.embeddings import PATH
        from screentest.llms.openai import wire

        return wire(spec.base_url, key, timeout, PATH)
    else:
        from screentest.llms.anthropic import wire
    return wire(spec.base_url, key, timeout)


async def _with_the_others(seconds: float) -> None:
    """Waits for nothing: requests that failed together go into the same next batch."""
    del seconds


def _batched(label: str, spec: ModelSpec, wire: Wire, batches: Batches, online: Model) -> Batched:
    from screentest.llms.batched import Batched

    if spec.provider == "openai":
        from screentest.llms.batch_openai import OpenAIBatches

        def open_api(headers: Mapping[str, str]) -> BatchApi:
            del headers
            return OpenAIBatches(wire)

    else:
        from screentest.llms.batch_anthropic import AnthropicBatches

        def open_api(headers: Mapping[str, str]) -> BatchApi:
            return AnthropicBatches(wire, tuple(sorted(headers.items())))

    model = _provider(label, half_price(spec), wire)
    identity = encoded_identity({**spec.identity(), "base_url": spec.base_url})
    return Batched(model, batches, open_api, identity, online if spec.local else None)


def _embedding_model(label: str, spec: ModelSpec, wire: Wire) -> Model:
    from screentest.llms.embeddings import EmbeddingModel

    return EmbeddingModel(label, spec, wire)


def _provider(label: str, spec: ModelSpec, wire: Wire) -> ServedModel:
    if spec.provider == "openai":
        from screentest.llms.openai import OpenAIModel

        return OpenAIModel(label, spec, wire)
    from screentest.llms.anthropic import AnthropicModel

    return AnthropicModel(label, spec, wire)
