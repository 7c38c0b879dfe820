"""What a pool says about itself."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from screentest.errors import InputError
from screentest.pools.character import Language
from screentest.pools.reading import problem

SCHEMA_VERSION = 1
MANIFEST = "manifest.json"


class Manifest(BaseModel):
    """The content of ``manifest.json``.

    Attributes:
        schema_version: The version of this layout.
        name: What the pool is called.
        licence: The licence of the whole; each scene carries its own.
        source: Where the scenes come from.
        languages: The languages its scenes and characters are in.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    schema_version: int
    name: str
    licence: str
    source: str
    languages: tuple[Language, ...]

    @classmethod
    def read(cls, directory: Path) -> Manifest:
        """Read the manifest of a pool.

        Raises:
            InputError: The directory has none, or it is of a newer version, or not usable.
        """
        file = directory / MANIFEST
        hint = "give the directory of a pool, as `screentest pool import` writes one"
        try:
            text = file.read_bytes()
        except OSError as error:
            why = error.strerror or str(error)
            raise InputError("this is not a pool", where=str(file), why=why, hint=hint) from error
        try:
            version = _Version.model_validate_json(text).schema_version
            if version > SCHEMA_VERSION:
                why = f"its schema_version is {version}, this version of screentest reads up to {SCHEMA_VERSION}"
                raise InputError("the pool is too new", where=str(file), why=why, hint="upgrade screentest")
            return cls.model_validate_json(text)
        except ValidationError as error:
            field, why = problem(error)
            what = f"the manifest is not usable: field {field}" if field else "the manifest is not usable"
            raise InputError(what, where=str(file), why=why, hint=hint) from error


class _Version(BaseModel):
    schema_version: int
