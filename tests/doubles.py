"""Models that need no network, and a small scene for them to play."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

from screentest.llms import Model, Reply, Request
from screentest.pools import Beliefs, Character, Line, Scene, Situation
from screentest.randomness import generator
from screentest.sim import Event, Players

Answer = Callable[[Request], str]


class Improviser:
    """A model that answers every purpose of a scene with something valid, drawn from the request's own seed.

    Args:
        name: Its label.
        answers: What to answer instead, by purpose, e.g. ``{"judge.pairwise": lambda request: ...}``.

    Attributes:
        requests: What it was asked, in order.
        answers: What it answers to a purpose instead.
    """

    def __init__(self, name: str = "improviser", answers: dict[str, Answer] | None = None) -> None:
        self.name = name
        self.requests: list[Request] = []
        self.answers = dict(answers or {})

    async def reply(self, request: Request) -> Reply:
        """Answer at once."""
        self.requests.append(request)
        text = self.answers.get(request.purpose, improvised)(request)
        return Reply(text=text, finish="stop", model=self.name, cost=0.0)


def improvised(request: Request) -> str:
    """Something valid for the request's purpose."""
    draw = generator(request.seed, request.key)
    match request.purpose:
        case "direct":
            return json.dumps({"reason": "why not", "speaker": draw.choice(request.facts["speakers"]), "end": False})
        case "judge.dimension":
            return chooses(draw.choice(request.facts["dimensions"]).id)
        case "judge.pairwise":
            return rates(draw.randint(1, 5))
        case "filter":
            return json.dumps({"reason": "lively", "grade": "high"})
        case "narrate.influence":
            target = draw.choice([None, *request.facts["people"]])
            return json.dumps({"influence": f"it comes to {draw.randrange(10**9)}", "target": target})
        case "narrate.resolve":
            moved = [draw.choice(list(request.facts["people"]))] if draw.random() < 0.4 else []
            changes = [placed(one, f"by pillar {draw.randrange(10**9)}") for one in moved]
            return resolves(f"Dust falls on {draw.randrange(10**9)}.", *changes, minutes=draw.randrange(9))
        case "mind.believe":
            return json.dumps({part: f"{part} {draw.randrange(10**9)}" for part in Beliefs.model_fields})
        case "mind.weigh":
            count = len(request.facts["memories"])
            return json.dumps({"ratings": [{"memory": n + 1, "importance": draw.randint(1, 10)} for n in range(count)]})
        case "mind.reflect":
            return json.dumps({"reflection": f"it all was {draw.randrange(10**9)}", "importance": draw.randint(1, 10)})
        case _:
            return f"(turns) It is {draw.randrange(10**9)} now."


def directs(speaker: str | None, *, end: bool = False) -> str:
    """A director's reply."""
    return json.dumps({"reason": "it is time", "speaker": speaker, "end": end})


def chooses(dimension: str) -> str:
    """A judge's choice of a dimension."""
    return json.dumps({"reason": "it suits", "dimension": dimension})


def rates(score: int) -> str:
    """A judge's rating, on the scale from A to B."""
    return json.dumps({"explanation": f"worth a {score}", "score": score})


def influences(target: str | None, influence: str = "it shakes them") -> str:
    """A narrator's word on whom a deed affects, by id."""
    return json.dumps({"influence": influence, "target": target})


def placed(character: str, position: str, *, state: str = "calm", present: bool = True) -> dict[str, Any]:
    """Where and how a character is now, as :func:`resolves` takes it; by id."""
    return {"character": character, "position": position, "state": state, "present": present}


def resolves(
    outcome: str,
    *changes: dict[str, Any],
    minutes: int = 1,
    environment: dict[str, str] | None = None,
    concluded: bool = False,
) -> str:
    """A narrator's word on what comes of a deed."""
    told = {"outcome": outcome, "minutes": minutes, "changes": changes, "environment": environment}
    return json.dumps({**told, "concluded": concluded})


class Wrapped:
    """A model around another one, under its name; does what ``before`` does, then passes the request on."""

    def __init__(self, model: Model, before: Callable[[Request], Any]) -> None:
        self._model, self._before = model, before

    @property
    def name(self) -> str:
        """The wrapped model's label."""
        return self._model.name

    async def reply(self, request: Request) -> Reply:
        """Answer, unless ``before`` raises."""
        waits = self._before(request)
        if waits is not None:
            await waits
        return await self._model.reply(request)


@dataclass
class Troupe:
    """One improviser per part, so that a test can look at who was asked what."""

    director: Improviser = field(default_factory=lambda: Improviser("director"))
    scene: Improviser = field(default_factory=lambda: Improviser("scene"))
    source: Improviser = field(default_factory=lambda: Improviser("source"))
    base: Improviser = field(default_factory=lambda: Improviser("base"))
    judge: Improviser = field(default_factory=lambda: Improviser("judge"))
    narrator: Improviser = field(default_factory=lambda: Improviser("narrator"))

    @property
    def players(self) -> Players:
        """The models, by part."""
        return Players(**{part: getattr(self, part) for part in Players.__dataclass_fields__})

    @property
    def requests(self) -> list[Request]:
        """What anybody was asked."""
        models: list[Improviser] = [getattr(self, part) for part in Troupe.__dataclass_fields__]
        return [request for model in models for request in model.requests]

    def wrapped(self, before: Callable[[Request], Any]) -> Players:
        """The players, each around ``before``."""
        players = self.players
        return Players(**{part: Wrapped(getattr(players, part), before) for part in Players.__dataclass_fields__})


def troupe(**answers: Answer) -> Troupe:
    """A troupe in which everybody answers the purposes named (``judge_pairwise`` for ``judge.pairwise``) as told."""
    told = {purpose.replace("_", "."): answer for purpose, answer in answers.items()}
    return Troupe(**{part: Improviser(part, told) for part in Troupe.__dataclass_fields__})


def character(name: str, **private: str) -> Character:
    """A synthesized character with a public trade."""
    return Character.model_validate(
        {
            "name": name,
            "language": "en",
            "kind": "synthesized",
            "public": {"trade": f"{name}'s trade"},
            "private": private,
        }
    )


def stage(*names: str) -> Scene:
    """A scene with this cast, everybody with a secret, motivations and a script with thoughts."""
    names = names or ("Ada", "Ben", "Cyn")
    return Scene(
        id="mill",
        language="en",
        title="title-unseen",
        world="A valley of mills.",
        situation=Situation(time="Noon", place="The mill", description="The wheel has stopped."),
        cast=tuple(character(name, secret=f"secret-of-{name}") for name in names),
        motivations={name: f"motive-of-{name}" for name in names},
        script=tuple(
            Line(speaker=name, text=f"script-of-{name}", thought=f"script-thought-of-{name}") for name in names
        ),
    )


def heroine() -> Character:
    """The test character."""
    return character("Vera", secret="secret-of-Vera")


def prompt(request: Request) -> str:
    """All text of a prompt."""
    return "\n".join(message.content for message in request.messages)


async def collected(stream: AsyncIterator[Event]) -> list[Event]:
    """All events of a stream."""
    return [event async for event in stream]


def played(stream: AsyncIterator[Event]) -> list[Event]:
    """All events of a stream, from outside any loop."""
    return asyncio.run(collected(stream))
