"""Taking a seat in the cast: a game in the terminal."""

from __future__ import annotations

import asyncio
import io
import os
import signal
import sys
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Annotated, Any

import typer

from screentest.builders import Config
from screentest.builders.game import LAST, Game, Seat, began, game_cast, open_game, take_seat
from screentest.cli import asides
from screentest.cli.console import UNDERSTUDY, clean, configuration, fail, log_run, note, one_of, out, run
from screentest.cli.stage import STAGINGS, StageView, introduce, refuse_idle
from screentest.errors import InputError, ScreentestError, TooManyFailures
from screentest.llms import Meter
from screentest.pools import Pool, starter_pool
from screentest.pools.reading import nearest
from screentest.sim import Event, SceneOpened, Session, SpeakerChosen, Spoken, Staging

_RECAP = 8


def play_command(
    scene: Annotated[
        str | None, typer.Argument(metavar="SCENE", help="The scene's id; that of the game in DIR if left out.")
    ] = None,
    seat: Annotated[
        str | None, typer.Option("--as", metavar="NAME", help="Whom you play: the name or id of one of its cast.")
    ] = None,
    directory: Annotated[Path, typer.Option("--run", metavar="DIR", help="The game's directory.")] = Path("game"),
    pool: Annotated[
        Path | None, typer.Option(metavar="POOL", help="A pool directory; the configuration's, or the starter pool.")
    ] = None,
    config: Annotated[Path | None, typer.Option(metavar="CONFIG", help="Names the models.")] = None,
    staging: Annotated[
        str | None, typer.Option(metavar="story|dialogue", help="A story of deeds (the default), or a dialogue.")
    ] = None,
    rounds: Annotated[
        int | None, typer.Option(min=1, max=500, metavar="N", help="The most rounds of a story; may be raised later.")
    ] = None,
    turns: Annotated[
        int | None, typer.Option(min=2, max=1000, metavar="N", help="The most lines of a dialogue.")
    ] = None,
    seed: Annotated[int | None, typer.Option(metavar="N", help="Overrides the configuration's seed.")] = None,
    max_usd: Annotated[
        float | None, typer.Option(min=0, metavar="USD", help="The most that the game may spend; exit code 3 then.")
    ] = None,
) -> None:
    """Play a character yourself, among models.

    Write what you do in round brackets and what you say after it. What stands in square brackets is a thought that
    nobody else learns of. /help lists what else you can do: look around, ask why somebody said something, save, load,
    take lines back.

    Everything is kept in DIR as it happens. The same command, or `screentest play --run DIR`, goes on where you left,
    and no model is asked twice. Lines may be piped in; the end of the input leaves the game.

    \b
    Examples:
      screentest play en-lantern-room --as Maud
      screentest play --run game
      screentest play zh-inn-wugui --as 段寒 --run inn --config my/config.yaml
    """
    try:
        way = one_of(STAGINGS, staging, "--staging")
        settings, taken = _opened(scene, seat, directory, config, pool, way, rounds, turns, seed)
    except ScreentestError as error:
        raise fail(error) from None
    again = f"`screentest play --run {directory}` goes on"
    session = Session(retry_failed=True, max_usd=max_usd)
    run(_perform(settings, taken, directory, session), interrupted=f"interrupted; everything is kept. {again}.")
    note(f"Kept: {again}.")


def _opened(
    scene: str | None,
    seat: str | None,
    directory: Path,
    file: Path | None,
    pool: Path | None,
    staging: Staging | None,
    rounds: int | None,
    turns: int | None,
    seed: int | None,
) -> tuple[Config, Seat]:
    """The configuration and the seat: as asked for, and otherwise those of the game that is there."""
    before = began(directory)
    if scene is None and before is None:
        hint = "`screentest play SCENE --as NAME` begins one; `screentest pool show` lists scenes"
        raise InputError("no game to go on with", where=str(directory), hint=hint)
    known = before[2] if before else None
    config = known if file is None and known else configuration(file, None, os.environ)
    given = {"staging": staging, "rounds": rounds, "turns": turns}
    default = {name: getattr(known.build, name) for name in given} if known else {"staging": "story"}
    changes = {**default, **{name: value for name, value in given.items() if value is not None}}
    refuse_idle(changes["staging"], turns=turns, rounds=rounds)
    place = config.pool if pool is None else config.pool.model_copy(update={"path": pool})
    config = config.model_copy(
        update={
            "build": config.build.model_copy(update=changes),
            "seed": seed if seed is not None else known.seed if known else config.seed,
            "pool": place,
        }
    )
    opened = Pool.open(place.path) if place.path else starter_pool()
    return config, take_seat(opened, scene or (before[0] if before else ""), seat or (before[1] if before else ""))


async def _perform(config: Config, seat: Seat, directory: Path, session: Session) -> None:
    log_run(directory)
    if any(config.models[label].provider == "understudy" for label in game_cast(config).values()):
        note(UNDERSTUDY, "yellow")
    meter = Meter()
    async with open_game(directory, config, seat, session=session, meter=meter) as game:
        try:
            await Table(game).play()
        finally:
            if meter.cost or meter.unpriced:
                unknown = f", plus {meter.unpriced} calls of unknown cost" if meter.unpriced else ""
                note(f"Spent in this session: ${meter.cost:.4f}{unknown}.")
        if game.fault:
            raise TooManyFailures(f"the scene was cut short: {game.fault.kind}: {game.fault.detail}")


class Table:
    """A person at a terminal, and a game.

    Args:
        game: The game.
    """

    def __init__(self, game: Game) -> None:
        self._game = game
        self._stage = StageView(game.scene, None, None)  # a new one whenever the scene opens again
        self._typed = sys.stdin.isatty()
        self._on_screen = False  # the next line to be shown is there already: it has just been typed
        if isinstance(sys.stdin, io.TextIOWrapper):
            sys.stdin.reconfigure(errors="replace")
        if self._typed:
            with suppress(ImportError):
                import readline  # noqa: F401  # makes input() editable
        self._commands: dict[str, Callable[[str], Awaitable[bool] | None]] = {
            "why": lambda name: asides.why(game.why(name or None)),
            "me": lambda _: asides.me(game),
            "who": lambda name: asides.known(game, name) if name and name != game.me.name else asides.who(game),
            "memories": self._memories,
            "save": self._save,
            "load": self._load,
            "rewind": self._rewind,
            "again": self._again,
            "pass": self._pass,
            "help": lambda _: asides.manual(),
        }

    async def play(self) -> None:
        """Play until the person leaves."""
        introduce(self._game.scene, None)
        me = self._game.me.name
        out.print(clean(f"You play {me}. Write (what you do) and what you say; /help for more.", "bold"))
        out.print()
        going = True
        while going:
            await self._watch()
            going = await self._answer()

    async def _watch(self) -> None:
        """Show what happens until the person is asked or the scene ends; of what was there before, only the latest."""
        game, latest, lines = self._game, deque[Event](maxlen=_RECAP), 0
        with out.status("…") if out.is_terminal else nullcontext():
            async for event in game.advance():
                if isinstance(event, SceneOpened):
                    self._stage = StageView(game.scene, None, None)
                if game.replaying:
                    lines += isinstance(event, Spoken)
                    if not isinstance(event, SpeakerChosen):
                        latest.append(event)
                    continue
                self._recap(latest, lines)
                lines = 0
                if self._on_screen and isinstance(event, Spoken):
                    self._on_screen = False
                else:
                    self._stage.show(event, game.minutes)
        if game.fault:
            asides.faulted(game)
        elif game.closed:
            out.print("The scene is over. /why, /memories, /rewind and /load still work; /quit leaves.", style="dim")
        elif game.cue:
            asides.asked(game.cue)

    def _recap(self, latest: deque[Event], lines: int) -> None:
        if not lines:
            return
        out.print(clean(f"… {lines} line{'s' if lines > 1 else ''} so far; the latest:", "dim"))
        for event in latest:
            self._stage.show(event, self._game.minutes)
        latest.clear()

    async def _answer(self) -> bool:
        """Read what the person enters until the scene is to go on; false when they leave."""
        while (entry := await self._read()) is not None:
            try:
                if entry.startswith(("/", "／")):
                    name, _, rest = entry[1:].strip().partition(" ")
                    if name == "quit":
                        return False
                    if await self._command(name, rest.strip()):
                        return True
                elif entry:
                    self._game.say(entry)
                    self._on_screen = self._typed
                    return True
            except InputError as error:
                note(str(error), "yellow")
        return False

    async def _command(self, name: str, rest: str) -> bool:
        if name not in self._commands:
            raise InputError(f"there is no /{name}", hint=nearest(name, [*self._commands, "quit"]))
        done: Any = self._commands[name](rest)
        return bool(await done) if done is not None else False

    async def _read(self) -> str | None:
        """One entry; ``None`` at the end of the input."""
        sys.stdout.flush()
        prompt = f"{clean(self._game.me.name).plain}> " if self._typed else ""
        try:
            with _interruptible():
                entry = input(prompt)  # noqa: ASYNC250 - nothing else is under way
        except EOFError:
            if self._typed:
                out.print()
            return None
        except KeyboardInterrupt:
            raise asyncio.CancelledError from None
        await asyncio.sleep(0)  # let the loop see which connections were closed meanwhile
        return entry.strip()

    def _memories(self, name: str) -> None:
        asides.memories(self._game.memories(name or None), name)

    def _save(self, name: str) -> None:
        self._game.save(name)
        note(f"Saved as {name}; /load {name} comes back here.")

    async def _load(self, name: str) -> bool:
        await self._game.load(name)
        count = len(self._game.part.lines)
        last = f", the last of them: {self._game.part.lines[-1]}" if count else ""
        note(f"Back at {name}, with {count} line{'' if count == 1 else 's'} of yours{last}")
        note(f"/load {LAST} takes that back.")
        return True

    async def _rewind(self, count: str) -> bool:
        if count and not (count.isdecimal() and len(count) < 9):
            raise InputError(f"{count!r} is no number of lines", hint="/rewind 2 takes back your last two")
        lines, number = self._game.part.lines, int(count or 1)
        await self._game.rewind(number)
        what = "your last line" if number == 1 else f"your last {number} lines, from"
        note(f"Took back {what}{':' if number == 1 else ''} {lines[-number]}")
        note(f"/load {LAST} takes that back.")
        return True

    async def _again(self, _: str) -> bool:
        if not self._game.repeatable:
            raise InputError("no call failed that could be made again")
        await self._game.again()
        return True

    async def _pass(self, _: str) -> bool:
        self._game.wait()
        return True


@contextmanager
def _interruptible() -> Iterator[None]:
    """Ctrl-C and SIGTERM break off what the main thread waits for; while a person thinks, nothing else is under way."""

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    kept = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    waker = signal.set_wakeup_fd(-1)
    try:
        yield
    finally:
        signal.set_wakeup_fd(waker)
        for number, handler in kept.items():
            signal.signal(number, handler)
