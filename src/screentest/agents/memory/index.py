"""Vectors in FAISS."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from screentest.agents.memory.embedder import Vectors

_BELOW_ALL = -2.0


class Index:
    """One character's vectors under the ids of its memories: a flat, exact FAISS index.

    It holds only vectors that :func:`~screentest.agents.memory.embedder.unit_rows` passed. It is searched by range, not
    for the nearest k: a memory is ranked by more than its nearness, so every similarity is needed, and FAISS never has
    to fill up an answer with the id -1.

    Args:
        width: How wide the vectors are.
    """

    def __init__(self, width: int) -> None:
        import faiss

        self.width = width
        self._one_thread: Any = faiss.omp_set_num_threads
        self._index: Any = faiss.IndexIDMap2(faiss.IndexFlatIP(width))

    def __len__(self) -> int:
        return self._index.ntotal

    def add(self, ids: Sequence[int], vectors: Vectors) -> None:
        """Add vectors under new ids."""
        self._index.add_with_ids(np.ascontiguousarray(vectors), np.array(ids, np.int64))

    def remove(self, ids: Sequence[int]) -> None:
        """Remove what is there under these ids."""
        self._index.remove_ids(np.array(ids, np.int64))

    def vectors(self, ids: Sequence[int]) -> Vectors:
        """The vectors under these ids, all of which are there."""
        return self._index.reconstruct_batch(np.array(ids, np.int64))

    def similarities(self, queries: Vectors) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """All ids, in no particular order, and the best cosine of each one's vector with a row of ``queries``."""
        self._one_thread(1)  # a second thread saves nothing here, and stalls for milliseconds when the cores are busy
        limits, similarities, ids = self._index.range_search(queries, _BELOW_ALL)
        size = int(limits[1])
        if len(queries) == 1:
            return ids, similarities
        order = np.argsort(ids.reshape(-1, size), axis=1)
        best = np.take_along_axis(similarities.reshape(-1, size), order, axis=1).max(axis=0)
        return ids[order[0]], best
