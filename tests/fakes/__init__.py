"""Stand-ins for what lives outside: so far, a provider's server."""

from fakes.batches import Cancels, Expires, FakeBatches
from fakes.behaviours import (
    Answer,
    Behaviour,
    Cuts,
    Drips,
    Fails,
    Hangs,
    Raw,
    Says,
    Seen,
    improvise,
    in_turn,
    rate_limited,
    says,
    structured_badly,
)
from fakes.embeddings import vectors
from fakes.provider import FakeProvider, talking

__all__ = [
    "Answer",
    "Behaviour",
    "Cancels",
    "Cuts",
    "Drips",
    "Expires",
    "Fails",
    "FakeBatches",
    "FakeProvider",
    "Hangs",
    "Raw",
    "Says",
    "Seen",
    "improvise",
    "in_turn",
    "rate_limited",
    "says",
    "structured_badly",
    "talking",
    "vectors",
]
