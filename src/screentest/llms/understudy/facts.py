"""What the understudy reads of a request's facts: only shapes, so that this floor imports nothing from above."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import Field
from typing import Any, ClassVar, Protocol, cast

from screentest.errors import Rejected
from screentest.llms.model import Request


class LineLike(Protocol):
    """One utterance."""

    @property
    def speaker(self) -> str:
        """The name of who says it."""
        ...

    @property
    def text(self) -> str:
        """What everyone perceives: action and speech."""
        ...

    @property
    def speech(self) -> str:
        """What is said, without the action."""
        ...

    @property
    def action(self) -> str:
        """What is done, without the speech."""
        ...


class ProfileLike(Protocol):
    """The readable part of a character."""

    @property
    def name(self) -> str:
        """As others call them."""
        ...

    @property
    def attributes(self) -> Mapping[str, str]:
        """Key to value."""
        ...


class SituationLike(Protocol):
    """When, where, and what is going on."""

    @property
    def time(self) -> str:
        """When."""
        ...

    @property
    def place(self) -> str:
        """Where."""
        ...

    @property
    def description(self) -> str:
        """What is going on."""
        ...


class StandingLike(Protocol):
    """Where and how someone is."""

    @property
    def position(self) -> str:
        """Where exactly."""
        ...

    @property
    def state(self) -> str:
        """Its condition."""
        ...

    @property
    def present(self) -> bool:
        """Whether it is where the scene is played."""
        ...


class BeliefsLike(Protocol):
    """What someone has in mind."""

    @property
    def belief(self) -> str:
        """How it sees itself."""
        ...

    @property
    def desire(self) -> str:
        """What it wants."""
        ...

    @property
    def intention(self) -> str:
        """What it means to do next."""
        ...

    @property
    def others(self) -> str:
        """What it makes of the others."""
        ...

    @property
    def scene(self) -> str:
        """What it makes of the place."""
        ...

    @property
    def influence(self) -> str:
        """How all this bears on what it does."""
        ...


class MemoryLike(Protocol):
    """Something remembered."""

    @property
    def text(self) -> str:
        """What."""
        ...


class CueLike(Protocol):
    """What kind of line is asked for."""

    @property
    def kind(self) -> str:
        """``"line"``, ``"act"`` or ``"reaction"``."""
        ...


class ViewLike(Protocol):
    """All that one participant may see: a dataclass."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    @property
    def language(self) -> str:
        """``"en"`` or ``"zh"``."""
        ...

    @property
    def world(self) -> str:
        """The world the scene is set in."""
        ...

    @property
    def situation(self) -> SituationLike:
        """The scene as it stands."""
        ...

    @property
    def me(self) -> ProfileLike | None:
        """The viewer's own profile, or the judged character's."""
        ...

    @property
    def others(self) -> Sequence[ProfileLike]:
        """Everyone else."""
        ...

    @property
    def history(self) -> Sequence[LineLike]:
        """The lines so far."""
        ...

    @property
    def motivations(self) -> Mapping[str, str]:
        """Name to what drives them."""
        ...

    @property
    def standings(self) -> Mapping[str, StandingLike]:
        """Name to where and how someone is."""
        ...

    @property
    def beliefs(self) -> BeliefsLike | None:
        """What the viewer has in mind."""
        ...

    @property
    def reminders(self) -> Sequence[MemoryLike]:
        """What came to the viewer's mind."""
        ...

    @property
    def script(self) -> Sequence[LineLike]:
        """The original dialogue."""
        ...


class DimensionLike(Protocol):
    """What a line is judged on."""

    @property
    def id(self) -> str:
        """Short name."""
        ...

    @property
    def definition(self) -> str:
        """What a judge should look for."""
        ...


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
