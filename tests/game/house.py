"""Games at a fake provider: one that narrates, and whatever a test wants to have said."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from builders.projects import load_with, served
from doubles import resolves, stage
from fakes import FakeProvider, Says, Seen, improvise
from screentest.builders import Config
from screentest.builders.game import Game, Seat, open_game, take_seat
from screentest.pools import Scene, starter_pool
from screentest.sim import Event, Session

LINES = ("(lifts the latch) Come in.", "(pours) Drink this.", "(sits) I have time.", "(stands) Enough.")


def storied(seen: Seen) -> Says:
    """Improvises, and narrates so that nobody leaves; weighs every memory once."""
    if seen.schema and "ratings" in seen.schema["properties"]:
        count = seen.schema["properties"]["ratings"]["minItems"]
        importances = [seen.generator.randint(1, 10) for _ in range(count)]
        ratings = [{"memory": number, "importance": one} for number, one in enumerate(importances, start=1)]
        return Says(json.dumps({"ratings": ratings}))
    if seen.schema and "outcome" in seen.schema["properties"]:
        return Says(resolves(f"Dust falls on {seen.generator.randrange(10**9)}.", minutes=2))
    if seen.schema and "end" in seen.schema["properties"]:
        return Says(json.dumps({**json.loads(improvise(seen).text or ""), "end": False}))
    if seen.schema is None and player(seen):
        return Says(f"[thought-of-{player(seen)}] (turns) It is {seen.generator.randrange(10**9)} now.")
    return improvise(seen)


def player(seen: Seen) -> str:
    """Who is asked for a line, in a scene in English."""
    found = re.search(r"(?:next line of|turn of|affects) (\w+)", seen.messages[-1][1])
    return found[1] if found else ""


def settings(server: FakeProvider, **build: Any) -> Config:
    """A configuration with one model, at ``server``."""
    return load_with(models=served(server, "gpt"), build={"staging": "story", **build}, seed=3)


def seat(name: str = "Ada", scene: Scene | None = None) -> Seat:
    """A seat in the mill, or in a scene."""
    scene = scene or stage()
    return Seat(scene, next(member for member in scene.cast if member.name == name))


def starter_seat(scene: str, name: str) -> Seat:
    """A seat in the starter pool."""
    return take_seat(starter_pool(), scene, name)


@asynccontextmanager
async def table(
    directory: Path, server: FakeProvider, taken: Seat | None = None, session: Session | None = None, **build: Any
) -> AsyncIterator[Game]:
    """A game, opened; closed at the end."""
    async with open_game(directory, settings(server, **build), taken or seat(), session=session) as game:
        yield game


async def on(game: Game) -> list[Event]:
    """What the person notices until they are asked, or the scene closes."""
    return [event async for event in game.advance()]


async def through(game: Game, *lines: str) -> list[Event]:
    """What the person notices while they give lines, and until they are asked again."""
    noticed = await on(game)
    for line in lines:
        game.say(line)
        noticed += await on(game)
    return noticed


def dumped(events: list[Event]) -> list[dict[str, Any]]:
    """Events as plain data, for comparisons that tell where they differ."""
    return [event.model_dump() for event in events]


def either(first: Callable[[Seen], Says | None], then: Callable[[Seen], Says] = storied) -> Callable[[Seen], Says]:
    """A behaviour that falls back on another."""
    return lambda seen: first(seen) or then(seen)
