"""What the understudy reads of a request's facts: only shapes, so that this floor imports nothing from above."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, cast

from screentest.errors import Rejected
from screentest.llms.model import Request


class LineLike(Protocol):
    """One utterance."""

    @property
    def speaker(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def speech(self) -> str: ...


class ProfileLike(Protocol):
    """The readable part of a character."""

    @property
    def name(self) -> str: ...
    @property
    def attributes(self) -> Mapping[str, str]: ...


class SituationLike(Protocol):
    """When, where, and what is going on."""

    @property
    def time(self) -> str: ...
    @property
    def place(self) -> str: ...
    @property
    def description(self) -> str: ...


class ViewLike(Protocol):
    """All that one participant may see."""

    @property
    def language(self) -> str: ...
    @property
    def world(self) -> str: ...
    @property
    def situation(self) -> SituationLike: ...
    @property
    def me(self) -> ProfileLike | None: ...
    @property
    def others(self) -> Sequence[ProfileLike]: ...
    @property
    def history(self) -> Sequence[LineLike]: ...
    @property
    def motivations(self) -> Mapping[str, str]: ...
    @property
    def script(self) -> Sequence[LineLike]: ...


class DimensionLike(Protocol):
    """What a line is judged on."""

    @property
    def id(self) -> str: ...
    @property
    def definition(self) -> str: ...


def fact(request: Request, name: str) -> Any:
    """One structured input of ``request``.

    Raises:
        Rejected: The request does not carry it.
    """
    if name not in request.facts:
        raise Rejected(f"the understudy cannot do {request.purpose} without the fact {name!r}")
    return request.facts[name]


def view_of(request: Request) -> ViewLike:
    """The view that ``request`` is about."""
    return cast("ViewLike", fact(request, "view"))
