"""What a character has in mind, and how it stands in a scene: the parts of a view that change as a story goes on."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict

from screentest.pools.line import OneLine, Words


class Beliefs(BaseModel):
    """A character's mind after the BDI model, in the first person (CharacterBox §3.2, App. D.2).

    Attributes:
        belief: How I see myself and my situation.
        desire: What I want, soon and in the end.
        intention: What I mean to do next to get it.
        others: What I make of the others: what they are after, where they stand towards me.
        scene: What I make of the place and of what is going on.
        influence: How both bear on what I do.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    belief: Words
    desire: Words
    intention: Words
    others: Words
    scene: Words
    influence: Words


class Standing(BaseModel):
    """Where a character is and how it is, as far as anyone who is there can see.

    Attributes:
        position: Where exactly.
        state: Its condition.
        present: Whether it is where the scene is played. One who is away neither sees nor is seen.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    position: OneLine
    state: OneLine
    present: bool = True


class Reminder(BaseModel):
    """A memory that came to a character's mind.

    Attributes:
        text: What it remembers.
        ago: How long ago that was, in minutes of story time.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    text: OneLine
    ago: int


@dataclass(frozen=True, slots=True)
class Tie:
    """How near one character is to another.

    Attributes:
        one: A name.
        other: Another name.
        nearness: From 0 (nothing is known between them) to 1 (nobody is nearer to each other).
    """

    one: str
    other: str
    nearness: float
