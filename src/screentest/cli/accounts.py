"""What a run used, over all its sessions: sums over rows of the ledger, and what no sum can show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from screentest.llms import Usage
from screentest.sim import LedgerRow


def retries(rows: Sequence[LedgerRow]) -> Counter[str]:
    """Attempts beyond the first, by cause, the most frequent first."""
    found = Counter[str]()
    for row in rows:
        found.update(row.retries)
    return Counter(dict(found.most_common()))


def used(rows: Sequence[LedgerRow]) -> list[str]:
    """Tokens (input, cached, output, reasoning) and dollars; ``+?`` behind what may lack something."""
    calls, unsure = sum(row.calls for row in rows), sum(row.unsure for row in rows)
    unmetered, unpriced = sum(row.unmetered for row in rows), sum(row.unpriced for row in rows)
    usage = sum((row.usage for row in rows), Usage())
    tokens = [
        _known(f"{count:,}", calls - unmetered, unmetered + unsure)
        for count in (usage.input, usage.cached, usage.output, usage.reasoning)
    ]
    return [*tokens, _known(f"{sum(row.cost for row in rows):.4f}", calls - unpriced, unpriced + unsure)]


def remarks(rows: Sequence[LedgerRow]) -> list[str]:
    """A line on the attempts that were repeated, and one on those that may have been paid for in vain, if any were."""
    lines: list[str] = []
    if repeated := retries(rows):
        lines.append("retries: " + ", ".join(f"{count} {cause}" for cause, count in repeated.items()))
    if unsure := sum(row.unsure for row in rows):
        lines.append(
            f"may have cost more: {unsure} calls of which an attempt timed out, was cut off, or was in flight when a "
            "session ended"
        )
    return lines


def _known(total: str, known: int, unknown: int) -> str:
    if not unknown:
        return total
    return f"{total}+?" if known else "unknown"
