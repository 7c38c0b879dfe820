"""Conversations to fine-tune on: a character's lines of one model, as the answers to what the character perceived."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from screentest.builders.exports.performance import Source
from screentest.builders.exports.retelling import Retelling, Step
from screentest.errors import InputError
from screentest.pools import Character
from screentest.prompts import render


def teacher_of(source: Source, wanted: str | None) -> str:
    """Whose lines are learnt from: the model asked for, or the source whose lines judges preferred most often.

    Sources that are even stand in the order of the configuration.

    Raises:
        InputError: There is no such model, or no source was ever preferred.
    """
    models, sources = source.config.models, source.config.roles.sources
    if wanted is not None:
        if wanted not in models:
            raise InputError(f"unknown model {wanted!r}", where="--teacher", hint=f"models are: {', '.join(models)}")
        return wanted
    won = Counter(
        audition.source.model
        for performance in source.performances()
        for audition in performance.trajectory.auditions
        if audition.score < 3
    )
    if not won:
        why = "judges preferred no source's line to the base model's"
        raise InputError("no model to learn from", where=str(source.run), why=why, hint="name one with --teacher LABEL")
    return max(sources, key=lambda label: won[label])


@dataclass(frozen=True, slots=True)
class Part:
    """A character's lines of one model in one conversation.

    Attributes:
        told: The performance.
        taken: The steps of these lines, one at least.
    """

    told: Retelling
    taken: tuple[Step, ...]

    @property
    def character(self) -> Character:
        """The character."""
        return self.taken[0].character


def parts_of(source: Source, teacher: str, left_out: Counter[str]) -> Iterator[Part]:
    """Every character's lines of the teacher's.

    Conversations that failed, and dialogues that the filter graded poor or moderate, are left out.

    Args:
        source: The run.
        teacher: The label of the teacher.
        left_out: Filled in: why and how often a character is none of the parts.
    """
    for performance in source.performances():
        if performance.unfit:
            left_out[performance.unfit] += len(performance.characters)
            continue
        told = Retelling(performance)
        for _, steps in told.acts():
            if taken := tuple(step for step in steps if step.model == teacher):
                yield Part(told, taken)
            else:
                left_out["without a line of the teacher's"] += 1


def row(part: Part, lines: Sequence[str]) -> dict[str, Any]:
    """A row of a file to fine-tune on: the part as a chat with ``lines`` as its answers, and where it comes from."""
    return {
        "messages": _chat(part, lines),
        **part.told.performance.provenance(part.character),
        "model": part.taken[0].model,
        "turns": [step.turn for step in part.taken],
    }


def _chat(part: Part, lines: Sequence[str]) -> list[dict[str, str]]:
    """The system message and the first request as they were sent, then what is new each time.

    Lines that the character owes to other models stand among what it perceived: they happened, but they are nobody's
    answer here.
    """
    taken = part.taken
    system, request = taken[0].prompt
    messages = [_message("system", system.content), _message("user", request.content), _message("assistant", lines[0])]
    for before, step, line in zip(taken, taken[1:], lines[1:], strict=False):
        shown = replace(step.shown, history=part.told.between(before, step))
        moved = shown.situation != before.shown.situation
        (request,) = render(
            "observation", shown.language, view=shown, cue=step.cue, coaching=step.coaching, moved=moved
        )
        messages += [_message("user", request.content), _message("assistant", line)]
    return messages


def _message(role: str, content: str) -> dict[str, str]:
    return {"role": role, "content": content}
