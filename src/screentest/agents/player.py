"""Players: those who speak as a character."""

from __future__ import annotations

from dataclasses import dataclass

from screentest.errors import EmptyReply
from screentest.judges import Dimension
from screentest.llms import Message, Model, Request, ask
from screentest.pools import Line, View
from screentest.prompts import render
from screentest.randomness import Place


@dataclass(frozen=True, slots=True)
class SceneCharacter:
    """Plays a member of the scene's cast: sees motivations and script, and invites what should be tested (``I(d)``).

    Attributes:
        model: The playing model.
    """

    model: Model

    async def speak(self, view: View, dimension: Dimension, *, place: Place) -> Line:
        """The next line of the character whose view this is.

        Args:
            view: What the character may see.
            dimension: The emphasised dimension, whose ``I(d)`` shapes the line.
            place: Where in the run this happens.

        Raises:
            CallError: The model could not be reached.
            BadReply: Its reply cannot be used.
        """
        messages = render("scene_character", view.language, view=view, instruction=dimension.instruction)
        return await _speak(self.model, view, dimension, messages, place=place / "play.scene", purpose="play.scene")


@dataclass(frozen=True, slots=True)
class TestCharacter:
    """Plays the character under test, following the response strategy ``S(d)``; sees neither motivations nor script.

    Attributes:
        model: The playing model: source, base or tested.
    """

    __test__ = False

    model: Model

    async def speak(self, view: View, dimension: Dimension, *, place: Place) -> Line:
        """A candidate for the test character's next line (``Prompt(c_test)`` with ``S(d)``, FURINA §3.3, §5.1).

        Args:
            view: What the character may see.
            dimension: The dimension whose ``S(d)`` it follows.
            place: Where in the run this happens.

        Raises:
            CallError: The model could not be reached.
            BadReply: Its reply cannot be used.
        """
        messages = render("test_character", view.language, view=view, strategy=dimension.strategy)
        return await _speak(self.model, view, dimension, messages, place=place / "play.test", purpose="play.test")


async def _speak(
    model: Model, view: View, dimension: Dimension, messages: tuple[Message, ...], *, purpose: str, place: Place
) -> Line:
    assert view.me is not None, "only a character can speak"  # noqa: S101
    reply = await ask(
        model,
        Request(
            messages=messages,
            purpose=purpose,
            key=place.path,
            seed=place.seed,
            language=view.language,
            facts={"view": view, "dimension": dimension},
        ),
    )
    line = Line.parse(view.me.name, reply.text)
    if not line.text:
        raise EmptyReply("the line has neither speech nor action", model=model.name, reply=reply)
    return line
