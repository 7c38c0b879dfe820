"""Scenes from other people's files.

Every record of a file is taken, taken with a warning, or refused with its file, index, field and reason: nothing is
dropped in silence. What a format's fields become is told in the module of that format.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from screentest.errors import InputError
from screentest.pools.importers import characterbox, coser
from screentest.pools.importers.record import Format, Record, Refused
from screentest.pools.importers.report import (
    FileReport,
    ImportReport,
    Note,
    Outcome,
    RecordReport,
    encodable,
)
from screentest.pools.reading import nearest, problem
from screentest.pools.scene import Scene

FORMATS: dict[str, Format] = {form.name: form for form in (characterbox.FORMAT, coser.FORMAT)}


def detect_format(data: object) -> Format:
    """The format of a parsed file.

    Raises:
        InputError: No format fits.
    """
    for form in FORMATS.values():
        if form.fits(data):
            return form
    raise InputError("the format is not known", why=_looked_for(*FORMATS.values()))


def import_files(paths: Sequence[Path], *, format: str | None = None, licence: str = "") -> Import:
    """Read scenes from files.

    Args:
        paths: The files.
        format: The name of their format; found out for each file when not given.
        licence: The licence to record on every scene: a file does not say its own.

    Returns:
        An iterable of scenes, which also reports.

    Raises:
        InputError: The format is not known, or a path is not a file.
    """
    if format is not None and format not in FORMATS:
        raise InputError(f"there is no format {format!r}", where="--format", hint=nearest(format, FORMATS))
    for path in paths:
        if not path.is_file():
            why = "it is not a file" if path.exists() else "there is no such file"
            raise InputError("cannot import", where=str(path), why=why)
    return Import(paths, FORMATS[format] if format else None, licence)


class Import:
    """The scenes of some files, read one file at a time, and what became of every record.

    Iterating reads the files; ``report`` then tells about all that was read by the latest iteration. A record whose
    scene has the same content as an earlier one, in whatever file, is refused.
    """

    def __init__(self, paths: Sequence[Path], format: Format | None, licence: str) -> None:
        self._paths, self._format, self._licence = paths, format, licence
        self._begin()

    @property
    def report(self) -> ImportReport:
        """What became of every record read so far; complete when the iteration is."""
        return ImportReport.of(self._files, self._records)

    def __iter__(self) -> Iterator[Scene]:
        self._begin()
        for path in self._paths:
            yield from self._file(path, encodable(str(path)))

    def _begin(self) -> None:
        self._files: list[FileReport] = []
        self._records: list[RecordReport] = []
        self._origin: dict[str, str] = {}

    def _file(self, path: Path, file: str) -> Iterator[Scene]:
        try:
            data = _load(path)
            form = self._format or detect_format(data)
            if not form.fits(data):
                raise InputError(f"this is not {form.name}", why=_looked_for(form))
        except InputError as error:
            note = Note.at("", str(error))
            whole = RecordReport(file=file, index="", outcome="refused", scene_id=None, notes=(note,))
            self._records.append(whole)
            self._files.append(FileReport.of(file, [whole]))
            return
        remarks: list[str] = []
        first = len(self._records)
        for record in form.find(data, encodable(path.stem.replace("_", " ")), self._licence, remarks):
            if scene := self._record(record, file):
                yield scene
        records = self._records[first:]
        skipped = form.fields_not_imported
        self._files.append(FileReport.of(file, records, format=form.name, fields_not_imported=skipped, notes=remarks))

    def _record(self, record: Record, file: str) -> Scene | None:
        notes: list[Note] = []
        outcome: Outcome = "refused"
        scene: Scene | None = None
        try:
            scene = record.read(notes)
            if earlier := self._origin.get(scene.id):
                raise Refused("", f"has the same content as {earlier}")
            self._origin[scene.id] = f"{record.index} of {file}"
            outcome = "warned" if notes else "taken"
        except Refused as refusal:
            notes, scene = [refusal.note], None
        except ValidationError as error:
            notes = [Note.at(*problem(error)), *notes]
        self._records.append(
            RecordReport(
                file=file,
                index=record.index,
                outcome=outcome,
                scene_id=scene.id if scene else None,
                notes=tuple(notes),
            )
        )
        return scene


def _load(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise InputError("cannot read the file", why=error.strerror or str(error)) from error
    except (ValueError, RecursionError) as error:
        raise InputError("this is not JSON", why=str(error)) from error


def _looked_for(*formats: Format) -> str:
    return "looked for " + ", or ".join(f"{form.sign} ({form.name})" for form in formats)


__all__ = [
    "FORMATS",
    "FileReport",
    "Import",
    "ImportReport",
    "Note",
    "RecordReport",
    "detect_format",
    "import_files",
]
