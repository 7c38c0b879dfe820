"""Memories in columns: what is ranked stands in arrays, and a thousand memories take little more than their texts."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from screentest.agents.memory.record import Kind, Memory
from screentest.errors import InputError


class Table:
    """Memories in the order of their ids.

    Attributes:
        sources: What each reflection stands for, eight bytes an id. One that was removed keeps its entry: others may
            stand for it.
    """

    def __init__(self) -> None:
        self._ids, self._turns, self._minutes, self._importances = array("q"), array("q"), array("q"), array("d")
        self._kinds: list[Kind] = []
        self._texts: list[str] = []
        self.sources: dict[int, array[int]] = {}

    def __len__(self) -> int:
        return len(self._ids)

    def __iter__(self) -> Iterator[Memory]:
        return map(self._memory, range(len(self)))

    def __contains__(self, id: int) -> bool:
        row = bisect_left(self._ids, id)
        return row < len(self._ids) and self._ids[row] == id

    def __getitem__(self, id: int) -> Memory:
        return self._memory(self._row(id))

    def append(self, memory: Memory) -> None:
        """Add a memory whose id is higher than all before."""
        self._ids.append(memory.id)
        self._turns.append(memory.turn)
        self._minutes.append(memory.minutes)
        self._importances.append(memory.importance)
        self._kinds.append(memory.kind)
        self._texts.append(memory.text)
        if memory.sources:
            self.sources[memory.id] = array("q", memory.sources)

    def remove(self, id: int) -> None:
        """Remove a memory."""
        row = self._row(id)
        for column in (self._ids, self._turns, self._minutes, self._importances, self._kinds, self._texts):
            del column[row]

    def reword(self, id: int, text: str) -> None:
        """Replace a memory's text."""
        self._texts[self._row(id)] = text

    def rate(self, id: int, importance: float) -> None:
        """Replace a memory's importance."""
        self._importances[self._row(id)] = importance

    def texts(self, ids: Sequence[int]) -> list[str]:
        """The texts of memories."""
        return [self._texts[self._row(id)] for id in ids]

    @property
    def ids(self) -> NDArray[np.int64]:
        """Their ids, ascending; the columns that follow are in the same order."""
        return np.array(self._ids)

    @property
    def minutes(self) -> NDArray[np.int64]:
        """The story time they are from."""
        return np.array(self._minutes)

    @property
    def importances(self) -> NDArray[np.float64]:
        """How important they are."""
        return np.array(self._importances)

    def unshown(self, before: int) -> NDArray[np.bool_]:
        """Whether they are from before a turn, or reflections, which no turn shows."""
        drawn_together = np.fromiter((id in self.sources for id in self._ids), np.bool_, len(self._ids))
        return (np.array(self._turns) < before) | drawn_together

    def _row(self, id: int) -> int:
        row = bisect_left(self._ids, id)
        if row == len(self._ids) or self._ids[row] != id:
            raise InputError(f"there is no memory {id}", hint="list the memories to see which there are")
        return row

    def _memory(self, row: int) -> Memory:
        id = self._ids[row]
        return Memory(
            id=id,
            kind=self._kinds[row],
            text=self._texts[row],
            turn=self._turns[row],
            minutes=self._minutes[row],
            importance=self._importances[row],
            sources=tuple(self.sources.get(id, ())),
        )
