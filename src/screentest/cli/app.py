"""The command line. Every command is a call into the library."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from screentest import __version__
from screentest.builders import Benchmark, understudies
from screentest.cli import tables
from screentest.cli.advice import doctor_command, plan_command
from screentest.cli.casting import character_app, pool_app
from screentest.cli.console import configuration, fail, note, one_of, out, run, set_up_logging, speak_json
from screentest.cli.export import export_app
from screentest.cli.play import play_command
from screentest.cli.running import Runner
from screentest.cli.runs import (
    diff_command,
    forked,
    frozen_config,
    ledger_command,
    replay_command,
    resume_command,
    verify_command,
)
from screentest.cli.scaffold import scaffold
from screentest.cli.stage import STAGINGS, Show, perform
from screentest.errors import ScreentestError
from screentest.sim import Session

app = typer.Typer(
    name="screentest",
    help="Stage scenes, let models play characters, judge them, and emit a benchmark of what tells models apart.",
    epilog="Start with `screentest demo` (offline, free), then `screentest init DIR`. "
    "Exit codes: 0 done, 2 configuration or input, 3 budget used up, 4 finished with failures above the "
    "threshold, 5 another process is at work on the run, 75 interrupted: run the same command again.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)

RunDir = Annotated[Path, typer.Option("--run", metavar="DIR", help="The run's directory; made if need be.")]
Concurrency = Annotated[int, typer.Option(min=1, metavar="N", help="The most model calls in flight.")]
MaxUsd = Annotated[
    float | None,
    typer.Option(min=0, metavar="USD", help="The most that all sessions of the run may spend; exit code 3 at the end."),
]
ForkTo = Annotated[
    Path | None,
    typer.Option("--fork", metavar="NEW", help="Go on in a copy of the run, where other settings are fine."),
]
RetryFailed = Annotated[bool, typer.Option("--retry-failed", help="Make calls that failed for good again.")]
JsonProgress = Annotated[bool, typer.Option("--json-progress", help="Progress as JSON lines on standard error.")]
Seed = Annotated[int | None, typer.Option(metavar="N", help="Overrides the configuration's seed.")]


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"screentest {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Log retries and failures as they happen.")] = False,
) -> None:
    """Stage scenes, let models play characters, judge them, and emit a benchmark of what tells models apart."""
    set_up_logging(verbose)
    speak_json(False)


@app.command()
def demo(
    directory: Annotated[Path, typer.Option("--run", metavar="DIR", help="Where to put what the demo makes.")] = Path(
        "demo"
    ),
) -> None:
    """See the whole journey offline, in a minute.

    Builds a bilingual benchmark from the starter pool, evaluates the three skills of the understudy on it, prints a
    leaderboard and says which files to open. No key, no network, no cost.

    \b
    Example:
      screentest demo
      screentest demo --run /tmp/first-look
    """
    config = understudies(name="screentest-demo", seed=7, build={"quota": 2, "turns": 16})
    note("The demo runs offline and costs nothing.")
    runner = Runner(directory, Session())
    benchmark = run(runner.build(config))
    results = run(runner.evaluate(benchmark, config))
    out.print()
    tables.leaderboard(results)
    out.print()
    out.print("Open these next:", style="bold")
    for name, what in (
        ("benchmark/README.md", "the benchmark's card"),
        ("benchmark/data/test.jsonl", "its items, one a line"),
        ("trajectories.jsonl", "everything that happened in every scene"),
        ("evaluations.jsonl", "every reply and verdict of the evaluation"),
        ("results.json", "the leaderboard, with all intervals"),
    ):
        out.print(f"  {directory / name}  {what}", soft_wrap=True)
    out.print("Then: `screentest simulate` to watch a scene, `screentest init DIR` to make your own benchmark.")


@app.command()
def init(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="A directory that does not exist yet, or is empty.")],
) -> None:
    """Make a project to start from.

    Writes a commented configuration, two test characters and a pool of three scenes. It builds as it is, offline.

    \b
    Example:
      screentest init my-benchmark
      screentest build my-benchmark/config.yaml --run my-benchmark/run
    """
    try:
        files = scaffold(directory)
    except ScreentestError as error:
        raise fail(error) from None
    for file in files:
        out.print(f"wrote {file}", soft_wrap=True)
    config = directory / "config.yaml"
    out.print(f"Next: read {config}, then `screentest build {config} --run {directory / 'run'}`", soft_wrap=True)


@app.command()
def simulate(
    pool: Annotated[
        Path | None, typer.Option(metavar="POOL", help="A pool directory; the configuration's, or the starter pool.")
    ] = None,
    scene: Annotated[str | None, typer.Option(metavar="ID", help="The scene; drawn by the seed if left out.")] = None,
    character: Annotated[
        str | None, typer.Option(metavar="ID", help="The test character: an id in the pool, or a YAML file.")
    ] = None,
    config: Annotated[Path | None, typer.Option(metavar="CONFIG", help="Names the models.")] = None,
    source: Annotated[str | None, typer.Option(metavar="LABEL", help="The source model; the first by default.")] = None,
    staging: Annotated[
        str | None,
        typer.Option(metavar="dialogue|story", help="A dialogue, line by line, or a story of deeds and consequences."),
    ] = None,
    show: Annotated[
        str | None,
        typer.Option(
            metavar="|".join(Show),
            help="Show more: the judge's reasons, the director's, what characters think, or all.",
        ),
    ] = None,
    turns: Annotated[
        int | None, typer.Option(min=2, max=1000, metavar="N", help="The most lines of a dialogue.")
    ] = None,
    rounds: Annotated[int | None, typer.Option(min=1, max=500, metavar="N", help="The most rounds of a story.")] = None,
    seed: Seed = None,
) -> None:
    """Watch one scene live, coloured by speaker.

    A dialogue has a test character, whose lines are auditioned. A story has one if --character names one; otherwise its
    cast plays among itself.

    \b
    Examples:
      screentest simulate
      screentest simulate --staging story --show minds
      screentest simulate --scene en-lantern-room --show judge
      screentest simulate --pool my/pool --character my/characters/ada.yaml --config my/config.yaml
    """
    try:
        way, more = one_of(STAGINGS, staging, "--staging"), one_of(tuple(Show), show, "--show")
        settings = configuration(config, seed, os.environ)
    except ScreentestError as error:
        raise fail(error) from None
    run(
        perform(
            settings,
            pool=pool,
            scene_id=scene,
            character_id=character,
            source=source,
            show=more,
            staging=way,
            turns=turns,
            rounds=rounds,
        ),
        interrupted="interrupted; a simulation keeps nothing.",
    )


@app.command("build")
def build_command(
    config: Annotated[
        Path | None, typer.Argument(metavar="CONFIG", help="A configuration file; the understudies if left out.")
    ] = None,
    directory: RunDir = Path("run"),
    concurrency: Concurrency = 32,
    seed: Seed = None,
    max_usd: MaxUsd = None,
    fork_to: ForkTo = None,
    retry_failed: RetryFailed = False,
    json_progress: JsonProgress = False,
) -> None:
    """Build a benchmark: play scenes until the quota is met.

    Plays until every cell (test character × source model) has its quota of items in every dimension. Emits
    DIR/benchmark/ (data/test.jsonl, README.md, manifest.json), DIR/trajectories.jsonl and DIR/review.jsonl (lines
    with formatting faults, for a person to look at). The same configuration and seed emit the same bytes at any
    concurrency, given the same replies.

    Every finished model call is kept in DIR/run.db. Repeating the command goes on where it stopped, with a larger
    quota or one more source model extends the benchmark, and otherwise makes no call. Calls that failed for good stay
    failed unless --retry-failed is given; conversations after them may then come out differently.

    \b
    Examples:
      screentest build --run run
      screentest build my/config.yaml --run my/run --concurrency 64 --max-usd 20
    """
    speak_json(json_progress)
    try:
        settings = configuration(config, seed, os.environ)
        directory = forked(directory, fork_to)
    except ScreentestError as error:
        raise fail(error) from None
    session = Session(concurrency=concurrency, max_usd=max_usd, retry_failed=retry_failed)
    benchmark = run(Runner(directory, session, json_progress).build(settings))
    out.print(f"Benchmark: {benchmark.path}", soft_wrap=True)


@app.command("eval")
def eval_command(
    benchmark: Annotated[Path, typer.Argument(metavar="BENCHMARK", help="A benchmark directory that build emitted.")],
    config: Annotated[
        Path | None,
        typer.Option(metavar="CONFIG", help="Names the models, the base and the judge; the run's own if left out."),
    ] = None,
    model: Annotated[
        list[str] | None, typer.Option(metavar="LABEL", help="A model to test; may be repeated. All tested by default.")
    ] = None,
    directory: RunDir = Path("eval"),
    concurrency: Concurrency = 32,
    seed: Seed = None,
    max_usd: MaxUsd = None,
    fork_to: ForkTo = None,
    rejudge: Annotated[
        str | None,
        typer.Option(metavar="LABEL", help="Judge the stored replies again with this model; nothing is generated."),
    ] = None,
    batch: Annotated[
        bool, typer.Option("--batch", help="Use the providers' batch APIs: half the price, within a day.")
    ] = False,
    json_progress: JsonProgress = False,
) -> None:
    """Evaluate models on a benchmark.

    Every reply is judged against the base model's, in both orders. Emits DIR/results.json and
    DIR/evaluations.jsonl, and prints the leaderboard. What cannot be scored is counted and shown, never guessed.
    Repeating the command with other models adds them to the leaderboard; whatever was called before is reused, and
    calls that failed are made again.

    \b
    Examples:
      screentest eval run/benchmark --run eval
      screentest eval run/benchmark --config my/config.yaml --model sonnet --model qwen --run eval
      screentest eval run/benchmark --config my/config.yaml --run eval --rejudge sonnet
      screentest eval run/benchmark --config my/config.yaml --run eval --batch
    """
    speak_json(json_progress)
    try:
        settings = configuration(config or frozen_config(directory, benchmark), seed, os.environ)
        opened = Benchmark.open(benchmark)
        directory = forked(directory, fork_to)
    except ScreentestError as error:
        raise fail(error) from None
    session = Session(concurrency=concurrency, max_usd=max_usd, batch=batch)
    runner = Runner(directory, session, json_progress)
    job = (
        runner.rejudge(opened, settings, rejudge) if rejudge else runner.evaluate(opened, settings, tuple(model or ()))
    )
    results = run(job)
    tables.leaderboard(results)
    suffix = f".{rejudge}" if rejudge else ""
    out.print(f"Results: {directory / f'results{suffix}.json'}", soft_wrap=True)


app.command("play")(play_command)
app.command("plan")(plan_command)
app.command("doctor")(doctor_command)
app.command("resume")(resume_command)
app.command("replay")(replay_command)
app.command("verify")(verify_command)
app.command("diff")(diff_command)
app.command("ledger")(ledger_command)
app.add_typer(pool_app)
app.add_typer(character_app)
app.add_typer(export_app)
