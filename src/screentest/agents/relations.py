"""The relationship graph: who is near to whom, from what profiles say and from who did what to whom."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING

from screentest.pools import Character, Tie

if TYPE_CHECKING:
    import networkx as nx

_KNOWN, _SPOKEN, _TOUCHED = 3, 1, 2
_LETTER = r"[^\W\d_\u3040-\u30ff\u3400-\u9fff]"  # of a script that puts spaces between words
_NO_NAMES = {"Dr.", "Lady", "Lord", "Miss", "Mrs", "Mrs.", "Sir", "The"}


@dataclass(slots=True)
class Relations:
    """Counts what binds characters to each other.

    A mention in a public profile weighs 3, a line spoken to someone 1, a deed that affects someone 2.

    Attributes:
        characters: Everyone in the scene.
        known: Who mentions whom in the public profile.
        spoken: How often who spoke to whom.
        touched: How often what someone did affected whom.
    """

    characters: tuple[Character, ...]
    known: frozenset[tuple[str, str]] = field(init=False)
    spoken: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    touched: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    _called: dict[str, re.Pattern[str]] = field(init=False)

    def __post_init__(self) -> None:
        names = [character.name for character in self.characters]
        self._called = {name: _called(name, names) for name in names}
        self.known = frozenset(
            (one.name, other)
            for one in self.characters
            for other in names
            if other != one.name and any(self.names(text, other) for text in one.public.values())
        )

    def names(self, text: str, name: str) -> bool:
        """Whether ``text`` calls the character of this name, by its full name or by a part that nobody else shares."""
        return self._called[name].search(text) is not None

    def speak(self, one: str, other: str) -> None:
        """Note that ``one`` spoke to ``other``."""
        self.spoken[one, other] += 1

    def touch(self, one: str, other: str) -> None:
        """Note that what ``one`` did affected ``other``."""
        self.touched[one, other] += 1

    def ties(self) -> tuple[Tie, ...]:
        """Everyone's nearness to everyone, the nearest first; pairs between whom there is nothing are left out."""
        weights = {
            (one, other): self._weight(one, other) + self._weight(other, one)
            for one, other in combinations(self._called, 2)
        }
        most = max(weights.values(), default=0)
        found = [Tie(*pair, nearness=round(weight / most, 2)) for pair, weight in weights.items() if weight]
        return tuple(sorted(found, key=lambda tie: -tie.nearness))

    def graph(self) -> nx.DiGraph[str]:
        """As a graph: an edge from one to another holds ``known`` (0 or 1), ``spoken``, ``touched``, ``weight``."""
        import networkx as nx

        graph: nx.DiGraph[str] = nx.DiGraph()
        graph.add_nodes_from(self._called)
        for one in self._called:
            for other in self._called:
                if weight := self._weight(one, other):
                    pair = (one, other)
                    graph.add_edge(
                        one,
                        other,
                        known=int(pair in self.known),
                        spoken=self.spoken[pair],
                        touched=self.touched[pair],
                        weight=weight,
                    )
        return graph

    def _weight(self, one: str, other: str) -> int:
        pair = (one, other)
        return _KNOWN * (pair in self.known) + _SPOKEN * self.spoken[pair] + _TOUCHED * self.touched[pair]


def _called(name: str, names: Sequence[str]) -> re.Pattern[str]:
    """What calls a character: whole words, where words have spaces between them."""
    others = {part for other in names if other != name for part in _parts(other)}
    forms = [name, *(part for part in _parts(name) if _is_name(part) and part not in others)]
    longer = [other for other in names if other != name]
    return re.compile(rf"(?<!{_LETTER})(?:{'|'.join(_alone(form, longer) for form in forms)})(?!{_LETTER})")


def _alone(form: str, longer: Sequence[str]) -> str:
    """A form of a name, but not as a part of somebody else's: who says Little Red Cap does not say Little Red."""
    parted = [(before, after) for before, found, after in (other.partition(form) for other in longer) if found]
    guards = (f"(?:(?<!{re.escape(before)})|(?!{re.escape(form + after)}))" for before, after in parted)
    return "".join([*guards, re.escape(form)])


def _parts(name: str) -> list[str]:
    return re.split(r"[\s·]+", name)


def _is_name(part: str) -> bool:
    if part.upper() == part.lower():
        return len(part) > 1
    return len(part) > 2 and part[0].isupper() and part not in _NO_NAMES
