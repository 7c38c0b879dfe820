"""What a run is: the settings that decide what comes out, frozen when it begins and compared when it goes on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, is_dataclass
from enum import Enum
from pathlib import Path
from typing import Any

import orjson
import yaml
from pydantic import BaseModel

from screentest.errors import InputError
from screentest.files import replace_file
from screentest.llms import ModelSpec


class Knob(Enum):
    """What changing a setting means for a run that has begun. A setting without a mark is part of its identity.

    Attributes:
        RUNTIME: Nothing: it decides how the run works, not what comes out.
        GROWING: It may grow: a larger number, or more entries beside the old ones.
    """

    RUNTIME = "runtime"
    GROWING = "growing"


def knob(model: type[BaseModel], field: str) -> Knob | None:
    """How a field is marked; ``None`` if it is part of the identity."""
    return next((mark for mark in model.model_fields[field].metadata if isinstance(mark, Knob)), None)


def identity(settings: BaseModel) -> dict[str, Any]:
    """The settings that decide what comes out, as plain data; what may grow is wrapped as ``{"growing": …}``."""
    found: dict[str, Any] = {}
    for field in type(settings).model_fields:
        mark, value = knob(type(settings), field), getattr(settings, field)
        if mark is Knob.RUNTIME:
            continue
        plain = _plain(value)
        found[field] = {"growing": plain} if mark is Knob.GROWING else plain
    return found


def growing(value: Any) -> dict[str, Any]:
    """Mark a value that may grow."""
    return {"growing": value}


def published(identity: Any) -> Any:
    """An identity without the marks of what may grow."""
    if _is_growing(identity):
        return published(identity["growing"])
    if isinstance(identity, dict):
        return {name: published(value) for name, value in identity.items()}
    return identity


def _plain(value: Any) -> Any:
    if isinstance(value, ModelSpec):
        return value.identity()
    if isinstance(value, BaseModel):
        return identity(value)
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return str(value) if isinstance(value, Path) else value


@dataclass(frozen=True, slots=True)
class Change:
    """A setting that differs from what the run began with."""

    field: str
    before: Any
    now: Any

    def __str__(self) -> str:
        return f"{self.field}: {_short(self.before)} → {_short(self.now)}"


def changes(before: Any, now: Any, field: str = "") -> Iterator[Change]:
    """Where ``now`` is no continuation of ``before``.

    A name that begins with an underscore tells where something is, and is not compared.

    Args:
        before: An identity, as frozen.
        now: An identity, as asked for.
        field: Where they stand.
    """
    if _is_growing(before) and _is_growing(now):
        yield from _grown(before["growing"], now["growing"], field)
    elif isinstance(before, dict) and isinstance(now, dict):
        for name in dict.fromkeys([*before, *now]):
            if name.startswith("_"):
                continue
            yield from changes(before.get(name), now.get(name), f"{field}.{name}".lstrip("."))
    elif before != now:
        yield Change(field, before, now)


def differences(before: Any, now: Any, field: str = "") -> Iterator[Change]:
    """Where two identities without marks differ at all; names that begin with an underscore are not compared."""
    if isinstance(before, dict) and isinstance(now, dict):
        for name in dict.fromkeys([*before, *now]):
            if not name.startswith("_"):
                yield from differences(before.get(name), now.get(name), f"{field}.{name}".lstrip("."))
    elif before != now:
        yield Change(field, before, now)


def _grown(before: Any, now: Any, field: str) -> Iterator[Change]:
    if isinstance(before, dict) and isinstance(now, dict):
        for name in before:
            yield from changes(before[name], now.get(name), f"{field}.{name}")
    elif isinstance(before, list) and isinstance(now, list):
        if missing := [value for value in before if value not in now]:
            yield Change(field, before, f"without {', '.join(map(str, missing))}")
    elif isinstance(before, int | float) and isinstance(now, int | float):
        if now < before:
            yield Change(field, before, now)
    elif before != now:
        yield Change(field, before, now)


def _is_growing(value: Any) -> bool:
    return isinstance(value, dict) and value.keys() == {"growing"}


def _short(value: Any) -> str:
    text = "nothing" if value is None else value if isinstance(value, str) else orjson.dumps(value).decode()
    return text if len(text) <= 80 else f"{text[:60]}…{text[-15:]}"


def freeze(directory: Path, stage: str, identity: dict[str, Any], config: BaseModel) -> None:
    """Freeze what a stage of a run is, or check that it goes on as it began.

    Args:
        directory: The run's directory.
        stage: ``build`` or ``eval``.
        identity: What decides the stage's outcome.
        config: The configuration, kept beside it for people and for ``resume``; its paths relative to the directory.

    Raises:
        InputError: The stage began with other settings; names each.
    """
    compare(directory, stage, identity)
    freeze_config(directory, stage, config)
    _renew(identity_file(directory, stage), orjson.dumps(identity, option=orjson.OPT_INDENT_2) + b"\n")


def compare(directory: Path, stage: str, identity: dict[str, Any]) -> None:
    """Check that a stage goes on as it began, if it has begun.

    Raises:
        InputError: It began with other settings; names each.
    """
    before = _frozen(identity_file(directory, stage))
    if before is not None and (found := list(changes(before, orjson.loads(orjson.dumps(identity))))):
        raise InputError(
            f"this run began with other settings ({len(found)} differ)",
            where=str(directory),
            why="; ".join(map(str, found)),
            hint="use another --run directory, undo the change, or go on in a copy with --fork NEW",
        )


def freeze_config(directory: Path, stage: str, config: BaseModel) -> None:
    """Write the configuration of a stage into a run directory."""
    data = config.model_dump(mode="json", exclude_none=True, exclude_defaults=True)
    text = yaml.safe_dump(data, allow_unicode=True, sort_keys=False, width=120)
    _renew(config_file(directory, stage), text.encode())


def _renew(file: Path, data: bytes) -> None:
    if not file.is_file() or file.read_bytes() != data:
        replace_file(file, data)


def config_file(directory: Path, stage: str) -> Path:
    """Where the configuration of a stage is frozen."""
    return directory / ("config.yaml" if stage == "build" else f"{stage}.config.yaml")


def frozen(directory: Path, stage: str) -> dict[str, Any] | None:
    """What a stage of a run is frozen as, without marks; ``None`` if the stage has not begun.

    Raises:
        InputError: The frozen identity is damaged.
    """
    return published(_frozen(identity_file(directory, stage)))


def identity_file(directory: Path, stage: str) -> Path:
    """Where the identity of a stage is frozen."""
    return directory / f"{stage}.identity.json"


def _frozen(file: Path) -> dict[str, Any] | None:
    try:
        return orjson.loads(file.read_bytes()) if file.is_file() else None
    except (OSError, orjson.JSONDecodeError) as error:
        raise InputError("the frozen identity is damaged", where=str(file), why=str(error)) from None
