"""Reading a configuration file, with errors that name the field and say what to do."""

from __future__ import annotations

import difflib
import glob
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ValidationError

from screentest.builders.config import Config, Roles
from screentest.builders.settings import BuildSettings, EvaluateSettings, MemorySettings, PoolSettings
from screentest.errors import InputError
from screentest.llms import ModelSpec, Price


def load_config(path: Path) -> Config:
    """Read a configuration file.

    Args:
        path: A YAML file; relative paths in it are relative to its directory.

    Raises:
        InputError: It cannot be read, or a field is wrong; names the field.
    """
    try:
        data = yaml.load(path.read_text(encoding="utf-8-sig"), Loader=_Loader)  # noqa: S506 - a subclass of SafeLoader
    except OSError as error:
        hint = "`screentest init DIR` writes a commented configuration"
        why = error.strerror or str(error)
        raise InputError("cannot read the configuration", where=str(path), why=why, hint=hint) from None
    except yaml.MarkedYAMLError as error:
        line = f":{error.problem_mark.line + 1}" if error.problem_mark else ""
        raise InputError("this is not YAML", where=f"{path}{line}", why=error.problem or str(error)) from None
    except (UnicodeDecodeError, yaml.YAMLError, RecursionError, ValueError) as error:
        raise InputError("this is not YAML", where=str(path), why=" ".join(str(error).split())) from None
    if not isinstance(data, dict):
        raise InputError("not a configuration", where=str(path), why="it is not a map of fields", hint=_EXAMPLE)
    try:
        config = Config.model_validate(data)
    except ValidationError as error:
        raise _readable(error, path) from None
    base = path.resolve().parent
    return config.model_copy(
        update={
            "pool": config.pool.model_copy(update={"path": config.pool.path and base / config.pool.path.expanduser()}),
            "characters": tuple(str(Path(glob.escape(str(base))) / pattern) for pattern in config.characters),
            "dimensions": config.dimensions and base / config.dimensions,
        }
    )


class _Loader(yaml.SafeLoader):
    """YAML in which a repeated key is an error, rather than silently the last one."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        if repeated := sorted({key for key in keys if keys.count(key) > 1}):
            problem = f"the key {repeated[0]!r} is given twice"
            raise yaml.constructor.ConstructorError(problem=problem, problem_mark=node.start_mark)
        return super().construct_mapping(node, deep=deep)


_EXAMPLE = "name a model, as in `models: {gpt: {provider: openai, model: gpt-4.1}}`"
_FIELDS: dict[str, type[BaseModel]] = {
    "": Config,
    "roles": Roles,
    "pool": PoolSettings,
    "build": BuildSettings,
    "memory": MemorySettings,
    "evaluate": EvaluateSettings,
    "models": ModelSpec,
}
_PLAIN_WORDS = {
    "missing": "it is missing",
    "tuple_type": "must be a list, as in [one, two]",
    "dict_type": "must be a map of fields",
    "model_type": "must be a map of fields",
    "model_attributes_type": "must be a map of fields",
    "string_type": "must be text",
    "string_pattern_mismatch": "must be up to 64 letters, digits, dots, dashes and underscores",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "too_short": "must not be empty",
}


def _readable(error: ValidationError, path: Path) -> InputError:
    """The first problem in plain words. What was found is shown where it cannot be a key put in the wrong place."""
    problems = [problem for problem in error.errors() if problem["loc"] != ("roles",) or problem["type"] != "missing"]
    first = problems[0]
    place = [str(part) for part in first["loc"] if part != "[key]"]
    why = _PLAIN_WORDS.get(
        first["type"], first["msg"].removeprefix("Value error, ").replace("Input should be", "must be")
    )
    hint = _EXAMPLE if place == ["models"] else ""
    if first["type"] == "extra_forbidden":
        inner = Price if "price" in place[2:-1] else _FIELDS.get(place[0] if len(place) > 1 else "", Config)
        near = difflib.get_close_matches(place[-1], inner.model_fields, n=1)
        why = "unknown field"
        hint = f"did you mean {near[0]!r}?" if near else f"fields here are: {', '.join(inner.model_fields)}"
    elif first["type"] not in ("missing", "value_error", "model_type") and isinstance(
        first["input"], str | int | float
    ):
        why += f" (found {first['input']!r})"
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return InputError(
        f"cannot be used{more}", where=": ".join([str(path), *filter(None, [".".join(place)])]), why=why, hint=hint
    )
