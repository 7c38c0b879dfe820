"""What happens in a played scene, as typed events."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from screentest.agents import Cue, CueKind
from screentest.agents.memory import Recollection
from screentest.judges import Verdict
from screentest.pools import Beliefs, Line, Situation, Standing

Ending = Literal["director", "narrator", "turn_limit", "fault"]
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
        by: ``director``; ``rule`` when only one character was eligible and nobody needed asking; ``round`` in story
            play, where all act in turn.
        reason: The director's reason.
        emphasis: The dimension emphasised until the test character has answered (App. C); empty without one.
    """

    event: Literal["speaker_chosen"] = "speaker_chosen"
    turn: int
    speaker: str
    by: Literal["director", "rule", "round"]
    reason: str
    emphasis: str


class Spoken(_Event):
    """A line enters the history.

    Attributes:
        turn: From 1.
        line: What was said and done.
        model: The label of the model that wrote it, or of whoever else plays the character.
        cue: What kind of line it is.
    """

    event: Literal["spoken"] = "spoken"
    turn: int
    line: Line
    model: str
    cue: CueKind = "line"


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
        cue: What kind of line was asked for.
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
    cue: Cue = Cue()


class Recalled(_Event):
    """Memories come to a character's mind before it speaks, or before it forms its beliefs.

    Attributes:
        turn: From 1.
        character: Whose mind.
        recollections: What, the strongest first, with what made it strong.
    """

    event: Literal["recalled"] = "recalled"
    turn: int
    character: str
    recollections: tuple[Recollection, ...]


class Influenced(_Event):
    """The narrator says whom a deed affects most, and how (CharacterBox §3.2, ``c_r`` and ``f_r``).

    Attributes:
        turn: From 1.
        actor: Who did it.
        target: Who is affected, and reacts; ``None`` if nobody is.
        influence: How; told to the target alone.
    """

    event: Literal["influenced"] = "influenced"
    turn: int
    actor: str
    target: str | None
    influence: str


class Outcome(_Event):
    """The narrator tells what comes of a deed and of the reaction to it (CharacterBox §3.2, ``R``).

    Attributes:
        turn: From 1.
        actor: Whose deed.
        text: What came of it; all who are present perceive it.
        minutes: How much story time passed.
        concluded: Whether the story's matter is settled.
        arriving: Who was away and is present from now on: the others see them come, and they see what comes of it.
    """

    event: Literal["outcome"] = "outcome"
    turn: int
    actor: str
    text: str
    minutes: int
    concluded: bool = False
    arriving: tuple[str, ...] = ()


class StateChanged(_Event):
    """A character is now elsewhere, or otherwise.

    Attributes:
        turn: From 1.
        character: Who.
        standing: Where and how it is now.
    """

    event: Literal["state_changed"] = "state_changed"
    turn: int
    character: str
    standing: Standing


class EnvironmentChanged(_Event):
    """The scene is not what it was.

    Attributes:
        turn: From 1.
        situation: Time, place and description as they are now.
    """

    event: Literal["environment_changed"] = "environment_changed"
    turn: int
    situation: Situation


class BeliefsUpdated(_Event):
    """A character has thought about itself and the world; nobody else ever sees what.

    Attributes:
        turn: The turn after which.
        character: Who.
        beliefs: What it believes, wants and means to do.
    """

    event: Literal["beliefs_updated"] = "beliefs_updated"
    turn: int
    character: str
    beliefs: Beliefs


class ImportanceRated(_Event):
    """A character's new memories were judged for their importance to it.

    Attributes:
        turn: The turn after which.
        character: Whose memories.
        importances: Pairs of a memory's id and its importance, 0 to 1.
    """

    event: Literal["importance_rated"] = "importance_rated"
    turn: int
    character: str
    importances: tuple[tuple[int, float], ...]


class Reflected(_Event):
    """A character drew old memories together into one, which takes their place.

    Attributes:
        turn: The turn after which.
        character: Whose memories.
        text: What remains of them.
        importance: Of what remains, 0 to 1.
        sources: The ids of the memories it stands for.
    """

    event: Literal["reflected"] = "reflected"
    turn: int
    character: str
    text: str
    importance: float
    sources: tuple[int, ...]


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


Event = Annotated[
    SceneOpened
    | SpeakerChosen
    | Spoken
    | Auditioned
    | Recalled
    | Influenced
    | Outcome
    | StateChanged
    | EnvironmentChanged
    | BeliefsUpdated
    | ImportanceRated
    | Reflected
    | Fault
    | SceneClosed,
    Field(discriminator="event"),
]
