"""Other settings: growth makes new calls only, what would change the outcome is refused, the rest is free."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from builders.projects import MIRIAM, emitted, generous, items
from cli.terminal import failed, screentest
from fakes import FakeProvider
from runs.theatre import asked, edited, evaluated, states, written
from screentest.builders import Benchmark, build, evaluate, load_config
from screentest.errors import InputError
from screentest.pools import Pool
from screentest.sim import Session

ENVIRONMENT = {"SENTINEL_KEY": "sk-1"}
SEED = 11
"""With which every build here has items, and a larger one has more."""

NELL = MIRIAM.model_copy(update={"id": "nell", "name": "Nell Hask"})
Data = dict[str, Any]


async def built(file: Path, run: Path, **session: Any) -> Session:
    """Build; returns the session, for its tally."""
    made = Session(environment=ENVIRONMENT, **session)
    await build(load_config(file), run, session=made)
    return made


async def compared(file: Path, benchmark: Path, run: Path, *tested: str) -> Session:
    """Evaluate."""
    made = Session(environment=ENVIRONMENT)
    await evaluate(Benchmark.open(benchmark), load_config(file), run, tested=tested, session=made)
    return made


def _grow_quota(data: Data, root: Path) -> None:
    data["build"] |= {"quota": 2}


def _grow_scenes(data: Data, root: Path) -> None:
    data["build"] |= {"quota": 4, "scenes": 3}


def _one_more_source(data: Data, root: Path) -> None:
    data["roles"]["sources"].append("bob")


def _one_more_character(data: Data, root: Path) -> None:
    fields = NELL.model_dump(exclude={"source", "licence"})
    (root / "characters/nell.yaml").write_text(yaml.safe_dump(fields), encoding="utf-8")


@pytest.mark.parametrize("grow", [_grow_quota, _grow_scenes, _one_more_source, _one_more_character])
async def test_a_build_that_grows_makes_new_calls_only_and_ends_as_if_it_had_begun_large(
    tmp_path: Path, grow: Callable[[Data, Path], None]
) -> None:
    async with FakeProvider(generous) as server:
        file = written(tmp_path, server, seed=SEED, build={"scenes": 20 if grow is _grow_quota else 2})
        await built(file, tmp_path / "run")
        small, before = asked(server), len(items(tmp_path / "run"))
        edited(file, lambda data: grow(data, tmp_path))
        session = await built(file, tmp_path / "run")
        together = asked(server)
        assert session.tally.reused == small.total()
        assert session.tally.made == together.total() - small.total() > 0
        assert len(items(tmp_path / "run")) > before
        since = len(server.requests)
        await built(file, tmp_path / "whole")
        assert asked(server, since) == together
        assert emitted(tmp_path / "run") == emitted(tmp_path / "whole")


async def test_repeating_a_finished_build_or_evaluation_makes_no_call(tmp_path: Path) -> None:
    async with FakeProvider(generous) as server:
        file = written(tmp_path, server, seed=SEED)
        await built(file, tmp_path / "run")
        await compared(file, tmp_path / "run", tmp_path / "eval")
        before, seen = emitted(tmp_path / "run") | evaluated(tmp_path / "eval"), len(server.requests)
        await built(file, tmp_path / "run", concurrency=1)
        await compared(file, tmp_path / "run", tmp_path / "eval")
        assert len(server.requests) == seen
        assert emitted(tmp_path / "run") | evaluated(tmp_path / "eval") == before


async def test_one_more_tested_model_joins_those_before(tmp_path: Path) -> None:
    async with FakeProvider(generous) as server:
        file = written(tmp_path, server, seed=SEED)
        await built(file, tmp_path / "run")
        run, total = tmp_path / "eval", len(items(tmp_path / "run"))
        await compared(file, tmp_path / "run", run)
        seen = len(server.requests)
        session = await compared(file, tmp_path / "run", run, "bob")
        new = server.bodies[seen:]
        assert sum(body["model"] == "bob" for body in new) == total
        assert {body["model"] for body in new} == {"bob", "judge"}
        assert session.tally.made == len(new) == 3 * total
        edited(file, lambda data: data["roles"].update(tested=["alice", "bob"]))
        await compared(file, tmp_path / "run", tmp_path / "both")
        assert evaluated(run) == evaluated(tmp_path / "both")


def _set(path: str, value: Any) -> Callable[[Data, Path], None]:
    def change(data: Data, root: Path) -> None:
        *sections, field = path.split(".")
        for section in sections:
            data = data.setdefault(section, {})
        data[field] = value

    return change


def _edit_the_character(data: Data, root: Path) -> None:
    file = root / "characters/miriam.yaml"
    file.write_text(file.read_text(encoding="utf-8").replace("Patient", "Impatient"), encoding="utf-8")


def _drop_the_character(data: Data, root: Path) -> None:
    _one_more_character(data, root)
    (root / "characters/miriam.yaml").unlink()


def _edit_the_pool(data: Data, root: Path) -> None:
    pool = Pool.open(root / "pool")
    scenes = [scene.model_copy(update={"world": f"{scene.world} It rains."}) for scene in pool]
    for file in sorted((root / "pool").rglob("*"), reverse=True):
        file.unlink() if file.is_file() else file.rmdir()
    (root / "pool").rmdir()
    Pool.write(root / "pool", name="tiny", scenes=scenes, licence="CC0-1.0", source="tests")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (_set("build.quota", 1), "build.quota: 2 → 1"),
        (_set("seed", 13), "seed: 11 → 13"),
        (_set("models.base.temperature", 0.5), "models.base.temperature: nothing → 0.5"),
        (_set("roles.judge", "other"), "roles.judge: judge → other"),
        (_set("roles.sources", ["bob"]), "roles.sources: ["),
        (_edit_the_character, "characters.miriam: "),
        (_drop_the_character, "characters.miriam: "),
        (_edit_the_pool, "pool.digest: "),
    ],
)
def test_what_would_change_the_outcome_is_refused_and_forked(
    tmp_path: Path, change: Callable[[Data, Path], None], told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SENTINEL_KEY", "sk-1")
    with FakeProvider.threaded(generous) as server:
        file, run = written(tmp_path, server, seed=SEED, build={"quota": 2}), tmp_path / "run"
        assert screentest("build", file, "--run", run).exit_code == 0
        before, kept, seen = emitted(run), states(run), asked(server)
        edited(file, lambda data: change(data, tmp_path))
        why = failed(screentest("build", file, "--run", run))
        assert told in why and " → " in why and "--fork NEW" in why
        assert asked(server) == seen
        assert (emitted(run), states(run)) == (before, kept)
        fork = ("build", file, "--run", run, "--fork", tmp_path / "fork")
        assert screentest(*fork).exit_code == 0
        after = asked(server)
        assert emitted(run) == before
        made = after.total()
        assert screentest("build", file, "--run", tmp_path / "fresh").exit_code == 0
        assert emitted(tmp_path / "fork") == emitted(tmp_path / "fresh")
        assert asked(server).total() - made >= made - seen.total(), "the fork may reuse, and never asks for more"
        made = len(server.requests)
        assert screentest(*fork).exit_code == 0
        assert len(server.requests) == made, "the same command goes on with the fork"
        assert screentest("verify", tmp_path / "fork").exit_code == 0


def test_a_fork_reuses_what_still_applies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SENTINEL_KEY", "sk-1")
    with FakeProvider.threaded(generous) as server:
        file = written(tmp_path, server, seed=SEED)
        assert screentest("build", file, "--run", tmp_path / "run").exit_code == 0
        common = ("eval", tmp_path / "run", "--config", file, "--run", tmp_path / "eval")
        assert screentest(*common).exit_code == 0
        seen = len(server.requests)
        edited(file, lambda data: data["roles"].update(judge="other", filter="judge"))
        assert "judge: judge → other" in failed(screentest(*common))
        assert screentest(*common, "--fork", tmp_path / "fork").exit_code == 0
        assert {body["model"] for body in server.bodies[seen:]} == {"other"}, "no line is generated again"


def _cheaper(data: Data, root: Path) -> None:
    for spec in data["models"].values():
        spec["price"] = {"input": 1.0, "output": 2.0}


@pytest.mark.parametrize(
    "change",
    [
        _set("models.base.concurrency", 2),
        _set("models.base.rpm", 6000),
        _set("models.base.tpm", 10**7),
        _set("models.base.timeout", 7),
        _set("models.base.retries", 3),
        _set("models.unused", {"provider": "understudy"}),
        _set("build.max_failures", 0.9),
        _cheaper,
    ],
)
async def test_what_only_says_how_to_work_may_change(tmp_path: Path, change: Callable[[Data, Path], None]) -> None:
    async with FakeProvider(generous) as server:
        file = written(tmp_path, server, seed=SEED)
        await built(file, tmp_path / "run")
        before, seen = emitted(tmp_path / "run"), len(server.requests)
        edited(file, lambda data: change(data, tmp_path))
        await built(file, tmp_path / "run", concurrency=3, max_usd=None)
        assert (emitted(tmp_path / "run"), len(server.requests)) == (before, seen)
        frozen, now = load_config(tmp_path / "run/config.yaml"), load_config(file)
        assert (frozen.models, frozen.build) == (now.models, now.build), "resume works as the command last did"


async def test_a_server_that_moved_is_the_same_model(tmp_path: Path) -> None:
    async with FakeProvider(generous) as old, FakeProvider(generous) as new:
        file = written(tmp_path, old)
        await built(file, tmp_path / "run")
        edited(file, lambda data: [spec.update(base_url=new.openai_url) for spec in data["models"].values()])
        session = await built(file, tmp_path / "run")
        assert (new.requests, session.tally.made) == ([], 0)


def test_a_fork_needs_a_run_and_an_empty_place(tmp_path: Path) -> None:
    with FakeProvider.threaded(generous) as server:
        file = written(tmp_path, server, seed=SEED)
        fork = ("build", file, "--run", tmp_path / "none", "--fork", tmp_path / "fork")
        assert "there is no run to fork" in failed(screentest(*fork))
        (tmp_path / "none").mkdir()
        (tmp_path / "none/run.db").write_bytes(b"this is no database, whatever its name says" * 200)
        assert "cannot be copied" in failed(screentest(*fork))
        (tmp_path / "fork").mkdir(exist_ok=True)
        (tmp_path / "fork/letters.txt").write_text("mine")
        assert "it is not empty" in failed(screentest(*fork))


async def test_an_evaluation_of_another_benchmark_is_refused(tmp_path: Path) -> None:
    async with FakeProvider(generous) as server:
        file = written(tmp_path, server, seed=SEED)
        await built(file, tmp_path / "run")
        await compared(file, tmp_path / "run", tmp_path / "eval")
        edited(file, lambda data: data["build"].update(scenes=3))
        await built(file, tmp_path / "run")
        with pytest.raises(InputError, match=r"benchmark: \w+ → \w+"):
            await compared(file, tmp_path / "run", tmp_path / "eval")
