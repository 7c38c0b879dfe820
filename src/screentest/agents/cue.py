"""A cue: what kind of line a player is asked for."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

CueKind = Literal["line", "act", "reaction"]


class Cue(BaseModel):
    """What a player is asked for.

    Attributes:
        kind: ``line``: the next line of a dialogue. ``act``: a turn of story play, an action that all can see and,
            if it fits, speech. ``reaction``: the same, in answer to what someone has just done (CharacterBox §3.2).
        influence: What the narrator says that deed does to the player's character; for reactions.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: CueKind = "line"
    influence: str = ""
