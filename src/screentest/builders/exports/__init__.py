"""Exports: a run's trajectories as data to look at, to draw and to fine-tune on."""

from screentest.builders.exports.directory import Export, Kind
from screentest.builders.exports.graphs import graphs
from screentest.builders.exports.guided import guided
from screentest.builders.exports.narrations import narrations
from screentest.builders.exports.performance import Performance, Source
from screentest.builders.exports.preferences import preferences
from screentest.builders.exports.reflective import reflective
from screentest.builders.exports.retelling import Narration, Retelling, Step
from screentest.builders.exports.trajectories import trajectories

__all__ = [
    "Export",
    "Kind",
    "Narration",
    "Performance",
    "Retelling",
    "Source",
    "Step",
    "graphs",
    "guided",
    "narrations",
    "preferences",
    "reflective",
    "trajectories",
]
