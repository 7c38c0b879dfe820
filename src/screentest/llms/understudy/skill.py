"""How good an understudy is: how far it looks, and how often it tries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Level = Literal["novice", "adept", "expert"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Skill:
    """What an understudy brings to composing a line. Judging and directing do not depend on it.

    Attributes:
        drafts: How many lines it composes before it picks one.
        span: How many lines back it remembers.
        profile: How many attributes of its own profile it looks at.
        repertoire: The share of frames that it knows, which ones being a habit of the character.
        heed: How often it follows the dimension asked for, instead of making conversation.
        slots: How many found things it can weave into one sentence.
        flourish: How often it adds an action, an opening or a tail.
    """

    drafts: int
    span: int
    profile: int
    repertoire: float
    heed: float
    slots: int
    flourish: float


SKILLS: dict[Level, Skill] = {
    "novice": Skill(drafts=1, span=2, profile=3, repertoire=0.4, heed=0.5, slots=1, flourish=0.3),
    "adept": Skill(drafts=2, span=4, profile=5, repertoire=0.7, heed=0.75, slots=2, flourish=0.35),
    "expert": Skill(drafts=8, span=12, profile=32, repertoire=1.0, heed=1.0, slots=4, flourish=0.45),
}
