"""Memories on disk: ``memories.json``, and a file of vectors that it names by its hash."""

from __future__ import annotations

import hashlib
import io
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from screentest.agents.memory.embedder import Vectors
from screentest.agents.memory.ranking import Weights
from screentest.agents.memory.record import Count, Memory
from screentest.errors import InputError
from screentest.files import replace_file

FILE, VERSION = "memories.json", 1

_FORMAT = "screentest-memories"
_DTYPE = np.dtype("<f4")
_UNIT = 1e-3


class _Head(BaseModel):
    """What every version begins with."""

    format: Literal["screentest-memories"]
    version: int


class Saved(BaseModel):
    """What ``memories.json`` holds.

    Attributes:
        format: What kind of file it is.
        version: Of this layout.
        embedder: The name of what made the vectors.
        width: How wide they are; 0 if there are none.
        vectors: The SHA-256 of the file that holds them; empty if there are none.
        capacity: As for :class:`screentest.agents.memory.Memories`.
        weights: Likewise.
        next: The id of the next memory.
        memories: All memories, by id.
        replaced: What reflections stood for that were themselves replaced since.
        embedded: The memories that have vectors, in the order of the rows.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal["screentest-memories"] = _FORMAT
    version: Literal[1] = VERSION
    embedder: str
    width: Count
    vectors: Annotated[str, Field(pattern=r"^([0-9a-f]{64})?$")] = ""
    capacity: Annotated[int, Field(ge=1)]
    weights: Weights
    next: Count
    memories: tuple[Memory, ...]
    replaced: dict[Count, tuple[Count, ...]]
    embedded: tuple[Count, ...]

    @model_validator(mode="after")
    def _belongs_together(self) -> Self:
        ids = [memory.id for memory in self.memories]
        if any(a >= b for a, b in pairwise([*ids, self.next])):
            raise ValueError("the ids of the memories do not ascend to `next`")
        if any(a >= b for a, b in pairwise(self.embedded)) or not set(self.embedded) <= set(ids):
            raise ValueError("`embedded` names what is no memory")
        stood_for = [*self.replaced.items(), *((memory.id, memory.sources) for memory in self.memories)]
        sources = [source for reflection, group in stood_for for source in group if source < reflection]
        if len(sources) < sum(len(group) for _, group in stood_for) or len(set(sources)) < len(sources):
            raise ValueError("a memory is replaced twice, or by one that is older")
        if set(sources) & set(ids) or not self.replaced.keys() <= set(sources):
            raise ValueError("the replaced memories are not those that the reflections stand for")
        if bool(self.embedded) != bool(self.vectors):
            raise ValueError("`vectors` names no file, or one too many")
        return self


def packed(vectors: Vectors) -> bytes:
    """Vectors as a ``.npy`` file."""
    return _npy(vectors.shape) + vectors.astype(_DTYPE).tobytes()


def fingerprint(data: bytes) -> str:
    """The SHA-256 of a file."""
    return hashlib.sha256(data).hexdigest()


def write(directory: Path, saved: Saved, vectors: bytes) -> None:
    """Write memories; a crash leaves what was there before, or these.

    Args:
        directory: Where to.
        saved: The records.
        vectors: The file of vectors that they name, if they name one.

    Raises:
        InputError: They cannot be written there.
    """
    if vectors:
        replace_file(directory / _vector_file(saved.vectors), vectors)
    replace_file(directory / FILE, saved.model_dump_json().encode())
    with suppress(OSError):
        for old in directory.glob("vectors-*.npy"):
            if old.name != _vector_file(saved.vectors):
                old.unlink(missing_ok=True)


def read(directory: Path, embedder: str) -> tuple[Saved, Vectors]:
    """Read memories and check that they are whole.

    Args:
        directory: Where they were written.
        embedder: The name of what is to make further vectors.

    Raises:
        InputError: They are not there, damaged, of another version, or of another embedder.
    """
    path = directory / FILE
    saved = _saved(path, _bytes(path))
    if saved.embedder != embedder:
        raise InputError(
            "these memories belong to another embedder",
            where=str(path),
            why=f"their vectors are made by {saved.embedder}, not by {embedder}",
            hint="open them with the embedder they were saved with",
        )
    if not saved.vectors:
        return saved, np.zeros((0, 0), np.float32)
    path = directory / _vector_file(saved.vectors)
    data = _bytes(path)
    if fingerprint(data) != saved.vectors:
        raise _damaged(path, "it is not the file that was saved")
    return saved, _vectors(path, data, (len(saved.embedded), saved.width))


def _saved(path: Path, data: bytes) -> Saved:
    try:
        head = _Head.model_validate_json(data)
        if head.version != VERSION:
            raise InputError(
                "these memories are of another version",
                where=str(path),
                why=f"the file has the version {head.version}, and this Screentest reads {VERSION}",
                hint="upgrade Screentest",
            )
        return Saved.model_validate_json(data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        field = ".".join(map(str, first["loc"]))
        raise _damaged(path, f"{field}: {first['msg']}" if field else first["msg"]) from None


def _vectors(path: Path, data: bytes, shape: tuple[int, int]) -> Vectors:
    """The vectors in a ``.npy`` file, whose header decides nothing: it is only compared."""
    header = _npy(shape)
    if not data.startswith(header) or len(data) != len(header) + shape[0] * shape[1] * _DTYPE.itemsize:
        raise _damaged(path, f"it does not hold {shape[0]} vectors of width {shape[1]}")
    vectors = np.frombuffer(data, _DTYPE, offset=len(header)).reshape(shape).astype(np.float32)
    with np.errstate(all="ignore"):
        lengths = np.linalg.norm(vectors.astype(np.float64), axis=1)
    if not (((lengths == 0) | (np.abs(lengths - 1) < _UNIT)).all()):
        raise _damaged(path, "a vector is not of unit length")
    return vectors


def _npy(shape: tuple[int, ...]) -> bytes:
    """The header of a ``.npy`` file."""
    header = io.BytesIO()
    told = {"descr": _DTYPE.str, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(header, told)
    return header.getvalue()


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError("there are no memories to load", where=str(path), why=error.strerror or str(error)) from None


def _vector_file(hash: str) -> str:
    return f"vectors-{hash[:16]}.npy"


def _damaged(path: Path, why: str) -> InputError:
    return InputError("these memories are damaged", where=str(path), why=why, hint="restore them from a copy")
