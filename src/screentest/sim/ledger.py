"""The ledger: what a run has used, and where it stands, read from its database."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from screentest.errors import StoreError
from screentest.llms import Usage
from screentest.sim.database import connect
from screentest.sim.store import EVALUATION, Tally

_STAGE = f"CASE WHEN key LIKE '{EVALUATION}/%' THEN 'eval' ELSE 'build' END"
_STANDING = f"SELECT {_STAGE}, total(state = 'done'), total(state = 'begun') FROM calls GROUP BY 1"  # noqa: S608
_LEDGER = (
    f"SELECT model, purpose, {_STAGE} AS stage, "  # noqa: S608
    "total(state = 'done'), total(state = 'failed'), total(input), total(output), total(cached), total(thought), "
    "total(state = 'done' AND input IS NULL), total(cost), total(state = 'done' AND cost IS NULL) "
    "FROM calls GROUP BY stage, model, purpose ORDER BY stage, model, purpose"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerRow:
    """Calls of one model for one purpose.

    Attributes:
        model: The model's label.
        purpose: What the calls were for.
        stage: ``build`` or ``eval``.
        calls: How many have a reply.
        failed: How many failed for good.
        usage: Tokens, where known.
        unmetered: Calls whose tokens are not known.
        cost: US dollars, where known.
        unpriced: Calls whose cost is not known.
    """

    model: str
    purpose: str
    stage: str
    calls: int
    failed: int
    usage: Usage
    unmetered: int
    cost: float
    unpriced: int


def standing(path: Path) -> dict[str, Tally]:
    """What a store holds, by stage; empty if there is none.

    Raises:
        InputError: The file is no store.
        StoreError: It is damaged.
    """
    rows = _rows(path, _STANDING) if path.is_file() else []
    return {stage: Tally(stored=int(done), interrupted=int(begun)) for stage, done, begun in rows}


def ledger(path: Path) -> list[LedgerRow]:
    """What was used, by stage, model and purpose, over all sessions.

    Raises:
        InputError: The file is no store.
        StoreError: It is damaged.
    """
    return [
        LedgerRow(
            model=model,
            purpose=purpose,
            stage=stage,
            calls=int(calls),
            failed=int(failed),
            usage=Usage(input=int(given), output=int(out), cached=int(cached), reasoning=int(thought)),
            unmetered=int(unmetered),
            cost=cost,
            unpriced=int(unpriced),
        )
        for model, purpose, stage, calls, failed, given, out, cached, thought, unmetered, cost, unpriced in _rows(
            path, _LEDGER
        )
    ]


def _rows(path: Path, statement: str) -> list[Any]:
    with closing(connect(path)) as connection:
        try:
            return connection.execute(statement).fetchall()
        except sqlite3.Error as error:
            raise StoreError(f"the store cannot be read: {error}") from error
