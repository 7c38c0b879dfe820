"""A sample of a build: some of its scenes, rehearsed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from screentest.builders.campaign import enterable
from screentest.builders.config import Config
from screentest.builders.ingredients import Ingredients
from screentest.builders.planning.assumptions import Measured, Scenario, default_assumptions
from screentest.builders.planning.rehearsal import Manner, Tape, rehearse
from screentest.pools import Character, Language
from screentest.randomness import generator
from screentest.sim import Rules

_REHEARSALS = 12


@dataclass(frozen=True, slots=True)
class Sample:
    """What some rehearsals in one language came to.

    Attributes:
        characters: The test characters of that language who can enter a scene.
        dimensions: How many dimensions it is judged on.
        expected: Conversations as they are expected.
        worst: The same ones, taking as long as the rules allow.
    """

    characters: tuple[Character, ...]
    dimensions: int
    expected: Tape = field(default_factory=Tape)
    worst: Tape = field(default_factory=Tape)

    def tape(self, scenario: Scenario) -> Tape:
        """The conversations of a scenario; in the lucky one there are fewer, not shorter ones."""
        return self.worst if scenario == "worst" else self.expected


async def samples(config: Config, ingredients: Ingredients, measured: Measured) -> Mapping[Language, Sample]:
    """Rehearse a dozen conversations of each language, drawn evenly over its characters.

    Args:
        config: How scenes are played.
        ingredients: The scenes, the characters and the dimensions.
        measured: What an earlier run says of turns and shares.
    """
    assumed, rules = default_assumptions(), config.rules
    embedded = config.embeddings is not None
    found: dict[Language, Sample] = {}
    for language, dimensions in ingredients.dimensions.items():
        everyone = {cell.character.id: cell.character for cell in ingredients.cells}.values()
        able = [who for who in everyone if who.language == language and enterable(ingredients.pool, who, rules)]
        found[language] = sample = Sample(tuple(able), len(dimensions))
        for test, scene_id in _drawn(config.seed, ingredients, sample.characters, rules):
            scene = ingredients.pool[scene_id]
            share = measured.test_share or assumed.test_lines / (len(scene.cast) + 1)
            for manner, tape in (
                (Manner.expected(assumed, rules, turns=measured.turns, test_share=share), sample.expected),
                (Manner.worst(assumed, rules), sample.worst),
            ):
                await rehearse(
                    scene, test, dimensions=dimensions, rules=rules, embedded=embedded, manner=manner, tape=tape
                )
    return {language: sample for language, sample in found.items() if sample.characters}


def _drawn(
    seed: int, ingredients: Ingredients, characters: tuple[Character, ...], rules: Rules
) -> Iterator[tuple[Character, str]]:
    if not characters:
        return
    draw = generator(seed, "plan", characters[0].language)
    shuffled = draw.sample(characters, len(characters))
    for number in range(_REHEARSALS):
        test = shuffled[number % len(shuffled)]
        yield test, draw.choice(enterable(ingredients.pool, test, rules))
