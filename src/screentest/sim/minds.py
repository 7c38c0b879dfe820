"""The minds of a scene's characters: what each perceived becomes memory, and comes back when it bears on the moment."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from screentest.agents.memory import Embedder, Kind, Memories, Memory, Recollection, Vectors, unit_rows
from screentest.pools import Character, Line
from screentest.randomness import Place
from screentest.sim.events import Event, ImportanceRated, Influenced, Outcome, Recalled, Reflected, Spoken
from screentest.sim.rules import MemoryRules
from screentest.sim.state import State

_CUES, _ALIKE, _KEPT = 3, 4, 64


@dataclass(slots=True)
class Minds:
    """A memory for each character, kept by the same events that the state is the fold of.

    Attributes:
        memories: Name to memory.
        embedder: Makes memories comparable.
        rules: How characters remember.
        new: Name to the memories that nobody has weighed yet.
        embedded: The texts embedded last, and their vectors: what is said now is asked about for some turns.
    """

    memories: dict[str, Memories]
    embedder: Embedder
    rules: MemoryRules
    new: dict[str, list[Memory]] = field(init=False)
    embedded: dict[str, Vectors] = field(default_factory=dict[str, Vectors])

    def __post_init__(self) -> None:
        self.new = {name: [] for name in self.memories}

    @classmethod
    def of(cls, characters: tuple[Character, ...], embedder: Embedder, rules: MemoryRules) -> Minds:
        """Empty minds for all characters of a scene."""
        made = {
            character.name: Memories(embedder, capacity=rules.capacity, weights=rules.weights)
            for character in characters
        }
        return cls(made, embedder, rules)

    def apply(self, event: Event, state: State) -> None:
        """Take in one event, which the state has taken in already. Whoever was not there remembers nothing of it."""
        match event:
            case Spoken(line=line) if line.text:
                for name in state.witnesses(line.speaker):
                    kind = "did" if name == line.speaker else "saw"
                    self._note(name, kind, _remembered(line, state), state)
            case Influenced(target=str(target), influence=influence):
                self._note(target, "told", influence, state)
            case Outcome(text=text):
                for name in state.audience(event):
                    self._note(name, "saw", text, state)
            case ImportanceRated(character=name, importances=importances):
                self.memories[name].rate(dict(importances))
                rated = {identifier for identifier, _ in importances}
                self.new[name] = [memory for memory in self.new[name] if memory.id not in rated]
            case Reflected(character=name, text=text, importance=importance, sources=sources):
                self.memories[name].consolidate(
                    sources, text, turn=state.turn, minutes=state.minutes, importance=importance
                )
                self.new[name] = [memory for memory in self.new[name] if memory.id not in sources]
            case _:
                pass

    async def recall(self, state: State, *names: str, place: Place) -> tuple[Recalled, ...]:
        """What comes to mind now: the past that bears on what someone has just perceived and means to do.

        Lines that a character is shown anyway do not come to its mind as well. Whatever is new to anyone is embedded
        in one call, and once, however many were there.

        Args:
            state: The scene as it stands.
            names: Whose minds.
            place: Where in the run this happens.

        Returns:
            An event for everyone to whose mind something came, or from whose mind something went.

        Raises:
            CallError: The embedder could not be reached.
            BadReply: What it made cannot be used.
        """
        cues = {name: self._cues(state, name) for name in names if self.memories[name].reach(self._shown(state, name))}
        found: dict[str, tuple[Recollection, ...]] = dict.fromkeys(names, ())
        if cues:
            new = {name: memories.new for name, memories in self.memories.items()}
            texts = [text for unembedded in new.values() for text in unembedded.values()]
            await self._embed([*texts, *(cue for given in cues.values() for cue in given)], place / "embed")
            for name, unembedded in new.items():
                if unembedded:
                    self.memories[name].learn(unembedded, self._vectors(unembedded.values()))
            for name, given in cues.items():
                most, before = self.rules.recall * _ALIKE, self._shown(state, name)
                strongest = self.memories[name].search(
                    self._vectors(given), minutes=state.minutes, k=most, before=before
                )
                found[name] = self._distinct(strongest)
        return tuple(
            Recalled(turn=state.turn, character=name, recollections=came)
            for name, came in found.items()
            if came or state.reminders.get(name)
        )

    async def _embed(self, texts: Sequence[str], place: Place) -> None:
        """Have vectors for all of these texts, and for no more than these and the latest ones."""
        if wanted := [text for text in dict.fromkeys(texts) if text not in self.embedded]:
            made = await self.embedder.embed(wanted, place=place)
            rows = unit_rows(made, count=len(wanted), embedder=self.embedder.name)
            self.embedded |= {text: rows[row] for row, text in enumerate(wanted)}
        latest = [*self.embedded][-_KEPT:]
        self.embedded = {text: self.embedded[text] for text in {**dict.fromkeys(latest), **dict.fromkeys(texts)}}

    def _vectors(self, texts: Iterable[str]) -> Vectors:
        return np.stack([self.embedded[text] for text in texts])

    def _cues(self, state: State, name: str) -> list[str]:
        knowledge, beliefs = state.knowledge[name], state.beliefs.get(name)
        recent = [line.text for line in knowledge.history[-_CUES:] if line.text]
        intention = [beliefs.intention] if beliefs else []
        return [*recent, *intention] or [knowledge.situation.description or name]

    def _distinct(self, strongest: Sequence[Recollection]) -> tuple[Recollection, ...]:
        """What is remembered many times in the same words comes to mind once."""
        found: dict[str, Recollection] = {}
        for one in strongest:
            found.setdefault(one.memory.text, one)
        return tuple(found.values())[: self.rules.recall]

    @staticmethod
    def _shown(state: State, name: str) -> int:
        """The first turn that a character is shown anyway."""
        return next(iter(state.knowledge[name].turns), state.turn)

    def _note(self, name: str, kind: Kind, text: str, state: State) -> None:
        memory = self.memories[name].note(kind, text, turn=state.turn, minutes=state.minutes)
        if self.rules.importance == "judged":
            self.new[name].append(memory)


def _remembered(line: Line, state: State) -> str:
    """How a line is remembered: what was told by the narrator as what happened."""
    return line.text if line.speaker not in state.knowledge else f"{line.speaker}: {line.text}"
