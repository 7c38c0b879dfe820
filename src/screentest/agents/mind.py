"""A mind: what a character makes of what it went through (CharacterBox §3.2, App. D.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from pydantic import BaseModel, Field, create_model, field_validator

from screentest.agents.memory import Memory
from screentest.llms import Model, Request, ask
from screentest.pools import Beliefs, View
from screentest.pools.line import Words
from screentest.prompts import render
from screentest.randomness import Place

_MOST = 10


class _Reflection(BaseModel):
    reflection: Words
    importance: int = Field(ge=1, le=_MOST)


class _Ratings(BaseModel):
    @field_validator("ratings", check_fields=False)
    @classmethod
    def _once_each(cls, ratings: list[Any]) -> list[Any]:
        if len({rating.memory for rating in ratings}) < len(ratings):
            raise ValueError("a memory is rated twice")
        return ratings


@lru_cache(maxsize=64)
def _ratings(count: int) -> type[BaseModel]:
    number: Any = Literal[tuple(range(1, count + 1))]
    rating = create_model("Rating", memory=(number, ...), importance=(int, Field(ge=1, le=_MOST)))
    ratings: Any = list[rating]
    return create_model("Ratings", __base__=_Ratings, ratings=(ratings, Field(min_length=count)))


@dataclass(frozen=True, slots=True)
class Reflection:
    """What remains of several memories, and how much it matters, 0 to 1."""

    text: str
    importance: float


@dataclass(frozen=True, slots=True)
class Mind:
    """Forms a character's beliefs, weighs its memories and draws them together.

    Attributes:
        model: The model that thinks.
    """

    model: Model

    async def believe(self, view: View, *, place: Place) -> Beliefs:
        """Self-belief (belief, desire, intention) and environment belief, both renewed in one call.

        Args:
            view: What the character may see, its former beliefs and what came to its mind included.
            place: Where in the run this happens.

        Raises:
            CallError: The model could not be reached.
            BadReply: Its reply cannot be used.
        """
        return Beliefs.model_validate(await self._ask("beliefs", "believe", view, Beliefs, place))

    async def weigh(self, view: View, memories: Sequence[Memory], *, place: Place) -> tuple[tuple[int, float], ...]:
        """How much each of several new memories matters to the character, judged in one call.

        Args:
            view: What the character may see.
            memories: The memories.
            place: Where in the run this happens.

        Returns:
            Pairs of a memory's id and its importance, 0.1 to 1.

        Raises:
            CallError: The model could not be reached.
            BadReply: Its reply cannot be used, or does not rate each memory once.
        """
        schema = _ratings(len(memories))
        reply: Any = await self._ask("importance", "weigh", view, schema, place, memories=tuple(memories))
        return tuple(sorted((memories[one.memory - 1].id, one.importance / _MOST) for one in reply.ratings))

    async def reflect(self, view: View, memories: Sequence[Memory], *, place: Place) -> Reflection:
        """Draw several memories together into one that can stand for them.

        Args:
            view: What the character may see.
            memories: The memories, the oldest first.
            place: Where in the run this happens.

        Raises:
            CallError: The model could not be reached.
            BadReply: Its reply cannot be used.
        """
        reply: Any = await self._ask("reflection", "reflect", view, _Reflection, place, memories=tuple(memories))
        return Reflection(reply.reflection, reply.importance / _MOST)

    async def _ask(
        self, template: str, purpose: str, view: View, schema: type[BaseModel], place: Place, **material: Any
    ) -> BaseModel | None:
        place = place / f"mind.{purpose}"
        reply = await ask(
            self.model,
            Request(
                messages=render(template, view.language, view=view, **material),
                purpose=f"mind.{purpose}",
                key=place.path,
                seed=place.seed,
                language=view.language,
                schema=schema,
                facts={"view": view, **material},
            ),
        )
        return reply.parsed
