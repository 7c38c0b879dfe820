"""The rules of a scene."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from screentest.agents.memory import Weights
from screentest.errors import InputError
from screentest.judges import SelectionMode

Staging = Literal["dialogue", "story"]
Importance = Literal["heuristic", "judged"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryRules:
    """How characters remember.

    Attributes:
        window: How many of the latest lines everybody is shown, and at times up to half as many more; what came before
            must be remembered.
        recall: The most memories that come to mind at once.
        capacity: The most memories a character keeps; beyond that it draws old ones together.
        importance: ``heuristic``, or ``judged`` by the character's own model, in one call a round.
        weights: How relevance, recency and importance weigh in what comes to mind.
    """

    window: int = 16
    recall: int = 6
    capacity: int = 512
    importance: Importance = "heuristic"
    weights: Weights = field(default_factory=Weights)

    def __post_init__(self) -> None:
        _at_least_one(self, "window", "recall", "capacity")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """How a scene is played.

    Attributes:
        staging: ``dialogue``: a director gives the word, line by line (FURINA). ``story``: all act in turn, round by
            round, and react (CharacterBox).
        turns: The most lines a dialogue may have.
        min_turns: The fewest lines before the director may end it.
        in_a_row: How often the same speaker may speak in a row in a dialogue.
        rounds: The most rounds of a story.
        min_rounds: The fewest rounds before the narrator may conclude it.
        min_test_lines: The fewest lines of the test character in a dialogue; one that closes with fewer is a fault.
        emphasis: How the emphasised dimension is selected (App. C).
        orders: ``one`` judges in an order drawn per turn; ``both`` judges both and averages.
        narrator: Whether a narrator says what comes of deeds; by default in a story alone.
        memory: Whether characters remember, and see the latest lines only; by default in a story alone.
        beliefs: Whether characters form beliefs between rounds; by default in a story alone.
        remembering: How characters remember.
    """

    staging: Staging = "dialogue"
    turns: int = 20
    min_turns: int = 6
    in_a_row: int = 2
    rounds: int = 4
    min_rounds: int = 2
    min_test_lines: int = 2
    emphasis: SelectionMode = "argmax"
    orders: Literal["one", "both"] = "one"
    narrator: bool | None = None
    memory: bool | None = None
    beliefs: bool | None = None
    remembering: MemoryRules = field(default_factory=MemoryRules)

    def __post_init__(self) -> None:
        _at_least_one(self, "turns", "min_turns", "in_a_row", "rounds", "min_rounds", "min_test_lines")
        for name in ("narrator", "memory", "beliefs"):
            if getattr(self, name) is None:
                object.__setattr__(self, name, self.staging == "story")

    @property
    def shown(self) -> int | None:
        """How many of the latest lines everybody is shown; ``None`` for all."""
        return self.remembering.window if self.memory else None


def _at_least_one(rules: object, *names: str) -> None:
    for name in names:
        if getattr(rules, name) < 1:
            raise InputError(f"a rule is not usable: {name}", why=f"{getattr(rules, name)} is less than 1")
