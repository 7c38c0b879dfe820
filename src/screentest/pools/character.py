"""A character: who is played."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from screentest.pools.line import Name

Language = Literal["en", "zh"]
LANGUAGES: tuple[Language, ...] = ("en", "zh")
Visibility = Literal["public", "private"]
Identifier = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,79}$")]


def identifier(name: str, *parts: str) -> str:
    """A file-safe, stable identifier: an ASCII slug of ``name`` where it has one, and a hash of everything given."""
    ascii_name = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    slug = re.sub(r"[^a-z0-9]+", "-", ascii_name).strip("-")[:40]
    digest = hashlib.sha256("\x1f".join([name, *parts]).encode()).hexdigest()[:8]
    return f"{slug}-{digest}" if slug else digest


class Attribute(BaseModel):
    """One trait of a profile: key, value, and who may know it (FURINA §3.1)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    key: str
    value: str
    visibility: Visibility


class Character(BaseModel):
    """Who is played: ``c = {(key, value, public | private)}`` (FURINA §3.1).

    Attributes:
        id: File-safe identifier; made from name and language when not given.
        name: As other characters address them.
        language: The language the profile is written in and the character speaks.
        kind: ``established`` (from a known work) or ``synthesized`` (original).
        public: What everybody may know, key to value, in the order to be shown.
        private: What only the character knows.
        source: The work they come from, or who made them.
        licence: The licence of this profile.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: Identifier
    name: Name
    language: Language
    kind: Literal["established", "synthesized"]
    public: dict[str, str] = Field(default_factory=dict)
    private: dict[str, str] = Field(default_factory=dict)
    source: str = ""
    licence: str = ""

    @model_validator(mode="before")
    @classmethod
    def _name_the_nameless(cls, data: Any) -> Any:
        if isinstance(data, dict) and "id" not in data and isinstance(data.get("name"), str):
            return {**data, "id": identifier(data["name"], str(data.get("language", "")))}
        return data

    @model_validator(mode="after")
    def _keys_are_unique(self) -> Character:
        if both := sorted(self.public.keys() & self.private.keys()):
            raise ValueError(f"an attribute is both public and private: {', '.join(both)}")
        return self

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        """The profile as triples, public ones first."""
        sides: tuple[tuple[Visibility, dict[str, str]], ...] = (("public", self.public), ("private", self.private))
        return tuple(
            Attribute(key=key, value=value, visibility=visibility)
            for visibility, pairs in sides
            for key, value in pairs.items()
        )
