"""Files: written whole or not at all."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from screentest.errors import InputError


def seal(directory: Path, name: str, files: Sequence[str]) -> None:
    """Write the hashes of a stage's files to ``<name>.sha256``, as ``sha256sum --check`` reads them."""
    hashes = {file: hashlib.sha256((directory / file).read_bytes()).hexdigest() for file in files}
    replace_file(directory / f"{name}.sha256", "".join(f"{hash}  {file}\n" for file, hash in hashes.items()).encode())


def broken_seals(directory: Path, name: str) -> list[str]:
    """The files of a stage that are missing, or not those that were emitted."""
    broken: list[str] = []
    for line in (directory / f"{name}.sha256").read_text(encoding="utf-8").splitlines():
        hash, _, file = line.partition("  ")
        path = directory / file
        if not path.is_file() or hashlib.sha256(path.read_bytes()).hexdigest() != hash:
            broken.append(file)
    return broken


def replace_file(path: Path, data: bytes) -> None:
    """Write ``data`` to ``path`` by an atomic rename, making its directory; a crash leaves the old file or the new.

    What a crash leaves beside it has one fixed name, so that writing the file again clears it away.

    Raises:
        InputError: It cannot be written there: the disk is full, or the directory read-only.
    """
    draft = path.with_name(f".{path.name}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with draft.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except OSError as error:
        _discard(draft)
        why = error.strerror or str(error)
        hint = "make room on the disk, or make the directory writable, and run the same command again"
        raise InputError("cannot write the file", where=str(path), why=why, hint=hint) from None
    except BaseException:
        _discard(draft)
        raise


def _discard(draft: Path) -> None:
    with suppress(OSError):
        draft.unlink()
