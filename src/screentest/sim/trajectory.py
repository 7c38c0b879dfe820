"""A trajectory: everything that happened in one played scene."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable

from pydantic import BaseModel, ConfigDict

from screentest.errors import Stopped
from screentest.judges import Grade
from screentest.sim.events import Auditioned, Event, Fault, SceneClosed, SpeakerChosen, Spoken

logger = logging.getLogger(__name__)


class Trajectory(BaseModel):
    """The events of one conversation, in order, with what it was played from.

    Attributes:
        conversation: The conversation's key.
        scene: The scene's id.
        character: The test character's id.
        source: The source model's label.
        counts: How often each dimension was assigned before it began.
        events: What happened.
        grade: What the filter makes of the dialogue; ``None`` when it was not asked, for there was nothing to keep.
        grade_reason: The filter's reason.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    conversation: str
    scene: str
    character: str
    source: str
    counts: dict[str, int]
    events: tuple[Event, ...]
    grade: Grade | None = None
    grade_reason: str = ""

    @property
    def faults(self) -> tuple[Fault, ...]:
        """What failed in it."""
        return tuple(event for event in self.events if isinstance(event, Fault))

    @property
    def auditions(self) -> tuple[Auditioned, ...]:
        """The test character's turns."""
        return tuple(event for event in self.events if isinstance(event, Auditioned))

    @property
    def lines(self) -> tuple[Spoken, ...]:
        """The lines that entered the history."""
        return tuple(event for event in self.events if isinstance(event, Spoken))


async def record(
    stream: AsyncIterator[Event], conversation: str, watch: Callable[[Event], None] | None = None
) -> tuple[Event, ...]:
    """Collect a stream of events; whatever goes wrong in it becomes a fault at its end.

    One conversation must never take another one down, so that an error nobody foresaw is logged with its traceback
    and recorded as a fault of kind ``internal``.

    Args:
        stream: The events of :func:`screentest.sim.play`.
        conversation: The conversation's key, for the log.
        watch: Called with each event as it comes, but not with the end of a stream that broke.

    Returns:
        All events, the last one a :class:`SceneClosed`.

    Raises:
        Stopped: The whole run must stop.
    """
    events: list[Event] = []
    try:
        async for event in stream:
            events.append(event)
            if watch is not None:
                watch(event)
    except Stopped:
        raise
    except Exception as error:
        logger.exception("%s: unexpected error", conversation)
        events = [event for event in events if not isinstance(event, SceneClosed)]
        turns = sum(isinstance(event, Spoken) for event in events)
        turn = max((event.turn for event in events if isinstance(event, SpeakerChosen)), default=0)
        events.append(Fault(turn=turn, kind="internal", detail=f"{type(error).__name__}: {error}"))
        events.append(SceneClosed(reason="fault", turns=turns))
    return tuple(events)
