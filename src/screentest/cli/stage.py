"""Watching one scene live."""

from __future__ import annotations

import re
from enum import StrEnum
from itertools import cycle
from pathlib import Path
from typing import get_args

from screentest.builders import Config, cast, embedder, enterable
from screentest.cli import tables
from screentest.cli.console import UNDERSTUDY, clean, indented, note, out
from screentest.errors import InputError
from screentest.judges import furina_dimensions, load_dimensions
from screentest.llms import open_models
from screentest.pools import Character, Pool, Scene, Situation, load_character, load_characters, starter_pool
from screentest.randomness import generator
from screentest.sim import (
    Auditioned,
    BeliefsUpdated,
    EnvironmentChanged,
    Event,
    Fault,
    Influenced,
    Outcome,
    Players,
    Recalled,
    Reflected,
    SceneClosed,
    SpeakerChosen,
    Spoken,
    Staging,
    State,
    StateChanged,
    play,
)

STAGINGS: tuple[Staging, ...] = get_args(Staging)
"""How a scene may be played."""

_COLOURS = ("cyan", "green", "magenta", "blue", "bright_red", "bright_cyan")
_TEST = "yellow"
_JOINTS = " ,，;；·、"
_SENTENCE = re.compile(r""".+?(?:[.!?]+["'”’)]*(?:\s+|\Z)|[。！？]+[”’」』）]*\s*|\Z)""", re.DOTALL)
_ENDINGS = {
    "director": "the director ended the scene",
    "narrator": "the narrator concluded the story",
    "turn_limit": "the scene reached its turn limit",
    "fault": "the scene was cut short by a fault",
}


class Show(StrEnum):
    """What to show beside the lines."""

    JUDGE = "judge"
    DIRECTOR = "director"
    MINDS = "minds"
    ALL = "all"


async def perform(
    config: Config,
    *,
    pool: Path | None,
    scene_id: str | None,
    character_id: str | None,
    source: str | None,
    show: Show | None,
    staging: Staging | None,
    turns: int | None,
    rounds: int | None,
) -> None:
    """Play one scene and print it as it happens.

    Args:
        config: Names the models and the defaults.
        pool: A pool directory instead of the configuration's.
        scene_id: The scene; drawn by the seed if ``None``.
        character_id: The test character, by id or as a file; the first who can enter if ``None``; in a story, nobody.
        source: The source model's label; the first if ``None``.
        show: What to show beside the lines.
        staging: How the scene is played; the configuration's way if ``None``.
        turns: The most lines of a dialogue.
        rounds: The most rounds of a story.

    Raises:
        InputError: Something named does not exist or does not fit.
    """
    changes = {"staging": staging, "turns": turns, "rounds": rounds}
    build = config.build.model_copy(update={name: value for name, value in changes.items() if value is not None})
    config = config.model_copy(update={"build": build})
    refuse_idle(build.staging, turns=turns, rounds=rounds)
    opened = Pool.open(pool) if pool else Pool.open(config.pool.path) if config.pool.path else starter_pool()
    scene, test = _choose(config, opened, scene_id, character_id)
    roles, rules, label = config.roles, config.rules, source or config.roles.sources[0]
    if label not in config.models:
        raise InputError(f"unknown model {label!r}", where="--source", hint=f"models are: {', '.join(config.models)}")
    dimensions = (
        load_dimensions(config.dimensions, scene.language) if config.dimensions else furina_dimensions(scene.language)
    )
    if config.rehearsal:
        note(UNDERSTUDY, "yellow")
    introduce(scene, test)
    async with open_models({name: config.models[name] for name in {*cast(config), label}}) as models:
        players = Players(
            director=models[roles.director],
            scene=models[roles.scene],
            source=models[label],
            base=models[roles.base],
            judge=models[roles.judge],
            narrator=models[roles.narrator] if rules.narrator else None,
        )
        stage, state = StageView(scene, test, show), State(scene, test)
        async for event in play(
            scene,
            test=test,
            models=players,
            seed=config.seed,
            rules=rules,
            dimensions=dimensions,
            embedder=embedder(config, models),
        ):
            state.apply(event)
            stage.show(event, state.minutes)


def refuse_idle(staging: Staging, *, turns: int | None, rounds: int | None) -> None:
    """Refuse a limit that would change nothing.

    Raises:
        InputError: A story is given turns, or a dialogue rounds.
    """
    if staging == "story" and turns is not None:
        hint = "give --rounds N instead, or --staging dialogue"
        raise InputError("a story has no turns", where="--turns", why="it is played in rounds", hint=hint)
    if staging == "dialogue" and rounds is not None:
        hint = "give --turns N instead, or --staging story"
        raise InputError("a dialogue has no rounds", where="--rounds", why="it is played line by line", hint=hint)


def _choose(
    config: Config, pool: Pool, scene_id: str | None, character_id: str | None
) -> tuple[Scene, Character | None]:
    if character_id is None and config.rules.staging == "story":
        scenes = pool.ids() if scene_id is None else [scene_id]
        return pool[generator(config.seed, "simulate").choice(scenes)], None
    candidates = _candidates(config, pool, character_id)
    if scene_id is not None:
        scene = pool[scene_id]
        for test in candidates:
            if test.language == scene.language and test.name not in pool.cast_names(scene_id):
                return scene, test
        why = f"the scene is {scene.language}, its cast {', '.join(pool.cast_names(scene_id))}"
        raise InputError("no such test character can enter the scene", where=scene_id, why=why)
    for test in candidates:
        if scenes := enterable(pool, test, config.rules):
            return pool[generator(config.seed, "simulate").choice(scenes)], test
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


def introduce(scene: Scene, test: Character | None) -> None:
    """Print what a scene is, and who is in it."""
    out.rule(clean(scene.title or scene.id, "bold"))
    time, place, _ = _parts(scene.situation)
    for text in (scene.world, " · ".join(filter(None, (time, place)))):
        if text:
            indented(clean(text, "dim"), 0)
    if scene.situation.description:
        indented(clean(scene.situation.description), 0)
    cast = ", ".join(member.name for member in scene.cast)
    indented(clean(f"cast: {cast}; test character: {test.name}" if test else f"cast: {cast}", "dim"), 0)
    out.print()


class StageView:
    """Prints a scene as it happens.

    Args:
        scene: The scene.
        test: The test character, if there is one.
        show: What to show beside the lines and what comes of them.
    """

    def __init__(self, scene: Scene, test: Character | None, show: Show | None) -> None:
        colours = cycle(_COLOURS)
        self._colours = {member.name: next(colours) for member in scene.cast} | ({test.name: _TEST} if test else {})
        self._judge = show in (Show.JUDGE, Show.ALL)
        self._director = show in (Show.DIRECTOR, Show.ALL)
        self._minds = show in (Show.MINDS, Show.ALL)
        self._situation = scene.situation

    def show(self, event: Event, minutes: int) -> None:
        """Print one event.

        Args:
            event: The event.
            minutes: How much story time has passed with it.
        """
        match event:
            case Spoken():
                line = tables.line(event.line, self._colours[event.line.speaker])
                indented(line, 2 if event.cue == "reaction" else 0)
            case Outcome():
                indented(clean(event.text, "italic"), 2)
            case SpeakerChosen(by="round", turn=turn):
                self._round(turn, minutes)
            case Fault():
                out.print(clean(f"fault at turn {event.turn}: {event.kind}: {event.detail}", "bold red"))
            case SceneClosed():
                out.print(clean(f"— {_ENDINGS[event.reason]}, after {event.turns} lines", "dim"))
            case Auditioned() if self._judge:
                self._audition(event)
            case SpeakerChosen() | Influenced() if self._director:
                self._direction(event)
            case StateChanged() | EnvironmentChanged():
                self._change(event)
            case Recalled() | BeliefsUpdated() | Reflected() if self._minds:
                self._mind(event)
            case _:
                pass

    def _direction(self, event: SpeakerChosen | Influenced) -> None:
        match event:
            case SpeakerChosen():
                reason = event.reason or "nobody else was eligible"
                self._aside(f"{event.by}: {event.speaker} ({reason}); emphasis {event.emphasis}")
            case Influenced():
                self._aside(f"narrator: this touches {event.target or 'nobody'}: {event.influence}")

    def _change(self, event: StateChanged | EnvironmentChanged) -> None:
        match event:
            case StateChanged(character=name, standing=standing):
                away = "" if standing.present else " (no longer here)"
                self._aside(f"{name}: {standing.position}; {standing.state}{away}")
            case EnvironmentChanged(situation=now):
                before, self._situation = self._situation, now
                pairs = zip(_parts(before), _parts(now), strict=True)
                if news := [said for old, new in pairs if (said := _news(old, new))]:
                    self._aside(" · ".join(news))

    def _mind(self, event: Recalled | BeliefsUpdated | Reflected) -> None:
        name = event.character
        match event:
            case Recalled(recollections=found):
                for one in found:
                    self._aside(f"{name} remembers ({one.score:.2f}, turn {one.memory.turn}): {one.memory.text}")
            case BeliefsUpdated(beliefs=beliefs):
                for part, text in beliefs.model_dump().items():
                    self._aside(f"{name}, {part}: {text}")
            case Reflected():
                self._aside(f"{name} draws {len(event.sources)} memories together: {event.text}")

    def _audition(self, event: Auditioned) -> None:
        self._aside(f"source {event.source.model}: {event.source.line.text}")
        self._aside(f"base   {event.base.model}: {event.base.line.text}")
        self._aside(f"judged on {event.dimension} (emphasis {event.emphasis}): {event.reason}")
        for verdict in event.verdicts:
            first = "source" if verdict.order == "challenger_first" else "base"
            self._aside(f"verdict {verdict.score} (1 source … 5 base; {first} shown as A): {verdict.explanation}")
        self._aside(f"score {event.score:g}: the {event.winner}'s line is kept")

    def _round(self, turn: int, minutes: int) -> None:
        number, place = divmod(turn - 1, len(self._colours))
        passed = f" ({_passed(minutes)} in)" if number else ""
        out.print(clean(f"— round {number + 1}{passed}" if place == 0 else "", "dim"))

    def _aside(self, text: str) -> None:
        indented(clean(text, "dim"), 4)


def _news(before: str, now: str) -> str:
    """What a text says that it did not say before: what was added to it, or else its new sentences."""
    added = now.removeprefix(before)
    if added != now and not added[:1].isalnum():
        return added.strip(_JOINTS)
    known = {sentence.strip() for sentence in _SENTENCE.findall(before)}
    return "".join(sentence for sentence in _SENTENCE.findall(now) if sentence.strip() not in known).strip(_JOINTS)


def _passed(minutes: int) -> str:
    """Story time for people."""
    if minutes < 120:
        return f"{minutes} minutes"
    return f"{minutes // 60} hours" if minutes < 48 * 60 else f"{minutes // 1440} days"


def _parts(situation: Situation) -> tuple[str, str, str]:
    return situation.time, situation.place, situation.description
