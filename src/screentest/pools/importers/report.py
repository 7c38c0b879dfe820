"""What became of every record of an import."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Literal

from pydantic import BaseModel, ConfigDict

Outcome = Literal["taken", "warned", "refused"]


class Note(BaseModel):
    """Why a record was refused, or what a reader of the scene should know."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    field: str
    reason: str

    @classmethod
    def at(cls, field: str, reason: str) -> Note:
        """A note whose text can be encoded whatever the file held: lone surrogates are written as escapes."""
        return cls(field=encodable(field), reason=encodable(reason))


class RecordReport(BaseModel):
    """One record of a file.

    Attributes:
        file: The file, as it was named by the user.
        index: Its place in the file, such as ``scenes[3]``; empty if the file is refused as a whole.
        outcome: ``taken`` as it is, taken and ``warned`` about, or ``refused``.
        scene_id: The scene it became, if it was not refused.
        notes: The reasons; none if it was taken as it is.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    file: str
    index: str
    outcome: Outcome
    scene_id: str | None
    notes: tuple[Note, ...]


class FileReport(BaseModel):
    """One file.

    Attributes:
        file: The file, as it was named by the user.
        format: The format it was read as, if any fits.
        taken: Records taken as they are.
        warned: Records taken, with something to know about.
        refused: Records not taken. A file refused as a whole counts as one.
        fields_not_imported: What the file may hold and no scene does.
        notes: What concerns the file and no single record.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    file: str
    format: str | None
    taken: int
    warned: int
    refused: int
    fields_not_imported: tuple[str, ...]
    notes: tuple[str, ...]

    @classmethod
    def of(
        cls,
        file: str,
        records: Iterable[RecordReport],
        *,
        format: str | None = None,
        fields_not_imported: tuple[str, ...] = (),
        notes: Iterable[str] = (),
    ) -> FileReport:
        """Count a file's records."""
        return cls(
            file=file,
            format=format,
            **_counts(records),
            fields_not_imported=fields_not_imported,
            notes=tuple(map(encodable, notes)),
        )


class ImportReport(BaseModel):
    """What became of every record: ``taken + warned + refused`` is the number of records.

    Attributes:
        taken: Records taken as they are.
        warned: Records taken, with something to know about; not counted in ``taken``.
        refused: Records not taken.
        files: The same, per file.
        records: Every record, in the order read.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    taken: int
    warned: int
    refused: int
    files: tuple[FileReport, ...]
    records: tuple[RecordReport, ...]

    @classmethod
    def of(cls, files: Iterable[FileReport], records: Iterable[RecordReport]) -> ImportReport:
        """Sum up."""
        records = tuple(records)
        return cls(**_counts(records), files=tuple(files), records=records)

    def to_json(self) -> str:
        """The report as indented JSON text."""
        return self.model_dump_json(indent=2) + "\n"


def encodable(text: str) -> str:
    """The text with lone surrogates, which no file can hold, written as escapes."""
    return text.encode("utf-8", "backslashreplace").decode()


def _counts(records: Iterable[RecordReport]) -> dict[str, int]:
    counts = Counter(record.outcome for record in records)
    return {"taken": counts["taken"], "warned": counts["warned"], "refused": counts["refused"]}
