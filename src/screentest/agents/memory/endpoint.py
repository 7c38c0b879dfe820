"""Vectors from an embedding model behind an endpoint."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

import numpy as np

from screentest.agents.memory.embedder import Vectors, unit_rows
from screentest.llms import Model
from screentest.llms.vectors import embed
from screentest.randomness import Place

_MOST_TEXTS, _MOST_CHARACTERS = 256, 100_000


class EndpointEmbedder:
    """Asks an embedding model, as few times as the servers' limits allow.

    Args:
        model: A model configured with ``provider: embeddings``. As it is asked like any other, a journal around it
            keeps the vectors, and none is paid for twice.
        served: What the provider calls the model, so that saved memories tell whether they fit; its label if not given.
        dimensions: How wide its vectors are configured to be, if they are.
    """

    def __init__(self, model: Model, *, served: str = "", dimensions: int | None = None) -> None:
        self._model, self._width = model, dimensions
        self.name = "-".join((served or model.name, *([str(dimensions)] if dimensions else [])))

    async def embed(self, texts: Sequence[str], *, place: Place) -> Vectors:
        """One unit row for each text (see :class:`screentest.agents.memory.Embedder`)."""
        parts: list[Vectors] = []
        for number, batch in zip(count(), _batches(texts), strict=False):
            key = place.path if number == 0 else (place / number).path
            rows = await embed(self._model, batch, key=key)
            width = parts[0].shape[1] if parts else self._width
            parts.append(unit_rows(rows, count=len(batch), width=width, embedder=self._model.name))
        return np.concatenate(parts)


def _batches(texts: Sequence[str]) -> list[list[str]]:
    """Texts in their order, in as few batches as the limits of one call allow."""
    batches: list[list[str]] = [[]]
    room = _MOST_CHARACTERS
    for text in texts:
        if batches[-1] and (len(batches[-1]) == _MOST_TEXTS or len(text) > room):
            batches.append([])
            room = _MOST_CHARACTERS
        batches[-1].append(text)
        room -= len(text)
    return batches
