"""From the models a config names to models that reply."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

from screentest.errors import InputError
from screentest.llms.batch import BatchApi, half_price
from screentest.llms.batches import Batches
from screentest.llms.journal import encoded_identity
from screentest.llms.limits import Limited, Limiter
from screentest.llms.meter import Meter, Metered
from screentest.llms.model import Model
from screentest.llms.retries import Retrying
from screentest.llms.spec import ModelSpec

if TYPE_CHECKING:
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
) -> AsyncIterator[Mapping[str, Model]]:
    """Models ready to reply, one for each label; their connections are closed at the end.

    Models with the same provider, address and key share one client and one limiter, which keeps the tightest of their
    limits.

    Args:
        specs: The models by label.
        environment: Where keys are read from.
        meter: Counts every call, if given.
        batches: Takes every call, if given, at half the price. The understudies still answer at once, and so does a
            local server that takes no batches.

    Raises:
        InputError: A key is missing.
    """
    keys = {label: _key(label, spec, environment) for label, spec in specs.items()}
    accounts: dict[Account, list[ModelSpec]] = defaultdict(list)
    for spec in specs.values():
        accounts[_account(spec)].append(spec)
    limiters = {account: _limiter(sharing) for account, sharing in accounts.items()}
    wires: dict[Account, Wire] = {}
    async with AsyncExitStack() as stack:
        models: dict[str, Model] = {}
        for label, spec in specs.items():
            account = _account(spec)
            if spec.provider == "understudy":
                model = _understudy(label, spec)
            else:
                if account not in wires:
                    longest = max(sharing.timeout for sharing in accounts[account])
                    wires[account] = _wire(spec, keys[label], longest)
                    stack.push_async_callback(wires[account].close)
                limited = Limited(_provider(label, spec, wires[account]), limiters[account], spec)
                if batches is None:
                    model = Retrying(limited, attempts=spec.retries)
                else:
                    batched = _batched(label, spec, wires[account], batches, limited)
                    model = Retrying(batched, attempts=spec.retries, sleep=_with_the_others)
            models[label] = Metered(model, meter) if meter else model
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
    return key


def _limiter(sharing: list[ModelSpec]) -> Limiter:
    return Limiter(
        rpm=min((spec.rpm for spec in sharing if spec.rpm), default=None),
        tpm=min((spec.tpm for spec in sharing if spec.tpm), default=None),
        concurrency=min(spec.concurrency for spec in sharing),
    )


def _understudy(label: str, spec: ModelSpec) -> Model:
    from screentest.llms.understudy import Understudy

    return Understudy(label, spec.skill or "adept")


def _wire(spec: ModelSpec, key: str | None, timeout: float) -> Wire:
    if spec.provider == "openai":
        from screentest.llms.openai import wire
    else:
        from screentest.llms.anthropic import wire
    return wire(spec.base_url, key, timeout)


async def _with_the_others(seconds: float) -> None:
    """Waits for nothing: requests that failed together go into the same next batch."""
    del seconds


def _batched(label: str, spec: ModelSpec, wire: Wire, batches: Batches, online: Model) -> Model:
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


def _provider(label: str, spec: ModelSpec, wire: Wire) -> ServedModel:
    if spec.provider == "openai":
        from screentest.llms.openai import OpenAIModel

        return OpenAIModel(label, spec, wire)
    from screentest.llms.anthropic import AnthropicModel

    return AnthropicModel(label, spec, wire)
