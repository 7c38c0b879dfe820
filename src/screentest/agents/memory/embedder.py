"""From texts to vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from screentest.errors import InvalidReply
from screentest.randomness import Place

Vectors = NDArray[np.float32]


class Embedder(Protocol):
    """Makes vectors that lie near each other when their texts mean similar things."""

    @property
    def name(self) -> str:
        """What makes the vectors, with their width where it is known: ``hashing-512``. Vectors of one name fit."""
        ...

    async def embed(self, texts: Sequence[str], *, place: Place) -> Vectors:
        """One unit row for each text, all of the same width; a row of zeros for a text that says nothing.

        Args:
            texts: One line each, none empty.
            place: Where in the run this happens; no two calls of a run share one.

        Raises:
            CallError: No vectors came.
            BadReply: What came cannot be used.
        """
        ...


def unit_rows(given: NDArray[np.floating], *, count: int, embedder: str, width: int | None = None) -> Vectors:
    """Vectors fit to be searched. FAISS itself takes NaN as it comes, and aborts on a wrong width.

    Args:
        given: What an embedder made.
        count: How many texts it was given.
        embedder: Its name, for the error.
        width: How wide the vectors have to be; any width if ``None``.

    Raises:
        InvalidReply: They are not so many, not of that width, or hold a NaN or an infinity.
    """
    problem = None
    if given.ndim != 2 or len(given) != count:
        problem = f"vectors of the shape {given.shape} for {count} texts"
    elif given.shape[1] == 0 or (width is not None and given.shape[1] != width):
        problem = f"vectors of width {given.shape[1]}, where those before have {width}"
    elif not np.isfinite(given).all():
        problem = "a vector holds values that are no finite numbers"
    if problem:
        raise InvalidReply(f"no usable embeddings: {problem}", model=embedder)
    precise = given.astype(np.float64)
    lengths = np.sqrt(np.einsum("ij,ij->i", precise, precise))
    lengths[lengths == 0] = 1.0
    return (precise / lengths[:, None]).astype(np.float32)
