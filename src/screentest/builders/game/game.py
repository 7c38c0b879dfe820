"""A game: a scene that stops whenever a person in it is asked, and can be played again from any of their lines."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from screentest.agents import Cue
from screentest.agents.memory import Embedder, HashingEmbedder, Memory
from screentest.builders.game.notice import noticed
from screentest.builders.game.part import Part, written
from screentest.builders.game.person import Person
from screentest.builders.game.reasons import Reasons, reasons
from screentest.errors import BadReply, InputError
from screentest.pools import Character, Scene, View
from screentest.pools.reading import nearest
from screentest.sim import Event, Fault, Players, Rules, SceneClosed, Spoken, State, play, view
from screentest.sim.minds import Minds

_WAITS = {"en": "(waits)", "zh": "（静观其变）"}
_UNUSABLE = frozenset(kind.kind for kind in (BadReply, *BadReply.__subclasses__()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Production:
    """What a game is played from, every time it is played.

    Attributes:
        scene: The scene.
        me: The character that the person plays.
        rules: How it is played.
        seed: The game's seed.
        models: Who plays the other parts; their replies are kept.
        embedder: Makes memories comparable.
    """

    scene: Scene
    me: Character
    rules: Rules
    seed: int
    models: Players
    embedder: Embedder


class Game:
    """A scene in which a person plays a character.

    All that it is follows from the journal and the person's lines: to go on after an interruption, or from an earlier
    line, it is played again from the start, and every call that was made before is answered from the journal. Memories,
    beliefs, story time and generators are then what they were.

    Made by :func:`screentest.builders.game.open_game`. Use: play on with :meth:`advance`; when that ends, the person is
    asked (:attr:`cue`) or the scene is :attr:`closed`; then :meth:`say`, :meth:`rewind` or :meth:`load`, and so on.

    Args:
        production: What it is played from.
        file: Where the person's lines are kept.

    Attributes:
        part: The person's lines.
        events: All that has happened. Nothing of it is for the person but what :meth:`advance` yields.
        closed: How the scene ended; ``None`` while it goes on.
        fault: What cut it short, if something did.
    """

    def __init__(self, production: Production, file: Path) -> None:
        self._production, self._file = production, file
        self.part = Part.read(file)
        self._begin()

    @property
    def scene(self) -> Scene:
        """The scene."""
        return self._production.scene

    @property
    def me(self) -> Character:
        """The character that the person plays."""
        return self._production.me

    @property
    def view(self) -> View:
        """What that character may see, the whole history in it."""
        return self._view

    @property
    def minutes(self) -> int:
        """How much story time has passed."""
        return self._state.minutes

    @property
    def cue(self) -> Cue | None:
        """What the person is asked for; ``None`` if nobody asks."""
        return self._person.cue

    @property
    def replaying(self) -> bool:
        """Whether lines are still being repeated that the person gave before."""
        return self._person.remembers

    @property
    def repeatable(self) -> bool:
        """Whether :meth:`again` makes anew the call that cut the scene short; a reply that came is kept as it is."""
        return self.fault is not None and self.fault.kind not in _UNUSABLE

    async def advance(self) -> AsyncIterator[Event]:
        """Play on until the person is asked or the scene closes.

        Yields:
            What the person notices (see :func:`screentest.builders.game.notice.noticed`).

        Raises:
            Stopped: The budget is used up, or the store cannot be written.
        """
        while (event := await self._next()) is not None:
            before = self._view
            self._state.apply(event)
            self._minds.apply(event, self._state)
            self.events.append(event)
            self._view = view(self._state, self.me)
            match event:
                case Fault():
                    self.fault = event
                case SceneClosed():
                    self.closed = event
                case _:
                    pass
            for one in noticed(event, before, self._view):
                if isinstance(one, Spoken):
                    self._heard.append(len(self.events) - 1)
                yield one

    def say(self, text: str) -> None:
        """Answer what the person is asked for; it is kept before anything follows from it.

        Args:
            text: ``(action)`` and speech; a ``[thought]`` stays private.

        Raises:
            InputError: Nobody asks, or nobody could perceive it.
        """
        if self.cue is None:
            raise InputError("nobody waits for a line now")
        line = written(self.me.name, text)
        self._keep(self.part.with_line(line))
        self._person.tell(line)

    def wait(self) -> None:
        """Answer by doing nothing; see :meth:`say`."""
        self.say(_WAITS[self.scene.language])

    async def rewind(self, count: int = 1) -> None:
        """Take back the person's last lines, and all that came of them.

        Raises:
            InputError: There are not that many.
        """
        await self._replay(self.part.rewound(count))

    async def load(self, name: str) -> None:
        """Go on from what was saved under a name.

        Raises:
            InputError: Nothing was.
        """
        await self._replay(self.part.loaded(name))

    def save(self, name: str) -> None:
        """Keep the lines so far under a name, in place of what was kept there before.

        Raises:
            InputError: That is no name.
        """
        self._keep(self.part.saved(name))

    async def again(self) -> None:
        """Play the same lines again: after a fault, the calls that failed are made again."""
        await self._replay(self.part)

    def why(self, name: str | None = None) -> Reasons:
        """What led to the last line that the person heard of another character: a look behind the scenes.

        Args:
            name: Whose line; anybody's if ``None``.

        Raises:
            InputError: There is none.
        """
        wanted = self.character(name).name if name else None
        others = {one.name for one in self.scene.cast} - {self.me.name}
        for at in reversed(self._heard):
            event = self.events[at]
            if isinstance(event, Spoken) and event.line.speaker in ({wanted} if wanted else others):
                return reasons(self.events, at)
        raise InputError(f"you have heard no line of {wanted or 'anybody else'} yet")

    def memories(self, name: str | None = None) -> tuple[Memory, ...]:
        """What a character remembers, the oldest first; the person's own by default.

        Raises:
            InputError: There is nobody of that name, or nobody remembers in this scene.
        """
        if not self._production.rules.memory:
            raise InputError("characters have no memory in this scene", why="they see all lines instead")
        return tuple(self._minds.memories[self.character(name).name if name else self.me.name])

    def nearness(self) -> Mapping[str, float]:
        """Name to how near others are to the person's character, as the narrator sees it, 0 to 1."""
        near = {frozenset((tie.one, tie.other)): tie.nearness for tie in view(self._state, "narrator").ties}
        others = (one.name for one in self.scene.cast if one.name != self.me.name)
        return {name: near.get(frozenset((self.me.name, name)), 0.0) for name in others}

    def character(self, name: str) -> Character:
        """Who is called ``name``: the whole name, or the beginning of only one.

        Raises:
            InputError: Nobody is, or several are.
        """
        cast = self.scene.cast
        if whole := [one for one in cast if one.name.casefold() == name.casefold()]:
            return whole[0]
        begun = [one for one in cast if one.name.casefold().startswith(name.casefold())]
        if len(begun) != 1:
            raise InputError(f"there is nobody called {name!r}", hint=nearest(name, [one.name for one in cast]))
        return begun[0]

    async def close(self) -> None:
        """Stop playing. What was said and what models replied is kept."""
        if self._step is not None:
            self._step.cancel()
            await asyncio.wait({self._step})
            self._step = None
        if isinstance(self._stream, AsyncGenerator):
            await self._stream.aclose()

    def _begin(self) -> None:
        what = self._production
        self._person = Person(self.part.lines)
        self._stream = play(
            what.scene,
            models=what.models,
            seed=what.seed,
            rules=what.rules,
            seats={what.me.name: self._person},
            embedder=what.embedder,
        )
        self._step: asyncio.Task[Event | None] | None = None
        self._state = State(scene=what.scene)
        self._minds = Minds.of(self._state.characters, HashingEmbedder(), what.rules.remembering)
        self._view = view(self._state, what.me)
        self._heard: list[int] = []
        self.events: list[Event] = []
        self.closed: SceneClosed | None = None
        self.fault: Fault | None = None

    def _keep(self, part: Part) -> None:
        part.write(self._file)
        self.part = part

    async def _replay(self, part: Part) -> None:
        self._keep(part)
        await self.close()
        self._begin()

    async def _next(self) -> Event | None:
        """The next event; ``None`` once the person is asked, or when there is no more."""
        if self._step is None:
            self._step = asyncio.create_task(self._one())
        asked = asyncio.create_task(self._person.asked.wait())
        try:
            await asyncio.wait({self._step, asked}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            asked.cancel()
        if not self._step.done():
            return None
        step, self._step = self._step, None
        return step.result()

    async def _one(self) -> Event | None:
        return await anext(self._stream, None)
