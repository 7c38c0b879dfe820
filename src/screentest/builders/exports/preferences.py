"""Preferences: what judges made of two lines for the same moment, for DPO and for reward models."""

from __future__ import annotations

from collections import Counter
from typing import Any

from screentest.builders.exports.directory import Export
from screentest.builders.exports.performance import Performance, Source
from screentest.builders.exports.retelling import Retelling, Step
from screentest.sim import Auditioned

_EVEN = 3


def preferences(source: Source) -> Export:
    """One pair for each audition that a judge decided.

    The prompt is the one that both models were sent. A verdict stands for itself, so that those of conversations that
    failed later on, or that the filter graded low, are among them.

    Raises:
        InputError: The run's trajectories are damaged.
    """
    rows: list[dict[str, Any]] = []
    left_out = Counter({"ties": 0, "both lines the same": 0})
    for performance in source.performances():
        for step in Retelling(performance).steps:
            if step.audition is None:
                continue
            if step.audition.score == _EVEN:
                left_out["ties"] += 1
            elif step.audition.source.line.text == step.audition.base.line.text:
                left_out["both lines the same"] += 1
            else:
                rows.append(_pair(performance, step, step.audition))
    return Export(kind="preferences", rows=rows, of="auditions", left_out=left_out)


def _pair(performance: Performance, step: Step, audition: Auditioned) -> dict[str, Any]:
    better, worse = audition.source, audition.base
    if audition.score > _EVEN:
        better, worse = worse, better
    chosen, rejected = ({"role": "assistant", "content": candidate.line.text} for candidate in (better, worse))
    return {
        "prompt": [{"role": one.role, "content": one.content} for one in step.prompt],
        "chosen": [chosen],
        "rejected": [rejected],
        "chosen_message": chosen,
        "rejected_message": rejected,
        **performance.provenance(step.character),
        "turn": step.turn,
        "dimension": audition.dimension,
        "score": audition.score,
        "chosen_model": better.model,
        "rejected_model": worse.model,
        "judge_model": audition.verdicts[0].judge,
    }
