"""A model criticises and rewrites its own lines: paid for once, kept, and never made up."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from builders.projects import everything, generous, records, served
from exports.rewriter import rewrites
from fakes import Behaviour, Fails, FakeProvider, Says, Seen, in_turn
from runs.theatre import LABELS, written
from screentest.builders import build, load_config
from screentest.builders.exports import Export, Source, guided, reflective
from screentest.builders.verification import verify
from screentest.errors import BudgetExhausted, RunLocked, TooManyFailures
from screentest.llms import Meter
from screentest.sim import STORE, Session, ledger, locked, standing

KEYS = {"SENTINEL_KEY": "sk-none"}
PRICE = {"input": 1.0, "output": 1.0}


@dataclass
class House:
    """A finished build, and the server that its models are at."""

    run: Path
    server: FakeProvider

    def asked(self, behaviour: Behaviour = rewrites) -> list[Seen]:
        """From now on answer so; returns the list of what comes in."""
        self.server.behaviour = behaviour
        self.server.requests.clear()
        return self.server.requests

    async def reflect(self, **options: Any) -> Export:
        """Reflect."""
        session = Session(environment=KEYS, **options)
        return await reflective(Source.open(self.run), "alice", session=session, meter=Meter())


@pytest.fixture
async def house(tmp_path: Path) -> Any:
    """A build at a fake provider."""
    async with FakeProvider(generous) as server:
        models = served(server, *LABELS, key_env="SENTINEL_KEY", price=PRICE)
        config = load_config(
            written(tmp_path, server, models=models, build={"scenes": 6, "turns": 14, "min_turns": 12})
        )
        await build(config, tmp_path / "run", session=Session(environment=KEYS))
        yield House(tmp_path / "run", server)


def prompts(seen: list[Seen]) -> Iterator[str]:
    """What was asked."""
    return (one.prompt for one in seen)


async def test_every_line_is_replaced_by_the_one_its_own_model_wrote(house: House) -> None:
    seen = house.asked()
    before, export = guided(Source.open(house.run), "alice"), await house.reflect()
    assert len(export.rows) == len(before.rows) > 0
    assert len(seen) == 2 * len(export.rows) and {one.body["model"] for one in seen} == {"alice"}
    for old, new in zip(before.rows, export.rows, strict=True):
        told = [message["content"] for message in old["messages"] if message["role"] != "assistant"]
        assert [message["content"] for message in new["messages"] if message["role"] != "assistant"] == told
        lines = [message["content"] for message in new["messages"] if message["role"] == "assistant"]
        assert lines == [f"(bows) This is line {n}, anew." for n in range(1, len(old["turns"]) + 1)]
        assert {**new, "messages": 0} == {**old, "messages": 0}


async def test_the_rewriter_reads_its_criticism_and_its_numbered_lines_only(house: House) -> None:
    seen = house.asked()
    export = await house.reflect()
    rewritten = [prompt for prompt in prompts(seen) if "be-concrete" in prompt]
    assert len(rewritten) == len(export.rows)
    counts = sorted(len(re.findall(r"^\d+\. Miriam Vale: ", prompt, re.MULTILINE)) for prompt in rewritten)
    assert counts == sorted(len(row["turns"]) for row in export.rows)


async def test_what_was_paid_for_is_never_asked_for_again(house: House) -> None:
    house.asked()
    first = await house.reflect()
    seen = house.asked()
    assert await house.reflect() == first
    assert seen == []


async def test_the_calls_are_the_runs_own_and_change_nothing_else(house: House) -> None:
    files = {name: data for name, data in everything(house.run).items() if not name.startswith(STORE)}
    built = standing(house.run / STORE)["build"]
    seen = house.asked()
    await house.reflect()
    assert {name: data for name, data in everything(house.run).items() if not name.startswith(STORE)} == files
    assert standing(house.run / STORE)["build"] == built
    rows = [row for row in ledger(house.run / STORE) if row.stage == "reflect"]
    assert {row.purpose for row in rows} == {"reflect.critique", "reflect.rewrite"}
    assert sum(row.calls for row in rows) == len(seen)
    assert [check.problem for check in verify(house.run)] == [""] * len(verify(house.run))


async def test_a_reply_that_cannot_be_used_is_counted_and_stays_as_it_is(house: House) -> None:
    def thinks(seen: Seen) -> Any:
        if seen.schema and "lines" in seen.schema["properties"] and len(refused) < 2:
            refused.append(seen)
            return Says(json.dumps({"lines": [{"number": 1, "line": "[only a thought]"}]}))
        return rewrites(seen)

    refused: list[Seen] = []
    house.asked(thinks)
    whole = len(guided(Source.open(house.run), "alice").rows)
    export = await house.reflect(concurrency=1)
    assert export.left_out["failed: invalid"] == 1
    assert (len(export.rows), export.whole) == (whole - 1, len(export.rows) + sum(export.left_out.values()))
    assert "not what the schema asks for" in export.setback
    seen = house.asked()
    assert await house.reflect() == export
    assert seen == []


async def test_a_call_that_brought_no_reply_is_made_again_the_next_time(house: House) -> None:
    house.asked(in_turn(Fails(400, "not today"), then=rewrites))
    export = await house.reflect(concurrency=1)
    assert export.left_out["failed: rejected"] == 1
    seen = house.asked()
    again = await house.reflect()
    assert len(again.rows) == len(export.rows) + 1
    assert len(seen) == 2


async def test_where_nothing_could_be_rewritten_nothing_is_emitted(house: House) -> None:
    house.asked(lambda _: Fails(400, "no such thing"))
    with pytest.raises(TooManyFailures, match=r"none of \d parts could be rewritten; .*The first: alice: .*no such"):
        await house.reflect()


async def test_the_budget_stops_it_and_it_can_go_on(house: House) -> None:
    seen = house.asked()
    with pytest.raises(BudgetExhausted):
        await house.reflect(max_usd=0.0)
    assert seen == []
    assert (await house.reflect()).rows


async def test_a_run_that_someone_works_on_is_left_alone(house: House) -> None:
    with locked(house.run), pytest.raises(RunLocked):
        await house.reflect()


async def test_the_card_names_the_model(house: House, tmp_path: Path) -> None:
    house.asked()
    export = await house.reflect()
    file = export.write(tmp_path / "out", Source.open(house.run))
    assert records(file) == list(export.rows)
    card = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    assert "**alice** first criticised its own lines" in card and "Understudy" not in card
