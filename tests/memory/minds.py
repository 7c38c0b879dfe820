"""Memories for tests, and embedders that are easy to foresee."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from screentest.agents.memory import Embedder, HashingEmbedder, Memories, Recollection, Weights
from screentest.agents.memory.embedder import Vectors
from screentest.randomness import Place

PLACE = Place(7, "mill/turn/40")


class Given:
    """An embedder that gives what it was told, in turn, and the last of it for ever after.

    Attributes:
        asked: The texts of each call.
    """

    name = "given"

    def __init__(self, *answers: Vectors | Exception) -> None:
        self._answers = answers
        self.asked: list[list[str]] = []

    async def embed(self, texts: Sequence[str], *, place: Place) -> Vectors:
        """The next answer."""
        del place
        self.asked.append(list(texts))
        answer = self._answers[min(len(self.asked), len(self._answers)) - 1]
        if isinstance(answer, Exception):
            raise answer
        return answer


class Alike:
    """An embedder to which all texts are the same, so that relevance is always 1."""

    name = "alike-2"

    async def embed(self, texts: Sequence[str], *, place: Place) -> Vectors:
        """The same row for each text."""
        del place
        return np.tile(np.array([[1.0, 0.0]], np.float32), (len(texts), 1))


def remembering(
    *texts: str, embedder: Embedder | None = None, capacity: int = 512, weights: Weights | None = None
) -> Memories:
    """Memories of what was seen, one a turn and a minute, all of the same importance."""
    memories = Memories(embedder or HashingEmbedder(), capacity=capacity, weights=weights)
    for turn, text in enumerate(texts):
        memories.note("saw", text, turn=turn, minutes=turn, importance=0.5)
    return memories


async def asked(memories: Memories, query: str, *, minutes: int = 40, k: int = 8) -> tuple[Recollection, ...]:
    """What comes to mind."""
    return await memories.recall(query, minutes=minutes, k=k, place=PLACE)


def ids(recalled: Sequence[Recollection]) -> list[int]:
    """The ids of what came to mind, best first."""
    return [recollection.memory.id for recollection in recalled]
