"""The ledger: what a run has used, and where it stands, read from its database."""

from __future__ import annotations

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from screentest.errors import Disconnected, StoreError, TimedOut
from screentest.llms import Usage
from screentest.sim.database import connect
from screentest.sim.store import EVALUATION, IN_FLIGHT, INTERRUPTED, REFLECTION, Tally

_STAGE = (
    f"CASE WHEN key LIKE '{EVALUATION}/%' THEN 'eval' WHEN key LIKE '{REFLECTION}/%' THEN 'reflect' ELSE 'build' END"
)
_STANDING = f"SELECT {_STAGE}, total(state = 'done'), total({IN_FLIGHT}) FROM calls GROUP BY 1"  # noqa: S608
_UNANSWERED = f"('{TimedOut.kind}', '{Disconnected.kind}', '{INTERRUPTED}')"
_UNSURE = (
    f"{IN_FLIGHT} OR json_extract(error, '$.kind') IN {_UNANSWERED} "  # noqa: S608
    f"OR digest IN (SELECT digest FROM retries WHERE cause IN {_UNANSWERED})"
)
_PLACE = f"{_STAGE} AS stage, role(key, purpose) AS role, model, purpose"
_LEDGER = (
    f"SELECT {_PLACE}, total(state = 'done'), total(state = 'failed'), "  # noqa: S608
    "total(input), total(output), total(cached), total(thought), total(state = 'done' AND input IS NULL), "
    f"total(cost), total(state = 'done' AND cost IS NULL), total(CASE WHEN {_UNSURE} THEN 1 ELSE 0 END) "
    "FROM calls GROUP BY 1, 2, 3, 4"
)
_RETRIES = f"SELECT {_PLACE}, cause, sum(times) FROM retries JOIN calls USING (digest) GROUP BY 1, 2, 3, 4, 5"  # noqa: S608

_ROLES = {
    "direct": "director",
    "play.scene": "scene",
    "judge.dimension": "judge",
    "judge.pairwise": "judge",
    "filter": "filter",
    "narrate.influence": "narrator",
    "narrate.resolve": "narrator",
    "mind.believe": "mind",
    "mind.weigh": "mind",
    "mind.reflect": "mind",
    "embed": "embedder",
}
_TEST, _TEST_ROLES = "play.test", ("source", "tested", "base")
_ORDER = ("director", "narrator", "scene", *_TEST_ROLES, "mind", "embedder", "judge", "filter")


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerRow:
    """Calls of one model in one role, for one purpose.

    Attributes:
        stage: ``build``, ``eval`` or ``reflect``.
        role: The role the model played (see :func:`role`).
        model: The model's label.
        purpose: What the calls were for.
        calls: How many have a reply.
        failed: How many failed for good.
        retries: Attempts beyond the first, by what became of the one before: the kind of its error, or
            ``interrupted`` if it was in flight when a session ended.
        usage: Tokens, where known.
        unmetered: Calls with a reply whose tokens are not known.
        cost: US dollars, where known.
        unpriced: Calls with a reply whose cost is not known.
        unsure: Calls that may have cost more than is known: an attempt is in flight, or was when a session ended, or
            brought no answer in time, or was cut off.
    """

    stage: str
    role: str
    model: str
    purpose: str
    calls: int
    failed: int
    retries: Mapping[str, int]
    usage: Usage
    unmetered: int
    cost: float
    unpriced: int
    unsure: int


def role(key: str, purpose: str) -> str:
    """The role of the model that a call was made to: what it was for says so, and for the test character the place.

    Args:
        key: The call's place in the run.
        purpose: What it was for.

    Returns:
        ``director``, ``narrator``, ``scene``, ``source``, ``tested``, ``base``, ``mind`` (what characters think, by the
        model that plays them), ``embedder``, ``judge`` or ``filter``; the purpose itself if it belongs to none.
    """
    if purpose != _TEST:
        return _ROLES.get(purpose, purpose)
    *_, before, last = ("", "", *key.removesuffix(f"/{_TEST}").split("/"))
    found = before if before == "tested" and key.startswith(f"{EVALUATION}/") else last
    return found if found in _TEST_ROLES else purpose


def standing(path: Path) -> dict[str, Tally]:
    """What a store holds, by stage; empty if there is none.

    Raises:
        InputError: The file is no store.
        StoreError: It is damaged.
    """
    if not path.is_file():
        return {}
    (rows,) = _rows(path, _STANDING)
    return {stage: Tally(stored=int(done), interrupted=int(begun)) for stage, done, begun in rows}


def ledger(path: Path) -> list[LedgerRow]:
    """What was used, by stage, role, model and purpose, over all sessions.

    Raises:
        InputError: The file is no store.
        StoreError: It is damaged.
    """
    sums, counts = _rows(path, _LEDGER, _RETRIES)
    retries: dict[tuple[str, ...], Counter[str]] = defaultdict(Counter[str])
    for *place, cause, times in counts:
        retries[tuple(place)][cause] = times
    found = [_row(row, retries[row[:4]]) for row in sums]
    return sorted(found, key=lambda row: (row.stage, _position(row.role), row.role, row.model, row.purpose))


def _row(row: tuple[Any, ...], retries: Mapping[str, int]) -> LedgerRow:
    stage, part, model, purpose, calls, failed, given, out, cached, thought, unmetered, cost, unpriced, unsure = row
    return LedgerRow(
        stage=stage,
        role=part,
        model=model,
        purpose=purpose,
        calls=int(calls),
        failed=int(failed),
        retries=retries,
        usage=Usage(input=int(given), output=int(out), cached=int(cached), reasoning=int(thought)),
        unmetered=int(unmetered),
        cost=cost,
        unpriced=int(unpriced),
        unsure=int(unsure),
    )


def _position(part: str) -> int:
    return _ORDER.index(part) if part in _ORDER else len(_ORDER)


def _rows(path: Path, *statements: str) -> list[list[Any]]:
    with closing(connect(path)) as connection:
        connection.create_function("role", 2, role, deterministic=True)
        try:
            return [connection.execute(statement).fetchall() for statement in statements]
        except sqlite3.Error as error:
            raise StoreError(f"{path}: the store cannot be read; {error}") from error
