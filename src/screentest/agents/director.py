"""The director: who speaks next, or that the scene ends (FURINA §3.3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, Self

from pydantic import BaseModel, create_model, model_validator

from screentest.llms import Model, Request, ask
from screentest.pools import View
from screentest.prompts import fence, render
from screentest.randomness import Place


@dataclass(frozen=True, slots=True)
class Direction:
    """A decision: the next speaker's name, or ``None`` for the end of the scene, and why."""

    speaker: str | None
    reason: str


class _MayEnd(BaseModel):
    @model_validator(mode="after")
    def _speaks_or_ends(self) -> Self:
        if not getattr(self, "end") and getattr(self, "speaker") is None:  # noqa: B009
            raise ValueError("name a speaker, or set end to true")
        return self


@lru_cache(maxsize=1024)
def _schema(speakers: tuple[str, ...], may_end: bool) -> type[BaseModel]:
    names: Any = Literal[speakers]
    if not may_end:
        return create_model("Direction", reason=(str, ...), speaker=(names, ...))
    someone: Any = names | None
    return create_model("Direction", __base__=_MayEnd, reason=(str, ...), end=(bool, ...), speaker=(someone, ...))


@dataclass(frozen=True, slots=True)
class Director:
    """Decides who speaks next.

    Attributes:
        model: The directing model.
    """

    model: Model

    async def direct(
        self,
        view: View,
        *,
        speakers: tuple[str, ...],
        spoken: Mapping[str, int],
        may_end: bool,
        turn: int,
        turns: int,
        place: Place,
    ) -> Direction:
        """Choose the next speaker.

        Args:
            view: What the director may see.
            speakers: Who may speak next.
            spoken: Name to number of lines so far, those that are no longer shown included.
            may_end: Whether the scene may end here.
            turn: The number of the turn to come, from 1.
            turns: The most turns the scene may have.
            place: Where in the run this happens.

        Raises:
            CallError: The model could not be reached.
            BadReply: Its reply cannot be used.
        """
        place /= "direct"
        reply = await ask(
            self.model,
            Request(
                messages=render(
                    "director",
                    view.language,
                    view=view,
                    speakers=speakers,
                    may_end=may_end,
                    spoken={profile.name: spoken.get(profile.name, 0) for profile in view.others},
                    turn=turn,
                    turns=turns,
                    fence=fence(str(place.run_seed), *view.texts()),
                ),
                purpose="direct",
                key=place.path,
                seed=place.seed,
                language=view.language,
                schema=_schema(speakers, may_end),
                facts={"view": view, "speakers": speakers, "may_end": may_end},
            ),
        )
        choice: Any = reply.parsed
        ends = may_end and choice.end
        return Direction(speaker=None if ends else choice.speaker, reason=choice.reason)
