"""Opening a game's directory: who plays where, frozen when it begins, and the journal of every model call."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from screentest.builders.config import Config
from screentest.builders.embedding import embedder
from screentest.builders.game.game import Game, Production
from screentest.builders.identity import config_file, freeze, frozen, growing, identity
from screentest.builders.reading import load_config
from screentest.errors import InputError
from screentest.llms import Meter
from screentest.pools import Character, Pool, Scene
from screentest.prompts import prompts_digest
from screentest.sim import Players, Session, locked, open_run

_STAGE, _PART = "game", "game.json"
_RULES = ("staging", "turns", "min_turns", "in_a_row", "min_rounds", "narrator", "memory", "beliefs")


@dataclass(frozen=True, slots=True)
class Seat:
    """A place in a scene's cast, for a person to take.

    Attributes:
        scene: The scene.
        me: The character that the person plays.
    """

    scene: Scene
    me: Character


def take_seat(pool: Pool, scene_id: str, name: str) -> Seat:
    """Find a seat.

    Args:
        pool: Where the scene is.
        scene_id: The scene.
        name: The character's name or id.

    Raises:
        InputError: There is no such scene, or nobody of that name in it.
    """
    scene = pool[scene_id]
    for member in scene.cast:
        if name.casefold() in (member.name.casefold(), member.id):
            return Seat(scene, member)
    names = [member.name for member in scene.cast]
    close = get_close_matches(name, names, n=1)
    raise InputError(
        f"there is no {name!r} in {scene_id}" if name else "whom do you play?",
        where="--as",
        why=f"its cast is {', '.join(names)}",
        hint=f"did you mean {close[0]}?" if close else "",
    )


def began(directory: Path) -> tuple[str, str, Config] | None:
    """The scene's id, the person's character and the configuration of the game in a directory; ``None`` without one.

    Raises:
        InputError: What was frozen there is damaged.
    """
    if (identity := frozen(directory, _STAGE)) is None:
        return None
    return identity["scene"], identity["as"], load_config(config_file(directory, _STAGE))


def game_cast(config: Config) -> dict[str, str]:
    """Part to model label, of the parts that models play in a game."""
    roles, rules = config.roles, config.rules
    parts = {"scene": roles.scene}
    if rules.staging == "dialogue":
        parts["director"] = roles.director
    if rules.narrator:
        parts["narrator"] = roles.narrator
    if rules.memory and config.embeddings:
        parts["embeddings"] = config.embeddings
    return parts


@asynccontextmanager
async def open_game(
    directory: Path, config: Config, seat: Seat, *, session: Session | None = None, meter: Meter | None = None
) -> AsyncIterator[Game]:
    """Open a game, or go on with one.

    Args:
        directory: The game's directory; made if need be.
        config: Names the models, and says how the scene is played.
        seat: Who plays where.
        session: How to work on it; by default, calls that failed are made again.
        meter: Counts calls and tokens.

    Raises:
        InputError: The game began with other settings, something else is in the directory, or a key is missing.
        RunLocked: Another process is playing it.
    """
    _check(directory)
    cast = game_cast(config)
    specs = {label: config.models[label] for label in sorted({*cast.values()})}
    with locked(directory):
        async with open_run(directory, specs, session or Session(retry_failed=True), meter or Meter()) as run:
            _freeze(directory, config, seat, cast)
            scene = run.models[cast["scene"]]
            production = Production(
                scene=seat.scene,
                me=seat.me,
                rules=config.rules,
                seed=config.seed,
                models=Players(
                    director=run.models[cast.get("director", cast["scene"])],
                    scene=scene,
                    source=scene,
                    base=scene,
                    judge=scene,
                    narrator=run.models[cast["narrator"]] if "narrator" in cast else None,
                ),
                embedder=embedder(config, run.models),
            )
            game = Game(production, directory / _PART)
            try:
                yield game
            finally:
                await game.close()


def _check(directory: Path) -> None:
    others = [file.name for file in directory.glob("*.identity.json") if file.name != f"{_STAGE}.identity.json"]
    if others:
        why = f"the directory holds another run: {sorted(others)[0]}"
        raise InputError("will not play in it", where=str(directory), why=why, hint="name another --run directory")


def _freeze(directory: Path, config: Config, seat: Seat, cast: dict[str, str]) -> None:
    try:
        freeze(directory, _STAGE, _identity(config, seat, cast), config.relative_to(directory))
    except InputError as error:
        before = frozen(directory, _STAGE) or {}
        if (before.get("scene"), before.get("as")) == (seat.scene.id, seat.me.name):
            what, hint = (
                "this game began with other settings",
                "undo the change, or begin anew in another --run directory",
            )
            if config.rules.rounds < before["rules"]["rounds"]:
                hint = f"rounds may only be raised; {hint}"
        else:
            other = f"{before.get('as')} in {before.get('scene')}"
            what = "another game is here"
            hint = f"`screentest play --run {directory}` goes on with {other}; or name another --run directory"
        raise InputError(what, where=str(directory), why=error.why, hint=hint) from None


def _identity(config: Config, seat: Seat, cast: dict[str, str]) -> dict[str, Any]:
    rules = {name: getattr(config.rules, name) for name in _RULES}
    return {
        "scene": seat.scene.id,
        "as": seat.me.name,
        "script": hashlib.sha256(seat.scene.model_dump_json().encode()).hexdigest()[:16],
        "seed": config.seed,
        "rules": {**rules, "rounds": growing(config.rules.rounds)},
        "memory": identity(config.memory),
        "models": {part: config.models[label].identity() for part, label in cast.items()},
        "prompts": prompts_digest(),
    }
