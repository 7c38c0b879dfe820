"""Who may see what: the table of ``view``, and canaries that are looked for in every prompt of whole scenes."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass

import pytest

from doubles import Improviser, Troupe, collected, heroine, improvised, prompt, stage
from screentest.judges import DialogueFilter
from screentest.llms import Request
from screentest.pools import Character, Line, Scene
from screentest.randomness import Place
from screentest.sim import Rules, Spoken, State, play, view

HISTORY = [
    Line(speaker="Ada", text="Who stopped it?", thought="thought-of-Ada"),
    Line(speaker="Vera", text="Not I.", thought="thought-of-Vera"),
    Line(speaker="Ben", text="", thought="thought-of-Ben"),
]


def state() -> State:
    return State(scene=stage(), test=heroine(), history=list(HISTORY))


def tokens(value: object) -> set[str]:
    """The hidden things that occur anywhere in ``value``."""
    return set(re.findall(r"(?:script-thought|secret|thought|motive|script)-of-\w+", repr(value)))


MOTIVES = {f"motive-of-{name}" for name in ("Ada", "Ben", "Cyn")}
SCRIPT = {f"script-of-{name}" for name in ("Ada", "Ben", "Cyn")}


def test_a_scene_character_sees_its_own_mind_the_motives_and_the_script():
    seen = tokens(view(state(), state().scene.cast[0]))
    assert seen == {"secret-of-Ada", "thought-of-Ada", "script-thought-of-Ada", *MOTIVES, *SCRIPT}


def test_the_test_character_sees_its_own_mind_and_neither_motives_nor_script():
    assert tokens(view(state(), heroine())) == {"secret-of-Vera", "thought-of-Vera"}


def test_the_judge_sees_the_test_characters_profile_and_no_thought():
    assert tokens(view(state(), "judge")) == {"secret-of-Vera"}


@pytest.mark.parametrize("viewer", ["director", "filter"])
def test_director_and_filter_see_what_everybody_sees(viewer):
    seen = view(state(), viewer)
    assert tokens(seen) == set()
    assert seen.me is None
    assert [profile.name for profile in seen.others] == ["Ada", "Ben", "Cyn", "Vera"]


def test_who_you_are_goes_by_name_not_by_identity():
    """A copy of the test character, e.g. one read from a file, is the test character: no script for it."""
    scene = state()
    for who in scene.characters:
        assert view(scene, who.model_copy()) == view(scene, who)


def test_a_stranger_sees_no_scene():
    with pytest.raises(ValueError, match="Nobody is not in the scene"):
        view(state(), heroine().model_copy(update={"name": "Nobody"}))


def test_a_line_that_is_only_a_thought_happens_for_its_thinker_alone():
    assert view(state(), state().scene.cast[1]).history[-1] == HISTORY[-1]
    for viewer in (heroine(), state().scene.cast[0], "judge", "director", "filter"):
        assert [line.speaker for line in view(state(), viewer).history] == ["Ada", "Vera"]


def test_everybody_sees_the_background_and_the_public_profiles():
    for viewer in (*state().characters, "judge", "director", "filter"):
        seen = view(state(), viewer)
        assert (seen.world, seen.situation) == (stage().world, stage().situation)
        profiles = seen.others if seen.me is None else (*seen.others, seen.me)
        assert {profile.attributes["trade"] for profile in profiles} == {
            f"{name}'s trade" for name in ("Ada", "Ben", "Cyn", "Vera")
        }


# -- canaries -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Shown:
    """A prompt: who was meant to see it, and all that was in it, facts included."""

    part: str
    character: str
    text: str


class Canaries:
    """A scene in which everything hidden holds a token, and everybody thinks in tokens with every line."""

    def __init__(self, language: str) -> None:
        self.owner: dict[str, str] = {}
        self.prompts: list[Shown] = []
        plain = stage()
        cast = tuple(self._marked(member, language) for member in plain.cast)
        self.test = self._marked(heroine(), language)
        self.scene: Scene = plain.model_copy(
            update={
                "language": language,
                "cast": cast,
                "motivations": {member.name: self._token("motive", "cast") for member in cast},
                "script": tuple(
                    Line(speaker=name, text=self._token("script", "cast"), thought=self._token("scripted", name))
                    for name in ("Ada", "Vera", "Ben", "Cyn", "A crowd")
                ),
            }
        )

    def _token(self, kind: str, owner: str) -> str:
        token = f"canary{len(self.owner):04d}{kind}"
        self.owner[token] = owner
        return token

    def _marked(self, character: Character, language: str) -> Character:
        private = {f"key{k}": self._token("private", character.name) for k in range(3)}
        return character.model_copy(update={"language": language, "private": private})

    def troupe(self) -> Troupe:
        """Models that record what they are shown, and think aloud whenever they speak."""

        def model(part: str) -> Improviser:
            def speak(request: Request) -> str:
                me = request.facts["view"].me.name
                thought = self._token(f"thought{part}", me)
                return f"[{thought} [even {thought} within]] {improvised(request)}【{thought}】"

            return Improviser(part, {"play.scene": speak, "play.test": speak})

        return Troupe(**{part: model(part) for part in Troupe.__dataclass_fields__})

    def read(self, cast: Troupe) -> None:
        for request in cast.requests:
            seen = request.facts["view"]
            part = request.purpose
            who = seen.me.name if part.startswith("play.") else part
            self.prompts.append(Shown(part, who, prompt(request) + repr(request.facts)))

    def may_see(self, shown: Shown, token: str) -> bool:
        owner = self.owner[token]
        if shown.part == "play.scene":
            return owner in ("cast", shown.character)
        if shown.part == "play.test":
            return owner == "Vera" and "scripted" not in token
        return shown.part.startswith("judge.") and owner == "Vera" and token.endswith("private")


async def perform(canaries: Canaries, seed: int) -> None:
    cast = canaries.troupe()
    state = State(scene=canaries.scene, test=canaries.test)
    stream = play(canaries.scene, test=canaries.test, models=cast.players, seed=seed, rules=Rules(orders="both"))
    events = await collected(stream)
    for event in events:
        state.apply(event)
    assert any(isinstance(event, Spoken) and "canary" in event.line.thought for event in events)
    await DialogueFilter(cast.director).grade(view(state, "filter"), place=Place(seed, "canaries"))
    canaries.read(cast)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_nothing_hidden_reaches_anyone_who_may_not_see_it(language: str):
    canaries = Canaries(language)
    asyncio.run(perform(canaries, seed=4))
    purposes = {shown.part for shown in canaries.prompts}
    assert purposes == {"direct", "play.scene", "play.test", "judge.dimension", "judge.pairwise", "filter"}
    for shown in canaries.prompts:
        found = set(re.findall(r"canary\d{4}[a-z]+", shown.text))
        leaked = sorted(token for token in found if not canaries.may_see(shown, token))
        assert not leaked, f"{shown.part} for {shown.character} was shown {leaked}"


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_canaries_are_seen_by_those_they_are_for(language: str):
    """Otherwise the test above would pass for want of canaries."""
    canaries = Canaries(language)
    asyncio.run(perform(canaries, seed=4))

    def found(part: str) -> set[str]:
        texts = [shown.text for shown in canaries.prompts if shown.part == part]
        return {re.sub(r"canary\d{4}", "", token) for text in texts for token in re.findall(r"canary\d{4}[a-z]+", text)}

    assert found("play.scene") == {"private", "motive", "script", "scripted", "thoughtscene"}
    assert {"private", "thoughtsource"} <= found("play.test") <= {"private", "thoughtsource", "thoughtbase"}
    assert found("judge.dimension") == found("judge.pairwise") == {"private"}
    assert found("direct") == found("filter") == set()
