"""The one function that decides who sees what of a played scene."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

from screentest.pools import Character, Line, Profile, View
from screentest.sim.state import State

Onlooker = Literal["director", "narrator", "judge", "filter"]


def view(state: State, viewer: Character | Onlooker) -> View:
    """What ``viewer`` may see. There is no other way to see a scene.

    ==================  ==============  ===============  ============  ==============  ===========  =========  ====
    viewer              own profile     others' profile  thoughts      ``M, D_orig``   came to mind beliefs    ties
    ==================  ==============  ===============  ============  ==============  ===========  =========  ====
    scene character     all             public           its own       yes             its own      its own    no
    test character      all             public           its own       no              its own      its own    no
    judge               the test        public           none          no              the test     none       no
                        character's                                                    character's
    director, narrator  –               public           none          no              none         none       yes
    filter              –               public           none          no              none         none       no
    ==================  ==============  ===============  ============  ==============  ===========  =========  ====

    A character sees the lines, the situation and the others as it perceived them: what happens while it is away does
    not exist for it. Director, narrator and filter see all that happens. The judge reads what the candidates it judges
    had to go by, but for thoughts and beliefs: without the test character's own profile and memories it could not tell
    faithful play from invention, and by what happened out of its sight it would judge unfairly.

    A state with a window holds, and so shows, the latest lines only.

    Args:
        state: The scene as it stands.
        viewer: A character of the scene, or an onlooker.

    Returns:
        A value that holds nothing else.

    Raises:
        ValueError: The scene has no character of the viewer's name, or no test character to judge.
    """
    if isinstance(viewer, Character):
        return _of_character(state, state.character(viewer.name))
    if viewer == "judge":
        return _of_judge(state)
    return View(
        viewer=viewer,
        language=state.scene.language,
        world=state.scene.world,
        situation=state.situation,
        me=None,
        others=_others(state, None),
        history=_perceived(state.history, None),
        standings=dict(state.standings),
        ties=state.relations.ties() if viewer in ("director", "narrator") else (),
    )


def _of_judge(state: State) -> View:
    if state.test is None:
        raise ValueError("the scene has no test character to judge")
    seen = _of_character(state, state.test)
    return replace(seen, viewer="judge", history=_perceived(seen.history, None), beliefs=None)


def _of_character(state: State, me: Character) -> View:
    knowledge, knows_script = state.knowledge[me.name], me is not state.test
    return View(
        viewer="character",
        language=state.scene.language,
        world=state.scene.world,
        situation=knowledge.situation,
        me=_profile(me, {**me.public, **me.private}),
        others=_others(state, me),
        history=tuple(knowledge.history),
        standings=dict(knowledge.standings),
        reminders=state.reminders.get(me.name, ()),
        beliefs=state.beliefs.get(me.name),
        influence=state.influences.get(me.name, ""),
        motivations=state.scene.motivations if knows_script else {},
        script=_perceived(state.scene.script, me.name) if knows_script else (),
    )


def _others(state: State, me: Character | None) -> tuple[Profile, ...]:
    return tuple(_profile(other, other.public) for other in state.characters if other is not me)


def _profile(character: Character, attributes: Mapping[str, str]) -> Profile:
    return Profile(character.name, attributes, character.id)


def _perceived(lines: Sequence[Line], name: str | None) -> tuple[Line, ...]:
    return tuple(perceived for line in lines if (perceived := line.perceived_by(name)))
