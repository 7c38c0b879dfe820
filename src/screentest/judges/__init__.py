"""What lines are judged on, by whom, and what the verdicts add up to."""

from screentest.judges.dialogue_filter import DialogueFilter, Grade, Grading
from screentest.judges.dimensions import Dimension, furina_dimensions, load_dimensions
from screentest.judges.pairwise import DimensionChoice, Order, Pair, PairwiseJudge, Rating, Verdict
from screentest.judges.selector import SelectionMode, probabilities, select, weights
from screentest.judges.statistics import Estimate, Interval, Scored, estimate, item_score

__all__ = [
    "DialogueFilter",
    "Dimension",
    "DimensionChoice",
    "Estimate",
    "Grade",
    "Grading",
    "Interval",
    "Order",
    "Pair",
    "PairwiseJudge",
    "Rating",
    "Scored",
    "SelectionMode",
    "Verdict",
    "estimate",
    "furina_dimensions",
    "item_score",
    "load_dimensions",
    "probabilities",
    "select",
    "weights",
]
