"""Damage: is the database of a run whole? Asked before SQLite may open it for writing, and without changing anything.

SQLite alone is too obliging here. It takes an empty file for a new database, and deletes the log beside it; it reads
what was cut off the end of a file as zeros; and closing a damaged database writes to it.
"""

from __future__ import annotations

import sqlite3
import struct
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

_MAGIC = b"SQLite format 3\0"
_HEADER = 100
_LOG_HEADER, _FRAME_HEADER = struct.Struct(">IIIIII8x"), struct.Struct(">IIII8x")
_FROZEN = "*.identity.json"


@dataclass(frozen=True, slots=True)
class _Log:
    """What the write-ahead log beside a database says, up to its last commit.

    Attributes:
        pages: Pages of the database after that commit.
        held: The numbers of the pages in the log.
    """

    pages: int
    held: frozenset[int]


def damage(path: Path) -> str | None:
    """What is wrong with a database; ``None`` if it is whole, or is yet to be made.

    * A file that is shorter than its header says was cut, unless the log has all that is missing: that is how a kill
      in the middle of a checkpoint leaves it.
    * A log that was cut keeps what was committed before the cut, so that the run goes on from there; unless pages from
      after the cut have been copied into the file already, which mixes old and new.
    * An empty file, or none, is a run that is yet to begin; one that has frozen its settings had its tables before.
    * Where there is a log, nobody closed the database, and SQLite checks the structure of all its pages.

    Args:
        path: The database file.

    Raises:
        OSError: It cannot be read.
        sqlite3.OperationalError: SQLite cannot look at it, for its directory is full or read-only.
    """
    head, size = _head(path)
    log_file = path.with_name(f"{path.name}-wal")
    logged = log_file.is_file() and log_file.stat().st_size > 0
    begun = any(path.parent.glob(_FROZEN))
    if size == 0:
        what = "it is empty" if path.is_file() else "it is not there"
        if logged:
            return f"{what}, but {log_file.name} beside it is not"
        return f"{what}, but the run has begun" if begun else None
    if len(head) < _HEADER or not head.startswith(_MAGIC):
        return "it is no SQLite database" if size >= _HEADER else f"it was cut to {size} bytes"
    return _cut(head, size, _read_log(log_file) if logged else None) or _unsound(path, logged, begun)


def _head(path: Path) -> tuple[bytes, int]:
    """The header of a file and its size; read before the log, which another process may be emptying into it."""
    if not path.is_file():
        return b"", 0
    with path.open("rb") as file:
        head = file.read(_HEADER)
    return head, path.stat().st_size


def _cut(head: bytes, size: int, log: _Log | None) -> str | None:
    page = int.from_bytes(head[16:18], "big")
    page = 65536 if page == 1 else page
    whole, promised = size // page, int.from_bytes(head[28:32], "big")
    held = log.held if log else frozenset[int]()
    if any(number not in held for number in range(whole + 1, promised + 1)):
        return f"it was cut: {promised * page} bytes were written, and {size} are there"
    if log and max(whole, promised) > log.pages:
        return "the log beside it was cut, after part of it had been copied into the file"
    return None


def _unsound(path: Path, logged: bool, begun: bool) -> str | None:
    mode = "mode=ro" if logged else "mode=ro&immutable=1"
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?{mode}", uri=True, timeout=30)) as connection:
            if begun and not connection.execute("PRAGMA user_version").fetchone()[0]:
                return "its tables are not there, but the run has begun"
            found = connection.execute("PRAGMA quick_check(1)").fetchone()[0] if logged else "ok"
    except sqlite3.OperationalError:
        raise
    except sqlite3.DatabaseError as error:
        return str(error)
    return None if found == "ok" else " ".join(found.split())


def _read_log(path: Path) -> _Log | None:
    """What was committed into a log; ``None`` if nothing was."""
    pages, held, pending = 0, set[int](), set[int]()
    with path.open("rb") as file:
        head = file.read(_LOG_HEADER.size)
        if len(head) < _LOG_HEADER.size:
            return None
        _, _, page, _, *salts = _LOG_HEADER.unpack(head)
        while len(frame := file.read(_FRAME_HEADER.size + page)) == _FRAME_HEADER.size + page:
            number, after_commit, *salted = _FRAME_HEADER.unpack_from(frame)
            if salted != salts:
                break
            pending.add(number)
            if after_commit:
                pages, held = after_commit, held | pending
                pending.clear()
    return _Log(pages, frozenset(held)) if pages else None
