"""What happens in a played scene, as typed events."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from screentest.judges import Verdict
from screentest.pools import Line

Ending = Literal["director", "turn_limit", "fault"]
Winner = Literal["source", "base"]


class _Event(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class SceneOpened(_Event):
    """A scene begins.

    Attributes:
        conversation: The conversation's key.
        scene: The scene's id.
        test: The test character's name.
        cast: The names of all characters, test character last.
    """

    event: Literal["scene_opened"] = "scene_opened"
    conversation: str
    scene: str
    test: str
    cast: tuple[str, ...]


class SpeakerChosen(_Event):
    """It is someone's turn.

    Attributes:
        turn: From 1.
        speaker: Whose turn it is.
        by: ``director``, or ``rule`` when only one character was eligible and nobody needed asking.
        reason: The director's reason.
        emphasis: The dimension emphasised until the test character has answered (App. C).
    """

    event: Literal["speaker_chosen"] = "speaker_chosen"
    turn: int
    speaker: str
    by: Literal["director", "rule"]
    reason: str
    emphasis: str


class Spoken(_Event):
    """A line enters the history.

    Attributes:
        turn: From 1.
        line: What was said and done.
        model: The label of the model that wrote it.
    """

    event: Literal["spoken"] = "spoken"
    turn: int
    line: Line
    model: str


class Candidate(_Event):
    """One model's proposed line for the test character."""

    model: str
    line: Line


class Auditioned(_Event):
    """Source and base were heard and judged (FURINA §3.4).

    Attributes:
        turn: From 1.
        source: The source model's candidate.
        base: The base model's candidate.
        emphasis: The emphasised dimension.
        dimension: The dimension the judge assigned, ``d*``.
        reason: Why that dimension.
        verdicts: One verdict, or one per order.
        score: Their mean: 1 (source much better) to 5 (base much better).
        winner: Whose line enters the history: the source's if ``score <= 3`` (eq. 1).
    """

    event: Literal["auditioned"] = "auditioned"
    turn: int
    source: Candidate
    base: Candidate
    emphasis: str
    dimension: str
    reason: str
    verdicts: tuple[Verdict, ...]
    score: float
    winner: Winner


class Fault(_Event):
    """Something failed; never replaced by a plausible value.

    Attributes:
        turn: The turn it happened in; 0 outside any turn.
        kind: The error's kind, e.g. ``timed_out`` (see :mod:`screentest.errors`).
        detail: One line for people.
        status: The HTTP status, if one came.
    """

    event: Literal["fault"] = "fault"
    turn: int
    kind: str
    detail: str
    status: int | None = None


class SceneClosed(_Event):
    """A scene ends.

    Attributes:
        reason: Who or what ended it.
        turns: How many lines were spoken.
    """

    event: Literal["scene_closed"] = "scene_closed"
    reason: Ending
    turns: int


Event = Annotated[SceneOpened | SpeakerChosen | Spoken | Auditioned | Fault | SceneClosed, Field(discriminator="event")]
