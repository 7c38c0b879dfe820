"""Money: never more than the limit, a clean stop, and a ledger that agrees with what the server metered."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.projects import emit, emitted, generous, served
from fakes import Fails, FakeProvider, Says, Seen
from fakes.models import Scripted, said
from runs.theatre import LABELS, edited, written
from screentest.builders import build, load_config
from screentest.errors import BudgetExhausted, CallError, InputError, Unavailable
from screentest.llms import Budget, Budgeted, Message, ModelSpec, Price, Request
from screentest.sim import Session, ledger

PRICE = {"input": 3.0, "output": 15.0, "cached": 0.3}
SPEC = ModelSpec.model_validate(
    {"provider": "openai", "model": "m", "base_url": "http://localhost:1/v1", "price": PRICE, "max_tokens": 1000}
)
ENVIRONMENT = {"SENTINEL_KEY": "sk-1"}


def _request(n: int, words: int = 100) -> Request:
    return Request(messages=(Message("user", "word " * words),), purpose="test", key=str(n))


@given(
    st.lists(st.tuples(st.floats(0.0001, 3), st.floats(0, 1), st.integers(0, 3)), min_size=1, max_size=24),
    st.floats(0, 8),
)
def test_whatever_is_reserved_in_whatever_order_the_limit_holds_and_nobody_waits_for_ever(
    calls: list[tuple[float, float, int]], limit: float
) -> None:
    async def spend(budget: Budget, worst: float, share: float, steps: int) -> bool:
        try:
            await budget.reserve(worst, "m")
        except BudgetExhausted:
            return False
        for _ in range(steps):
            await asyncio.sleep(0)
        budget.settle(worst, worst * share)
        return True

    async def all_of_them() -> None:
        budget = Budget(limit)
        async with asyncio.timeout(5):
            made = await asyncio.gather(*(spend(budget, *call) for call in calls))
        assert budget.spent <= limit + 1e-9
        assert budget.reserved == 0
        assert made.count(True) == len(calls) or budget.spent + max(worst for worst, _, _ in calls) > limit

    asyncio.run(all_of_them())


async def test_a_call_that_is_cancelled_gives_its_reservation_back() -> None:
    budget = Budget(1000.0)
    model = Budgeted(Scripted(said("late"), seconds=10), budget, SPEC)
    calls = [asyncio.create_task(model.reply(_request(n))) for n in range(8)]
    await asyncio.sleep(0.01)
    assert budget.reserved > 0
    for call in calls:
        call.cancel()
    await asyncio.gather(*calls, return_exceptions=True)
    assert (budget.reserved, budget.spent) == (0, 0)


async def test_a_failed_call_is_free_and_one_of_unknown_cost_counts_in_full() -> None:
    budget = Budget(1000.0)
    assert SPEC.price
    an_empty_one_and_another = 2 * SPEC.price.worst(129, 1000)
    with pytest.raises(CallError):
        await Budgeted(Scripted(Unavailable("no")), budget, SPEC).reply(_request(1))
    assert budget.spent == 0
    await Budgeted(Scripted(said("Aye.", cost=None)), budget, SPEC).reply(_request(1))
    assert budget.spent == pytest.approx(an_empty_one_and_another)


def test_a_model_without_a_price_cannot_be_bounded() -> None:
    with pytest.raises(InputError, match=r"models\.scripted.*needs the price"):
        Budgeted(Scripted(said("")), Budget(1), SPEC.model_copy(update={"price": None}))


def _priced(server: FakeProvider, **fields: Any) -> dict[str, Any]:
    return served(server, *LABELS, key_env="SENTINEL_KEY", price=PRICE, max_tokens=60, **fields)


def _metered(server: FakeProvider) -> float:
    """Dollars for every reply the server gave, by its own count of tokens."""
    price = Price.model_validate(PRICE)
    total = 0.0
    for seen in server.requests:
        answer = server.behaviour(seen)
        if isinstance(answer, Says):
            prompt, output = (len(seen.prompt) + 3) // 4, (len(answer.text or "") + 3) // 4
            total += ((prompt - answer.cached) * price.input + answer.cached * PRICE["cached"]) / 1e6
            total += output * price.output / 1e6
    return total


def _spent(run: Path) -> float:
    return sum(row.cost for row in ledger(run / "run.db"))


async def test_the_ledger_agrees_with_the_server(tmp_path: Path) -> None:
    async with FakeProvider(lambda seen: Says(generous(seen).text, cached=seen.generator.randrange(20))) as server:
        config = load_config(written(tmp_path, server, models=_priced(server)))
        session = Session(environment=ENVIRONMENT, max_usd=100)
        await build(config, tmp_path / "run", session=session)
        assert _spent(tmp_path / "run") == pytest.approx(_metered(server), rel=1e-9)
        rows = list(ledger(tmp_path / "run/run.db"))
        assert sum(row.calls for row in rows) == len(server.requests)
        assert {row.stage for row in rows} == {"build"}
        assert {(row.model, row.purpose) for row in rows} >= {("director", "direct"), ("judge", "judge.pairwise")}


async def test_replies_that_were_empty_and_asked_for_again_are_in_the_ledger_too(tmp_path: Path) -> None:
    def hesitant(seen: Seen) -> Says:
        first = sum(earlier.body == seen.body for earlier in server.requests) == 1
        return Says("") if first and seen.body["model"] == "scene" else generous(seen)

    async with FakeProvider(hesitant) as server:
        config = load_config(written(tmp_path, server, models=_priced(server, retries=3)))
        await build(config, tmp_path / "run", session=Session(environment=ENVIRONMENT))
        price = Price.model_validate(PRICE)
        prompts = sum((len(seen.prompt) + 3) // 4 for seen in server.requests if seen.body["model"] == "scene")
        (row,) = (row for row in ledger(tmp_path / "run/run.db") if row.model == "scene")
        assert row.usage.input == prompts
        assert row.cost == pytest.approx((prompts * price.input + row.usage.output * price.output) / 1e6)


async def test_a_build_stops_before_the_limit_and_goes_on_with_a_larger_one(tmp_path: Path) -> None:
    async with FakeProvider(generous, latency=0.005) as server:
        config = load_config(written(tmp_path, server, models=_priced(server)))
        await emit_with(config, tmp_path / "whole", None)
        whole = len(server.requests)
        cost = _spent(tmp_path / "whole")
        run = tmp_path / "run"
        server.requests.clear()
        for share in (0.0, 0.35, 0.7):
            before = _spent(run) if share else 0.0
            with pytest.raises(BudgetExhausted, match="raise --max-usd and run the same command again") as stopped:
                await emit_with(config, run, share * cost)
            assert stopped.value.exit_code == 3
            assert before <= _spent(run) <= share * cost
            assert _metered(server) == pytest.approx(_spent(run))
        assert 0 < len(server.requests) < whole
        await emit_with(config, run, 10 * cost)
        assert len(server.requests) == whole
        assert emitted(run) == emitted(tmp_path / "whole")


async def emit_with(config: Any, run: Path, max_usd: float | None) -> None:
    """Build within a budget, sixteen calls at once."""
    await build(config, run, session=Session(concurrency=16, max_usd=max_usd, environment=ENVIRONMENT))


async def test_a_call_the_budget_refused_was_never_in_flight(tmp_path: Path) -> None:
    async with FakeProvider(generous) as server:
        config = load_config(written(tmp_path, server, models=_priced(server)))
        with pytest.raises(BudgetExhausted):
            await emit_with(config, tmp_path / "run", 0.0)
        session = Session(environment=ENVIRONMENT)
        await build(config, tmp_path / "run", session=session)
        assert (session.tally.interrupted, session.tally.repeated) == (0, 0)
        assert session.tally.made == len(server.requests)


async def test_a_build_without_all_prices_is_refused_under_a_budget_before_it_pays(tmp_path: Path) -> None:
    async with FakeProvider(generous) as server:
        file = written(tmp_path, server, models=_priced(server))
        edited(file, lambda data: data["models"]["base"].pop("price"))
        with pytest.raises(InputError, match=r"models\.base: a budget needs the price of base"):
            await emit_with(load_config(file), tmp_path / "run", 5.0)
        assert not server.requests
        await emit(load_config(_keyless(file)), tmp_path / "run")


def _keyless(file: Path) -> Path:
    edited(file, lambda data: [spec.pop("key_env") for spec in data["models"].values()])
    return file


async def test_failures_cost_nothing_and_are_counted(tmp_path: Path) -> None:
    def moody(seen: Seen) -> Says | Fails:
        return Fails(500) if seen.body["model"] == "alice" else generous(seen)

    async with FakeProvider(moody) as server:
        config = load_config(written(tmp_path, server, models=_priced(server)))
        with pytest.raises(Exception, match="conversations failed"):
            await emit_with(config, tmp_path / "run", 100)
        (row,) = (row for row in ledger(tmp_path / "run/run.db") if row.model == "alice")
        assert (row.calls, row.cost) == (0, 0)
        assert row.failed == sum(seen.body["model"] == "alice" for seen in server.requests)
