"""Guided trajectories: a pupil learns from the lines of the best model (CharacterBox §4)."""

from __future__ import annotations

from collections import Counter

from screentest.builders.exports.conversations import parts_of, row, teacher_of
from screentest.builders.exports.directory import Export
from screentest.builders.exports.performance import Source


def guided(source: Source, teacher: str | None = None) -> Export:
    """Conversations in which every answer is a line of the teacher's.

    Args:
        source: The run.
        teacher: The label of the model to learn from; the source that was preferred most often by default.

    Raises:
        InputError: There is no such model, nobody to learn from, or the run's trajectories are damaged.
    """
    teacher = teacher_of(source, teacher)
    left_out = Counter[str]()
    rows = [row(part, [step.line.text for step in part.taken]) for part in parts_of(source, teacher, left_out)]
    return Export(kind="guided", rows=rows, of="characters in conversations", left_out=left_out, teacher=teacher)
