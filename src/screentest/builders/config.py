"""The configuration: names models once, gives them to roles, and says what to build and evaluate."""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from screentest.builders.identity import Knob
from screentest.judges import SelectionMode
from screentest.llms import ModelSpec
from screentest.pools import Language
from screentest.sim import Rules

Label = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
Orders = Literal["one", "both"]

_WAITING = ("narrator", "checker")


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Roles(_Section):
    """Which model plays which part. A role left out goes to the first model; ``sources`` and ``tested`` to all.

    Attributes:
        director: Decides who speaks next.
        narrator: Adjudicates actions; takes part in story play only.
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

    def playing(self) -> list[tuple[str, str]]:
        """The (role, label) pairs that take part in builds and evaluations today."""
        return [(role, label) for role, label in self.items() if role not in _WAITING]


class PoolSettings(_Section):
    """Where scenes come from.

    Attributes:
        path: A pool directory, relative to the configuration file; the starter pool when left out.
        languages: Which of its scenes and which characters take part.
    """

    path: Annotated[Path | None, Knob.RUNTIME] = None
    languages: Annotated[tuple[Language, ...], Knob.GROWING] = ("en", "zh")


class BuildSettings(_Section):
    """How a benchmark is built.

    Attributes:
        quota: Items wanted per dimension in every cell (``tau``, FURINA §4.2).
        scenes: The most scenes played per cell; what is missing then is reported as a shortfall.
        turns: The most lines a scene may have.
        min_turns: The fewest before the director may end it.
        emphasis: How the emphasised dimension is selected: ``argmax`` or ``sample`` (App. C).
        orders: ``one`` judges in an order drawn per turn, ``both`` judges both orders and averages.
        staging: How scenes are played; ``dialogue`` is the one way there is.
        lag: Conversations of a cell that run at once; each learns the counts of those ``lag`` and more before it.
        max_failures: The share of conversations that may fail before the build ends with exit code 4.
    """

    quota: Annotated[int, Field(ge=1, strict=True), Knob.GROWING] = 10
    scenes: Annotated[int, Field(ge=1, strict=True), Knob.GROWING] = 50
    turns: int = Field(default=20, ge=2, le=200)
    min_turns: int = Field(default=6, ge=1)
    emphasis: SelectionMode = "argmax"
    orders: Orders = "one"
    staging: Literal["dialogue"] = "dialogue"
    lag: int = Field(default=2, ge=1)
    max_failures: Annotated[float, Field(ge=0, le=1), Knob.RUNTIME] = 0.2

    @model_validator(mode="after")
    def _can_end(self) -> Self:
        if "min_turns" in self.model_fields_set and self.min_turns > self.turns:
            raise ValueError(f"min_turns ({self.min_turns}) is more than turns ({self.turns})")
        return self

    @property
    def rules(self) -> Rules:
        """The rules every scene is played by."""
        return Rules(turns=self.turns, min_turns=self.min_turns, emphasis=self.emphasis, orders=self.orders)


class EvaluateSettings(_Section):
    """How models are evaluated.

    Attributes:
        models: The models to test; another way to write ``roles.tested``.
        orders: Both orders are judged (eq. 2).
        resamples: Bootstrap resamples.
        max_failures: The share of comparisons without a score that may stand before the run ends with exit code 4.
    """

    models: Annotated[tuple[Label, ...], Knob.RUNTIME] = ()
    orders: Literal["both"] = "both"
    resamples: int = Field(default=1000, ge=100)
    max_failures: Annotated[float, Field(ge=0, le=1), Knob.RUNTIME] = 0.05


class Config(_Section):
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
        return {**data, "roles": Roles.filled(roles, [str(label) for label in data["models"]])}

    @model_validator(mode="after")
    def _roles_name_models(self) -> Self:
        for role, label in self.roles.items():
            if label not in self.models:
                near = difflib.get_close_matches(label, self.models, n=1)
                hint = f"did you mean {near[0]!r}?" if near else f"models are: {', '.join(self.models)}"
                raise ValueError(f"roles.{role} names an unknown model {label!r}; {hint}")
        return self

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
        return any(self.models[label].provider == "understudy" for _, label in self.roles.playing())


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
