"""Playing one scene, as a stream of events."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Mapping

from screentest.agents import NARRATOR, Director, Narrator, Player
from screentest.agents.memory import Embedder, HashingEmbedder
from screentest.errors import BadReply, CallError, InputError
from screentest.judges import Dimension, furina_dimensions
from screentest.pools import Character, Scene
from screentest.randomness import Place
from screentest.sim.audition import Audition
from screentest.sim.dialogue import Dialogue
from screentest.sim.events import Ending, Event, Fault, SceneClosed, SceneOpened
from screentest.sim.minds import Minds
from screentest.sim.rules import Rules
from screentest.sim.stage import Players, Stage
from screentest.sim.state import State
from screentest.sim.story import Story


async def play(
    scene: Scene,
    *,
    test: Character | None = None,
    models: Players,
    seed: int = 0,
    key: str | None = None,
    rules: Rules | None = None,
    dimensions: tuple[Dimension, ...] | None = None,
    counts: Mapping[str, int] | None = None,
    seats: Mapping[str, Player] | None = None,
    embedder: Embedder | None = None,
) -> AsyncIterator[Event]:
    """Play one scene, with a test character in it or without.

    A model call that fails closes the scene: the stream then ends with a :class:`Fault` and a :class:`SceneClosed`.

    Args:
        scene: Where it is played.
        test: The test character; joins the scene's cast, and its lines are auditioned.
        models: Who plays which part.
        seed: The run's seed.
        key: The conversation's key, unique in its run; the scene's and character's ids by default.
        rules: How it is played.
        dimensions: What lines are judged on; FURINA's five by default.
        counts: How often each dimension was assigned before this conversation.
        seats: Name to player, for characters that no model plays: a person, a script. They form no beliefs.
        embedder: Makes memories comparable; hashing by default.

    Yields:
        The events, in order, from :class:`SceneOpened` to :class:`SceneClosed`.

    Raises:
        InputError: Somebody cannot enter this scene, or a part is not cast.
    """
    rules = rules or Rules()
    _check(scene, test, models, rules, seats or {})
    state = State(scene=scene, test=test, window=rules.shown)
    stage = Stage(
        state=state,
        minds=Minds.of(state.characters, embedder or HashingEmbedder(), rules.remembering) if rules.memory else None,
        rules=rules,
        models=models,
        seats=seats or {},
        audition=test
        and Audition(
            source=models.source,
            base=models.base,
            judge=models.judge,
            dimensions=dimensions or furina_dimensions(scene.language),
            orders=rules.orders,
        ),
        counts=Counter(counts or {}),
        place=Place(seed, key or (f"{scene.id}/{test.id}" if test else scene.id)),
    )
    names = tuple(character.name for character in state.characters)
    yield SceneOpened(conversation=stage.place.path, scene=scene.id, test=test.name if test else "", cast=names)
    async for event in _performed(stage):
        yield event


async def _performed(stage: Stage) -> AsyncIterator[Event]:
    state, rules, models = stage.state, stage.rules, stage.models
    narrator = Narrator(models.narrator) if rules.narrator and models.narrator else None
    staging = (
        Story(stage, narrator) if rules.staging == "story" else Dialogue(stage, Director(models.director), narrator)
    )
    try:
        async for event in staging.events():
            yield event
    except (BadReply, CallError) as error:
        status = getattr(error, "status", None)
        yield Fault(turn=stage.begun, kind=error.kind, detail=str(error), status=status)
        yield _closed(state, "fault")
        return
    if state.test and rules.staging == "dialogue" and state.test_lines < rules.min_test_lines:
        detail = f"{state.test.name} spoke {state.test_lines} times in {state.turn} turns"
        yield Fault(turn=state.turn, kind="too_few_test_lines", detail=detail)
        yield _closed(state, "fault")
        return
    yield _closed(state, staging.ending)


def _closed(state: State, reason: Ending) -> SceneClosed:
    return SceneClosed(reason=reason, turns=len(state.speakers))


def _check(scene: Scene, test: Character | None, models: Players, rules: Rules, seats: Mapping[str, Player]) -> None:
    names = [member.name for member in scene.cast]
    if test and test.language != scene.language:
        why = f"{test.name} speaks {test.language}, the scene is {scene.language}"
        raise InputError("the test character cannot enter this scene", where=scene.id, why=why)
    if test and test.name in names:
        raise InputError("the scene's cast already has a character of this name", where=scene.id, why=test.name)
    ids = [member.id for member in (*scene.cast, *((test,) if test else ()))]
    twice = sorted({identifier for identifier in ids if ids.count(identifier) > 1})
    if rules.narrator and twice:
        why = f"the narrator cannot tell them apart: {', '.join(twice)}"
        raise InputError("two characters share an id", where=scene.id, why=why, hint="give each its own")
    if strangers := sorted(seats.keys() - set(names)):
        why = f"no scene character is called {', '.join(strangers)}; there are: {', '.join(names)}"
        raise InputError("a seat is for nobody", where=scene.id, why=why)
    if rules.narrator and models.narrator is None:
        raise InputError("nobody plays the narrator", where=scene.id, hint="cast a model as the narrator")
    if rules.narrator and NARRATOR[scene.language] in (*names, test and test.name):
        why = f"{NARRATOR[scene.language]} is the narrator's name in this language"
        raise InputError("a character cannot be told from the narrator", where=scene.id, why=why)
