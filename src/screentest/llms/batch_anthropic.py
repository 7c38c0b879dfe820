"""Anthropic's message batches.

Such a batch carries no name of ours, and its custom ids are shown only once it has ended. So when it is unknown
whether a batch was created, every batch of the same size that was created since may be it: those that have ended are
compared by their custom ids, and those that have not are waited for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import quote

import orjson

from screentest.errors import Rejected, TimedOut, Unavailable
from screentest.llms.batch import BatchRecord, Found, Outcome
from screentest.llms.wire import Wire, refusal

_PATH = "/v1/messages/batches"
_SECONDS, _LONG_SECONDS = 60.0, 900.0
_SLACK = 2 * 86_400.0
_OUTER = 16
_STATUSES = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "timeout_error": 504,
    "overloaded_error": 529,
}


@dataclass(frozen=True)
class AnthropicBatches:
    """The batches of one account.

    Attributes:
        wire: The way to the server.
        headers: Sent with every call; they hold the version of the API that the requests are written for.
        most: The most requests a batch may have.
        largest: The most bytes its body may have.
    """

    wire: Wire
    headers: tuple[tuple[str, str], ...] = ()
    most: int = 100_000
    largest: int = 256_000_000 - _OUTER

    def line(self, custom_id: str, body: bytes) -> bytes:
        """One request, as a batch holds it."""
        return f'{{"custom_id":"{custom_id}","params":'.encode() + body + b"},"

    async def prepare(self, batch: str, lines: Sequence[bytes]) -> bytes:
        """The body of the call that creates a batch."""
        del batch
        return b'{"requests":[' + b"".join(lines)[:-1] + b"]}"

    async def create(self, prepared: bytes) -> str:
        """Create a batch, and return the provider's name for it."""
        return _text(await self._object(_PATH, content=prepared, seconds=_LONG_SECONDS), "id")

    async def find(self, batch: BatchRecord, passed: set[str]) -> Found:
        """Look for a batch by its size and its custom ids."""
        after, undecided = "", False
        while True:
            page = await self._object(f"{_PATH}?limit=100{after}")
            listed = [one for one in page.get("data") or [] if isinstance(one, dict)]
            recent = [one for one in listed if _created(one) >= batch.noted - _SLACK]
            for one in recent:
                remote = _text(one, "id")
                if remote in passed or sum(one["request_counts"].values()) != len(batch.rungs):
                    continue
                if one.get("processing_status") != "ended":
                    undecided = True
                elif one.get("results_url") and (await self._lines(remote)).keys() == batch.rungs.keys():
                    return Found(remote=remote)
                else:
                    passed.add(remote)
            if not page.get("has_more") or not recent:
                return Found(undecided=undecided)
            after = f"&after_id={quote(_text(listed[-1], 'id'), safe='')}"

    async def ended(self, remote: str) -> Mapping[str, Any] | None:
        """What the provider says about a batch, once it has ended."""
        batch = await self._object(_one(remote))
        if batch.get("processing_status") != "ended":
            return None
        if not batch.get("results_url"):
            raise Rejected("404 its results are there no more", status=404)
        return batch

    async def results(self, ended: Mapping[str, Any], custom_ids: Sequence[str]) -> Mapping[str, Outcome]:
        """The lines of the results."""
        lines = await self._lines(_text(ended, "id"))
        missing = {custom_id: _missing() for custom_id in custom_ids if custom_id not in lines}
        return lines | missing

    def answer(self, line: bytes, model: str) -> dict[str, Any]:
        """The body of a response, as the online API gives it."""
        result = self.wire.decoded(line)["result"]
        match result.get("type"):
            case "succeeded" if isinstance(result.get("message"), dict):
                return result["message"]
            case "expired":
                raise TimedOut("the batch expired before its turn", model=model)
            case "canceled":
                raise Rejected("the batch was cancelled", model=model)
            case "errored":
                told = result.get("error") or {}
                kind = str((told.get("error") or told).get("type"))
                raise refusal(_STATUSES.get(kind, 500), told, model=model)
            case other:
                raise Unavailable(f"a result of an unknown type: {str(other)[:40]!r}", model=model)

    async def _lines(self, remote: str) -> dict[str, Outcome]:
        response, _ = await self.wire.send(
            f"{_one(remote)}/results", headers=dict(self.headers), model="", seconds=_LONG_SECONDS
        )
        return {_custom_id(line): line for line in response.content.splitlines() if line.strip()}

    async def _object(self, path: str, *, content: bytes | None = None, seconds: float = _SECONDS) -> dict[str, Any]:
        response, _ = await self.wire.send(path, content=content, headers=dict(self.headers), model="", seconds=seconds)
        return self.wire.json_object(response, "")


def _one(remote: str) -> str:
    return f"{_PATH}/{quote(remote, safe='')}"


def _created(batch: Mapping[str, Any]) -> float:
    try:
        return datetime.fromisoformat(_text(batch, "created_at")).timestamp()
    except ValueError:
        raise Unavailable("the list of batches holds one without a date") from None


def _custom_id(line: bytes) -> str:
    try:
        result = orjson.loads(line)
        if isinstance(result["result"], dict):
            return str(result["custom_id"])
    except (orjson.JSONDecodeError, KeyError, TypeError):
        pass
    raise Unavailable("the results hold a line that is no result")


def _missing() -> Unavailable:
    return Unavailable("the batch ended without a result for it")


def _text(told: Mapping[str, Any], field: str) -> str:
    value = told.get(field)
    if not isinstance(value, str) or not value:
        raise Unavailable(f"the response holds no {field}")
    return value
