"""Plans: calls, tokens, cost, time and precision of a build or an evaluation, before it begins."""

from screentest.builders.planning.assumptions import Assumptions, Measured, default_assumptions
from screentest.builders.planning.plan import Assumed, Plan, Precision, Range, Row, StageTime, Total
from screentest.builders.planning.planner import plan_build, plan_evaluation

__all__ = [
    "Assumed",
    "Assumptions",
    "Measured",
    "Plan",
    "Precision",
    "Range",
    "Row",
    "StageTime",
    "Total",
    "default_assumptions",
    "plan_build",
    "plan_evaluation",
]
