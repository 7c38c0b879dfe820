"""The build: what it emits, what it reports, and that timing never shows."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from builders.projects import (
    MIRIAM,
    SHEN,
    emit,
    emitted,
    everything,
    flagged,
    generous,
    items,
    offline,
    parts,
    project,
    records,
    served,
    trajectories,
)
from fakes import Fails, FakeProvider, Says, Seen, improvise
from fakes.behaviours import Answer
from screentest.builders import BuildReport, build, evaluate, load_config
from screentest.builders.formatting import formatting_faults
from screentest.errors import InputError, TooManyFailures
from screentest.pools import Character, starter_pool


@pytest.mark.parametrize("changes", [{"seed": 7}, {"seed": 8, "build": {"orders": "both", "emphasis": "sample"}}])
async def test_concurrency_1_8_and_64_emit_the_same_bytes(tmp_path: Path, changes: dict[str, Any]) -> None:
    config = offline(tmp_path, **changes)
    for concurrency in (1, 8, 64):
        await emit(config, tmp_path / str(concurrency), concurrency=concurrency)
    alone = emitted(tmp_path / "1")
    assert {"benchmark/data/test.jsonl", "benchmark/README.md", "benchmark/manifest.json"} <= set(alone)
    assert emitted(tmp_path / "8") == alone
    assert emitted(tmp_path / "64") == alone


async def test_another_seed_emits_another_benchmark(tmp_path: Path) -> None:
    config = offline(tmp_path)
    first = await emit(config, tmp_path / "first")
    second = await emit(config.model_copy(update={"seed": 8}), tmp_path / "second")
    assert first.manifest.content_hash != second.manifest.content_hash


def _unsteady(seen: Seen) -> Answer:
    """Improvises, but now and then fails, writes no JSON or breaks the format; the same for the same request."""
    luck = random.Random(seen.generator.random()).random()
    if luck < 0.01:
        return Fails(400, "no")
    if luck < 0.03 and seen.schema:
        return Says("I would rather not say.")
    if luck > 0.6 and not seen.schema:
        return Says("Miriam Vale: Mark it, and sail. 沈砚秋：不急。")
    return improvise(seen) if luck < 0.3 else generous(seen)


async def test_replies_that_come_in_any_order_over_http_emit_the_same_bytes(tmp_path: Path) -> None:
    async with FakeProvider(_unsteady) as server:
        for concurrency, latency in ((1, 0.0), (8, 0.003), (64, 0.005)):
            server.latency = latency
            models = served(server, "source", "base", "rest")
            roles = {"director": "rest", "scene": "rest", "judge": "rest", "filter": "rest", "sources": ["source"]}
            path = project(tmp_path / f"project{concurrency}", models=models, roles=roles, build={"max_failures": 1})
            await emit(load_config(path), tmp_path / f"run{concurrency}", concurrency)
    assert emitted(tmp_path / "run1") == emitted(tmp_path / "run8") == emitted(tmp_path / "run64")


@pytest.mark.parametrize(("seed", "orders"), [(1, "one"), (2, "both"), (3, "one")])
async def test_every_conversation_and_audition_is_accounted_for(tmp_path: Path, seed: int, orders: str) -> None:
    async with FakeProvider(_unsteady) as server:
        models = served(server, "source", "other", "rest")
        roles = {"sources": ["source", "other"], "base": "rest", "judge": "rest", "filter": "rest"}
        settings = {"orders": orders, "max_failures": 1, "quota": 2}
        config = load_config(project(tmp_path, models=models, roles=roles, seed=seed, build=settings))
        benchmark = await emit(config, tmp_path / "run")
    report = benchmark.manifest.report
    _reconcile(report, tmp_path / "run")
    assert report.failed and report.flagged and report.graded_low and report.kept, "the scenario must have everything"
    assert len(report.cells) == 4


def _reconcile(report: BuildReport, run: Path) -> None:
    played, kept_items, review = trajectories(run), items(run), flagged(run)
    assert report.conversations == report.kept + report.graded_low + report.ungraded + report.failed == len(played)
    assert report.auditions == sum(len(t.auditions) for t in played)
    assert report.auditions == (
        report.items + report.flagged + report.ties + report.lost + report.in_conversations_not_kept
    )
    assert (report.items, report.flagged) == (len(kept_items), len(review))
    assert report.failed == sum(bool(t.faults) for t in played)
    assert sum(report.faults.values()) == sum(len(t.faults) for t in played)
    grades = {t.conversation: t.grade for t in played}
    assert {grades[item.conversation] for item in [*kept_items, *(flag.item for flag in review)]} == {"high"}
    for cell in report.cells:
        own = [t for t in played if (t.character, t.source) == (cell.character, cell.source)]
        kept = Counter(i.dimension for i in kept_items if i.conversation.startswith(f"{cell.character}/{cell.source}/"))
        assert {name: count for name, count in cell.kept.items() if count} == kept
        assert cell.scenes == len(own)
        assert cell.failed == sum(bool(t.faults) for t in own)
        assert Counter(cell.assigned) == Counter(a.dimension for t in own for a in t.auditions) + Counter()
        assert Counter(cell.emphasised) == Counter(a.emphasis for t in own for a in t.auditions) + Counter()
        assert all(cell.shortfall.get(name, 0) == max(0, 2 - count) for name, count in cell.kept.items())


async def test_items_are_what_the_source_won_clearly_in_dialogues_graded_high(tmp_path: Path) -> None:
    async with FakeProvider(_unsteady) as server:
        models = served(server, "source", "rest")
        roles = {"sources": ["source"], "base": "rest", "judge": "rest", "filter": "rest"}
        config = load_config(project(tmp_path, models=models, roles=roles, build={"max_failures": 1, "quota": 2}))
        await emit(config, tmp_path / "run")
    played = {t.conversation: t for t in trajectories(tmp_path / "run")}
    kept, review = items(tmp_path / "run"), flagged(tmp_path / "run")
    assert kept and review
    for item in [*kept, *(flag.item for flag in review)]:
        trajectory = played[item.conversation]
        audition = next(a for a in trajectory.auditions if a.turn == item.turn)
        assert trajectory.grade == "high" and item.score <= 2
        assert (item.kept, item.beaten, item.dimension) == (audition.source, audition.base, audition.dimension)
        said_before = [spoken.line.text for spoken in trajectory.lines if spoken.turn < item.turn]
        assert [line.text for line in item.history] == said_before
    wanted = {
        (a.turn, t.conversation) for t in played.values() if t.grade == "high" for a in t.auditions if a.score <= 2
    }
    assert wanted == {(i.turn, i.conversation) for i in [*kept, *(flag.item for flag in review)]}
    for item in kept:
        assert formatting_faults(item.kept.line, item.history, item.language) == ()
    for flag in review:
        assert flag.faults == formatting_faults(flag.item.kept.line, flag.item.history, flag.item.language) != ()


async def test_a_quota_that_cannot_be_met_is_a_shortfall_with_its_reason(tmp_path: Path) -> None:
    benchmark = await emit(offline(tmp_path, build={"quota": 50, "scenes": 2}), tmp_path / "run")
    for cell in benchmark.manifest.report.cells:
        assert cell.shortfall == {name: 50 - kept for name, kept in cell.kept.items()}
        assert cell.stopped == "the cap of 2 scenes was reached"
        assert cell.scenes == 2
    assert "the cap of 2 scenes was reached" in (tmp_path / "run/benchmark/README.md").read_text()


async def test_a_quota_that_is_met_says_so(tmp_path: Path) -> None:
    benchmark = await emit(offline(tmp_path, build={"scenes": 60}), tmp_path / "run")
    for cell in benchmark.manifest.report.cells:
        assert (cell.stopped, cell.shortfall) == ("quota met", {})
        assert min(cell.kept.values()) >= 1


async def test_a_scene_that_has_the_test_character_in_it_is_skipped_and_counted(tmp_path: Path) -> None:
    magistrate = Character(
        id="magistrate", name="Magistrate Pruett", language="en", kind="established", public={"age": "67"}
    )
    benchmark = await emit(offline(tmp_path, characters=(magistrate,)), tmp_path / "run")
    assert {t.scene for t in trajectories(tmp_path / "run")} == {"en-obituary-desk"}
    assert benchmark.manifest.report.skipped_scenes == {
        "no test character speaks its language": 2,
        "its cast has every test character's name": 1,
    }


async def test_a_character_whose_language_the_pool_lacks_comes_to_a_shortfall_not_to_nothing(tmp_path: Path) -> None:
    benchmark = await emit(offline(tmp_path, scenes=("en-goat-court",)), tmp_path / "run")
    english, chinese = benchmark.manifest.report.cells
    assert (english.character, chinese.character) == ("miriam", "shen")
    assert english.scenes > 0 == chinese.scenes
    assert chinese.stopped == "no scene in the pool that the character can enter"
    assert benchmark.manifest.languages == ("en",)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"characters": ()}, "no test characters"),
        ({"scenes": ("zh-dig-watch",), "characters": (MIRIAM,)}, "no test character can enter any scene"),
        ({"pool": {"path": "pool", "languages": ["zh"]}, "characters": (MIRIAM,)}, "no test character speaks"),
        ({"pool": {"path": "nowhere"}}, "this is not a pool"),
        ({"dimensions": "nowhere.yaml"}, "cannot read the dimensions"),
    ],
)
async def test_what_cannot_be_built_is_refused_before_anything_is_written(
    tmp_path: Path, changes: dict[str, Any], said: str
) -> None:
    config = offline(tmp_path, **changes)
    with pytest.raises(InputError, match=said) as caught:
        await emit(config, tmp_path / "run")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "run").exists()


async def test_a_refused_key_ends_the_build_with_what_the_provider_said(tmp_path: Path) -> None:
    async with FakeProvider(lambda _: Fails(401, "invalid key")) as server:
        config = load_config(project(tmp_path, models=served(server, "gpt"), build={"scenes": 50}))
        with pytest.raises(TooManyFailures, match="invalid key") as caught:
            await emit(config, tmp_path / "run")
        assert len(server.requests) <= 2 * 2 * config.build.lag, "nobody plays fifty scenes on a refused key"
    assert "\n" not in str(caught.value)
    assert not items(tmp_path / "run")


async def test_failures_above_the_threshold_end_the_build_after_all_is_written(tmp_path: Path) -> None:
    director_fails_in_chinese = parts(
        {"rest": lambda seen: Fails(400, "no Chinese here") if "沈砚秋" in seen.prompt else generous(seen)}
    )
    async with FakeProvider(director_fails_in_chinese) as server:
        models = served(server, "rest", "source")
        config = load_config(project(tmp_path, models=models, roles={"sources": ["source"]}))
        with pytest.raises(TooManyFailures, match=r"conversations failed \(\d+ rejected\).*no Chinese here"):
            await emit(config, tmp_path / "run")
        assert {item.language for item in items(tmp_path / "run")} == {"en"}
        patient = config.model_copy(update={"build": config.build.model_copy(update={"max_failures": 1.0})})
        await emit(patient, tmp_path / "again")
    assert emitted(tmp_path / "run") == emitted(tmp_path / "again")


async def test_a_build_without_items_is_a_failure_that_says_so(tmp_path: Path) -> None:
    tie = {"rest": lambda seen: Says('{"explanation": "equal", "score": 3}') if _rates(seen) else improvise(seen)}
    async with FakeProvider(parts(tie)) as server:
        config = load_config(project(tmp_path, models=served(server, "rest"), build={"scenes": 2}))
        with pytest.raises(TooManyFailures, match=r"no item out of \d+ auditions"):
            await emit(config, tmp_path / "run")


def _rates(seen: Seen) -> bool:
    return bool(seen.schema) and "score" in (seen.schema or {})["properties"]


@pytest.mark.parametrize("stand_in", ["director", "scene", "base", "sources", None])
async def test_items_say_whether_any_stand_in_took_part(tmp_path: Path, stand_in: str | None) -> None:
    async with FakeProvider(generous) as server:
        models = served(server, "real") | {"stand-in": {"provider": "understudy"}}
        roles: dict[str, Any] = dict.fromkeys(("director", "scene", "base", "judge", "filter"), "real")
        roles |= {"sources": ["real"], **({stand_in: "stand-in"} if stand_in and stand_in != "sources" else {})}
        roles |= {"sources": ["stand-in"]} if stand_in == "sources" else {}
        config = load_config(project(tmp_path, models=models, roles=roles, characters=(MIRIAM,), build={"scenes": 12}))
        benchmark = await emit(config, tmp_path / "run")
    expected = stand_in is not None
    assert {item.provenance.understudy for item in items(tmp_path / "run")} == {expected}
    assert benchmark.manifest.understudy is expected


async def test_own_dimensions_go_all_the_way_to_the_results(tmp_path: Path) -> None:
    words = {
        language: [
            {
                "id": name,
                "name": f"Own {name}",
                "definition": f"what {name} is",
                "example": f"an example of {name}",
                "strategy": f"strategy {name} {language}",
                "instruction": f"instruction {name} {language}",
            }
            for name in ("WIT", "NERVE")
        ]
        for language in ("en", "zh")
    }
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(words), encoding="utf-8")
    async with FakeProvider(generous) as server:
        roles = {"sources": ["source"], "tested": ["source"]}
        models = served(server, "rest", "source")
        config = load_config(
            project(tmp_path, models=models, roles=roles, dimensions="mine.yaml", build={"scenes": 30})
        )
        benchmark = await emit(config, tmp_path / "run")
        asked = {seen.prompt for seen in server.requests if seen.body["model"] == "source"}
        results = await evaluate(benchmark, config, tmp_path / "eval")
    assert {item.dimension for item in benchmark.items()} == {"WIT", "NERVE"}
    assert all(item.strategy == f"strategy {item.dimension} {item.language}" for item in benchmark.items())
    assert all("strategy WIT" in prompt or "strategy NERVE" in prompt for prompt in asked)
    assert set(results.models["source"].dimensions) == {"WIT", "NERVE"}
    assert "Own WIT" in (tmp_path / "run/benchmark/README.md").read_text()


async def test_the_starter_pool_brings_its_own_test_characters(tmp_path: Path) -> None:
    config = offline(tmp_path, pool={"languages": ["zh"]}, characters=(), build={"scenes": 1, "quota": 1})
    benchmark = await emit(config, tmp_path / "run")
    expected = [character.id for character in starter_pool().characters if character.language == "zh"]
    assert [cell.character for cell in benchmark.manifest.report.cells] == expected


async def test_a_build_that_is_cancelled_emits_nothing_but_keeps_what_had_finished(tmp_path: Path) -> None:
    async with FakeProvider(latency=0.02) as server:
        config = load_config(project(tmp_path, models=served(server, "gpt")))
        task = asyncio.create_task(build(config, tmp_path / "run"))
        await asyncio.sleep(0.2)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert not (tmp_path / "run" / "benchmark").exists()
    assert not (tmp_path / "run" / "trajectories.jsonl").exists()


async def test_the_manifest_holds_what_was_built_and_nothing_of_this_machine(tmp_path: Path) -> None:
    async with FakeProvider(generous) as server:
        models = served(server, "gpt", key_env="SOME_VARIABLE")
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("SOME_VARIABLE", "sk-canary-0123456789")
            await emit(load_config(project(tmp_path, models=models)), tmp_path / "run")
    assert server.requests[0].headers["authorization"] == "Bearer sk-canary-0123456789"
    for name, content in emitted(tmp_path / "run").items():
        for machine in (str(tmp_path), "127.0.0.1", "SOME_VARIABLE"):
            assert machine.encode() not in content, f"{machine} in {name}"
    for name, content in everything(tmp_path / "run").items():
        assert b"sk-canary" not in content, name
    item = records(tmp_path / "run/benchmark/data/test.jsonl")[0]
    assert item["provenance"]["source_model"] == "gpt"
    assert {SHEN.id, MIRIAM.id} >= {item["character"]["id"]}
