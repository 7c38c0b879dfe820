"""The commands that export."""

from __future__ import annotations

from pathlib import Path

import pytest

from builders.projects import records, served
from cli.terminal import failed, screentest
from exports.rewriter import rewrites
from fakes import FakeProvider
from runs.theatre import LABELS, written
from screentest.builders.exports import Source, preferences


@pytest.mark.parametrize(
    ("arguments", "file", "said"),
    [
        (("trajectories",), "trajectories.jsonl", "characters in conversations = "),
        (("sft", "--kind", "guided"), "guided.jsonl", "Lines of: expert"),
        (("sft", "--kind", "guided", "--teacher", "adept"), "guided.jsonl", "Lines of: adept"),
        (("sft", "--kind", "narrator"), "narrator.jsonl", "answered calls of the narrator = "),
        (("dpo",), "preferences.jsonl", "auditions = "),
        (("graph",), "graphs.jsonl", "4 conversations = 4 records"),
    ],
)
def test_an_export_says_what_it_wrote(
    tales: Path, tmp_path: Path, arguments: tuple[str, ...], file: str, said: str
) -> None:
    name, *options = arguments
    result = screentest("export", name, tales, "--out", tmp_path / "out", *options)
    assert result.exit_code == 0, result.output
    assert said in result.stdout
    rows = records(tmp_path / "out" / file)
    assert f" = {len(rows)} records" in result.stdout
    assert f"Export: {tmp_path / 'out' / file}" in result.stdout
    assert "Understudy: offline stand-in models take part." in result.stderr


def test_the_count_of_preferences_adds_up_on_the_terminal(dialogues: Path, tmp_path: Path) -> None:
    export = preferences(Source.open(dialogues))
    result = screentest("export", "dpo", dialogues, "--out", tmp_path / "out")
    ties = export.left_out["ties"]
    assert f"{export.whole} auditions = {export.whole - ties} records + {ties} ties\n" in result.stdout


def test_a_reflection_says_what_it_cost_and_makes_no_call_twice(tmp_path: Path) -> None:
    with FakeProvider.threaded(rewrites) as server:
        models = served(server, *LABELS, key_env="SENTINEL_KEY", price={"input": 1.0, "output": 1.0})
        config = written(tmp_path, server, models=models, build={"scenes": 6, "turns": 14, "min_turns": 12})
        run, key = tmp_path / "run", {"SENTINEL_KEY": "sk-none"}
        assert screentest("build", config, "--run", run, **key).exit_code == 0
        built = len(server.requests)
        command = ("export", "sft", run, "--kind", "reflective", "--out", tmp_path / "out")
        assert "budget" in failed(screentest(*command, "--max-usd", "0", **key), 3)
        result = screentest(*command, **key)
        assert result.exit_code == 0, result.output
        rows = records(tmp_path / "out" / "reflective.jsonl")
        assert "Lines of: alice" in result.stdout
        assert len(server.requests) - built == 2 * len(rows)
        assert f"Calls: 0 reused, {2 * len(rows)} made, 0 failed." in result.stderr
        assert "Spent in this session: $0.0" in result.stderr
        again = screentest(*command, **key)
        assert f"Calls: {2 * len(rows)} reused, 0 made, 0 failed." in again.stderr
        assert "reflect.rewrite" in screentest("ledger", run).output


@pytest.mark.parametrize("run", ["dialogues", "tales"])
def test_the_understudy_reflects_offline(run: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    command = ("export", "sft", request.getfixturevalue(run), "--teacher", "adept")
    for kind in ("guided", "reflective"):
        result = screentest(*command, "--kind", kind, "--out", tmp_path / kind)
        assert result.exit_code == 0, result.output
    assert "failed" not in result.stdout
    assert "Understudy: offline stand-in models take part." in result.stderr
    before, after = (records(tmp_path / kind / f"{kind}.jsonl") for kind in ("guided", "reflective"))
    assert [row["turns"] for row in after] == [row["turns"] for row in before]
    assert any(new["messages"] != old["messages"] for old, new in zip(before, after, strict=True))


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("--kind", "guided", "--teacher", "nobody"), "--teacher: unknown model 'nobody'"),
        (("--kind", "narrator", "--teacher", "expert"), "--teacher: the narrator is one model"),
        (("--kind", "narrator"), "it had no narrator"),
    ],
)
def test_what_cannot_be_is_one_line(dialogues: Path, tmp_path: Path, arguments: tuple[str, ...], why: str) -> None:
    assert why in failed(screentest("export", "sft", dialogues, "--out", tmp_path / "out", *arguments))
    assert not (tmp_path / "out").exists()


def test_what_is_no_run_is_one_line(tmp_path: Path) -> None:
    assert "this is not a run" in failed(screentest("export", "dpo", tmp_path, "--out", tmp_path / "out"))
