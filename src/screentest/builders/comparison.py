"""A comparison: one tested model on one item, scored or with the reasons why not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from screentest.errors import InputError
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


@dataclass(slots=True)
class EvaluationProgress:
    """An evaluation as it goes, for whoever watches.

    Attributes:
        comparisons: How many there will be.
        done: How many there are.
        failed: Those without a score.
        points: Sum of points and number of scored items per tested model.
    """

    comparisons: int = 0
    done: int = 0
    failed: int = 0
    points: dict[str, tuple[float, int]] = field(default_factory=dict[str, tuple[float, int]])

    def take(self, comparison: Comparison) -> None:
        """Count one comparison."""
        self.done += 1
        self.failed += comparison.points is None
        if comparison.points is not None:
            total, count = self.points.get(comparison.model, (0.0, 0))
            self.points[comparison.model] = (total + comparison.points, count + 1)


def read_comparisons(path: Path) -> Iterator[Comparison]:
    """The comparisons of an ``evaluations.jsonl``.

    Raises:
        InputError: The file cannot be read, or a line is no comparison.
    """
    try:
        with path.open("rb") as lines:
            for number, line in enumerate(lines, start=1):
                try:
                    yield Comparison.model_validate_json(line)
                except ValidationError as error:
                    first = error.errors()[0]
                    where = f"{path}: line {number}: {'.'.join(map(str, first['loc']))}"
                    raise InputError("not a comparison", where=where, why=first["msg"]) from None
    except OSError as error:
        raise InputError("cannot read the evaluation", where=str(path), why=error.strerror or str(error)) from None
