"""What is remembered, and what is recalled of it."""

from __future__ import annotations

from typing import Annotated, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, field_validator

Kind = Literal["did", "saw", "told", "reflected"]
KINDS: tuple[Kind, ...] = get_args(Kind)

Count = Annotated[int, Field(ge=0, le=2**53)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


class Memory(BaseModel):
    """One thing that a character remembers.

    Attributes:
        id: From 0 in the order made; never used again.
        kind: What the character ``did`` or said itself, ``saw`` (perceived), was ``told`` by the narrator, or
            ``reflected``: a summary that may stand for other memories.
        text: One line.
        turn: The turn it is from.
        minutes: Story time since the scene opened, in minutes.
        importance: From 0 to 1.
        sources: The memories that a reflection took the place of, reflections among them
            (:meth:`screentest.agents.memory.Memories.origins` follows them to the end).
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: Count
    kind: Kind
    text: str
    turn: Count
    minutes: Count
    importance: Share
    sources: tuple[Count, ...] = ()

    @field_validator("text")
    @classmethod
    def _is_one_line(cls, text: str) -> str:
        if len(text.splitlines()) != 1 or not text.strip():
            raise ValueError("must be one line of text")
        return text


class Recollection(BaseModel):
    """A memory that came to mind, and why.

    Attributes:
        memory: The memory.
        score: What it was ranked by (see :class:`screentest.agents.memory.Weights`).
        relevance: How near it is to what was asked, from 0 to 1.
        recency: How fresh it is, from 0 to 1.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    memory: Memory
    score: float
    relevance: float
    recency: float


def one_line(text: str) -> str:
    """``text`` on one line, as a memory holds it; half surrogate pairs become question marks."""
    return " ".join(text.encode("utf-8", "replace").decode().split())
