"""What a person notices of what happens: only what its character's view has gained."""

from __future__ import annotations

from collections.abc import Iterator

from screentest.pools import View
from screentest.sim import (
    EnvironmentChanged,
    Event,
    Fault,
    Outcome,
    SceneClosed,
    SceneOpened,
    SpeakerChosen,
    Spoken,
    StateChanged,
)


def noticed(event: Event, before: View, after: View) -> Iterator[Event]:
    """What a character notices of an event.

    Args:
        event: What happened.
        before: The character's view before it, the whole history in it.
        after: And after it.

    Yields:
        Events that hold nothing but what the view has gained, besides the scene's own frame: that it opens, whose turn
        a round has come to, that it closes, and what failed.
    """
    heard = after.history[len(before.history) :]
    match event:
        case SceneOpened() | SceneClosed() | Fault() | SpeakerChosen(by="round"):
            yield event
        case Spoken() if heard:
            yield event.model_copy(update={"line": heard[0]})
        case Outcome() if heard:
            yield event
        case StateChanged() if after.standings != before.standings:
            yield event
        case _:
            pass
    if after.situation != before.situation:
        yield EnvironmentChanged(turn=getattr(event, "turn", 0), situation=after.situation)
