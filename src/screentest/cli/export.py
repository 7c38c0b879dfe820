"""Commands that turn a run into data to look at, to draw and to fine-tune on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Literal

import typer

from screentest.builders.exports import (
    Export,
    Source,
    graphs,
    guided,
    narrations,
    preferences,
    reflective,
    trajectories,
)
from screentest.cli.console import UNDERSTUDY, clean, fail, note, out, run
from screentest.errors import InputError, ScreentestError
from screentest.llms import Meter
from screentest.sim import Session

export_app = typer.Typer(
    name="export",
    help="Turn a run into data: trajectories, fine-tuning, graphs.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

RunDir = Annotated[Path, typer.Argument(metavar="RUN", help="The run directory of a finished build.")]
Out = Annotated[
    Path, typer.Option("--out", metavar="DIR", help="Where to; an earlier export of the same kind is replaced.")
]
SftKind = Literal["guided", "reflective", "narrator"]


@export_app.command("trajectories")
def trajectories_command(directory: RunDir, destination: Out) -> None:
    """Export what each character perceived and did.

    One record for each character of each conversation, as CharacterBox defines a trajectory: the environment, the
    profile, then step by step observation and action. Makes no model call.

    \b
    Example:
      screentest export trajectories run --out trajectories
    """
    _export(directory, destination, trajectories)


@export_app.command("sft")
def sft_command(
    directory: RunDir,
    destination: Out,
    kind: Annotated[
        SftKind, typer.Option(help="The best model's lines, lines that their own model rewrote, or narration.")
    ],
    teacher: Annotated[
        str | None,
        typer.Option(metavar="LABEL", help="Whose lines; by default the source that judges preferred most often."),
    ] = None,
    concurrency: Annotated[
        int, typer.Option(min=1, metavar="N", help="Reflective: the most model calls in flight.")
    ] = 32,
    max_usd: Annotated[
        float | None,
        typer.Option(min=0, metavar="USD", help="Reflective: the most that all sessions of the run may spend."),
    ] = None,
) -> None:
    """Export conversations for supervised fine-tuning.

    The messages format of TRL and LLaMA-Factory. `guided` holds the lines of one model, the teacher; `narrator` what
    the narrator was asked and answered. `reflective` has a model criticise and rewrite its own lines first: two calls
    for each character, kept in the run, so that repeating the command makes only those that are missing.

    \b
    Examples:
      screentest export sft run --kind guided --out guided
      screentest export sft run --kind reflective --teacher qwen --out reflective
      screentest export sft run --kind narrator --out narrator
    """
    if kind == "narrator" and teacher is not None:
        raise fail(InputError("the narrator is one model", where="--teacher", hint="leave it out with --kind narrator"))
    if kind == "reflective":
        session = Session(concurrency=concurrency, max_usd=max_usd)
        _reflect(directory, destination, teacher, session)
    else:
        _export(directory, destination, narrations if kind == "narrator" else lambda source: guided(source, teacher))


@export_app.command("dpo")
def dpo_command(directory: RunDir, destination: Out) -> None:
    """Export preference pairs, for DPO and reward models.

    One pair for each audition that a judge decided, in the preference format of TRL and LLaMA-Factory. Ties are left
    out and counted. Makes no model call.

    \b
    Example:
      screentest export dpo run --out preferences
    """
    _export(directory, destination, preferences)


@export_app.command("graph")
def graph_command(directory: RunDir, destination: Out) -> None:
    """Export who is near to whom, as graphs.

    One graph for each conversation as it ended: a GraphML file, and a record in networkx's node-link form. Makes no
    model call.

    \b
    Example:
      screentest export graph run --out graphs
    """
    _export(directory, destination, graphs)


def _export(directory: Path, destination: Path, make: Callable[[Source], Export]) -> None:
    try:
        source = Source.open(directory)
        _tell(make(source), source, destination)
    except ScreentestError as error:
        raise fail(error) from None


def _reflect(directory: Path, destination: Path, teacher: str | None, session: Session) -> None:
    async def work() -> tuple[Source, Export]:
        source = Source.open(directory)
        return source, await reflective(source, teacher, session=session, meter=meter)

    meter, tally = Meter(), session.tally
    source, export = run(work())
    note(f"Calls: {tally.reused} reused, {tally.made} made, {tally.failed} failed.")
    if meter.cost or meter.unpriced:
        unknown = f", plus {meter.unpriced} calls of unknown cost" if meter.unpriced else ""
        note(f"Spent in this session: ${meter.cost:.4f}{unknown}.")
    try:
        _tell(export, source, destination)
    except ScreentestError as error:
        raise fail(error) from None


def _tell(export: Export, source: Source, destination: Path) -> None:
    file = export.write(destination, source)
    if export.understudy:
        note(UNDERSTUDY, "yellow")
    if source.stale:
        note("The templates have changed since the run was played: prompts are not word for word as they were sent.")
    if export.teacher:
        out.print(clean(f"Lines of: {export.teacher}"))
    rest = "".join(f" + {count} {why}" for why, count in export.left_out.items() if count)
    out.print(clean(f"{export.whole} {export.of} = {len(export.rows)} records{rest}"), soft_wrap=True)
    if export.setback:
        note(f"Some failed; the same command again makes the calls that brought no reply. The first: {export.setback}")
    out.print(clean(f"Export: {file}"), soft_wrap=True)
