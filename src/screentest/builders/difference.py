"""The difference between two runs or benchmarks: configuration, items, scores."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from screentest.builders.benchmark import Benchmark
from screentest.builders.identity import Change, differences, frozen
from screentest.builders.results import Results
from screentest.errors import InputError


@dataclass(frozen=True, slots=True)
class Difference:
    """How B differs from A.

    Attributes:
        settings: Settings that differ.
        only_a: Ids of items only A has.
        only_b: Ids of items only B has.
        changed: Ids of items that both have, with other content.
        same: How many items are the same.
        headlines: Tested label to the headline in A and in B.
    """

    settings: tuple[Change, ...]
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]
    changed: tuple[str, ...]
    same: int
    headlines: dict[str, tuple[float | None, float | None]]

    @property
    def none(self) -> bool:
        """Whether A and B are the same."""
        moved = any(before != now for before, now in self.headlines.values())
        return not (self.settings or self.only_a or self.only_b or self.changed or moved)


def diff(a: Path, b: Path) -> Difference:
    """Compare two run directories, or two benchmark directories.

    Raises:
        InputError: One of them is neither, or is damaged.
    """
    one, other = _Side.read(a), _Side.read(b)
    both = [name for name in one.items if name in other.items]
    changed = tuple(name for name in both if one.items[name] != other.items[name])
    return Difference(
        settings=tuple(differences(one.settings, other.settings)),
        only_a=tuple(name for name in one.items if name not in other.items),
        only_b=tuple(name for name in other.items if name not in one.items),
        changed=changed,
        same=len(both) - len(changed),
        headlines={
            label: (one.headlines.get(label), other.headlines.get(label))
            for label in dict.fromkeys([*one.headlines, *other.headlines])
        },
    )


@dataclass(frozen=True, slots=True)
class _Side:
    settings: dict[str, Any]
    items: dict[str, str]
    headlines: dict[str, float | None]

    @classmethod
    def read(cls, path: Path) -> _Side:
        settings = {stage: found for stage in ("build", "eval") if (found := frozen(path, stage)) is not None}
        benchmark = None
        if (path / "manifest.json").is_file() or (path / "benchmark" / "manifest.json").is_file():
            benchmark = Benchmark.open(path)
            settings.setdefault("build", benchmark.manifest.config)
        if not settings:
            hint = "give the directory of a run or of a benchmark"
            raise InputError("neither a run nor a benchmark", where=str(path), hint=hint)
        return cls(
            settings=settings,
            items={item.id: item.model_dump_json() for item in benchmark.items()} if benchmark else {},
            headlines=_headlines(path / "results.json"),
        )


def _headlines(file: Path) -> dict[str, float | None]:
    if not file.is_file():
        return {}
    try:
        results = Results.model_validate_json(file.read_bytes())
    except ValidationError as error:
        raise InputError("the results are damaged", where=str(file), why=error.errors()[0]["msg"]) from None
    return {label: result.overall.headline for label, result in results.models.items()}
