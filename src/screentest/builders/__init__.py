"""Campaigns that emit benchmarks, and evaluations of models on them."""

from screentest.builders.benchmark import Benchmark
from screentest.builders.build import build
from screentest.builders.campaign import Cell, Flagged, Progress, enterable
from screentest.builders.comparison import Comparison, EvaluationProgress, Failure
from screentest.builders.config import Config, understudies
from screentest.builders.embedding import embedder
from screentest.builders.evaluation import evaluate, rejudge
from screentest.builders.ingredients import Ingredients, cast
from screentest.builders.item import Item
from screentest.builders.manifest import Manifest
from screentest.builders.reading import load_config
from screentest.builders.report import BuildReport, CellReport
from screentest.builders.results import ModelResult, Results, Score

__all__ = [
    "Benchmark",
    "BuildReport",
    "Cell",
    "CellReport",
    "Comparison",
    "Config",
    "EvaluationProgress",
    "Failure",
    "Flagged",
    "Ingredients",
    "Item",
    "Manifest",
    "ModelResult",
    "Progress",
    "Results",
    "Score",
    "build",
    "cast",
    "embedder",
    "enterable",
    "evaluate",
    "load_config",
    "rejudge",
    "understudies",
]
