"""Watching one scene live."""

from __future__ import annotations

from enum import StrEnum
from itertools import cycle
from pathlib import Path

from rich.padding import Padding
from rich.text import Text

from screentest.builders import Config, enterable
from screentest.cli import tables
from screentest.cli.console import UNDERSTUDY, clean, note, out
from screentest.errors import InputError
from screentest.judges import furina_dimensions, load_dimensions
from screentest.llms import open_models
from screentest.pools import Character, Pool, Scene, load_character, load_characters, starter_pool
from screentest.randomness import generator
from screentest.sim import Auditioned, Event, Fault, Players, SceneClosed, SceneOpened, SpeakerChosen, Spoken, play

_COLOURS = ("cyan", "green", "magenta", "blue", "bright_red", "bright_cyan")
_TEST = "yellow"
_ENDINGS = {
    "director": "the director ended the scene",
    "turn_limit": "the scene reached its turn limit",
    "fault": "the scene was cut short by a fault",
}


class Show(StrEnum):
    """What to show beside the lines."""

    JUDGE = "judge"
    DIRECTOR = "director"
    ALL = "all"


async def perform(
    config: Config,
    *,
    pool: Path | None,
    scene_id: str | None,
    character_id: str | None,
    source: str | None,
    show: Show | None,
    turns: int | None,
) -> None:
    """Play one scene and print it as it happens.

    Args:
        config: Names the models and the defaults.
        pool: A pool directory instead of the configuration's.
        scene_id: The scene; drawn by the seed if ``None``.
        character_id: The test character, by id or as a file; the first who can enter if ``None``.
        source: The source model's label; the first if ``None``.
        show: What to show beside the lines.
        turns: The most lines.

    Raises:
        InputError: Something named does not exist or does not fit.
    """
    opened = Pool.open(pool) if pool else Pool.open(config.pool.path) if config.pool.path else starter_pool()
    test, scene = _choose(config, opened, scene_id, character_id)
    label = source or config.roles.sources[0]
    if label not in config.models:
        raise InputError(f"unknown model {label!r}", where="--source", hint=f"models are: {', '.join(config.models)}")
    roles = config.roles
    dimensions = (
        load_dimensions(config.dimensions, scene.language) if config.dimensions else furina_dimensions(scene.language)
    )
    settings = config.build if turns is None else config.build.model_copy(update={"turns": turns})
    if config.rehearsal:
        note(UNDERSTUDY, "yellow")
    _introduce(scene, test)
    labels = {roles.director, roles.scene, label, roles.base, roles.judge}
    async with open_models({name: config.models[name] for name in labels}) as models:
        players = Players(
            director=models[roles.director],
            scene=models[roles.scene],
            source=models[label],
            base=models[roles.base],
            judge=models[roles.judge],
        )
        stage = _Stage(scene, test, show)
        async for event in play(
            scene, test=test, models=players, seed=config.seed, rules=settings.rules, dimensions=dimensions
        ):
            stage.show(event)


def _choose(config: Config, pool: Pool, scene_id: str | None, character_id: str | None) -> tuple[Character, Scene]:
    candidates = _candidates(config, pool, character_id)
    if scene_id is not None:
        scene = pool[scene_id]
        for test in candidates:
            if test.language == scene.language and test.name not in pool.cast_names(scene_id):
                return test, scene
        why = f"the scene is {scene.language}, its cast {', '.join(pool.cast_names(scene_id))}"
        raise InputError("no such test character can enter the scene", where=scene_id, why=why)
    for test in candidates:
        if scenes := enterable(pool, test):
            return test, pool[generator(config.seed, "simulate").choice(scenes)]
    raise InputError("no test character can enter any scene", where=str(pool.path))


def _candidates(config: Config, pool: Pool, character_id: str | None) -> tuple[Character, ...]:
    if character_id is not None and Path(character_id).suffix in (".yaml", ".yml"):
        return (load_character(Path(character_id)),)
    known = load_characters(config.characters, Path()) if config.characters else pool.characters
    known = known or starter_pool().characters
    if character_id is None:
        return known
    if chosen := tuple(test for test in known if character_id in (test.id, test.name)):
        return chosen
    hint = f"there are: {', '.join(test.id for test in known)}; or give a YAML file"
    raise InputError(f"unknown character {character_id!r}", where="--character", hint=hint)


def _introduce(scene: Scene, test: Character) -> None:
    out.rule(clean(scene.title or scene.id, "bold"))
    for text in (scene.world, " · ".join(filter(None, (scene.situation.time, scene.situation.place)))):
        if text:
            out.print(clean(text, "dim"))
    if scene.situation.description:
        out.print(clean(scene.situation.description))
    out.print(clean(f"cast: {', '.join(member.name for member in scene.cast)}; test character: {test.name}", "dim"))
    out.print()


class _Stage:
    def __init__(self, scene: Scene, test: Character, show: Show | None) -> None:
        colours = cycle(_COLOURS)
        self._colours = {member.name: next(colours) for member in scene.cast} | {test.name: _TEST}
        self._judge = show in (Show.JUDGE, Show.ALL)
        self._director = show in (Show.DIRECTOR, Show.ALL)

    def show(self, event: Event) -> None:
        match event:
            case SpeakerChosen() if self._director:
                reason = event.reason or "nobody else was eligible"
                self._aside(f"{event.by}: {event.speaker} ({reason}); emphasis {event.emphasis}")
            case Auditioned() if self._judge:
                self._audition(event)
            case Spoken():
                out.print(tables.line(event.line, self._colours[event.line.speaker]))
            case Fault():
                out.print(clean(f"fault at turn {event.turn}: {event.kind}: {event.detail}", "bold red"))
            case SceneClosed():
                out.print(clean(f"— {_ENDINGS[event.reason]}, after {event.turns} lines", "dim"))
            case SceneOpened() | SpeakerChosen() | Auditioned():
                pass

    def _audition(self, event: Auditioned) -> None:
        self._aside(f"source {event.source.model}: {event.source.line.text}")
        self._aside(f"base   {event.base.model}: {event.base.line.text}")
        self._aside(f"judged on {event.dimension} (emphasis {event.emphasis}): {event.reason}")
        for verdict in event.verdicts:
            first = "source" if verdict.order == "challenger_first" else "base"
            self._aside(f"verdict {verdict.score} (1 source … 5 base; {first} shown as A): {verdict.explanation}")
        self._aside(f"score {event.score:g}: the {event.winner}'s line is kept")

    def _aside(self, text: str) -> None:
        out.print(Padding(Text.assemble(clean(text, "dim")), (0, 0, 0, 4)))
