"""The manifest of a benchmark: what it says about itself."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict

from screentest.builders.report import BuildReport
from screentest.judges import Dimension
from screentest.pools import Language

SCHEMA_VERSION = 1


class Manifest(BaseModel):
    """What a benchmark says about itself.

    Attributes:
        schema_version: The version of the item schema.
        name: The benchmark's name.
        content_hash: SHA-256 of ``data/test.jsonl``.
        items: How many items it holds.
        languages: The languages of its items.
        understudy: Whether a stand-in model took part.
        dimensions: What its items are judged on, per language.
        config: The configuration it was built from, without run-time knobs and without secrets.
        pool: Name and hash of the pool.
        versions: The versions of what built it.
        report: What the build came to.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    schema_version: int
    name: str
    content_hash: str
    items: int
    languages: tuple[Language, ...]
    understudy: bool
    dimensions: dict[Language, tuple[Dimension, ...]]
    config: dict[str, Any]
    pool: dict[str, str]
    versions: dict[str, str]
    report: BuildReport
