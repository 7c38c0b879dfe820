"""Commands about runs: go on, replay, verify, compare, account."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from screentest.builders.difference import diff
from screentest.builders.identity import config_file, identity_file
from screentest.builders.resumption import Stage, copy_frozen, emitted, remainder, stages
from screentest.builders.verification import verify
from screentest.cli import tables
from screentest.cli.console import INTERRUPTED, clean, fail, note, out, run, speak_json
from screentest.cli.running import Runner
from screentest.errors import InputError, ScreentestError
from screentest.sim import STORE, Session, fork, ledger

Directory = Annotated[Path, typer.Argument(metavar="DIR", help="A run directory.")]


def resume_command(
    directory: Directory,
    concurrency: Annotated[int, typer.Option(min=1, metavar="N", help="The most model calls in flight.")] = 32,
    max_usd: Annotated[
        float | None, typer.Option(min=0, metavar="USD", help="The most that all sessions of the run may spend.")
    ] = None,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Make calls that failed for good again.")
    ] = False,
    batch: Annotated[bool, typer.Option("--batch", help="Go on with an evaluation in batches, as it began.")] = False,
    json_progress: Annotated[
        bool, typer.Option("--json-progress", help="Progress as JSON lines on standard error.")
    ] = False,
) -> None:
    """Go on with a run that was stopped.

    Does what its commands did, with the configuration as it was frozen; the same as repeating them.

    \b
    Example:
      screentest resume run
    """
    speak_json(json_progress)
    session = Session(concurrency=concurrency, max_usd=max_usd, retry_failed=retry_failed, batch=batch)
    _perform(directory, session, json_progress)


def replay_command(
    directory: Directory,
    output: Annotated[
        Path | None, typer.Option("--out", metavar="NEW", help="Emit into a copy of the run instead.")
    ] = None,
) -> None:
    """Emit a finished run's files again, byte for byte.

    Everything comes from the stored calls: no key, no network, no cost.

    \b
    Examples:
      screentest replay run
      screentest replay run --out /tmp/again
    """
    try:
        before = emitted(directory)
        target = output or directory
        if output:
            fork(directory, output)
            copy_frozen(directory, output)
    except ScreentestError as error:
        raise fail(error) from None
    _perform(target, Session(replay=True), as_json=False)
    changed = False
    for name, digest in emitted(target).items():
        known = before.get(name)
        changed = changed or known not in (None, digest)
        out.print(f"{'new      ' if known is None else 'identical' if known == digest else 'CHANGED  '}  {name}")
    if changed:
        raise fail(InputError("the files were not those that the stored calls make", where=str(directory)))


def verify_command(directory: Directory) -> None:
    """Check a run's hashes and counts; changes nothing.

    Planned must be done plus each class of failure, everywhere. Exit codes: 0 finished and sound, 2 a check failed, 5
    another process is at work on it, 75 sound so far, but not finished.

    \b
    Example:
      screentest verify run
    """
    try:
        checks = verify(directory)
    except ScreentestError as error:
        raise fail(error) from None
    for check in checks:
        mark, style = ("FAILED", "red") if check.problem else ("ok    ", "")
        out.print(clean(f"{mark}  {check.what}{': ' if check.problem else ''}{check.problem}", style), soft_wrap=True)
    if failed := sum(bool(check.problem) for check in checks):
        raise fail(InputError(f"{failed} of {len(checks)} checks failed", where=str(directory)))
    try:
        left = remainder(directory)
    except ScreentestError as error:
        raise fail(error) from None
    if left:
        out.print(
            clean(
                f"not finished: {left.kept} calls kept, {left.in_flight} in flight; "
                f"`screentest resume {directory}` goes on"
            ),
            soft_wrap=True,
        )
        raise typer.Exit(INTERRUPTED)


def diff_command(
    a: Annotated[Path, typer.Argument(metavar="A", help="A run or a benchmark directory.")],
    b: Annotated[Path, typer.Argument(metavar="B", help="Another.")],
) -> None:
    """Compare two runs or benchmarks: settings, items, scores.

    \b
    Example:
      screentest diff run-a run-b
    """
    try:
        tables.difference(diff(a, b))
    except ScreentestError as error:
        raise fail(error) from None


def ledger_command(directory: Directory) -> None:
    """Show what a run used: calls, retries, tokens and dollars.

    Sums up all its sessions, by stage, role and model, and says what is not known.

    \b
    Example:
      screentest ledger run
    """
    if not (directory / STORE).is_file():
        raise fail(InputError("this is not a run", where=str(directory), why=f"it has no {STORE}"))
    try:
        tables.ledger(ledger(directory / STORE))
    except ScreentestError as error:
        raise fail(error) from None


def forked(directory: Path, target: Path | None) -> Path:
    """The directory to work in: a copy of the run's calls in ``target``, if given.

    A copy that was made before is gone on with, so that the command can be repeated.

    Raises:
        InputError: There is nothing to copy, or something in the way.
    """
    if target is None:
        return directory
    if not (target / STORE).is_file():
        fork(directory, target)
    return target


def frozen_config(run: Path, benchmark: Path) -> Path | None:
    """The configuration an evaluation goes on with: its own, or that of the run its benchmark was built in."""
    for directory, stage in ((run, "eval"), (benchmark, "build"), (benchmark.resolve().parent, "build")):
        file = config_file(directory, stage)
        if file.is_file() and identity_file(directory, stage).is_file():
            note(f"Using the configuration of the run: {file}")
            return file
    return None


def _perform(directory: Path, session: Session, as_json: bool) -> None:
    try:
        found = stages(directory)
    except ScreentestError as error:
        raise fail(error) from None
    runner = Runner(directory, session, as_json)
    for stage in found:
        online = replace(runner, session=replace(session, batch=False)) if stage.name == "build" else runner
        run(_stage(online, stage))


async def _stage(runner: Runner, stage: Stage) -> None:
    if stage.name == "build":
        await runner.build(stage.config)
    else:
        tables.leaderboard(await runner.evaluate(stage.open_benchmark(), stage.config, stage.tested))
