"""Tables on the terminal: leaderboards, build reports, pools, characters, scenes."""

from __future__ import annotations

from pathlib import Path

from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from screentest.builders import BuildReport, Results, Score
from screentest.cli.console import UNDERSTUDY, clean, out
from screentest.pools import Character, Line, Pool, Scene
from screentest.pools.importers import ImportReport


def leaderboard(results: Results) -> None:
    """Print the results of an evaluation."""
    ranking = results.ranking()
    title = f"{results.benchmark}: performance in % of the maximum, with 95 % interval"
    out.print(clean(f"{title} (base {results.base}, judge {results.judge})", "bold"), soft_wrap=True)
    dimensions = list(dict.fromkeys(name for _, result in ranking for name in result.dimensions))
    table = _table()
    table.add_column("model", no_wrap=True)
    for name in ("headline", *dimensions, "per item", "scored", "unparsed"):
        table.add_column(name, justify="right", no_wrap=True)
    for label, result in ranking:
        table.add_row(
            label,
            Text(_estimate(result.overall), "bold"),
            *(_percent(result.dimensions.get(name)) for name in dimensions),
            "–" if result.overall.item_mean is None else f"{result.overall.item_mean:.1f}",
            f"{result.overall.scored}/{result.items}",
            Text(str(result.unparsed), "red" if result.unparsed else ""),
        )
    out.print(table)
    parts = _table()
    parts.add_column("model", no_wrap=True)
    languages = list(dict.fromkeys(language for _, result in ranking for language in result.languages))
    for language in languages:
        for name in (language, f"{language} established", f"{language} synthesized"):
            parts.add_column(name, justify="right")
    parts.add_column("gap", justify="right")
    for label, result in ranking:
        row: list[RenderableType] = [label]
        for language in languages:
            kinds = result.language_kinds.get(language, {})
            row += [_estimate(result.languages.get(language))]
            row += [_percent(kinds.get("established")), _percent(kinds.get("synthesized"))]
        row.append("–" if result.gap is None else f"{result.gap:+.1f}")
        parts.add_row(*row)
    out.print()
    out.print(parts)
    for label, result in ranking:
        if result.failures:
            failed = ", ".join(f"{count} {name}" for name, count in result.failures.items())
            out.print(clean(f"{label}: {result.unscored} of {result.items} items have no score ({failed})", "red"))
    out.print()
    out.print(
        "Headline: unweighted mean over dimensions; intervals resample conversations. "
        "Gap: established minus synthesized.",
        style="dim",
        soft_wrap=True,
    )
    if results.understudy:
        out.print(UNDERSTUDY, style="yellow", soft_wrap=True)


def build_report(report: BuildReport) -> None:
    """Print what a build came to."""
    lines = [
        f"{report.conversations} conversations: {report.kept} kept, {report.graded_low} graded low, "
        f"{report.ungraded} with nothing to keep, {report.failed} failed",
        f"{report.auditions} auditions: {report.items} items, {report.flagged} flagged for review, {report.ties} ties, "
        f"{report.lost} won by the base, {report.in_conversations_not_kept} in conversations not kept",
    ]
    if report.faults:
        lines.append("faults: " + ", ".join(f"{count} {kind}" for kind, count in report.faults.items()))
    for cell in report.cells:
        if cell.shortfall:
            missing = ", ".join(f"{name} {count}" for name, count in cell.shortfall.items())
            lines.append(f"shortfall: {cell.character} × {cell.source} misses {missing}: {cell.stopped}")
    for line in lines:
        out.print(clean(line), soft_wrap=True)


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
        if record.outcome == "refused" or (notes and record.outcome == "warned"):
            style = "red" if record.outcome == "refused" else "dim"
            for note in record.notes:
                where = ": ".join(filter(None, (Path(record.file).name, record.index, note.field)))
                out.print(clean(f"{record.outcome}  {where}: {note.reason}", style), soft_wrap=True)


def pool(pool: Pool) -> None:
    """Print what a pool holds."""
    manifest = pool.manifest
    out.print(clean(f"{manifest.name}: {len(pool)} scenes, {len(pool.characters)} test characters", "bold"))
    out.print(
        clean(f"source: {manifest.source or 'unknown'}; licence: {manifest.licence or 'unknown'}"), soft_wrap=True
    )
    scenes = _table("scenes")
    for name in ("id", "lang", "title", "cast", "script"):
        scenes.add_column(name, overflow="fold")
    for scene in pool:
        cast = ", ".join(member.name for member in scene.cast)
        scenes.add_row(scene.id, scene.language, clean(scene.title), clean(cast), f"{len(scene.script)} lines")
    out.print(scenes)
    if pool.characters:
        characters = _table("test characters")
        for name in ("id", "lang", "name", "kind", "source"):
            characters.add_column(name, overflow="fold")
        for member in pool.characters:
            characters.add_row(member.id, member.language, clean(member.name), member.kind, clean(member.source))
        out.print(characters)


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
        out.print(line(said, ""))


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


def _field(label: str, text: str) -> None:
    out.print(Padding(Text.assemble(clean(f"{label}: ", "bold"), clean(text)), (0, 0, 0, 2)))


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
    if score is None or score.clustered is None:
        return "–"
    return f"{score.headline:.1f} [{score.clustered.low:.1f}, {score.clustered.high:.1f}]"
