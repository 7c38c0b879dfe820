"""Dimensions: what a line is judged on."""

from __future__ import annotations

from functools import cache
from importlib import resources
from pathlib import Path

import yaml
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from screentest.errors import InputError
from screentest.pools import Language


class Dimension(BaseModel):
    """One evaluation dimension in one language (FURINA §4.1, App. E, App. Q).

    Attributes:
        id: Short name, the same in every language: ``"CR"``.
        name: Full name.
        definition: What a judge should look for.
        example: A context with a common mistake and a good reply.
        strategy: ``S(d)``, the response strategy the test character is given.
        instruction: ``I(d)``, how a scene character invites a reply that shows this dimension.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str = Field(pattern=r"^[A-Za-z][A-Za-z0-9_]{0,15}$")
    name: str
    definition: str
    example: str
    strategy: str
    instruction: str


_LIST = TypeAdapter(tuple[Dimension, ...])


def load_dimensions(path: Path, language: Language) -> tuple[Dimension, ...]:
    """Read a user's dimensions for one language.

    Args:
        path: A YAML file that maps ``en`` and ``zh`` to lists of dimensions.
        language: Which list to take.

    Raises:
        InputError: The file cannot be read, or a dimension lacks a field.
    """
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise InputError("cannot read the dimensions", where=str(path), why=str(error)) from error
    if not isinstance(data, dict) or language not in data:
        hint = f"add a list under {language}:"
        raise InputError(f"no dimensions for language {language!r}", where=str(path), hint=hint)
    return _checked(data[language], where=f"{path}: {language}")


@cache
def furina_dimensions(language: Language) -> tuple[Dimension, ...]:
    """FURINA's five dimensions: CR, FR, RR, CA, PA."""
    name = resources.files("screentest.prompts") / language / "dimensions.yaml"
    return _checked(yaml.safe_load(name.read_text(encoding="utf-8")), where=str(name))


def _checked(data: object, *, where: str) -> tuple[Dimension, ...]:
    try:
        dimensions = _LIST.validate_python(data)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise InputError("a dimension is not usable", where=f"{where}.{place}", why=first["msg"]) from error
    ids = [dimension.id for dimension in dimensions]
    if not ids or len(set(ids)) != len(ids):
        raise InputError("dimension ids must be present and unique", where=where, why=f"found {ids}")
    return dimensions
