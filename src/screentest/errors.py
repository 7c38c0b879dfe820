"""Everything that can go wrong, as one tree.

    ScreentestError
    ├── InputError          a file, field or flag that the user gave us
    ├── TooManyFailures     a run finished, but with failures above the threshold
    ├── Stopped             a run must stop; nothing that was paid for is lost
    │   ├── BudgetExhausted     the next call could cost more than is left
    │   ├── StoreError          the run's store cannot be written, or lacks what a replay needs
    │   ├── NoBatchApi          the server takes no batches
    │   └── BatchUnreachable    a batch is at the provider, and cannot be fetched for now
    ├── RunLocked           another process is working on the run directory
    ├── CallError           no reply came back
    │   ├── RateLimited         429; carries ``retry_after``
    │   ├── Unavailable         5xx
    │   ├── TimedOut            no answer in time
    │   ├── Disconnected        the connection could not be made or was cut
    │   └── Rejected            4xx: the request itself, the key or the model name is wrong
    └── BadReply            a reply came back (and was paid for) but cannot be used
        ├── EmptyReply          no text
        ├── TruncatedReply      stopped at the token limit
        ├── RefusedReply        the model declined
        ├── FilteredReply       the provider's content filter stepped in
        └── InvalidReply        not what the schema asks for, even after one re-ask

``kind`` is the machine-readable name that fault events and reports carry.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from screentest.llms.model import Reply


class ScreentestError(Exception):
    """Base of every error this package raises on purpose."""

    kind: ClassVar[str] = "error"
    exit_code: ClassVar[int] = 1


class InputError(ScreentestError):
    """Something the user gave us cannot be used.

    Args:
        what: What is wrong, in a few words.
        where: File, line, field or flag.
        why: The reason, with the offending value.
        hint: What to do about it.
    """

    kind = "input"
    exit_code = 2

    def __init__(self, what: str, *, where: str = "", why: str = "", hint: str = "") -> None:
        self.what, self.where, self.why, self.hint = what, where, why, hint
        head = f"{where}: {what}" if where else what
        super().__init__("; ".join(part for part in (head, why, hint) if part))


class TooManyFailures(ScreentestError):
    """A run finished and was written, but its failures exceed the configured threshold."""

    kind = "failures"
    exit_code = 4


class Stopped(ScreentestError):
    """A run must stop. It is never a fault of one conversation, and what was paid for is kept."""

    kind = "stopped"


class BudgetExhausted(Stopped):
    """The next call could cost more than what is left of the budget."""

    kind = "budget"
    exit_code = 3


class StoreError(Stopped):
    """The run's store cannot be written, or lacks what a replay needs."""

    kind = "store"
    exit_code = 2


class NoBatchApi(Stopped):
    """The server takes no batches."""

    kind = "no_batch_api"
    exit_code = 2


class BatchUnreachable(Stopped):
    """A batch is at the provider, and cannot be fetched for now."""

    kind = "batch_unreachable"
    exit_code = 75


class RunLocked(ScreentestError):
    """Another process is working on the run directory."""

    kind = "locked"
    exit_code = 5


class CallError(ScreentestError):
    """A model call brought no reply.

    Args:
        message: What the provider or the network said.
        model: The configured label of the model.
        status: The HTTP status, if there was one.
    """

    kind = "call"
    retriable: ClassVar[bool] = False

    def __init__(self, message: str, *, model: str = "", status: int | None = None) -> None:
        self.model, self.status = model, status
        super().__init__(f"{model}: {message}" if model else message)


class RateLimited(CallError):
    """The provider asked us to slow down; ``retry_after`` is in seconds, if it said how long."""

    kind = "rate_limited"
    retriable = True

    def __init__(
        self, message: str, *, model: str = "", status: int | None = 429, retry_after: float | None = None
    ) -> None:
        super().__init__(message, model=model, status=status)
        self.retry_after = retry_after


class Unavailable(CallError):
    """The provider failed (5xx)."""

    kind = "unavailable"
    retriable = True


class TimedOut(CallError):
    """No answer in time."""

    kind = "timed_out"
    retriable = True


class Disconnected(CallError):
    """The connection could not be made, or was cut."""

    kind = "disconnected"
    retriable = True


class Rejected(CallError):
    """The provider refuses the request itself (4xx other than a passing 429): repeating it cannot help."""

    kind = "rejected"


HOPELESS = frozenset({401, 402, 403, 404, 429})
"""Statuses of a :class:`Rejected` call that no other call to the model will escape: key, credit, permission, name."""


class BadReply(ScreentestError):
    """A reply came, and was paid for, but cannot be used.

    Args:
        message: What is wrong with it.
        model: The configured label of the model.
        reply: The (last) reply, for the record.
    """

    kind = "bad_reply"
    retriable: ClassVar[bool] = False

    def __init__(self, message: str, *, model: str = "", reply: Reply | None = None) -> None:
        self.model, self.reply = model, reply
        super().__init__(f"{model}: {message}" if model else message)


class EmptyReply(BadReply):
    """The reply has no text."""

    kind = "empty"
    retriable = True


class TruncatedReply(BadReply):
    """The reply stopped at the token limit."""

    kind = "truncated"


class RefusedReply(BadReply):
    """The model declined to answer."""

    kind = "refused"


class FilteredReply(BadReply):
    """The provider's content filter stepped in."""

    kind = "filtered"


class InvalidReply(BadReply):
    """The reply does not fit what was asked for, even after one re-ask."""

    kind = "invalid"
