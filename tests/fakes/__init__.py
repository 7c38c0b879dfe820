"""Stand-ins for what lives outside: so far, a provider's server."""

from fakes.batches import Cancels, Expires, FakeBatches
from fakes.behaviours import (
    Behaviour,
    Cuts,
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
from fakes.provider import FakeProvider, talking

__all__ = [
    "Behaviour",
    "Cancels",
    "Cuts",
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
]
