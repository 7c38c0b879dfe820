"""The researcher's journey: init, build, eval; the demo; other people's data."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from terminal import finished, screentest

from builders.projects import MIRIAM, project
from screentest.builders import Benchmark, load_config
from screentest.pools import Pool

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"


def test_init_build_eval(tmp_path: Path) -> None:
    mine, run, scores = tmp_path / "mine", tmp_path / "run", tmp_path / "eval"
    made = screentest("init", mine)
    assert made.exit_code == 0
    for name in ("config.yaml", "characters/miriam.yaml", "characters/shen.yaml", "pool"):
        assert f"{mine / name}" in made.output and (mine / name).exists()
    assert f"screentest build {mine / 'config.yaml'} --run {mine / 'run'}" in made.output
    assert load_config(mine / "config.yaml").offline

    built = screentest("build", mine / "config.yaml", "--run", run, COLUMNS="80")
    assert built.exit_code == 0, built.output
    assert "Understudy: offline stand-in models take part." in built.stderr
    assert f"Benchmark: {run / 'benchmark'}" in built.stdout
    report = Benchmark.open(run).manifest.report
    assert f"{report.conversations} conversations: {report.kept} kept" in built.stdout
    assert f"{report.auditions} auditions: {report.items} items" in built.stdout

    command = ("eval", run / "benchmark", "--config", mine / "config.yaml", "--run", scores)
    scored = finished(*command, COLUMNS="80")
    assert scored.returncode == 0, scored.stderr
    results = json.loads((scores / "results.json").read_bytes())
    assert set(results["models"]) == {"novice", "adept", "expert"}
    for label, result in results["models"].items():
        row = next(line for line in scored.stdout.splitlines() if line.startswith(label))
        assert f"{result['overall']['headline']:.1f} [" in row
        assert f"{result['overall']['scored']}/{result['items']}" in row
    assert "says nothing about real models" in " ".join(scored.stdout.split())
    titled = ("mine: performance", "my-benchmark: performance", "Results: ")
    assert [line for line in scored.stdout.splitlines() if len(line) > 80 and not line.startswith(titled)] == []

    narrow = finished(*command, COLUMNS="30")
    assert re.findall(r"\d+\.\d", narrow.stdout) == re.findall(r"\d+\.\d", scored.stdout), "a number was cut short"


def test_seed_and_models_can_be_chosen_on_the_command_line(tmp_path: Path) -> None:
    config = project(tmp_path, characters=(MIRIAM,))
    for seed in ("7", "8"):
        assert screentest("build", config, "--run", tmp_path / seed, "--seed", seed).exit_code == 0
    assert Benchmark.open(tmp_path / "7").manifest.content_hash != Benchmark.open(tmp_path / "8").manifest.content_hash
    chosen = ("--model", "expert", "--model", "novice")
    assert screentest("eval", tmp_path / "7", "--config", config, *chosen, "--run", tmp_path / "e").exit_code == 0
    assert list(json.loads((tmp_path / "e/results.json").read_bytes())["models"]) == ["expert", "novice"]


def test_a_scene_can_be_watched_without_anything(tmp_path: Path) -> None:
    command = ("simulate", "--scene", "en-goat-court", "--character", "en-test-juno-abara", "--turns", "14")
    plain, judged = screentest(*command), screentest(*command, "--show", "judge")
    for result in (plain, judged):
        assert result.exit_code == 0, result.output
        assert "using the understudies" in result.stderr
        assert "The Crown against a Goat" in result.stdout and "test character: Juno Abara" in result.stdout
        assert re.search(r"^Juno Abara: \S", result.stdout, re.MULTILINE)
        assert "14 lines" in result.stdout.splitlines()[-1] or "ended the scene" in result.stdout.splitlines()[-1]
    assert "judged on" not in plain.stdout
    assert "judged on" in judged.stdout and "verdict " in judged.stdout and "line is kept" in judged.stdout
    assert screentest(*command).stdout == plain.stdout, "the same seed plays the same scene"
    assert screentest(*command, "--seed", "5").stdout != plain.stdout


def test_the_starter_pool_can_be_read() -> None:
    listed = screentest("pool", "show", COLUMNS="80")
    assert "26 scenes, 10 test characters" in listed.stdout
    assert "en-goat-court" in listed.stdout and "Sherlock Holmes" in listed.stdout
    scene = screentest("pool", "show", "--scene", "zh-dig-watch").stdout
    assert "裴若兰" in scene and "motivation: " in scene and "(private): " in scene and "script" in scene
    by_name, by_id = (screentest("character", "show", key).stdout for key in ("林黛玉", "zh-lin-daiyu"))
    assert by_name == by_id and "林黛玉  (zh-lin-daiyu, zh, established)" in by_name


def test_the_demo_orders_the_understudies_and_says_what_to_open(tmp_path: Path) -> None:
    result = screentest("demo", "--run", tmp_path / "demo")
    assert result.exit_code == 0, result.output
    headlines = {
        label: model["overall"]["headline"]
        for label, model in json.loads((tmp_path / "demo/results.json").read_bytes())["models"].items()
    }
    assert headlines["expert"] > headlines["adept"] > headlines["novice"]
    printed = [line.split()[0] for line in result.stdout.splitlines() if line.startswith(("expert", "adept", "novice"))]
    assert printed == ["expert", "adept", "novice"] * 2
    manifest = Benchmark.open(tmp_path / "demo").manifest
    assert manifest.languages == ("en", "zh") and not any(cell.shortfall for cell in manifest.report.cells)
    for name in re.findall(rf"{re.escape(str(tmp_path))}/demo/(\S+)  ", result.stdout):
        assert (tmp_path / "demo" / name).stat().st_size > 0, name


@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared data is not here")
def test_other_peoples_files_become_a_benchmark(tmp_path: Path) -> None:
    files = sorted(SHARED.glob("*/*.json"))
    assert len(files) == 4
    pool, report = tmp_path / "mine/pool", tmp_path / "report.json"
    assert screentest("init", tmp_path / "mine").exit_code == 0
    imported = screentest("pool", "import", *files, "--out", pool, "--report", report, "--replace")
    assert imported.exit_code == 0, imported.output
    counted = json.loads(report.read_bytes())
    outcomes = [record["outcome"] for record in counted["records"]]
    for outcome in ("taken", "warned", "refused"):
        assert counted[outcome] == outcomes.count(outcome)
    assert len(Pool.open(pool)) == counted["taken"] + counted["warned"]
    assert f"Pool: {pool} ({len(Pool.open(pool))} scenes)" in imported.stdout
    assert imported.stdout.count("refused  ") == counted["refused"] == 1

    config = tmp_path / "mine/config.yaml"
    settings = yaml.safe_load(config.read_text())
    settings["build"] |= {"quota": 1, "scenes": 12}
    config.write_text(yaml.safe_dump(settings))
    built = screentest("build", config, "--run", tmp_path / "run")
    assert built.exit_code == 0, built.output
    assert Benchmark.open(tmp_path / "run").manifest.languages == ("en", "zh")
    assert _rows(tmp_path / "run/benchmark", tmp_path) == Benchmark.open(tmp_path / "run").manifest.items
    scored = screentest("eval", tmp_path / "run", "--config", config, "--run", tmp_path / "eval")
    assert scored.exit_code == 0, scored.output


def _rows(benchmark: Path, home: Path) -> int:
    code = "import sys; from datasets import load_dataset; print(len(load_dataset(sys.argv[1], split='test')))"
    offline = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "HF_HOME": str(home / "hf")}
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code, str(benchmark)],
        env={**os.environ, **offline},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return int(done.stdout.split()[-1])
