"""Commands that advise before money is spent: what a run will take, and whether everything it needs works."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from screentest.builders import Benchmark
from screentest.builders.doctor import Contact, Trial
from screentest.builders.examination import Agenda, Examination, agenda, examine
from screentest.builders.planning import Plan, Range, plan_build, plan_evaluation
from screentest.cli.console import clean, configuration, fail, note, out, run
from screentest.errors import InputError, ScreentestError
from screentest.sim import Session

ConfigFile = Annotated[
    Path | None, typer.Argument(metavar="CONFIG", help="A configuration file; the understudies if left out.")
]
Concurrency = Annotated[int, typer.Option(min=1, metavar="N", help="The most model calls in flight.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]

_WIDTH = 100


def plan_command(
    config: ConfigFile = None,
    benchmark: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Plan the evaluation of this benchmark, and no build.")
    ] = None,
    model: Annotated[
        list[str] | None, typer.Option(metavar="LABEL", help="A model to test; may be repeated. All tested by default.")
    ] = None,
    directory: Annotated[
        Path | None, typer.Option("--run", metavar="DIR", help="A run to learn from: its tokens, lines and yield.")
    ] = None,
    concurrency: Concurrency = 32,
    json: Json = False,
) -> None:
    """Say what a run will take: calls, tokens, cost, time.

    Also says how sure the result will be. Makes no model call. Prompts are the real ones, of a sample of the pool's
    scenes; everything else that is assumed is shown. A price that is not configured makes a cost unknown, never zero.

    \b
    Examples:
      screentest plan my/config.yaml
      screentest plan my/config.yaml --run my/small-run
      screentest plan my/config.yaml --benchmark my/run/benchmark --model sonnet
    """
    try:
        settings = configuration(config, None, os.environ)
        opened = Benchmark.open(benchmark) if benchmark else None
    except ScreentestError as error:
        raise fail(error) from None
    tested = tuple(model or ())
    if opened is None:
        made = run(plan_build(settings, run=directory, tested=tested, concurrency=concurrency))
    else:
        made = run(plan_evaluation(opened, settings, run=directory, tested=tested, concurrency=concurrency))
    if json:
        typer.echo(made.model_dump_json(indent=2))
    else:
        _show_plan(made)


def doctor_command(config: ConfigFile = None, concurrency: Concurrency = 8, json: Json = False) -> None:
    """Check keys, models, structured replies, the judge.

    Says first how many model calls it will make, makes them, and says what to change. Exit code 0 if all is well, 2 if
    something must be changed. No key is ever shown.

    \b
    Examples:
      screentest doctor my/config.yaml
      screentest doctor
    """
    try:
        settings = configuration(config, None, os.environ)
    except ScreentestError as error:
        raise fail(error) from None
    _announce(agenda(settings))
    found = run(examine(settings, Session(concurrency=concurrency)))
    if json:
        typer.echo(found.model_dump_json(indent=2))
    else:
        _show_examination(found)
    if not found.healthy:
        raise typer.Exit(InputError.exit_code)


def _announce(planned: Agenda) -> None:
    offline = ", all of them offline" if planned.offline else ""
    note(
        f"The doctor makes {planned.calls} small model calls{offline}: a reply from each of "
        f"{', '.join(planned.models)}, and {2 * planned.pairs} verdicts of {planned.judge} on {planned.pairs} canned "
        "pairs in both orders. What is refused or does not fit is asked again."
    )


def _show_plan(made: Plan) -> None:
    table = _table()
    for name in ("stage", "role", "model"):
        table.add_column(name, overflow="fold")
    for name in ("calls", "input", "output", "$ low", "$ expected", "$ worst"):
        table.add_column(name, justify="right", no_wrap=True)
    for number, row in enumerate(made.rows):
        if number and row.stage != made.rows[number - 1].stage:
            table.add_section()
        sizes = (row.calls.expected, row.input.expected, row.output.expected)
        table.add_row(row.stage, row.role, clean(row.model), *map(_short, sizes), *_dollars(row.cost))
    out.print(Text("What it will take, as expected", "bold"))
    out.print(table, width=_WIDTH)
    out.print()
    _show_totals(made)
    precision = made.precision
    if precision is not None:
        width = "unknown: no items" if precision.width is None else f"{precision.width.expected:.1f} points"
        ends = "" if precision.width is None else _ends(precision.width)
        items = f"{precision.items.expected:,} items"
        out.print(clean(f"Each model's headline: 95 % interval about {width} wide{ends}, from {items}."), width=_WIDTH)
    out.print()
    out.print(Text("This rests on", "bold"))
    assumptions = _table(header=False)
    for one in made.assumptions:
        assumptions.add_row(one.origin, clean(one.what), clean(one.value))
    out.print(assumptions, width=_WIDTH)
    out.print()
    for told in made.notes:
        out.print(clean(f"Note: {told}"), width=_WIDTH)


def _show_totals(made: Plan) -> None:
    table = _table()
    for name in ("total", "low", "expected", "worst"):
        table.add_column(name, justify="left" if name == "total" else "right", no_wrap=True)
    total = made.total
    for name, values in (("calls", total.calls), ("input tokens", total.input), ("output tokens", total.output)):
        table.add_row(name, *(f"{value:,}" for value in _three(values)))
    table.add_row(Text("cost in $", "bold"), *_dollars(total.cost))
    if total.cost is None:
        table.add_row("  known part", *_dollars(total.known_cost))
    table.add_row("time", *map(_duration, _three(made.seconds)))
    out.print(table, width=_WIDTH)
    for time in made.times:
        part = made.stage(time.stage)
        cost = "cost unknown" if part.cost is None else f"${part.cost.expected:,.2f}"
        took = f"{_duration(time.seconds.expected)}, decided by {time.bound_by}"
        out.print(clean(f"  {time.stage}: {part.calls.expected:,} calls, {cost}, {took}"), width=_WIDTH)


def _show_examination(found: Examination) -> None:
    table = _table()
    for name in ("model", "key", "replies", "structured by", "latency", "usage", "price", "context", "roles"):
        table.add_column(name, overflow="fold", justify="right" if name in ("latency", "context") else "left")
    for one in found.contacts:
        context = found.context.get(one.label)
        table.add_row(*_contact(one), "–" if context is None else f"{context:,}", ", ".join(one.roles))
    out.print(table, width=_WIDTH)
    out.print()
    if found.trial is None:
        out.print("The judge could not be tried.", style="red")
    else:
        _show_trial(found.trial)
    out.print()
    for finding in found.findings:
        must = finding.weight == "problem"
        label = Text("change  " if must else "advice  ", "red" if must else "yellow")
        out.print(Text.assemble(label, clean(str(finding))), soft_wrap=True)
    made = f"calls made: {found.calls}"
    if found.offline:
        made += "; all models are understudies, offline, so this says nothing about real ones"
    problems = sum(finding.weight == "problem" for finding in found.findings)
    verdict = "All is well" if found.healthy else f"{problems} to change"
    out.print(clean(f"{verdict} ({made}).", "green" if found.healthy else "red"), soft_wrap=True)


def _contact(one: Contact) -> tuple[Text | str, ...]:
    if not one.replied:
        unknown = ("–",) * 3
        return clean(one.label), one.key, Text("no", "red"), *unknown, _yes(one.priced)
    seconds = "–" if one.seconds is None else f"{one.seconds:.2f} s"
    rung = one.rung or "offline"
    return clean(one.label), one.key, "yes", rung, seconds, _yes(one.usage), _yes(one.priced)


def _show_trial(trial: Trial) -> None:
    out.print(clean(f"The judge {trial.judge} on canned pairs, each in both orders", "bold"))
    table = _table()
    for name in ("language", "pairs", "verdicts", "failed", "right", "ties", "first preferred", "orders agree"):
        table.add_column(name, justify="left" if name == "language" else "right")
    for one in trial.languages:
        right = f"{one.right} of {one.verdicts}"
        counts = (str(one.pairs), str(one.verdicts), str(one.failed), right, str(one.ties), str(one.first))
        table.add_row(one.language, *counts, f"{one.consistent} of {one.pairs}")
    out.print(table, width=_WIDTH)


def _table(*, header: bool = True) -> Table:
    return Table(box=None, pad_edge=False, show_header=header, header_style="bold")


def _yes(value: bool) -> str:
    return "yes" if value else "unknown"


def _three(values: Range[int] | Range[float]) -> tuple[float, float, float]:
    return values.low, values.expected, values.worst


def _dollars(cost: Range[float] | None) -> tuple[str, str, str]:
    if cost is None:
        return "unknown", "unknown", "unknown"
    low, expected, worst = (f"{value:,.2f}" for value in _three(cost))
    return low, expected, worst


def _ends(width: Range[float]) -> str:
    return f" ({width.worst:.1f} to {width.low:.1f})" if width.low - width.worst >= 0.05 else ""


def _short(number: int) -> str:
    return f"{number / 1e6:.1f}M" if number >= 1e6 else f"{number / 1e3:.1f}k" if number >= 1e4 else f"{number:,}"


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return (
        f"{hours:,} h {minutes:02d} min" if hours else f"{minutes} min {rest:02d} s" if minutes else f"{seconds:.0f} s"
    )
