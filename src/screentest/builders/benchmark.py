"""A benchmark: a directory with items, a manifest and a card that the ``datasets`` library loads as it is."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
from pydantic import BaseModel, ConfigDict, ValidationError

from screentest.builders.card import card
from screentest.builders.files import replace_file
from screentest.builders.item import Item
from screentest.errors import InputError
from screentest.judges import Dimension
from screentest.pools import Language

SCHEMA_VERSION = 1
_DATA, _MANIFEST, _CARD = "data/test.jsonl", "manifest.json", "README.md"


class CellReport(BaseModel):
    """What one cell (test character × source model) came to.

    Attributes:
        character: The test character's id.
        source: The source model's label.
        scenes: Conversations played.
        failed: Conversations that ended in a fault.
        kept: Items per dimension.
        assigned: Test utterances the judge assigned to each dimension.
        emphasised: Test utterances played under each dimension's strategy.
        shortfall: Items missing per dimension; empty when the quota is met.
        stopped: Why the cell ended.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    character: str
    source: str
    scenes: int
    failed: int
    kept: dict[str, int]
    assigned: dict[str, int]
    emphasised: dict[str, int]
    shortfall: dict[str, int]
    stopped: str


class BuildReport(BaseModel):
    """What a build came to. ``conversations = kept + graded_low + ungraded + failed``, and every audition is accounted
    for: ``auditions = items + flagged + ties + lost + in_conversations_not_kept``.

    Attributes:
        conversations: Conversations played.
        kept: Graded high.
        graded_low: Graded moderate or poor.
        ungraded: Finished, but without a line worth keeping, so that the filter was not asked.
        failed: Ended in a fault.
        faults: Faults by kind.
        auditions: The test character's turns.
        items: Auditions that became items.
        flagged: Auditions with a formatting fault, put up for review.
        ties: Auditions scored 3, or between 2 and 3 over two orders, in kept conversations.
        lost: Auditions that the base won, in kept conversations.
        in_conversations_not_kept: Auditions of conversations that were not kept.
        skipped_scenes: Scenes no test character could enter, by reason.
        cells: One report per cell.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    conversations: int
    kept: int
    graded_low: int
    ungraded: int
    failed: int
    faults: dict[str, int]
    auditions: int
    items: int
    flagged: int
    ties: int
    lost: int
    in_conversations_not_kept: int
    skipped_scenes: dict[str, int]
    cells: tuple[CellReport, ...]


class Manifest(BaseModel):
    """What a benchmark says about itself.

    Attributes:
        schema_version: The version of the item schema.
        name: The benchmark's name.
        content_hash: SHA-256 of ``data/test.jsonl``.
        items: How many items it holds.
        languages: The languages of its items.
        understudy: Whether a stand-in model took part.
        dimensions: What its items are judged on, per language.
        config: The configuration it was built from, without run-time knobs and without secrets.
        pool: Name and hash of the pool.
        versions: The versions of what built it.
        report: What the build came to.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    schema_version: int
    name: str
    content_hash: str
    items: int
    languages: tuple[Language, ...]
    understudy: bool
    dimensions: dict[Language, tuple[Dimension, ...]]
    config: dict[str, Any]
    pool: dict[str, str]
    versions: dict[str, str]
    report: BuildReport


@dataclass(frozen=True, slots=True)
class Benchmark:
    """An emitted benchmark directory.

    Attributes:
        path: The directory.
        manifest: What it says about itself.
    """

    path: Path
    manifest: Manifest

    @classmethod
    def open(cls, path: Path) -> Benchmark:
        """Open a benchmark directory, or a run directory that holds one.

        Raises:
            InputError: It is not a benchmark, is of a newer schema, or its items are not those it was emitted with.
        """
        if not (path / _MANIFEST).is_file() and (path / "benchmark" / _MANIFEST).is_file():
            path = path / "benchmark"
        try:
            data = orjson.loads((path / _MANIFEST).read_bytes())
            digest = hashlib.sha256((path / _DATA).read_bytes()).hexdigest()
        except (OSError, orjson.JSONDecodeError) as error:
            hint = "give the directory that `screentest build` emitted"
            raise InputError("not a benchmark", where=str(path), why=str(error), hint=hint) from None
        version = data.get("schema_version") if isinstance(data, dict) else None
        if version != SCHEMA_VERSION:
            why = f"schema_version is {version!r}, this version reads {SCHEMA_VERSION}"
            raise InputError("cannot read this benchmark", where=str(path / _MANIFEST), why=why)
        try:
            manifest = Manifest.model_validate_json((path / _MANIFEST).read_bytes())
        except ValidationError as error:
            first = error.errors()[0]
            where = f"{path / _MANIFEST}: {'.'.join(map(str, first['loc']))}"
            raise InputError("the manifest is damaged", where=where, why=first["msg"]) from None
        if digest != manifest.content_hash:
            why = f"its hash is {digest[:12]}…, the manifest says {manifest.content_hash[:12]}…"
            hint = "restore the file, or build the benchmark again"
            raise InputError("the items are not those that were emitted", where=str(path / _DATA), why=why, hint=hint)
        return cls(path=path, manifest=manifest)

    def items(self) -> Iterator[Item]:
        """Its items, in order.

        Raises:
            InputError: A line is not an item.
        """
        with (self.path / _DATA).open("rb") as lines:
            for number, line in enumerate(lines, start=1):
                try:
                    yield Item.model_validate_json(line)
                except ValidationError as error:
                    first = error.errors()[0]
                    where = f"{self.path / _DATA}: line {number}: {'.'.join(map(str, first['loc']))}"
                    raise InputError("not an item", where=where, why=first["msg"]) from None

    def dimension(self, language: Language, identifier: str) -> Dimension:
        """The dimension an item names."""
        return next(dimension for dimension in self.manifest.dimensions[language] if dimension.id == identifier)

    @classmethod
    def write(cls, path: Path, manifest: Manifest, items: Sequence[Item]) -> Benchmark:
        """Emit a benchmark directory; the manifest comes last, so that a directory that has one is whole.

        Args:
            path: Where to.
            manifest: What it says about itself; ``content_hash`` is filled in.
            items: Its items, in order.
        """
        data = b"".join(item.model_dump_json().encode() + b"\n" for item in items)
        manifest = manifest.model_copy(update={"content_hash": hashlib.sha256(data).hexdigest()})
        (path / _MANIFEST).unlink(missing_ok=True)
        replace_file(path / _DATA, data)
        replace_file(path / _CARD, card(manifest, items).encode())
        replace_file(path / _MANIFEST, manifest.model_dump_json(indent=2).encode() + b"\n")
        return cls(path=path, manifest=manifest)
