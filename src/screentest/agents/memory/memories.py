"""What one character remembers."""

from __future__ import annotations

import asyncio
from array import array
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from screentest.agents.memory.embedder import Embedder, Vectors, unit_rows
from screentest.agents.memory.importance import importance as guessed
from screentest.agents.memory.index import Index
from screentest.agents.memory.ranking import Weights, strongest, weakest
from screentest.agents.memory.record import Kind, Memory, Recollection, one_line
from screentest.agents.memory.saving import Saved, fingerprint, packed, read, write
from screentest.agents.memory.table import Table
from screentest.errors import InputError
from screentest.randomness import Place

CAPACITY = 512
_ROOM = 8


class Memories:
    """One character's memories, and its own FAISS index beside them.

    A memory belongs to whoever noted it: a character that was absent has none of what happened.

    Args:
        embedder: Makes the vectors; may be shared by all characters.
        capacity: How many memories there may be before :meth:`surplus` names some to be summed up.
        weights: How memories are ranked.
    """

    def __init__(self, embedder: Embedder, *, capacity: int = CAPACITY, weights: Weights | None = None) -> None:
        if capacity < 1:
            raise InputError(f"a memory cannot have a capacity of {capacity}", hint="set it to 1 or more")
        self.capacity, self.weights = capacity, weights or Weights()
        self._embedder = embedder
        self._table, self._index = Table(), None
        self._next = 0
        self._new: dict[int, None] = {}
        self._recalling = asyncio.Lock()

    def __len__(self) -> int:
        return len(self._table)

    def __iter__(self) -> Iterator[Memory]:
        """All memories in the order of their ids."""
        return iter(self._table)

    def __contains__(self, id: int) -> bool:
        return id in self._table

    def __getitem__(self, id: int) -> Memory:
        """A memory.

        Raises:
            InputError: There is none of this id.
        """
        return self._table[id]

    def note(self, kind: Kind, text: str, *, turn: int, minutes: int, importance: float | None = None) -> Memory:
        """Remember something. It gets its vector with all other new memories, when something is next recalled.

        Args:
            kind: Where it comes from.
            text: What to remember; put on one line.
            turn: The turn it is from.
            minutes: Story time, in minutes since the scene opened.
            importance: From 0 to 1; by the signs of :mod:`screentest.agents.memory.importance` if not given.

        Raises:
            InputError: There is nothing in the text.
        """
        text = _said(text)
        rated = guessed(text, kind) if importance is None else importance
        return self._add(Memory(id=self._next, kind=kind, text=text, turn=turn, minutes=minutes, importance=rated))

    async def recall(
        self, *cues: str, minutes: int, k: int = 8, place: Place, before: int | None = None
    ) -> tuple[Recollection, ...]:
        """What comes to mind, best first; of equals the older one.

        Args:
            cues: What to think of. A memory is as relevant as it is to the cue that it fits best.
            minutes: Story time now, in minutes.
            k: How many memories at most.
            place: Where in the run this happens. One call of the embedder is made, for the cues and all that is new.
            before: Leave out what is from this turn on, which the prompt shows already; reflections it never shows.

        Raises:
            CallError: The embedder could not be reached; what is new is embedded at the next recall.
            BadReply: What it made cannot be used; likewise.
        """
        said = [_said(cue) for cue in cues]
        async with self._recalling:
            if k < 1 or not self.reach(before):
                return ()
            new = self.new
            made = await self._embedder.embed([*new.values(), *said], place=place / "embed")
            vectors = unit_rows(made, count=len(new) + len(said), embedder=self._embedder.name)
            self.learn(new, vectors[: len(new)])
            return self.search(vectors[len(new) :], minutes=minutes, k=k, before=before)

    @property
    def new(self) -> dict[int, str]:
        """Id to text of what has no vector yet."""
        ids = list(self._new)
        return dict(zip(ids, self._table.texts(ids), strict=True))

    def reach(self, before: int | None) -> bool:
        """Whether there is any memory that :meth:`recall` would not leave out."""
        return len(self._table) > 0 and (before is None or bool(self._table.unshown(before).any()))

    def learn(self, texts: Mapping[int, str], vectors: Vectors) -> None:
        """Take in the vectors of what is new.

        Args:
            texts: As :attr:`new` gave them; what was reworded or forgotten since is left out.
            vectors: One unit row for each.

        Raises:
            InvalidReply: They are not as wide as those made before.
        """
        unit_rows(vectors, count=len(texts), width=self._width, embedder=self._embedder.name)
        current = self.new
        fresh = [row for row, (id, text) in enumerate(texts.items()) if current.get(id) == text]
        ids = list(texts)
        self._put([ids[row] for row in fresh], vectors[fresh])

    def search(self, cues: Vectors, *, minutes: int, k: int, before: int | None = None) -> tuple[Recollection, ...]:
        """The same as :meth:`recall`, among what has a vector, for the unit rows of cues."""
        if not self._index:
            return ()
        ids, similarities = self._index.similarities(cues)
        return strongest(self._table, self.weights, ids, similarities, minutes=minutes, k=k, before=before)

    def rate(self, importances: Mapping[int, float]) -> None:
        """Replace the importance of memories, all or none.

        Raises:
            InputError: There is no such memory, or an importance is not from 0 to 1.
        """
        for id, importance in importances.items():
            if id not in self._table or not 0 <= importance <= 1:
                why = "it has to be from 0 to 1" if id in self._table else "there is no such memory"
                raise InputError(f"memory {id} cannot have the importance {importance}", why=why)
        for id, importance in importances.items():
            self._table.rate(id, importance)

    def edit(self, id: int, text: str) -> Memory:
        """Reword a memory.

        Raises:
            InputError: There is no such memory, or nothing in the text.
        """
        self._table.reword(id, _said(text))
        self._unindex([id])
        self._new[id] = None
        return self._table[id]

    def forget(self, id: int) -> None:
        """Remove a memory, and with a reflection the record of what it stood for.

        Raises:
            InputError: There is no such memory.
        """
        self._remove([id])
        gone = [id]
        while gone:
            gone.extend(self._table.sources.pop(gone.pop(), ()))

    def surplus(self) -> tuple[Memory, ...]:
        """What to sum up: ``()`` within the capacity, else so much of the old and unimportant that it makes room."""
        over = len(self._table) - self.capacity
        if over <= 0:
            return ()
        return weakest(self._table, self.weights, max(2, over + 1 + self.capacity // _ROOM))

    def consolidate(self, sources: Sequence[int], text: str, *, turn: int, minutes: int, importance: float) -> Memory:
        """Replace memories by one reflection that stands for them.

        Args:
            sources: The memories it replaces; reflections may be among them.
            text: The reflection.
            turn: The turn it is made in.
            minutes: Story time now, in minutes.
            importance: From 0 to 1.

        Raises:
            InputError: A source is not there or named twice, there is none, or nothing in the text.
        """
        if not sources or len(set(sources)) < len(sources):
            raise InputError("a reflection cannot replace these memories", why=f"the sources are {list(sources)}")
        replaced = tuple(self._table[id].id for id in sources)
        reflection = Memory(
            id=self._next,
            kind="reflected",
            text=_said(text),
            turn=turn,
            minutes=minutes,
            importance=importance,
            sources=replaced,
        )
        self._remove(replaced)
        return self._add(reflection)

    def origins(self, id: int) -> tuple[int, ...]:
        """The memories that a memory stands for in the end, reflections of reflections followed; itself if it is none.

        Raises:
            InputError: There is no such memory.
        """
        found, left = [], [self._table[id].id]
        while left:
            one = left.pop()
            if one in self._table.sources:
                left.extend(self._table.sources[one])
            else:
                found.append(one)
        return tuple(sorted(found))

    def save(self, directory: Path) -> None:
        """Write everything to ``directory``: versioned JSON, and the vectors made so far beside it.

        A crash leaves what was saved before, or this.

        Raises:
            InputError: It cannot be written there.
        """
        embedded = [id for id in self._table.ids.tolist() if id not in self._new]
        rows = packed(self._index.vectors(embedded)) if self._index and embedded else b""
        saved = Saved(
            embedder=self._embedder.name,
            width=self._index.width if self._index and rows else 0,
            vectors=fingerprint(rows) if rows else "",
            capacity=self.capacity,
            weights=self.weights,
            next=self._next,
            memories=tuple(self._table),
            replaced={id: tuple(ids) for id, ids in self._table.sources.items() if id not in self._table},
            embedded=tuple(embedded),
        )
        write(directory, saved, rows)

    @classmethod
    def load(cls, directory: Path, embedder: Embedder) -> Memories:
        """What :meth:`save` wrote.

        Args:
            directory: Where it was written.
            embedder: The one it was written with.

        Raises:
            InputError: It is not there, damaged, of another version, or of another embedder.
        """
        saved, vectors = read(directory, embedder.name)
        memories = cls(embedder, capacity=saved.capacity, weights=saved.weights)
        for memory in saved.memories:
            memories._table.append(memory)
        memories._table.sources.update({id: array("q", ids) for id, ids in saved.replaced.items()})
        memories._next = saved.next
        memories._new = dict.fromkeys(memory.id for memory in saved.memories)
        memories._put(saved.embedded, vectors)
        return memories

    def _add(self, memory: Memory) -> Memory:
        self._table.append(memory)
        self._new[memory.id] = None
        self._next += 1
        return memory

    def _remove(self, ids: Sequence[int]) -> None:
        for id in ids:
            self._table.remove(id)
        self._unindex(ids)

    def _unindex(self, ids: Sequence[int]) -> None:
        old = [id for id in ids if id not in self._new]
        if self._index and old:
            self._index.remove(old)
        for id in ids:
            self._new.pop(id, None)

    def _put(self, ids: Sequence[int], vectors: Vectors) -> None:
        if not ids:
            return
        if not self._index:
            self._index = Index(vectors.shape[1])
        self._index.add(ids, vectors)
        for id in ids:
            del self._new[id]

    @property
    def _width(self) -> int | None:
        return self._index.width if self._index and len(self._index) else None


def _said(text: str) -> str:
    line = one_line(text)
    if not line:
        raise InputError("there is nothing to remember", why="the text is empty")
    return line
