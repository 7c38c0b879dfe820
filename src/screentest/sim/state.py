"""The state of a played scene: the fold of its events; and the one function that decides who sees what of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from screentest.pools import Character, Line, Profile, Scene, View
from screentest.sim.events import Auditioned, Event, Spoken

Onlooker = Literal["director", "judge", "filter"]


@dataclass(slots=True)
class State:
    """Where a played scene stands.

    Attributes:
        scene: The scene being played.
        test: The test character in it.
        history: The lines so far, thoughts included.
        assigned: How often the judge assigned each dimension.
    """

    scene: Scene
    test: Character
    history: list[Line] = field(default_factory=list[Line])
    assigned: Counter[str] = field(default_factory=Counter[str])

    def apply(self, event: Event) -> None:
        """Take in one event."""
        match event:
            case Spoken(line=line):
                self.history.append(line)
            case Auditioned(dimension=dimension):
                self.assigned[dimension] += 1
            case _:
                pass

    @property
    def characters(self) -> tuple[Character, ...]:
        """Everyone in the scene, the test character last."""
        return (*self.scene.cast, self.test)

    @property
    def test_lines(self) -> int:
        """How many lines the test character has spoken."""
        return sum(line.speaker == self.test.name for line in self.history)

    def silence_of(self, name: str) -> int:
        """How many lines were spoken since ``name`` last spoke, or since the beginning."""
        for distance, line in enumerate(reversed(self.history)):
            if line.speaker == name:
                return distance
        return len(self.history)


def view(state: State, viewer: Character | Onlooker) -> View:
    """What ``viewer`` may see. There is no other way to see a scene.

    ================  ==============  ===============  ============  ==============
    viewer            own profile     others' profile  thoughts      ``M, D_orig``
    ================  ==============  ===============  ============  ==============
    scene character   all             public           its own       yes
    test character    all             public           its own       no
    judge             the test        public           none          no
                      character's
    director, filter  –               public           none          no
    ================  ==============  ===============  ============  ==============

    The judge reads what the candidates it judges had to go by: without the
    test character's own profile it could not tell faithful play from invention.

    Args:
        state: The scene as it stands.
        viewer: A character of the scene, or an onlooker.

    Returns:
        A value that holds nothing else.

    Raises:
        ValueError: The scene has no character of the viewer's name.
    """
    if isinstance(viewer, Character):
        me = next((character for character in state.characters if character.name == viewer.name), None)
        if me is None:
            raise ValueError(f"{viewer.name} is not in the scene")
    else:
        me = state.test if viewer == "judge" else None
    thinker = viewer.name if isinstance(viewer, Character) else None
    knows_script = thinker is not None and thinker != state.test.name
    return View(
        viewer="character" if isinstance(viewer, Character) else viewer,
        language=state.scene.language,
        world=state.scene.world,
        situation=state.scene.situation,
        me=me and Profile(me.name, {**me.public, **me.private}),
        others=tuple(Profile(other.name, other.public) for other in state.characters if other is not me),
        history=_perceived(state.history, thinker),
        motivations=state.scene.motivations if knows_script else {},
        script=_perceived(state.scene.script, thinker) if knows_script else (),
    )


def _perceived(lines: Sequence[Line], thinker: str | None) -> tuple[Line, ...]:
    """The lines as others perceive them; one that is only a thought happens for its thinker alone."""
    return tuple(
        line if not line.thought or line.speaker == thinker else line.model_copy(update={"thought": ""})
        for line in lines
        if line.text or line.speaker == thinker
    )
