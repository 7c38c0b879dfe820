"""The sections of a configuration: pool, build, memory and evaluation."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from screentest.agents.memory import Weights
from screentest.builders.identity import Knob
from screentest.judges import SelectionMode
from screentest.pools import Language
from screentest.sim import Importance, Staging

Label = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
Orders = Literal["one", "both"]


class Section(BaseModel):
    """A part of a configuration: frozen, and with no field that it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class PoolSettings(Section):
    """Where scenes come from.

    Attributes:
        path: A pool directory, relative to the configuration file; the starter pool when left out.
        languages: Which of its scenes and which characters take part.
    """

    path: Annotated[Path | None, Knob.RUNTIME] = None
    languages: Annotated[tuple[Language, ...], Knob.GROWING] = ("en", "zh")


class BuildSettings(Section):
    """How a benchmark is built.

    Attributes:
        quota: Items wanted per dimension in every cell (``tau``, FURINA §4.2).
        scenes: The most scenes played per cell; what is missing then is reported as a shortfall.
        staging: How scenes are played: ``dialogue``, line by line as a director gives the word, or ``story``, round by
            round, with deeds that have consequences.
        turns: The most lines a dialogue may have.
        min_turns: The fewest before the director may end it.
        rounds: The most rounds of a story.
        min_rounds: The fewest before the narrator may conclude it.
        narrator: Whether a narrator says what comes of deeds; by default in stories alone.
        memory: Whether characters remember, and are shown the latest lines only; by default in stories alone.
        beliefs: Whether characters form beliefs between rounds; by default in stories alone.
        emphasis: How the emphasised dimension is selected: ``argmax`` or ``sample`` (App. C).
        orders: ``one`` judges in an order drawn per turn, ``both`` judges both orders and averages.
        lag: Conversations of a cell that run at once; each learns the counts of those ``lag`` and more before it.
        max_failures: The share of conversations that may fail before the build ends with exit code 4.
    """

    quota: Annotated[int, Field(ge=1, strict=True), Knob.GROWING] = 10
    scenes: Annotated[int, Field(ge=1, strict=True), Knob.GROWING] = 50
    staging: Staging = "dialogue"
    turns: int = Field(default=20, ge=2, le=1000)
    min_turns: int = Field(default=6, ge=1)
    rounds: int = Field(default=4, ge=1, le=500)
    min_rounds: int = Field(default=2, ge=1)
    narrator: bool | None = None
    memory: bool | None = None
    beliefs: bool | None = None
    emphasis: SelectionMode = "argmax"
    orders: Orders = "one"
    lag: int = Field(default=2, ge=1)
    max_failures: Annotated[float, Field(ge=0, le=1), Knob.RUNTIME] = 0.2

    @model_validator(mode="after")
    def _can_end(self) -> Self:
        dialogue = self.staging == "dialogue"
        if dialogue and "min_turns" in self.model_fields_set and self.min_turns > self.turns:
            raise ValueError(f"min_turns ({self.min_turns}) is more than turns ({self.turns})")
        if not dialogue and "min_rounds" in self.model_fields_set and self.min_rounds > self.rounds:
            raise ValueError(f"min_rounds ({self.min_rounds}) is more than rounds ({self.rounds})")
        return self


class MemorySettings(Section):
    """How characters remember, in scenes with memory.

    Attributes:
        embedder: What makes memories comparable: ``hashing``; the label of a model whose provider is ``embeddings``; or
            ``st:`` and the name or path of a sentence-transformers model (needs the extra ``st``).
        window: How many of the latest lines everybody is shown, and at times up to half as many more.
        recall: The most memories that come to mind at once.
        capacity: The most memories a character keeps; beyond that it draws old ones together.
        importance: ``heuristic``, or ``judged`` by the character's own model, in one call a round.
        weights: How relevance, recency and importance weigh in what comes to mind.
    """

    embedder: str = Field(default="hashing", min_length=1)
    window: int = Field(default=16, ge=1)
    recall: int = Field(default=6, ge=1)
    capacity: int = Field(default=512, ge=16)
    importance: Importance = "heuristic"
    weights: Weights = Weights()


class EvaluateSettings(Section):
    """How models are evaluated.

    Attributes:
        models: The models to test; another way to write ``roles.tested``.
        orders: Both orders are judged (eq. 2).
        resamples: Bootstrap resamples.
        max_failures: The share of comparisons without a score that may stand before the run ends with exit code 4.
    """

    models: Annotated[tuple[Label, ...], Knob.RUNTIME] = ()
    orders: Literal["both"] = "both"
    resamples: int = Field(default=1000, ge=100)
    max_failures: Annotated[float, Field(ge=0, le=1), Knob.RUNTIME] = 0.05
