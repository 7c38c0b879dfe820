"""A finding: something to change, in one line."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict


class Finding(BaseModel):
    """One thing the doctor found.

    Attributes:
        where: The field of the configuration.
        weight: ``problem`` must be changed, ``advice`` may be.
        what: What is the matter.
        change: What to do about it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    where: str
    weight: Literal["problem", "advice"]
    what: str
    change: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}: {self.change}"


def problem(where: str, what: str, change: str) -> Finding:
    """Something that must be changed."""
    return Finding(where=where, weight="problem", what=what, change=change)


def advice(where: str, what: str, change: str) -> Finding:
    """Something that may be changed."""
    return Finding(where=where, weight="advice", what=what, change=change)
