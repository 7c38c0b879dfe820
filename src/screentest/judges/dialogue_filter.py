"""The dialogue filter: is a whole conversation good enough to take items from? (FURINA App. G)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel

from screentest.llms import Model, Request, Sampling, ask
from screentest.pools import View
from screentest.prompts import fence, render
from screentest.randomness import Place

Grade = Literal["poor", "moderate", "high"]


class Grading(BaseModel):
    """A grade for a dialogue's interaction, coherence and progression, reasons first."""

    reason: str
    grade: Grade


@dataclass(frozen=True, slots=True)
class DialogueFilter:
    """Grades a finished dialogue.

    Attributes:
        model: The grading model.
    """

    model: Model

    async def grade(self, view: View, *, place: Place) -> Grading:
        """Grade the dialogue in ``view``.

        Raises:
            CallError: The model could not be reached.
            BadReply: Its reply cannot be used.
        """
        place /= "filter"
        reply = await ask(
            self.model,
            Request(
                messages=render("filter", view.language, view=view, fence=fence(str(place.run_seed), *view.texts())),
                purpose="filter",
                key=place.path,
                seed=place.seed,
                language=view.language,
                sampling=Sampling(temperature=0.0),
                schema=Grading,
                facts={"view": view},
            ),
        )
        return Grading.model_validate(reply.parsed)
