"""The configuration: names models once, gives them to roles, and says what to build and evaluate."""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from screentest.builders.identity import Knob
from screentest.builders.settings import (
    BuildSettings,
    EvaluateSettings,
    Label,
    MemorySettings,
    PoolSettings,
    Section,
)
from screentest.llms import ModelSpec
from screentest.sim import MemoryRules, Rules


class Roles(Section):
    """Which model plays which part. A role left out goes to the first model; ``sources`` and ``tested`` to all.

    Attributes:
        director: Decides who speaks next.
        narrator: Says what comes of deeds; takes part in scenes with a narrator only.
        scene: Plays the scene characters.
        sources: Play the test character; one benchmark cell each.
        base: Plays the test character as the reference.
        judge: Assigns dimensions and compares lines.
        filter: Grades dialogues.
        checker: Checks explanations for hallucinations; takes part in the hallucination analysis only.
        tested: The models ``eval`` tests unless told otherwise.
    """

    director: Label
    narrator: Annotated[Label, Knob.RUNTIME]
    scene: Label
    sources: Annotated[tuple[Label, ...], Field(min_length=1), Knob.GROWING]
    base: Label
    judge: Label
    filter: Label
    checker: Annotated[Label, Knob.RUNTIME]
    tested: Annotated[tuple[Label, ...], Field(min_length=1), Knob.GROWING]

    @classmethod
    def filled(cls, given: Mapping[str, Any], labels: list[str]) -> dict[str, Any]:
        """``given``, with every role that is left out assigned."""
        single = {name: labels[0] for name in cls.model_fields}
        return {**single, "sources": labels, "tested": labels, **given}

    def items(self) -> list[tuple[str, str]]:
        """Every (role, label) pair."""
        pairs: list[tuple[str, str]] = []
        for role in type(self).model_fields:
            value: str | tuple[str, ...] = getattr(self, role)
            pairs += [(role, label) for label in ([value] if isinstance(value, str) else value)]
        return pairs


class Config(Section):
    """Everything a build or an evaluation is told.

    Attributes:
        name: The benchmark's name.
        seed: The run's seed.
        models: Label to model.
        roles: Who plays which part.
        pool: Where scenes come from.
        characters: Patterns of test character files, relative to the configuration file; those that come with the pool
            when left out.
        dimensions: A file of custom dimensions; FURINA's five when left out.
        licence: The licence the benchmark is published under; the scenes' own when left out.
        build: How a benchmark is built.
        memory: How characters remember, in scenes with memory.
        evaluate: How models are evaluated.
    """

    name: str = Field(default="screentest-benchmark", pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")
    seed: int = 0
    models: Annotated[dict[Label, ModelSpec], Field(min_length=1), Knob.GROWING]
    roles: Roles
    pool: PoolSettings = PoolSettings()
    characters: Annotated[tuple[str, ...], Knob.RUNTIME] = ()
    dimensions: Annotated[Path | None, Knob.RUNTIME] = None
    licence: str = ""
    build: BuildSettings = BuildSettings()
    memory: MemorySettings = MemorySettings()
    evaluate: EvaluateSettings = EvaluateSettings()

    @model_validator(mode="before")
    @classmethod
    def _cast_the_roles(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        data = {name: value for name, value in data.items() if value is not None}
        if not isinstance(data.get("models"), dict) or not data["models"]:
            return data
        roles, evaluate = data.get("roles") or {}, data.get("evaluate") or {}
        if not isinstance(roles, dict) or not isinstance(evaluate, dict):
            return data
        if tested := evaluate.get("models"):
            if "tested" in roles and roles["tested"] != tested:
                raise ValueError("roles.tested and evaluate.models name different models; keep one of them")
            roles = {**roles, "tested": tested}
        if "hashing" in data["models"]:
            raise ValueError("models.hashing: no model can have this label, which memory.embedder has a meaning for")
        talking = [str(label) for label, spec in data["models"].items() if not _is_embedder(spec)]
        if not talking:
            raise ValueError("models: all of them are embeddings models, and none can talk")
        return {**data, "roles": Roles.filled(roles, talking)}

    @model_validator(mode="after")
    def _roles_name_models(self) -> Self:
        for role, label in self.roles.items():
            if label not in self.models:
                near = difflib.get_close_matches(label, self.models, n=1)
                hint = f"did you mean {near[0]!r}?" if near else f"models are: {', '.join(self.models)}"
                raise ValueError(f"roles.{role} names an unknown model {label!r}; {hint}")
        return self

    @model_validator(mode="after")
    def _embedder_is_known(self) -> Self:
        name = self.memory.embedder
        if name != "hashing" and not (name.startswith("st:") and name[3:].strip()) and self.embeddings is None:
            known = ", ".join(["hashing", "st:NAME", *(n for n, spec in self.models.items() if _embeds(spec))])
            raise ValueError(f"memory.embedder names no embeddings model {name!r}; there are: {known}")
        if talking := [f"roles.{role}" for role, label in self.roles.items() if _embeds(self.models[label])]:
            raise ValueError(f"{talking[0]} names an embeddings model, which cannot talk")
        return self

    @property
    def rules(self) -> Rules:
        """The rules every scene is played by."""
        build, memory = self.build, self.memory
        return Rules(
            staging=build.staging,
            turns=build.turns,
            min_turns=build.min_turns,
            rounds=build.rounds,
            min_rounds=build.min_rounds,
            narrator=build.narrator,
            memory=build.memory,
            beliefs=build.beliefs,
            emphasis=build.emphasis,
            orders=build.orders,
            remembering=MemoryRules(
                window=memory.window,
                recall=memory.recall,
                capacity=memory.capacity,
                importance=memory.importance,
                weights=memory.weights,
            ),
        )

    @property
    def embeddings(self) -> str | None:
        """The label of the model that embeds memories, if a model does."""
        name = self.memory.embedder
        return name if name in self.models and _embeds(self.models[name]) else None

    def playing(self) -> list[tuple[str, str]]:
        """The (role, label) pairs that take part in builds and evaluations."""
        waiting = {"checker"} if self.rules.narrator else {"checker", "narrator"}
        return [(role, label) for role, label in self.roles.items() if role not in waiting]

    def relative_to(self, directory: Path) -> Config:
        """The same configuration for a file in ``directory``, so that a run and its project can be moved together."""
        path, dimensions = self.pool.path, self.dimensions
        return self.model_copy(
            update={
                "pool": self.pool.model_copy(update={"path": path and _relative(path, directory)}),
                "characters": tuple(str(_relative(Path(pattern), directory)) for pattern in self.characters),
                "dimensions": dimensions and _relative(dimensions, directory),
            }
        )

    @property
    def offline(self) -> bool:
        """Whether every model is an understudy."""
        return all(spec.provider == "understudy" for spec in self.models.values())

    @property
    def rehearsal(self) -> bool:
        """Whether any model is an understudy, so that results say nothing about real models."""
        return any(self.models[label].provider == "understudy" for _, label in self.playing())


def _is_embedder(spec: object) -> bool:
    return isinstance(spec, Mapping) and spec.get("provider") == "embeddings"


def _embeds(spec: ModelSpec) -> bool:
    return spec.provider == "embeddings"


def _relative(path: Path, directory: Path) -> Path:
    try:
        return Path(os.path.relpath(path.absolute(), directory.resolve()))
    except ValueError:  # another drive
        return path.absolute()


def understudies(**changes: Any) -> Config:
    """The configuration without a configuration: three understudies on the starter pool."""
    return Config.model_validate(
        {
            "models": {skill: {"provider": "understudy", "skill": skill} for skill in ("adept", "novice", "expert")},
            "roles": {"sources": ["expert", "adept"], "tested": ["novice", "adept", "expert"]},
            **changes,
        }
    )
