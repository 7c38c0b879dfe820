"""A person as a player."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from screentest.agents import Cue
from screentest.judges import Dimension
from screentest.pools import Line, View
from screentest.randomness import Place


class Person:
    """Gives the lines that are recorded, one by one, and then waits to be told.

    Args:
        lines: What was recorded.

    Attributes:
        name: The label in trajectories.
        cue: What it is asked for and waits to be told; ``None`` while nobody asks.
        asked: Set while it waits.
    """

    name = "person"

    def __init__(self, lines: Sequence[str]) -> None:
        self.cue: Cue | None = None
        self.asked = asyncio.Event()
        self._lines, self._given = list(lines), 0
        self._told = asyncio.Event()

    @property
    def remembers(self) -> bool:
        """Whether there are recorded lines left to give."""
        return self._given < len(self._lines)

    def tell(self, text: str) -> None:
        """Answer what it is asked for."""
        self._lines.append(text)
        self.cue = None
        self.asked.clear()
        self._told.set()

    async def speak(self, view: View, dimension: Dimension | None, *, cue: Cue, place: Place) -> Line:
        """The next line."""
        del dimension, place
        assert view.me is not None, "only a character can speak"  # noqa: S101
        if not self.remembers:
            self._told.clear()
            self.cue = cue
            self.asked.set()
            await self._told.wait()
        self._given += 1
        return Line.parse(view.me.name, self._lines[self._given - 1])
