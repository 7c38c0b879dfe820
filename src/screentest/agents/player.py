"""Players: those who speak as a character."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from screentest.agents.cue import Cue
from screentest.errors import EmptyReply
from screentest.judges import Dimension
from screentest.llms import Message, Model, Request, ask
from screentest.pools import Line, View
from screentest.prompts import render
from screentest.randomness import Place

_LINE = Cue()


class Player(Protocol):
    """Whoever plays a character: a model, a script or a person. A scene does not know which."""

    @property
    def name(self) -> str:
        """Who plays, as trajectories tell."""
        ...

    async def speak(self, view: View, dimension: Dimension | None, *, cue: Cue, place: Place) -> Line:
        """The next line of the character whose view this is.

        Args:
            view: What the character may see.
            dimension: The emphasised dimension, if there is one.
            cue: What kind of line is asked for.
            place: Where in the run this happens.

        Raises:
            CallError: A model could not be reached.
            BadReply: Its reply cannot be used.
        """
        ...


@dataclass(frozen=True, slots=True)
class ScriptedPlayer:
    """Plays what is written.

    Attributes:
        name: The label in trajectories.
        lines: What it says, line by line.
    """

    name: str
    lines: Iterator[str]

    async def speak(self, view: View, dimension: Dimension | None, *, cue: Cue, place: Place) -> Line:
        """The script's next line.

        Raises:
            EmptyReply: The script has ended.
        """
        line = next(self.lines, None)
        if line is None:
            raise EmptyReply("the script has no further line", model=self.name)
        return Line.parse(_me(view), line)


@dataclass(frozen=True, slots=True)
class SceneCharacter:
    """Plays a member of the scene's cast: sees motivations and script, and invites what should be tested (``I(d)``).

    Attributes:
        model: The playing model.
    """

    model: Model

    @property
    def name(self) -> str:
        """The model's label."""
        return self.model.name

    async def speak(self, view: View, dimension: Dimension | None, *, cue: Cue = _LINE, place: Place) -> Line:
        """The next line of the character whose view this is.

        Args:
            view: What the character may see.
            dimension: The emphasised dimension, whose ``I(d)`` shapes the line, if there is one.
            cue: What kind of line is asked for.
            place: Where in the run this happens.

        Raises:
            CallError: The model could not be reached.
            BadReply: Its reply cannot be used.
        """
        messages = self.prompt(view, dimension, cue)
        return await _speak(self.model, view, dimension, cue, messages, place=place, purpose="play.scene")

    @staticmethod
    def prompt(view: View, dimension: Dimension | None, cue: Cue) -> tuple[Message, ...]:
        """What the model is asked for a line."""
        instruction = dimension.instruction if dimension else ""
        return render("scene_character", view.language, view=view, cue=cue, instruction=instruction)


@dataclass(frozen=True, slots=True)
class TestCharacter:
    """Plays the character under test, following the response strategy ``S(d)``; sees neither motivations nor script.

    Attributes:
        model: The playing model: source, base or tested.
    """

    __test__ = False

    model: Model

    @property
    def name(self) -> str:
        """The model's label."""
        return self.model.name

    async def speak(self, view: View, dimension: Dimension | None, *, cue: Cue = _LINE, place: Place) -> Line:
        """A candidate for the test character's next line (``Prompt(c_test)`` with ``S(d)``, FURINA §3.3, §5.1).

        Args:
            view: What the character may see.
            dimension: The dimension whose ``S(d)`` it follows, if there is one.
            cue: What kind of line is asked for.
            place: Where in the run this happens.

        Raises:
            CallError: The model could not be reached.
            BadReply: Its reply cannot be used.
        """
        messages = self.prompt(view, dimension, cue)
        return await _speak(self.model, view, dimension, cue, messages, place=place, purpose="play.test")

    @staticmethod
    def prompt(view: View, dimension: Dimension | None, cue: Cue) -> tuple[Message, ...]:
        """What the model is asked for a line."""
        strategy = dimension.strategy if dimension else ""
        return render("test_character", view.language, view=view, cue=cue, strategy=strategy)


async def _speak(
    model: Model,
    view: View,
    dimension: Dimension | None,
    cue: Cue,
    messages: tuple[Message, ...],
    *,
    purpose: str,
    place: Place,
) -> Line:
    name, place = _me(view), place / purpose
    reply = await ask(
        model,
        Request(
            messages=messages,
            purpose=purpose,
            key=place.path,
            seed=place.seed,
            language=view.language,
            facts={"view": view, "dimension": dimension, "cue": cue},
        ),
    )
    line = Line.parse(name, reply.text)
    if not line.text:
        raise EmptyReply("the line has neither speech nor action", model=model.name, reply=reply)
    return line


def _me(view: View) -> str:
    assert view.me is not None, "only a character can speak"  # noqa: S101
    return view.me.name
