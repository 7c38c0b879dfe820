"""A comparison: one tested model on one item, scored or with the reason why not."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

from screentest.judges import Verdict
from screentest.pools import Language, Line

Stage = Literal["base", "tested", "judge"]


class Failure(BaseModel):
    """Why a comparison has no score: which stage failed, and how."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    stage: Stage
    kind: str
    detail: str


class Comparison(BaseModel):
    """One tested model on one item.

    Attributes:
        item: The item's id.
        model: The tested model's label.
        language: The item's language.
        kind: The test character's kind.
        dimension: The item's dimension.
        conversation: The conversation the item comes from.
        tested: The tested model's line, if it gave one.
        base: The base model's line, if it gave one.
        verdicts: The verdicts that came, at most one per order; the challenger is the tested model.
        points: Eq. 2, 0 to 3; ``None`` if anything failed.
        failures: What failed.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    item: str
    model: str
    language: Language
    kind: Literal["established", "synthesized"]
    dimension: str
    conversation: str
    tested: Line | None
    base: Line | None
    verdicts: tuple[Verdict, ...]
    points: float | None
    failures: tuple[Failure, ...]
