"""The narrator: adjudicates what deeds do to people and place (CharacterBox §3.2, App. D.1)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, Self

from pydantic import BaseModel, Field, create_model, field_validator, model_validator

from screentest.llms import Message, Model, Request, Sampling, ask
from screentest.pools import Language, Line, Situation, Standing, View
from screentest.pools.line import OneLine, Words
from screentest.prompts import fence, render
from screentest.randomness import Place

NARRATOR: dict[Language, str] = {"en": "Narrator", "zh": "旁白"}
"""Under which name the narrator's lines stand in a history; no character of a narrated scene may have it."""

_LONGEST = 24 * 60
_STEADY = Sampling(temperature=0.0)


@dataclass(frozen=True, slots=True)
class Influence:
    """Whom a deed affects most (``c_r``; ``None`` for nobody) and how (``f_r``)."""

    target: str | None
    influence: str


@dataclass(frozen=True, slots=True)
class Change:
    """Where and how a character is now."""

    character: str
    standing: Standing


@dataclass(frozen=True, slots=True)
class Resolution:
    """What came of a deed.

    Attributes:
        outcome: What happened, as all who are there perceive it.
        minutes: How much story time passed.
        changes: Who is elsewhere or otherwise now.
        situation: Time, place and description, if they changed.
        concluded: Whether the story's matter is settled.
    """

    outcome: str
    minutes: int
    changes: tuple[Change, ...]
    situation: Situation | None
    concluded: bool


class _Scenery(BaseModel):
    time: OneLine
    place: OneLine
    description: OneLine

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if not (self.time or self.place or self.description):
            raise ValueError("it is empty; write null if nothing changed")
        return self


class _Resolved(BaseModel):
    @field_validator("changes", check_fields=False)
    @classmethod
    def _once_each(cls, changes: list[Any]) -> list[Any]:
        ids = [change.character for change in changes]
        if twice := sorted({name for name in ids if ids.count(name) > 1}):
            raise ValueError(f"a character is changed twice: {', '.join(twice)}")
        return changes


@lru_cache(maxsize=1024)
def _influenced(ids: tuple[str, ...]) -> type[BaseModel]:
    one: Any = Literal[ids]
    someone: Any = one | None
    return create_model("Influence", influence=(Words, ...), target=(someone, ...))


@lru_cache(maxsize=1024)
def _resolved(ids: tuple[str, ...]) -> type[BaseModel]:
    one: Any = Literal[ids]
    change = create_model(
        "Change", character=(one, ...), position=(Words, ...), state=(Words, ...), present=(bool, ...)
    )
    changes: Any = list[change]
    return create_model(
        "Resolution",
        __base__=_Resolved,
        outcome=(Words, ...),
        minutes=(int, Field(ge=0, le=_LONGEST)),
        changes=(changes, ...),
        environment=(_Scenery | None, ...),
        concluded=(bool, ...),
    )


@dataclass(frozen=True, slots=True)
class Matter:
    """What the narrator is asked.

    Attributes:
        name: ``influence`` or ``resolve``.
        facts: What the prompt is filled in with.
    """

    name: Literal["influence", "resolve"]
    facts: dict[str, Any]

    @classmethod
    def influence(cls, view: View, deed: Line, *, present: tuple[str, ...]) -> Matter:
        """Whom a deed affects most, of those who may be affected; see :meth:`Narrator.influence`."""
        people = {profile.id: profile.name for profile in view.others if profile.name in present}
        return cls("influence", {"view": view, "deed": _seen(deed), "people": people})

    @classmethod
    def resolve(cls, view: View, deed: Line, reaction: Line | None) -> Matter:
        """What comes of a deed; see :meth:`Narrator.resolve`."""
        people = {profile.id: profile.name for profile in view.others}
        told = {"deed": _seen(deed), "reaction": reaction and _seen(reaction)}
        return cls("resolve", {"view": view, **told, "people": people})

    @property
    def view(self) -> View:
        """What the narrator may see."""
        return self.facts["view"]

    @property
    def people(self) -> dict[str, str]:
        """Id to name of those it may name."""
        return self.facts["people"]

    def prompt(self, run_seed: int) -> tuple[Message, ...]:
        """What the model is asked."""
        mark = fence(str(run_seed), *self.view.texts())
        return render(f"narrator_{self.name}", self.view.language, fence=mark, **self.facts)


@dataclass(frozen=True, slots=True)
class Narrator:
    """Says whom a deed affects, and what comes of it. Characters are named by their ids, never by free text.

    Attributes:
        model: The narrating model.
    """

    model: Model

    async def influence(self, view: View, deed: Line, *, present: tuple[str, ...], place: Place) -> Influence:
        """Whom a deed affects most.

        Args:
            view: What the narrator may see; the deed is the last line of its history.
            deed: What was done and said; a thought in it is left out.
            present: The names of those who may be affected, the actor not among them.
            place: Where in the run this happens.

        Raises:
            CallError: The model could not be reached.
            BadReply: Its reply cannot be used, for instance since it names nobody of that id.
        """
        matter = Matter.influence(view, deed, present=present)
        people = matter.people
        reply: Any = await self._ask(matter, _influenced(tuple(people)), place)
        return Influence(reply.target and people[reply.target], reply.influence)

    async def resolve(self, view: View, deed: Line, reaction: Line | None, *, place: Place) -> Resolution:
        """What comes of a deed, and of the reaction to it.

        Args:
            view: What the narrator may see; deed and reaction are the last lines of its history.
            deed: What was done and said; a thought in it is left out.
            reaction: What was done and said in answer.
            place: Where in the run this happens.

        Raises:
            CallError: The model could not be reached.
            BadReply: Its reply cannot be used, for instance since it names nobody of that id.
        """
        matter = Matter.resolve(view, deed, reaction)
        people = matter.people
        reply: Any = await self._ask(matter, _resolved(tuple(people)), place)
        scenery: _Scenery | None = reply.environment
        return Resolution(
            outcome=reply.outcome,
            minutes=reply.minutes,
            changes=tuple(
                Change(
                    people[change.character],
                    Standing(position=change.position, state=change.state, present=change.present),
                )
                for change in reply.changes
            ),
            situation=scenery and Situation(**scenery.model_dump()),
            concluded=reply.concluded,
        )

    async def _ask(self, matter: Matter, schema: type[BaseModel], place: Place) -> BaseModel | None:
        place /= f"narrate.{matter.name}"
        reply = await ask(
            self.model,
            Request(
                messages=matter.prompt(place.run_seed),
                purpose=f"narrate.{matter.name}",
                key=place.path,
                seed=place.seed,
                language=matter.view.language,
                sampling=_STEADY,
                schema=schema,
                facts=matter.facts,
            ),
        )
        return reply.parsed


def _seen(line: Line) -> Line:
    return line.model_copy(update={"thought": ""})
