"""Tables on the terminal: leaderboards, build reports, pools, characters, scenes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

from screentest.builders import BuildReport, ModelResult, Results, Score
from screentest.builders.difference import Difference
from screentest.cli.accounts import remarks, retries, used
from screentest.cli.console import UNDERSTUDY, clean, indented, out
from screentest.pools import Character, Line, Pool, Scene
from screentest.pools.importers import ImportReport
from screentest.sim import LedgerRow

_INDEX = re.compile(r"\[\d+\]")


def leaderboard(results: Results) -> None:
    """Print the results of an evaluation."""
    ranking = results.ranking()
    title = f"{results.benchmark}: performance in % of the maximum, with 95 % interval"
    out.print(clean(f"{title} (base {results.base}, judge {results.judge})", "bold"), soft_wrap=True)
    table = _table()
    table.add_column("model", no_wrap=True)
    for name in ("headline", "per item", "gap", "scored", "unparsed"):
        table.add_column(name, justify="right", no_wrap=True)
    for label, result in ranking:
        table.add_row(
            label,
            Text(_estimate(result.overall), "bold"),
            "–" if result.overall.item_mean is None else f"{result.overall.item_mean:.1f}",
            "–" if result.gap is None else f"{result.gap:+.1f}",
            f"{result.overall.scored}/{result.items}",
            Text(str(result.unparsed), "red" if result.unparsed else ""),
        )
    _show_whole(table)
    out.print()
    _show_whole(_parts(ranking))
    for label, result in ranking:
        if result.failures:
            failed = ", ".join(f"{count} {name}" for name, count in result.failures.items())
            out.print(clean(f"{label}: {result.unscored} of {result.items} items have no score ({failed})", "red"))
    out.print()
    out.print(
        "Headline: unweighted mean over dimensions; a tie with the base is worth 16.7, not 50. Intervals resample "
        "conversations. est., syn.: established and synthesized characters; gap: est. minus syn.; n: scored items.",
        style="dim",
    )
    if results.understudy:
        out.print(UNDERSTUDY, style="yellow")


def _parts(ranking: Sequence[tuple[str, ModelResult]]) -> Table:
    """Every model over all languages and in each, by dimension and by kind of character."""
    dimensions = list(dict.fromkeys(name for _, result in ranking for name in result.dimensions))
    table = _table()
    table.add_column("model", no_wrap=True)
    table.add_column("lang", no_wrap=True)
    for name in ("headline", *dimensions, "est.", "syn.", "n"):
        table.add_column(name, justify="right", no_wrap=True)
    for label, result in ranking:
        rows = [("all", result.overall, result.dimensions, result.kinds)] if len(result.languages) > 1 else []
        rows += [
            (language, score, result.language_dimensions[language], result.language_kinds[language])
            for language, score in result.languages.items()
        ]
        for number, (language, score, by_dimension, by_kind) in enumerate(rows):
            shown = [by_dimension.get(name) for name in dimensions]
            shown += [by_kind.get(kind) for kind in ("established", "synthesized")]
            scored = (
                Text(str(score.scored)) if score.scored == score.items else Text(f"{score.scored}/{score.items}", "red")
            )
            table.add_row("" if number else label, language, _estimate(score), *map(_percent, shown), scored)
    return table


def build_report(report: BuildReport, quota: int) -> None:
    """Print what a build came to."""
    filled = sum(min(quota, kept) for cell in report.cells for kept in cell.kept.values())
    lines = [
        f"{report.conversations} conversations: {report.kept} kept, {report.graded_low} graded low, "
        f"{report.ungraded} with nothing to keep, {report.failed} failed",
        f"{report.auditions} auditions: {report.items} items, {report.flagged} flagged for review, {report.ties} ties, "
        f"{report.lost} won by the base, {report.in_conversations_not_kept} in conversations not kept",
    ]
    if report.items > filled:
        surplus = report.items - filled
        lines.append(f"{filled} items fill the quotas; {surplus} more came up on the way and are kept as well")
    if report.faults:
        lines.append("faults: " + ", ".join(f"{count} {kind}" for kind, count in report.faults.items()))
    for cell in report.cells:
        if cell.shortfall:
            missing = ", ".join(f"{name} {count}" for name, count in cell.shortfall.items())
            lines.append(f"shortfall: {cell.name} × {cell.source} misses {missing}: {cell.stopped}")
    for line in lines:
        out.print(clean(line), soft_wrap=True)


def ledger(rows: Sequence[LedgerRow]) -> None:
    """Print what a run used, by stage, role and model."""
    table = _table()
    for name in ("stage", "role", "model"):
        table.add_column(name, no_wrap=True)
    for name in ("calls", "failed", "retries", "input", "cached", "output", "reasoning", "USD"):
        table.add_column(name, justify="right", no_wrap=True)
    for place, part in groupby(rows, key=lambda row: (row.stage, row.role, row.model)):
        table.add_row(*map(clean, place), *_account(list(part)))
    table.add_section()
    table.add_row("all", "", "", *_account(rows), style="bold")
    _show_whole(table)
    if unpriced := sum(row.unpriced for row in rows):
        out.print(f"unknown cost: {unpriced:,} calls, of which the price or the tokens are not known", soft_wrap=True)
    for line in remarks(rows):
        out.print(line, soft_wrap=True)


def _account(rows: Sequence[LedgerRow]) -> list[str]:
    counts = (sum(row.calls for row in rows), sum(row.failed for row in rows), retries(rows).total())
    return [*(f"{count:,}" for count in counts), *used(rows)]


def difference(found: Difference) -> None:
    """Print how two runs or benchmarks differ."""
    if found.none:
        out.print(f"No difference: the same settings, {found.same} items and scores.")
        return
    for change in found.settings:
        out.print(clean(f"setting  {change}"), soft_wrap=True)
    out.print(
        f"items    {found.same} the same, {len(found.changed)} changed, {len(found.only_a)} only in A, "
        f"{len(found.only_b)} only in B",
        soft_wrap=True,
    )
    for label, (before, now) in found.headlines.items():
        shown = " → ".join("–" if value is None else f"{value:.1f}" for value in (before, now))
        moved = f" ({now - before:+.1f})" if before is not None and now is not None else ""
        out.print(clean(f"score    {label}: {shown}{moved}"), soft_wrap=True)


def import_report(report: ImportReport, *, notes: bool) -> None:
    """Print what became of every record of an import."""
    table = _table("imported")
    for name in ("file", "format", "taken", "with a warning", "refused"):
        table.add_column(name, justify="left" if name in ("file", "format") else "right", overflow="fold")
    for file in report.files:
        counts = (str(file.taken), str(file.warned), str(file.refused))
        table.add_row(clean(Path(file.file).name), file.format or "unknown", *counts)
    table.add_section()
    table.add_row("all", "", str(report.taken), str(report.warned), str(report.refused), style="bold")
    out.print(table)
    for file in report.files:
        for remark in file.notes:
            out.print(clean(f"{Path(file.file).name}: {remark}"), soft_wrap=True)
        if file.fields_not_imported:
            fields = ", ".join(file.fields_not_imported)
            out.print(
                clean(f"{Path(file.file).name}: not imported, for a scene has no place for it: {fields}"),
                soft_wrap=True,
            )
    for record in report.records:
        if record.outcome == "refused":
            for note in record.notes:
                where = ": ".join(filter(None, (Path(record.file).name, record.index, note.field)))
                out.print(clean(f"refused  {where}: {note.reason}", "red"), soft_wrap=True)
    if notes:
        _import_warnings(report)


def _import_warnings(report: ImportReport) -> None:
    """Warnings that differ only in where they occur are one line with their number and the first place."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for record in report.records:
        if record.outcome == "warned":
            for note in record.notes:
                kind = (Path(record.file).name, _INDEX.sub("[]", note.field), note.reason.split(": ", 1)[0])
                found.setdefault(kind, []).append(record.index)
    for (file, field, reason), places in found.items():
        first = f", first in {places[0]}" if len(places) > 1 else f", in {places[0]}"
        out.print(clean(f"warned {len(places):4} × {file}: {field}: {reason}{first}", "dim"), soft_wrap=True)


def pool(pool: Pool) -> None:
    """Print what a pool holds."""
    manifest = pool.manifest
    out.print(clean(f"{manifest.name}: {len(pool)} scenes, {len(pool.characters)} test characters", "bold"))
    out.print(
        clean(f"source: {manifest.source or 'unknown'}; licence: {manifest.licence or 'unknown'}"), soft_wrap=True
    )
    for scene in pool:
        out.print()
        out.print(clean(scene.id, "bold"), clean(f"({scene.language}, {_lines(len(scene.script))})"), soft_wrap=True)
        cast = ", ".join(member.name for member in scene.cast)
        indented(clean(f"{scene.title}: {cast}" if scene.title else cast), 2)
    if pool.characters:
        out.print()
        characters = _table("test characters")
        for name in ("id", "lang", "name", "kind"):
            characters.add_column(name, no_wrap=True)
        for member in pool.characters:
            characters.add_row(member.id, member.language, clean(member.name), member.kind)
        _show_whole(characters)


def scene(scene: Scene) -> None:
    """Print a whole scene."""
    situation = scene.situation
    out.print(clean(f"{scene.title or scene.id}  ({scene.id}, {scene.language})", "bold"))
    for label, text in (
        ("world", scene.world),
        ("time", situation.time),
        ("place", situation.place),
        ("situation", situation.description),
        ("source", scene.source),
        ("licence", scene.licence),
    ):
        if text:
            _field(label, text)
    for member in scene.cast:
        out.print()
        character(member)
        if motivation := scene.motivations.get(member.name):
            _field("motivation", motivation)
    out.print()
    out.print(Text("script", "bold"))
    for said in scene.script:
        indented(line(said, ""), 0)


def character(character: Character) -> None:
    """Print a whole profile; what is private is marked."""
    out.print(clean(f"{character.name}  ({character.id}, {character.language}, {character.kind})", "bold cyan"))
    for attribute in character.attributes:
        mark = " (private)" if attribute.visibility == "private" else ""
        _field(f"{attribute.key}{mark}", attribute.value)
    for label, text in (("source", character.source), ("licence", character.licence)):
        if text:
            _field(label, text)


def line(line: Line, style: str) -> Text:
    """A line as a reader sees it, its thought in brackets."""
    text = Text.assemble(clean(line.speaker, f"bold {style}".strip()), ": ")
    if line.thought:
        text.append_text(clean(f"[{line.thought}] ", "dim italic"))
    return text.append_text(clean(line.text, style))


def _lines(number: int) -> str:
    return f"script of {number} line{'s' if number != 1 else ''}"


@dataclass(frozen=True, slots=True)
class _Whole:
    """A table at its natural width: where it is too wide, the terminal wraps it, but no number is cut short."""

    table: Table

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield from console.render(self.table, options.update(max_width=10_000))


def _show_whole(table: Table) -> None:
    out.print(_Whole(table), crop=False)


def _field(label: str, text: str) -> None:
    indented(Text.assemble(clean(f"{label}: ", "bold"), clean(text)), 2)


def _table(title: str = "") -> Table:
    return Table(
        title=clean(title) if title else None,
        title_justify="left",
        title_style="bold",
        header_style="bold",
        box=None,
        pad_edge=False,
    )


def _percent(score: Score | None) -> str:
    return "–" if score is None or score.headline is None else f"{score.headline:.1f}"


def _estimate(score: Score | None) -> str:
    if score is None or score.headline is None:
        return "–"
    interval = "no interval" if score.clustered is None else f"{score.clustered.low:.1f}, {score.clustered.high:.1f}"
    return f"{score.headline:.1f} [{interval}]"
