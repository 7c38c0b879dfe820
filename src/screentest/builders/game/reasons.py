"""Reasons: what led a character to a line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from screentest.agents.memory import Recollection
from screentest.pools import Beliefs
from screentest.sim import BeliefsUpdated, Event, Influenced, Recalled, Spoken


@dataclass(frozen=True, slots=True)
class Reasons:
    """What led a character to a line. Nobody in the scene may know this.

    Attributes:
        spoken: The line, the thought behind it included.
        reacting_to: Whose deed it answers, if it answers one.
        influence: What the narrator told the character that this deed does to it.
        recollections: What had come to its mind, the strongest first.
        beliefs: What it believed, wanted and meant to do then; ``None`` if it had formed no beliefs yet.
    """

    spoken: Spoken
    reacting_to: str | None
    influence: str
    recollections: tuple[Recollection, ...]
    beliefs: Beliefs | None


def reasons(events: Sequence[Event], at: int) -> Reasons:
    """What led to the line that is the event at ``at``."""
    spoken = events[at]
    assert isinstance(spoken, Spoken), "only a line has reasons"  # noqa: S101
    name, earlier = spoken.line.speaker, events[at - 1 :: -1] if at else ()
    own = [one for one in earlier if isinstance(one, Recalled | BeliefsUpdated) and one.character == name]
    influence = next((one for one in earlier if isinstance(one, Influenced)), None)
    if spoken.cue != "reaction":
        influence = None
    return Reasons(
        spoken=spoken,
        reacting_to=influence and influence.actor,
        influence=influence.influence if influence else "",
        recollections=next((one.recollections for one in own if isinstance(one, Recalled)), ()),
        beliefs=next((one.beliefs for one in own if isinstance(one, BeliefsUpdated)), None),
    )
