"""Screentest: a multi-agent simulation engine that builds role-play benchmarks.

The names below are the public API; each is loaded when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from screentest.builders import Benchmark, Config, Item, Results, build, evaluate, load_config, understudies
    from screentest.errors import InputError, ScreentestError, TooManyFailures
    from screentest.judges import Dimension, furina_dimensions, load_dimensions
    from screentest.llms import Model, ModelSpec, Reply, Request, open_models
    from screentest.pools import Character, Line, Pool, Scene, View, load_character, starter_pool
    from screentest.sim import Players, Rules, Trajectory, play, view

__version__ = "0.1.0"

_ROOMS = {
    "builders": ("Benchmark", "Config", "Item", "Results", "build", "evaluate", "load_config", "understudies"),
    "errors": ("InputError", "ScreentestError", "TooManyFailures"),
    "judges": ("Dimension", "furina_dimensions", "load_dimensions"),
    "llms": ("Model", "ModelSpec", "Reply", "Request", "open_models"),
    "pools": ("Character", "Line", "Pool", "Scene", "View", "load_character", "starter_pool"),
    "sim": ("Players", "Rules", "Trajectory", "play", "view"),
}
_HOME = {name: room for room, names in _ROOMS.items() for name in names}

__all__ = [
    "Benchmark",
    "Character",
    "Config",
    "Dimension",
    "InputError",
    "Item",
    "Line",
    "Model",
    "ModelSpec",
    "Players",
    "Pool",
    "Reply",
    "Request",
    "Results",
    "Rules",
    "Scene",
    "ScreentestError",
    "TooManyFailures",
    "Trajectory",
    "View",
    "build",
    "evaluate",
    "furina_dimensions",
    "load_character",
    "load_config",
    "load_dimensions",
    "open_models",
    "play",
    "starter_pool",
    "understudies",
    "view",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'screentest' has no attribute {name!r}")
    return getattr(import_module(f"screentest.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
