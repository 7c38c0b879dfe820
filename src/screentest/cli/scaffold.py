"""A new project: a commented configuration, two test characters and a small pool."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from screentest.errors import InputError
from screentest.files import replace_file
from screentest.pools import Pool, starter_pool

_FILES = {
    "config.yaml": "config.yaml",
    "miriam.yaml": "characters/miriam.yaml",
    "shen.yaml": "characters/shen.yaml",
}


def scaffold(directory: Path) -> list[Path]:
    """Write a project that builds as it is.

    Args:
        directory: Where to; it must not exist yet, or be empty.

    Returns:
        What was written.

    Raises:
        InputError: There is something already, or it cannot be written.
    """
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise InputError(
            "will not write into it", where=str(directory), why="it is not empty", hint="name a new directory"
        )
    written: list[Path] = []
    for template, name in _FILES.items():
        target = directory / name
        replace_file(target, (resources.files("screentest.cli") / "templates" / template).read_bytes())
        written.append(target)
    starter = starter_pool()
    scenes = [starter[name] for name in (*starter.ids("en")[:2], *starter.ids("zh")[:1])]
    Pool.write(
        directory / "pool",
        name="my-pool",
        scenes=scenes,
        licence=starter.manifest.licence,
        source=starter.manifest.source,
    )
    return [*written, directory / "pool"]
