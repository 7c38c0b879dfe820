"""A performance: a trajectory together with everything that it was played from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import orjson
from pydantic import ValidationError

from screentest.builders.config import Config
from screentest.builders.identity import differences, frozen, published
from screentest.builders.ingredients import Ingredients
from screentest.builders.resumption import stages
from screentest.errors import InputError
from screentest.files import broken_seals
from screentest.judges import Dimension
from screentest.pools import Character, Scene
from screentest.randomness import Place
from screentest.sim import Rules, Trajectory

_FILE = "trajectories.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class Performance:
    """One played scene, with all that its prompts were made of.

    Attributes:
        trajectory: What happened.
        scene: Where.
        test: The test character.
        dimensions: What its lines were judged on.
        rules: How it was played.
        seed: The run's seed.
        licence: The licence of what comes out of it.
        understudy: Whether a stand-in model took part.
    """

    trajectory: Trajectory
    scene: Scene
    test: Character
    dimensions: tuple[Dimension, ...]
    rules: Rules
    seed: int
    licence: str
    understudy: bool

    @property
    def place(self) -> Place:
        """The conversation's place in the run."""
        return Place(self.seed, self.trajectory.conversation)

    @property
    def characters(self) -> tuple[Character, ...]:
        """Everyone in the scene, the test character last."""
        return (*self.scene.cast, self.test)

    @property
    def unfit(self) -> str:
        """Why nobody should learn from it as a whole; empty if it can be learnt from."""
        if self.trajectory.faults:
            return "in conversations that failed"
        return "in dialogues graded low" if self.trajectory.grade in ("poor", "moderate") else ""

    def provenance(self, character: Character) -> dict[str, str | bool]:
        """Where a record of a character comes from; texts are never missing, only empty."""
        return {
            "conversation": self.trajectory.conversation,
            "scene": self.scene.id,
            "character": character.id,
            "language": self.scene.language,
            "scene_source": self.scene.source,
            "character_source": character.source,
            "licence": self.licence,
            "understudy": self.understudy,
        }


@dataclass(frozen=True, slots=True)
class Source:
    """A run to export from.

    Attributes:
        run: Its directory.
        config: The configuration that it froze.
        ingredients: What it was built from.
        stale: Whether the templates have changed since it was played, so that prompts are not word for word those
            that were sent.
    """

    run: Path
    config: Config
    ingredients: Ingredients
    stale: bool

    @classmethod
    def open(cls, run: Path) -> Source:
        """Open the run directory of a build.

        Raises:
            InputError: It is none, is not finished, was changed, or what it was played from has changed since.
        """
        build = next((stage for stage in stages(run) if stage.name == "build"), None)
        if build is None:
            hint = "give the --run directory of a build"
            raise InputError("there is nothing to export", where=str(run), why="nothing was built in it", hint=hint)
        if not (run / _FILE).is_file() or not (run / "build.sha256").is_file():
            hint = f"finish it first: `screentest resume {run}`"
            raise InputError("there is nothing to export yet", where=str(run), why=f"it has no {_FILE}", hint=hint)
        if _FILE in broken_seals(run, "build"):
            hint = f"restore the file, or make it again: `screentest replay {run}`"
            raise InputError("these are not the trajectories that were emitted", where=str(run / _FILE), hint=hint)
        ingredients = Ingredients.gather(build.config)
        now = orjson.loads(orjson.dumps(published(ingredients.identity(build.config))))
        changed = {change.field: change for change in differences(frozen(run, "build"), now)}
        stale = changed.pop("prompts", None) is not None
        if changed:
            why = f"changed since it was played: {'; '.join(map(str, changed.values()))}"
            hint = "restore the pool, the characters and the dimensions that it was played with"
            raise InputError("the run cannot be told again", where=str(run), why=why, hint=hint)
        return cls(run, build.config, ingredients, stale)

    def performances(self) -> Iterator[Performance]:
        """What was played, in order.

        Raises:
            InputError: A line of the file is no trajectory.
        """
        config, everyone = self.config, {cell.character.id: cell.character for cell in self.ingredients.cells}
        with (self.run / _FILE).open("rb") as lines:
            for number, line in enumerate(lines, start=1):
                try:
                    trajectory = Trajectory.model_validate_json(line)
                except ValidationError as error:
                    first = error.errors()[0]
                    where = f"{self.run / _FILE}: line {number}: {'.'.join(map(str, first['loc']))}"
                    raise InputError("not a trajectory", where=where, why=first["msg"]) from None
                scene, test = self.ingredients.pool[trajectory.scene], everyone[trajectory.character]
                licences = dict.fromkeys(part.licence or "unknown" for part in (scene, test))
                yield Performance(
                    trajectory=trajectory,
                    scene=scene,
                    test=test,
                    dimensions=self.ingredients.dimensions[scene.language],
                    rules=config.rules,
                    seed=config.seed,
                    licence=config.licence or " AND ".join(licences),
                    understudy=self._understudy(trajectory.source),
                )

    def _understudy(self, source: str) -> bool:
        roles = self.config.roles
        labels = {source, roles.director, roles.scene, roles.base, roles.judge, roles.filter}
        if self.config.rules.narrator:
            labels.add(roles.narrator)
        return any(self.config.models[label].provider == "understudy" for label in labels)
