"""What a batch is: many requests handed in at once, answered within a day, at half the price.

A request has a *custom id*, derived from what decides its reply and its place in the run, and a number that counts its
attempts. No custom id is ever handed in twice: what a run has handed in is kept in its :class:`BatchLog`, on disk,
before the provider hears of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from screentest.errors import RateLimited, ScreentestError
from screentest.llms.spec import ModelSpec, Rung

BatchState = Literal["submitting", "submitted", "ended", "gone", "void"]
Outcome = bytes | ScreentestError

_DISCOUNT = 0.5


class Crowded(RateLimited):
    """A batch was refused because the account has too much in its batches; smaller ones may pass, or later."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How patient batches are, in seconds.

    Attributes:
        quiet: A batch is handed in when no request has joined it for so long.
        first_poll: Until the provider is asked for the first time whether a batch has ended.
        longest_poll: Between two such questions at most; the time grows by half each time.
        settle: How long a batch whose submission was cut off is looked for before it counts as never received.
    """

    quiet: float = 2.0
    first_poll: float = 5.0
    longest_poll: float = 60.0
    settle: float = 60.0


@dataclass(slots=True)
class BatchProgress:
    """Batches as they go, for whoever watches.

    Attributes:
        open: Batches that requests are still joining.
        submitted: Batches on their way to the provider or there.
        ended: Batches whose results were fetched.
        waiting: Requests that wait for their result.
    """

    open: int = 0
    submitted: int = 0
    ended: int = 0
    waiting: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchRecord:
    """What is kept of a batch.

    Attributes:
        id: Our name for it.
        model: The provider's name of the model.
        state: ``submitting``: the provider may have it; ``submitted``: the provider has it; ``ended``: its results are
            there; ``gone``: the provider refused it, or has it no more; ``void``: the provider never got it, so that
            its requests are handed in again under the same custom ids.
        noted: When it was about to be submitted, in seconds since 1970.
        rungs: For each request, by custom id and in the order handed in: how it asks for its schema, if it does.
        remote: The provider's name for it.
    """

    id: str
    model: str
    state: BatchState
    noted: float
    rungs: Mapping[str, Rung | None]
    remote: str | None = None


class BatchLog(Protocol):
    """Where a run keeps what it handed in."""

    def batches(self) -> Sequence[BatchRecord]:
        """All batches of all sessions."""
        ...

    async def note(self, batch: BatchRecord) -> None:
        """Keep a batch as it is now; returns once that is on disk."""
        ...


@dataclass(frozen=True, slots=True)
class Found:
    """What a search for a batch brought.

    Attributes:
        remote: The provider's name for it, if it was found.
        undecided: Whether there is a batch of which it cannot be told yet.
    """

    remote: str | None = None
    undecided: bool = False


class BatchApi(Protocol):
    """One provider's batches. Every method but ``line`` and ``answer`` raises :class:`~screentest.errors.CallError`."""

    @property
    def most(self) -> int:
        """The most requests a batch may have."""
        ...

    @property
    def largest(self) -> int:
        """The most bytes its lines may have together."""
        ...

    def line(self, custom_id: str, body: bytes) -> bytes:
        """One request, as a batch holds it."""
        ...

    async def prepare(self, batch: str, lines: Sequence[bytes]) -> bytes:
        """Do what must be done before a batch is created; costs nothing. Returns the body that creates it."""
        ...

    async def create(self, prepared: bytes) -> str:
        """Create a batch, and return the provider's name for it."""
        ...

    async def find(self, batch: BatchRecord, passed: set[str]) -> Found:
        """Look for a batch that may have been created.

        Args:
            batch: The batch.
            passed: Names of batches that it is not; those found not to be it are added.
        """
        ...

    async def ended(self, remote: str) -> Mapping[str, Any] | None:
        """What the provider says about a batch, once it has ended."""
        ...

    async def results(self, ended: Mapping[str, Any], custom_ids: Sequence[str]) -> Mapping[str, Outcome]:
        """The result of each request: a line for :meth:`answer`, or the error if there is no line."""
        ...

    def answer(self, line: bytes, model: str) -> dict[str, Any]:
        """The body of a response, as the online API gives it.

        Raises:
            CallError: There is none.
            FilteredReply: The provider's filter refused the prompt.
        """
        ...


def half_price(spec: ModelSpec) -> ModelSpec:
    """A model at the price that both providers ask in a batch: half of everything."""
    if spec.price is None:
        return spec
    halved = {name: None if price is None else price * _DISCOUNT for name, price in spec.price}
    return spec.model_copy(update={"price": spec.price.model_copy(update=halved)})
