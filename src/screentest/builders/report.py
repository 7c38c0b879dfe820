"""Reports: what a build came to, every count of which reconciles."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class CellReport(BaseModel):
    """What one cell (test character × source model) came to.

    Attributes:
        character: The test character's id.
        name: The test character's name.
        source: The source model's label.
        scenes: Conversations played.
        failed: Conversations that ended in a fault.
        kept: Items per dimension.
        assigned: Test utterances the judge assigned to each dimension.
        emphasised: Test utterances played under each dimension's strategy.
        shortfall: Items missing per dimension; empty when the quota is met.
        stopped: Why the cell ended.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    character: str
    name: str
    source: str
    scenes: int
    failed: int
    kept: dict[str, int]
    assigned: dict[str, int]
    emphasised: dict[str, int]
    shortfall: dict[str, int]
    stopped: str


class BuildReport(BaseModel):
    """What a build came to. ``conversations = kept + graded_low + ungraded + failed``, and every audition is accounted
    for: ``auditions = items + flagged + ties + lost + in_conversations_not_kept``.

    Attributes:
        conversations: Conversations played.
        kept: Graded high.
        graded_low: Graded moderate or poor.
        ungraded: Finished, but without a line worth keeping, so that the filter was not asked.
        failed: Ended in a fault.
        faults: Faults by kind.
        auditions: The test character's turns.
        items: Auditions that became items.
        flagged: Auditions with a formatting fault, put up for review.
        ties: Auditions scored 3, or between 2 and 3 over two orders, in kept conversations.
        lost: Auditions that the base won, in kept conversations.
        in_conversations_not_kept: Auditions of conversations that were not kept.
        skipped_scenes: Scenes no test character could enter, by reason.
        cells: One report per cell.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    conversations: int
    kept: int
    graded_low: int
    ungraded: int
    failed: int
    faults: dict[str, int]
    auditions: int
    items: int
    flagged: int
    ties: int
    lost: int
    in_conversations_not_kept: int
    skipped_scenes: dict[str, int]
    cells: tuple[CellReport, ...]
