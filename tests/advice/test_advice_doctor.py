"""The doctor: whatever is wrong becomes one line that says what to change, and no line holds a key."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from advice.counter import PRICE, discerning, judges, perverse, rates, screentest
from builders.projects import offline, project, served
from fakes import Behaviour, Fails, FakeProvider, Says, Seen, improvise, says
from screentest.builders import load_config, understudies
from screentest.builders.doctor import Finding, canned_pairs
from screentest.builders.examination import Examination, agenda, examine
from screentest.judges import furina_dimensions
from screentest.pools import LANGUAGES
from screentest.sim import Session

KEY = "sk-sentinel-3f9a1c77d0b24e58"
KEYED = {"key_env": "FAKE_KEY", "price": PRICE}


async def examined(directory: Path, behaviour: Behaviour, **fields: Any) -> tuple[Examination, FakeProvider]:
    """Examine a project whose one model is at a fake provider."""
    async with FakeProvider(behaviour) as server:
        config = load_config(project(directory, models=served(server, "miriam", **{**KEYED, **fields})))
        return await examine(config, Session(environment={"FAKE_KEY": KEY})), server


def only(found: Examination, weight: str) -> Finding:
    """The one finding of a weight."""
    (finding,) = [finding for finding in found.findings if finding.weight == weight]
    return finding


async def test_a_healthy_model_needs_no_change_and_as_many_calls_as_announced(tmp_path: Path) -> None:
    found, server = await examined(tmp_path, discerning)
    assert found.healthy and not found.findings and not found.offline
    (contact,) = found.contacts
    assert (contact.rung, contact.usage, contact.priced, contact.key) == ("native", True, True, "set")
    assert contact.seconds is not None and contact.seconds > 0
    planned = agenda(load_config(tmp_path / "config.yaml"))
    assert found.calls == planned.calls == len(server.requests) == 1 + 2 * planned.pairs
    assert found.trial is not None
    for trial in found.trial.languages:
        assert trial.accuracy == 1.0
        assert trial.consistent == trial.pairs >= 4
        assert trial.first == trial.pairs


async def test_a_wrong_key_is_a_line_and_is_never_shown(tmp_path: Path) -> None:
    found, server = await examined(tmp_path, lambda _: Fails(401, f"Incorrect API key provided: {KEY}"))
    finding = only(found, "problem")
    assert finding.where == "models.miriam" and "401" in finding.what and "check the key" in finding.change
    assert found.trial is None and len(server.requests) == 1
    assert KEY not in found.model_dump_json()


async def test_a_missing_key_is_a_line_and_makes_no_call(tmp_path: Path) -> None:
    async with FakeProvider(improvise) as server:
        config = load_config(project(tmp_path, models=served(server, "miriam", **KEYED)))
        found = await examine(config, Session(environment={"FAKE_KEY": " "}))
    assert "FAKE_KEY is not set" in only(found, "problem").what
    assert not server.requests and found.calls == 0


async def test_a_key_that_cannot_be_sent_is_a_line_without_the_key(tmp_path: Path) -> None:
    async with FakeProvider(improvise) as server:
        config = load_config(project(tmp_path, models=served(server, "miriam", **KEYED)))
        found = await examine(config, Session(environment={"FAKE_KEY": f"{KEY}\nsecond-line-é"}))
    assert not found.healthy
    assert KEY not in found.model_dump_json() and "second-line" not in found.model_dump_json()


async def test_an_unknown_model_is_a_line(tmp_path: Path) -> None:
    found, server = await examined(tmp_path, lambda _: Fails(404, "The model `miriam` does not exist"))
    assert "does not exist" in only(found, "problem").what
    assert "check `model` and `base_url`" in only(found, "problem").change
    assert len(server.requests) == 1


async def test_a_server_that_is_down_is_a_line(tmp_path: Path) -> None:
    async with FakeProvider(improvise) as server:
        models = served(server, "miriam", **KEYED)
    found = await examine(load_config(project(tmp_path, models=models)), Session(environment={"FAKE_KEY": KEY}))
    assert "that the server is up" in only(found, "problem").change


def refusing(*fields: str, message: str = "{field} is not supported by this model") -> Behaviour:
    """A server that refuses requests with any of the fields."""

    def behaviour(seen: Seen) -> Says | Fails:
        refused = [field for field in fields if field in seen.body]
        return Fails(400, message.format(field=refused[0])) if refused else discerning(seen)

    return behaviour


@pytest.mark.parametrize(
    ("fields", "rung"), [(("response_format",), "tool"), (("response_format", "tools"), "text")], ids=["tool", "text"]
)
async def test_a_lower_rung_is_reported_and_is_no_problem(tmp_path: Path, fields: tuple[str, ...], rung: str) -> None:
    found, _ = await examined(tmp_path, refusing(*fields))
    assert found.contacts[0].rung == rung and found.healthy
    assert f"structured: {rung}" in only(found, "advice").change


async def test_a_refusal_that_a_run_could_not_make_sense_of_must_be_configured(tmp_path: Path) -> None:
    found, _ = await examined(tmp_path, refusing("response_format", "tools", message="bad request"))
    assert found.contacts[0].rung == "text"
    assert "structured: text" in only(found, "problem").change


async def test_a_server_that_ignores_the_schema_must_be_configured(tmp_path: Path) -> None:
    def prose(seen: Seen) -> Says:
        return Says("I would rather chat.") if "response_format" in seen.body else discerning(seen)

    found, _ = await examined(tmp_path, prose)
    assert found.contacts[0].rung == "tool"
    assert "structured: tool" in only(found, "problem").change


async def test_a_model_that_never_writes_json_is_a_line(tmp_path: Path) -> None:
    found, _ = await examined(tmp_path, says("I would rather chat."))
    assert "use another model" in only(found, "problem").change


@pytest.mark.parametrize(
    ("score", "said"),
    [
        (3, "says 'equal' on all 20 verdicts"),
        (1, "prefers the line shown first in all 20 verdicts"),
        (5, "prefers the line shown second in all 20 verdicts"),
    ],
)
async def test_a_judge_that_does_not_judge_is_found_out(tmp_path: Path, score: int, said: str) -> None:
    found, _ = await examined(tmp_path, rates(score))
    assert said in only(found, "problem").what


async def test_a_judge_that_prefers_the_worse_line_is_found_out(tmp_path: Path) -> None:
    found, _ = await examined(tmp_path, perverse)
    told = [finding.what for finding in found.findings]
    assert told == [f"finds the obvious winner in only 0 of 10 verdicts ({language})" for language in ("en", "zh")]


async def test_a_judge_whose_verdicts_fail_is_told_why(tmp_path: Path) -> None:
    def refuses(seen: Seen) -> Says:
        return Says("I cannot judge people.", finish="refusal") if judges(seen) else improvise(seen)

    found, _ = await examined(tmp_path, refuses)
    assert "20 of 20 verdicts failed (the model declined to answer)" in only(found, "problem").what


async def test_missing_usage_and_price_are_advice(tmp_path: Path) -> None:
    def silent(seen: Seen) -> Says:
        told = discerning(seen)
        return Says(told.text, usage=False)

    found, _ = await examined(tmp_path, silent, price=None)
    assert found.healthy
    assert [finding.weight for finding in found.findings] == ["advice", "advice"]
    told = " ".join(map(str, found.findings))
    assert "no token usage" in told and "price: {input: …, output: …}" in told


async def test_replies_that_would_be_cut_are_a_problem(tmp_path: Path) -> None:
    found, _ = await examined(tmp_path, discerning, max_tokens=100)
    finding = only(found, "problem")
    assert "may take 100 tokens" in finding.what and "judge.pairwise" in finding.what
    assert "max_tokens: 440" in finding.change


async def test_a_damaged_pool_is_a_line(tmp_path: Path) -> None:
    config = offline(tmp_path)
    (tmp_path / "pool" / "scenes.jsonl").write_text("{", encoding="utf-8")
    assert "scenes.jsonl" in only(await examine(config), "problem").where


async def test_the_understudies_are_well_and_say_what_they_are() -> None:
    found = await examine(understudies(), Session(environment={}))
    assert found.healthy and found.offline and not found.findings
    assert found.calls == agenda(understudies()).calls


@pytest.mark.parametrize("language", LANGUAGES)
def test_canned_pairs_cover_every_dimension(language: Any) -> None:
    pairs = canned_pairs(language)
    assert {pair.dimension for pair in pairs} == {dimension.id for dimension in furina_dimensions(language)}
    assert all(pair.view("judge").me is not None and pair.pair().challenger.text for pair in pairs)


def test_the_command_says_its_calls_first_and_exits_2_when_something_must_change(tmp_path: Path) -> None:
    with FakeProvider.threaded(rates(1)) as server:
        config = project(tmp_path, models=served(server, "miriam", **KEYED))
        told = screentest("doctor", config, FAKE_KEY=KEY)
    assert told.exit_code == 2
    assert "The doctor makes 21 small model calls" in told.stderr
    assert "change  roles.judge (miriam)" in told.stdout and "1 to change" in told.stdout
    assert KEY not in told.output


def test_the_command_never_shows_a_key_or_a_traceback(tmp_path: Path) -> None:
    with FakeProvider.threaded(lambda _: Fails(401, f"bad key {KEY}")) as server:
        config = project(tmp_path, models=served(server, "miriam", **KEYED))
        for form in ((), ("--json",)):
            told = screentest("doctor", config, *form, FAKE_KEY=KEY)
            assert told.exit_code == 2 and isinstance(told.exception, SystemExit)
            assert KEY not in told.output and "Traceback" not in told.output


def test_the_command_is_well_offline() -> None:
    told = screentest("doctor")
    assert told.exit_code == 0
    assert "All is well" in told.stdout and "understudies, offline" in told.stdout
