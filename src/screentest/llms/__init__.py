"""Talking to models."""

from screentest.llms.batch import BatchLog, BatchProgress, BatchRecord, Pace, half_price
from screentest.llms.batches import Batches
from screentest.llms.budget import Budget, Budgeted
from screentest.llms.connect import open_models
from screentest.llms.gate import Gate, Gated, remaining, wave
from screentest.llms.journal import Call, Journal, Journaled, Noted
from screentest.llms.limits import Limited, Limiter
from screentest.llms.meter import Attempted, Meter, Metered
from screentest.llms.model import Finish, Message, Model, Reply, Request, Sampling, Usage
from screentest.llms.retries import Retrying
from screentest.llms.spec import ModelSpec, Price
from screentest.llms.structured import ask

__all__ = [
    "Attempted",
    "BatchLog",
    "BatchProgress",
    "BatchRecord",
    "Batches",
    "Budget",
    "Budgeted",
    "Call",
    "Finish",
    "Gate",
    "Gated",
    "Journal",
    "Journaled",
    "Limited",
    "Limiter",
    "Message",
    "Meter",
    "Metered",
    "Model",
    "ModelSpec",
    "Noted",
    "Pace",
    "Price",
    "Reply",
    "Request",
    "Retrying",
    "Sampling",
    "Usage",
    "ask",
    "half_price",
    "open_models",
    "remaining",
    "wave",
]
