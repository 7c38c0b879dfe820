"""What a configuration refers to, read and checked before a single call is paid for."""

from __future__ import annotations

import hashlib
import logging
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from screentest.builders.campaign import Cell, enterable
from screentest.builders.config import Config
from screentest.builders.identity import growing, identity
from screentest.errors import InputError
from screentest.judges import Dimension, furina_dimensions, load_dimensions
from screentest.llms import ModelSpec
from screentest.pools import LANGUAGES, Character, Language, Pool, load_characters, starter_pool
from screentest.prompts import prompts_digest

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Ingredients:
    """The pool, the cells and the dimensions of a build.

    Attributes:
        pool: The pool.
        cells: Every (test character × source model).
        dimensions: Per language of the cells.
    """

    pool: Pool
    cells: tuple[Cell, ...]
    dimensions: dict[Language, tuple[Dimension, ...]]

    @classmethod
    def gather(cls, config: Config) -> Ingredients:
        """Read everything a build needs.

        Raises:
            InputError: Something is missing, unreadable, or leaves nothing to build.
        """
        pool = Pool.open(config.pool.path) if config.pool.path else starter_pool()
        characters = _characters(config, pool)
        dimensions: dict[Language, tuple[Dimension, ...]] = {
            language: load_dimensions(config.dimensions, language) if config.dimensions else furina_dimensions(language)
            for language in LANGUAGES
            if any(character.language == language for character in characters)
        }
        cells = tuple(Cell(character, source) for character in characters for source in config.roles.sources)
        return cls(pool, cells, dimensions)

    def identity(self, config: Config) -> dict[str, Any]:
        """What decides a build's outcome, apart from the replies."""
        data = identity(config)
        del data["evaluate"], data["roles"]["tested"]
        if config.rules.narrator:
            data["roles"]["narrator"] = config.roles.narrator
        characters = {cell.character.id: cell.character for cell in self.cells}
        return {
            **data,
            "models": growing({label: spec.identity() for label, spec in cast(config).items()}),
            "pool": {**data["pool"], "digest": self.pool.digest},
            "characters": growing({name: _digest(character) for name, character in characters.items()}),
            "dimensions": growing(
                {language: [_digest(dimension) for dimension in found] for language, found in self.dimensions.items()}
            ),
            "prompts": prompts_digest(),
        }


def cast(config: Config) -> dict[str, ModelSpec]:
    """The models that take part in a build."""
    roles = config.roles
    labels = {roles.director, roles.scene, *roles.sources, roles.base, roles.judge, roles.filter}
    if config.rules.narrator:
        labels.add(roles.narrator)
    if config.rules.memory and config.embeddings:
        labels.add(config.embeddings)
    return {label: config.models[label] for label in sorted(labels)}


def _digest(data: BaseModel) -> str:
    return hashlib.sha256(data.model_dump_json().encode()).hexdigest()[:16]


def _characters(config: Config, pool: Pool) -> tuple[Character, ...]:
    found = load_characters(config.characters, Path()) if config.characters else pool.characters
    where = "characters" if config.characters else str(pool.path)
    if not found:
        hint = "name character files under `characters:` in the configuration"
        raise InputError("no test characters", where=where, why="the pool has none of its own", hint=hint)
    chosen = tuple(character for character in found if character.language in config.pool.languages)
    for character in found if config.characters else ():
        if character not in chosen:
            logger.warning("%s speaks %s, which pool.languages leaves out", character.name, character.language)
    if not chosen:
        why = f"pool.languages is {', '.join(config.pool.languages)}"
        raise InputError("no test character speaks a language of this build", where=where, why=why)
    if doubles := [name for name, count in Counter(character.id for character in chosen).items() if count > 1]:
        raise InputError(
            "two test characters share an id", where=where, why=", ".join(doubles), hint="give each an `id`"
        )
    if not any(enterable(pool, character, config.rules) for character in chosen):
        why = "no scene is in a test character's language, or all of them already have someone of that name"
        raise InputError("no test character can enter any scene", where=str(pool.path), why=why)
    return chosen
