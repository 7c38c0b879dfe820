"""A pool: the collection of scenes and characters that builds sample from."""

from __future__ import annotations

import hashlib
import secrets
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import BinaryIO, TypeVar

from pydantic import ValidationError

from screentest.errors import InputError
from screentest.pools.character import Character, Language
from screentest.pools.manifest import MANIFEST, SCHEMA_VERSION, Manifest
from screentest.pools.reading import nearest, problem
from screentest.pools.scene import Scene

_SCENES, _CHARACTERS = "scenes.jsonl", "characters.jsonl"

_Row = TypeVar("_Row", Scene, Character)


@dataclass(frozen=True, slots=True)
class _Entry:
    line: int
    offset: int
    size: int
    language: Language
    cast: tuple[str, ...]


class Pool:
    """Scenes and test characters in a directory: ``manifest.json``, ``scenes.jsonl``, ``characters.jsonl``.

    Opening reads and checks every line once but keeps only an index; a scene is read from disk when it is asked
    for, and iterating streams the scenes in file order. Make one with :meth:`open` or :meth:`write`.
    """

    def __init__(
        self, path: Path, manifest: Manifest, index: dict[str, _Entry], characters: tuple[Character, ...], digest: str
    ) -> None:
        self.path, self.manifest, self.characters, self.digest = path, manifest, characters, digest
        self._index = index

    @classmethod
    def open(cls, path: Path | str) -> Pool:
        """Open a pool.

        Args:
            path: The pool's directory.

        Returns:
            The pool; its ``digest`` is a hash of all its scenes and characters.

        Raises:
            InputError: It is no pool, was written by a newer version, has a line that is no scene or character.
        """
        path = Path(path)
        manifest = Manifest.read(path)
        scenes, characters = _Rows(path / _SCENES), _Rows(path / _CHARACTERS)
        index = {
            scene.id: _Entry(line, offset, size, scene.language, tuple(member.name for member in scene.cast))
            for scene, line, offset, size in scenes.read(Scene)
        }
        members = tuple(character for character, *_ in characters.read(Character))
        digest = hashlib.sha256(f"{scenes.digest}\n{characters.digest}".encode()).hexdigest()
        return cls(path, manifest, index, members, digest)

    @classmethod
    def write(
        cls,
        path: Path | str,
        *,
        name: str,
        scenes: Iterable[Scene],
        characters: Iterable[Character] = (),
        licence: str,
        source: str,
        replace: bool = False,
    ) -> Pool:
        """Write a pool, streaming, and open it.

        Everything is written to a directory beside ``path`` that is renamed at the end, so that ``path`` never
        holds half a pool, whatever interrupts the writing.

        Args:
            path: The pool's directory; it must not exist, be empty, or be a pool that ``replace`` allows to replace.
            name: What the pool is called.
            scenes: Its scenes, ids unique. May be streamed from the pool that is replaced.
            characters: The test characters that come with it, ids unique.
            licence: The licence of the whole.
            source: Where the scenes come from.
            replace: Whether a pool at ``path`` may be replaced.

        Raises:
            InputError: ``path`` holds something else or cannot be written, or two scenes or two characters share an id.
        """
        path = Path(path).resolve()
        _check_target(path, replace)
        draft = path.parent / f".{path.name}.{secrets.token_hex(4)}.tmp"
        try:
            draft.mkdir(parents=True)
            languages: set[Language] = set()
            for file, rows in ((_SCENES, scenes), (_CHARACTERS, characters)):
                _write_rows(draft / file, rows, languages)
            manifest = Manifest(
                schema_version=SCHEMA_VERSION,
                name=name,
                licence=licence,
                source=source,
                languages=tuple(sorted(languages)),
            )
            (draft / MANIFEST).write_text(manifest.model_dump_json(indent=2) + "\n", encoding="utf-8")
            _put_in_place(draft, path)
        except OSError as error:
            raise InputError("cannot write here", where=str(path), why=error.strerror or str(error)) from error
        finally:
            shutil.rmtree(draft, ignore_errors=True)
        return cls.open(path)

    def __len__(self) -> int:
        return len(self._index)

    def __contains__(self, scene_id: object) -> bool:
        return scene_id in self._index

    def __iter__(self) -> Iterator[Scene]:
        return (scene for scene, *_ in _Rows(self.path / _SCENES).read(Scene))

    def __getitem__(self, scene_id: str) -> Scene:
        entry = self._entry(scene_id)
        file = self.path / _SCENES
        with _opened(file) as stream:
            stream.seek(entry.offset)
            return _parsed(Scene, stream.read(entry.size), file, entry.line)

    def ids(self, language: Language | None = None) -> tuple[str, ...]:
        """The ids of its scenes in file order, of one language or of all."""
        return tuple(id_ for id_, entry in self._index.items() if language in (None, entry.language))

    def cast_names(self, scene_id: str) -> tuple[str, ...]:
        """Who is in a scene, without reading the scene.

        Raises:
            InputError: There is no such scene.
        """
        return self._entry(scene_id).cast

    def _entry(self, scene_id: str) -> _Entry:
        try:
            return self._index[scene_id]
        except KeyError:
            hint = nearest(scene_id, self._index)
            raise InputError(f"there is no scene {scene_id!r}", where=str(self.path), hint=hint) from None


def starter_pool() -> Pool:
    """The pool that ships with the package."""
    return Pool.open(Path(str(resources.files("screentest.pools") / "starter")))


@dataclass
class _Rows:
    """One JSONL file of a pool, read front to back."""

    file: Path
    digest: str = field(default="", init=False)

    def read(self, kind: type[_Row]) -> Iterator[tuple[_Row, int, int, int]]:
        """Yield every row with its line number (from 1), byte offset and size in bytes."""
        digest, offset, seen = hashlib.sha256(), 0, dict[str, int]()
        with _opened(self.file) as stream:
            for number, line in enumerate(stream, start=1):
                digest.update(line)
                row = _parsed(kind, line, self.file, number)
                if first := seen.get(row.id):
                    raise _taken(row.id, f"{self.file}:{number}", f"line {first} has it already")
                seen[row.id] = number
                yield row, number, offset, len(line)
                offset += len(line)
        self.digest = digest.hexdigest()


def _opened(file: Path) -> BinaryIO:
    try:
        return file.open("rb")
    except OSError as error:
        raise InputError("cannot read the pool", where=str(file), why=error.strerror or str(error)) from error


def _parsed(kind: type[_Row], line: bytes, file: Path, number: int) -> _Row:
    try:
        return kind.model_validate_json(line)
    except ValidationError as error:
        name, why = problem(error)
        what = f"not a {kind.__name__.lower()}: field {name}" if name else f"not a {kind.__name__.lower()}"
        raise InputError(what, where=f"{file}:{number}", why=why, hint="correct the line or remove it") from error


def _taken(id_: str, where: str, why: str) -> InputError:
    return InputError(f"the id {id_} is given twice", where=where, why=why, hint="give one of them another id")


def _write_rows(file: Path, rows: Iterable[Scene | Character], languages: set[Language]) -> None:
    seen: set[str] = set()
    with file.open("wb") as stream:
        for row in rows:
            if row.id in seen:
                raise _taken(row.id, file.name, f"number {len(seen) + 1} repeats it")
            seen.add(row.id)
            languages.add(row.language)
            stream.write(row.model_dump_json().encode() + b"\n")


def _check_target(path: Path, replace: bool) -> None:
    if not path.exists():
        return
    if not path.is_dir():
        raise InputError("cannot write a pool here", where=str(path), why="it is a file", hint="name a new directory")
    names = {entry.name for entry in path.iterdir()}
    if not names:
        return
    others = sorted(names - {MANIFEST, _SCENES, _CHARACTERS})
    if others or MANIFEST not in names:
        why = f"the directory holds other things than a pool: {(others or sorted(names))[0]}"
        raise InputError("will not overwrite", where=str(path), why=why, hint="name a new directory")
    if not replace:
        hint = "name a new directory, or replace the pool with --replace"
        raise InputError("will not overwrite", where=str(path), why="there is a pool already", hint=hint)


def _put_in_place(draft: Path, path: Path) -> None:
    if not path.exists():
        draft.rename(path)
        return
    old = draft.with_suffix(".old")
    path.rename(old)
    try:
        draft.rename(path)
    except BaseException:
        old.rename(path)
        raise
    shutil.rmtree(old)
