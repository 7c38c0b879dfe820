"""Every setting is identity, may grow, or is free to change: this table says which, and the calls bear it out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from screentest.agents.memory import Weights
from screentest.builders import Config
from screentest.builders.config import Roles
from screentest.builders.identity import Change, Knob, changes, identity, knob
from screentest.builders.ingredients import Ingredients
from screentest.builders.settings import BuildSettings, EvaluateSettings, MemorySettings, PoolSettings
from screentest.llms import Message, ModelSpec, Price, Request, Sampling
from screentest.llms.journal import digest, encoded_identity
from screentest.sim import Session

IDENTITY, GROWING, RUNTIME = "identity", "growing", "runtime"

CLASSES: dict[type[BaseModel], dict[str, str]] = {
    Config: {
        "name": IDENTITY,
        "seed": IDENTITY,
        "models": GROWING,
        "roles": IDENTITY,
        "pool": IDENTITY,
        "characters": RUNTIME,  # their content is identity, wherever it is
        "dimensions": RUNTIME,  # likewise
        "licence": IDENTITY,
        "build": IDENTITY,
        "memory": IDENTITY,
        "evaluate": IDENTITY,
    },
    Roles: {
        "director": IDENTITY,
        "narrator": RUNTIME,  # identity in scenes with a narrator, see below
        "scene": IDENTITY,
        "sources": GROWING,
        "base": IDENTITY,
        "judge": IDENTITY,
        "filter": IDENTITY,
        "checker": RUNTIME,  # takes no part in a build
        "tested": GROWING,
    },
    PoolSettings: {"path": RUNTIME, "languages": GROWING},  # its content is identity, wherever it is
    BuildSettings: {
        "quota": GROWING,
        "scenes": GROWING,
        "turns": IDENTITY,
        "min_turns": IDENTITY,
        "emphasis": IDENTITY,
        "orders": IDENTITY,
        "staging": IDENTITY,
        "rounds": IDENTITY,
        "min_rounds": IDENTITY,
        "narrator": IDENTITY,
        "memory": IDENTITY,
        "beliefs": IDENTITY,
        "lag": IDENTITY,
        "max_failures": RUNTIME,
    },
    MemorySettings: dict.fromkeys(MemorySettings.model_fields, IDENTITY),
    Weights: dict.fromkeys(Weights.model_fields, IDENTITY),
    EvaluateSettings: {"models": RUNTIME, "orders": IDENTITY, "resamples": IDENTITY, "max_failures": RUNTIME},
}

MODEL: dict[str, str] = {
    "provider": IDENTITY,
    "model": IDENTITY,
    "base_url": RUNTIME,
    "key_env": RUNTIME,
    "rpm": RUNTIME,
    "tpm": RUNTIME,
    "concurrency": RUNTIME,
    "timeout": RUNTIME,
    "retries": RUNTIME,
    "temperature": IDENTITY,
    "top_p": IDENTITY,
    "max_tokens": IDENTITY,
    "thinking": IDENTITY,
    "effort": IDENTITY,
    "structured": IDENTITY,
    "price": RUNTIME,
    "skill": IDENTITY,
    "dimensions": IDENTITY,
    "extra": IDENTITY,
}

SESSION = {"concurrency", "max_usd", "replay", "retry_failed", "environment", "tally", "batch", "pace"}

REQUEST = {
    "messages": IDENTITY,
    "purpose": RUNTIME,  # part of the key
    "key": IDENTITY,
    "seed": IDENTITY,
    "sampling": IDENTITY,
    "language": RUNTIME,  # the prompt is in it
    "schema": IDENTITY,
    "facts": RUNTIME,  # the prompt was rendered from them
}


@pytest.mark.parametrize("section", CLASSES, ids=lambda section: section.__name__)
def test_every_field_is_classified(section: type[BaseModel]) -> None:
    marks = {None: IDENTITY, Knob.GROWING: GROWING, Knob.RUNTIME: RUNTIME}
    assert {field: marks[knob(section, field)] for field in section.model_fields} == CLASSES[section]


def test_every_section_is_in_the_table() -> None:
    nested = {
        field.annotation
        for section in CLASSES
        for field in section.model_fields.values()
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel)
    }
    assert nested <= CLASSES.keys()
    assert set(ModelSpec.model_fields) == set(MODEL)
    assert set(Price.model_fields) == {"input", "output", "cached", "reasoning"}
    assert set(Session.__dataclass_fields__) == SESSION, "how a session works is never identity"
    assert set(Request.__dataclass_fields__) == set(REQUEST)


BASE = {
    "models": {"one": {"provider": "understudy"}, "two": {"provider": "understudy", "skill": "expert"}},
    "roles": {name: "one" for name in ("director", "narrator", "scene", "base", "judge", "filter", "checker")}
    | {"sources": ["one"], "tested": ["one"]},
}

OTHER: dict[type[BaseModel], dict[str, Any]] = {
    Config: {
        "name": "other",
        "seed": 1,
        "licence": "CC0-1.0",
        "models": BASE["models"] | {"three": {"provider": "understudy"}},
    },
    Roles: dict.fromkeys(("director", "narrator", "scene", "base", "judge", "filter", "checker"), "two")
    | {"sources": ["one", "two"], "tested": ["one", "two"]},
    PoolSettings: {"languages": ["en", "zh"]},
    BuildSettings: {
        "quota": 11,
        "scenes": 51,
        "turns": 21,
        "min_turns": 7,
        "emphasis": "sample",
        "orders": "both",
        "staging": "story",
        "rounds": 5,
        "min_rounds": 3,
        "narrator": True,
        "memory": True,
        "beliefs": True,
        "lag": 3,
        "max_failures": 0.5,
    },
    MemorySettings: {
        "embedder": "st:some-model",
        "window": 12,
        "recall": 3,
        "capacity": 64,
        "importance": "judged",
    },
    Weights: {"relevance": 2, "recency": 2, "importance": 2, "half_life": 7},
    EvaluateSettings: {"models": ["one"], "resamples": 200, "max_failures": 0.5},
}
_SECTION = {
    Config: None,
    Roles: "roles",
    PoolSettings: "pool",
    BuildSettings: "build",
    MemorySettings: "memory",
    Weights: "memory.weights",
    EvaluateSettings: "evaluate",
}
_ONE_VALUE_ONLY = {(EvaluateSettings, "orders")}
_CASES = [(section, field) for section, fields in OTHER.items() for field in fields]


def test_every_field_that_can_differ_is_tried() -> None:
    tried = set(_CASES) | _ONE_VALUE_ONLY
    tried |= {(Config, field) for field in ("roles", "pool", "build", "memory", "evaluate", "characters", "dimensions")}
    tried |= {(PoolSettings, "path"), (MemorySettings, "weights")}
    assert {(section, field) for section, fields in CLASSES.items() for field in fields} == tried


def _with(section: type[BaseModel], field: str, value: Any) -> Config:
    name = _SECTION[section]
    pool = {"languages": ["en"]} if section is PoolSettings else {}
    data: dict[str, Any] = {**BASE, "pool": pool}
    if name is None:
        data[field] = value
    else:
        outer, _, inner = name.partition(".")
        change = {inner: {field: value}} if inner else {field: value}
        data[outer] = {**data.get(outer, {}), **change}
    return Config.model_validate(data)


@pytest.mark.parametrize(("section", "field"), _CASES, ids=lambda part: getattr(part, "__name__", part))
def test_a_changed_field_is_treated_as_its_class_says(section: type[BaseModel], field: str) -> None:
    value = OTHER[section][field]
    before = _with(section, "languages", ["en"]) if section is PoolSettings else Config.model_validate(BASE)
    forwards = list(changes(identity(before), identity(_with(section, field, value))))
    backwards = list(changes(identity(_with(section, field, value)), identity(before)))
    place = ".".join(filter(None, (_SECTION[section], field)))
    match CLASSES[section][field]:
        case "identity":
            assert [change.field for change in forwards] == [place] == [change.field for change in backwards]
        case "growing":
            assert not forwards
            assert [change.field.split(".three")[0] for change in backwards] == [place]
        case _:
            assert not forwards and not backwards


def test_what_a_build_is_made_of_is_identity_whatever_its_files_are_called(tmp_path: Path) -> None:
    config = Config.model_validate(BASE)
    found = Ingredients.gather(config).identity(config)
    assert {"pool", "characters", "dimensions", "prompts", "models", "seed", "build", "roles"} <= found.keys()
    assert found["pool"]["digest"] and found["prompts"]


REQUESTED = Request(messages=(Message("user", "Who?"),), purpose="test", key="a", seed=3, sampling=Sampling())
SERVED = {"provider": "openai", "model": "m", "base_url": "http://localhost:1/v1"}
CLAUDE = {"provider": "anthropic", "model": "m", "base_url": "http://localhost:1"}
UNDERSTUDY = {"provider": "understudy"}
EMBEDDINGS = SERVED | {"provider": "embeddings"}
SPECS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "provider": (SERVED, CLAUDE | {"base_url": SERVED["base_url"]}),
    "model": (SERVED, SERVED | {"model": "n"}),
    "base_url": (SERVED, SERVED | {"base_url": "http://localhost:2/v1"}),
    "key_env": (SERVED, SERVED | {"key_env": "OTHER_KEY"}),
    "rpm": (SERVED, SERVED | {"rpm": 5}),
    "tpm": (SERVED, SERVED | {"tpm": 5}),
    "concurrency": (SERVED, SERVED | {"concurrency": 5}),
    "timeout": (SERVED, SERVED | {"timeout": 5}),
    "retries": (SERVED, SERVED | {"retries": 5}),
    "temperature": (SERVED, SERVED | {"temperature": 0.0}),
    "top_p": (SERVED, SERVED | {"top_p": 0.5}),
    "max_tokens": (SERVED, SERVED | {"max_tokens": 5}),
    "thinking": (CLAUDE, CLAUDE | {"thinking": 2048}),
    "effort": (SERVED, SERVED | {"effort": "low"}),
    "structured": (SERVED, SERVED | {"structured": "text"}),
    "price": (SERVED, SERVED | {"price": {"input": 1, "output": 2}}),
    "skill": (UNDERSTUDY, UNDERSTUDY | {"skill": "novice"}),
    "dimensions": (EMBEDDINGS, EMBEDDINGS | {"dimensions": 256}),
    "extra": (SERVED, SERVED | {"extra": {"min_p": 0.1}}),
}


@pytest.mark.parametrize("field", MODEL)
def test_a_model_s_field_changes_its_calls_just_when_it_is_identity(field: str) -> None:
    one, other = (ModelSpec.model_validate(fields) for fields in SPECS[field])
    before, now = (digest(encoded_identity(spec.identity()), REQUESTED) for spec in (one, other))
    assert (before != now) == (MODEL[field] == IDENTITY)
    assert (list(changes(one.identity(), other.identity())) != []) == (MODEL[field] == IDENTITY)


@pytest.mark.parametrize("field", REQUEST)
def test_a_request_s_field_changes_its_call_just_when_it_is_identity(field: str) -> None:
    other = {
        "messages": (Message("user", "Who else?"),),
        "purpose": "another",
        "key": "b",
        "seed": 4,
        "sampling": Sampling(temperature=0.1),
        "language": "zh",
        "schema": Change2,
        "facts": {"a": 1},
    }[field]
    model = encoded_identity({"model": "m"})
    changed = digest(model, replace(REQUESTED, **{field: other})) != digest(model, REQUESTED)
    assert changed == (REQUEST[field] == IDENTITY)


class Change2(BaseModel):
    """Some schema."""

    a: int


def test_a_change_reads_well() -> None:
    assert str(Change("build.turns", 20, 30)) == "build.turns: 20 → 30"
    assert str(Change("models.a", {"model": "x"}, None)) == 'models.a: {"model":"x"} → nothing'
    assert len(str(Change("characters.a", "x" * 500, "y" * 500))) < 200
