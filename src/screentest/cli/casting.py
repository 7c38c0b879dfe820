"""Commands about pools and characters."""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import Annotated

import typer

from screentest.cli import tables
from screentest.cli.console import clean, fail, out
from screentest.errors import InputError, ScreentestError
from screentest.files import replace_file
from screentest.pools import Pool, load_character, starter_pool
from screentest.pools.importers import import_files

pool_app = typer.Typer(
    name="pool", help="Import and look at pools of scenes.", no_args_is_help=True, rich_markup_mode=None
)
character_app = typer.Typer(name="character", help="Look at characters.", no_args_is_help=True, rich_markup_mode=None)

PoolPath = Annotated[Path | None, typer.Option("--pool", metavar="POOL", help="A pool directory; the starter pool.")]


@pool_app.command("import")
def import_command(
    files: Annotated[list[Path], typer.Argument(metavar="FILE", help="Files of one of the formats.")],
    destination: Annotated[Path, typer.Option("--out", metavar="POOL", help="The pool directory to write.")],
    form: Annotated[
        str | None, typer.Option("--format", metavar="F", help="characterbox or coser; found out if left out.")
    ] = None,
    report: Annotated[Path | None, typer.Option(metavar="FILE.json", help="Write what became of every record.")] = None,
    licence: Annotated[str, typer.Option(metavar="NAME", help="The licence to record on every scene.")] = "",
    name: Annotated[
        str | None, typer.Option(metavar="NAME", help="The pool's name; its directory's by default.")
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Replace a pool that is there already.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Leave out the summary of warnings.")] = False,
) -> None:
    """Import scenes from other people's files into a pool.

    Every record is taken, taken with a warning, or refused with its file, index, field and reason. Warnings are
    summed up by kind; --report lists every one.

    \b
    Examples:
      screentest pool import Hamlet.json --out pools/hamlet
      screentest pool import data/*.json --out pools/all --licence MIT --report report.json
    """
    try:
        scenes = import_files(files, format=form, licence=licence)
        stream = iter(scenes)
        first = next(stream, None)
        if report and first is None:
            replace_file(report, scenes.report.to_json().encode())
        if first is None:
            tables.import_report(scenes.report, notes=not quiet)
            raise InputError("no record could be taken", where=", ".join(map(str, files)))
        pool = Pool.write(
            destination,
            name=name or destination.resolve().name,
            scenes=chain([first], stream),
            licence=licence,
            source=", ".join(sorted({file.name for file in files})),
            replace=replace,
        )
        if report:
            replace_file(report, scenes.report.to_json().encode())
    except ScreentestError as error:
        raise fail(error) from None
    tables.import_report(scenes.report, notes=not quiet)
    out.print(clean(f"Pool: {destination} ({len(pool)} scenes)"), soft_wrap=True)


@pool_app.command("show")
def show_pool(
    pool: Annotated[Path | None, typer.Argument(metavar="POOL", help="A pool directory; the starter pool.")] = None,
    scene: Annotated[str | None, typer.Option(metavar="ID", help="Show this scene in full.")] = None,
) -> None:
    """Show what a pool holds, or one scene in full.

    \b
    Examples:
      screentest pool show
      screentest pool show pools/hamlet --scene hamlet-1a2b3c4d
    """
    try:
        opened = Pool.open(pool) if pool else starter_pool()
        if scene:
            tables.scene(opened[scene])
        else:
            tables.pool(opened)
    except ScreentestError as error:
        raise fail(error) from None


@character_app.command("show")
def show_character(
    character: Annotated[str, typer.Argument(metavar="ID|FILE.yaml", help="A character of the pool, or a file.")],
    pool: PoolPath = None,
) -> None:
    """Show a character's whole profile.

    Takes an id or a name, of a test character or of a scene character.

    \b
    Examples:
      screentest character show characters/ada.yaml
      screentest character show "Sherlock Holmes"
    """
    try:
        if Path(character).suffix in (".yaml", ".yml"):
            tables.character(load_character(Path(character)))
            return
        opened = Pool.open(pool) if pool else starter_pool()
        for member in (*opened.characters, *(member for scene in opened for member in scene.cast)):
            if character in (member.id, member.name):
                tables.character(member)
                return
        hint = f"test characters are: {', '.join(member.id for member in opened.characters) or 'none'}"
        raise InputError(f"there is no character {character!r}", where=str(opened.path), hint=hint)
    except ScreentestError as error:
        raise fail(error) from None
