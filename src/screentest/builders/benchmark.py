"""A benchmark: a directory with items, a manifest and a card that the ``datasets`` library loads as it is."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import orjson
from pydantic import ValidationError

from screentest.builders.card import card
from screentest.builders.item import Item
from screentest.builders.manifest import SCHEMA_VERSION, Manifest
from screentest.errors import InputError
from screentest.files import replace_file
from screentest.judges import Dimension
from screentest.pools import Language

_DATA, _MANIFEST, _CARD = "data/test.jsonl", "manifest.json", "README.md"


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
            why = f"{error.filename}: {error.strerror}" if isinstance(error, OSError) else f"{_MANIFEST}: {error}"
            hint = "give the directory that `screentest build` emitted"
            raise InputError("not a benchmark", where=str(path), why=why, hint=hint) from None
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
            InputError: A line is not an item, or an item is given twice.
        """
        seen: set[str] = set()
        with (self.path / _DATA).open("rb") as lines:
            for number, line in enumerate(lines, start=1):
                try:
                    item = Item.model_validate_json(line)
                    item.state()
                except ValidationError as error:
                    first = error.errors()[0]
                    where = f"{self.path / _DATA}: line {number}: {'.'.join(map(str, first['loc']))}"
                    raise InputError("not an item", where=where, why=first["msg"]) from None
                if item.id in seen:
                    raise InputError("an item is given twice", where=f"{self.path / _DATA}: line {number}", why=item.id)
                seen.add(item.id)
                yield item

    def dimension(self, language: Language, identifier: str) -> Dimension:
        """The dimension an item names.

        Raises:
            InputError: The manifest does not describe it.
        """
        for dimension in self.manifest.dimensions.get(language, ()):
            if dimension.id == identifier:
                return dimension
        why = f"an item is judged on {identifier!r} in {language!r}, which the manifest does not describe"
        raise InputError("the manifest is damaged", where=str(self.path / _MANIFEST), why=why)

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
