"""A scene: where a character is played."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field, model_validator

from screentest.pools.character import Character, Identifier, Language
from screentest.pools.line import Line


class Situation(BaseModel):
    """When and where a scene is set, and what is going on."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    time: str = ""
    place: str = ""
    description: str = ""


class Scene(BaseModel):
    """``s = <B, M, D_orig, C_scene>`` (FURINA §3.2).

    Attributes:
        id: File-safe identifier, unique in its pool.
        language: The language it is written in.
        title: For people to tell scenes apart; shown to no model.
        world: The world's rules and mood, wider than this scene (part of ``B``).
        situation: Time, place and what is going on (part of ``B``).
        cast: The scene characters ``C_scene``, names unique.
        motivations: Name of a cast member to what drives them here (``M``). May be incomplete.
        script: The original dialogue ``D_orig``; speakers outside the cast (a crowd, a stage direction) may occur.
        source: The work it comes from.
        licence: The licence of this record.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: Identifier
    language: Language
    title: str = ""
    world: str = ""
    situation: Situation = Situation()
    cast: tuple[Character, ...] = Field(min_length=1)
    motivations: dict[str, str] = Field(default_factory=dict)
    script: tuple[Line, ...] = ()
    source: str = ""
    licence: str = ""

    @model_validator(mode="after")
    def _names_fit(self) -> Scene:
        names = [character.name for character in self.cast]
        if len(set(names)) != len(names):
            raise ValueError(f"two cast members share a name: {sorted(n for n in set(names) if names.count(n) > 1)}")
        if strangers := sorted(set(self.motivations) - set(names)):
            raise ValueError(f"a motivation for someone who is not in the cast: {strangers}")
        return self
