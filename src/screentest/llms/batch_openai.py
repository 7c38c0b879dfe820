"""OpenAI's batches: a file of requests is uploaded, and files of results come back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import orjson

from screentest.errors import CallError, Rejected, ScreentestError, TimedOut, Unavailable
from screentest.llms.batch import BatchRecord, Crowded, Found, Outcome
from screentest.llms.wire import Wire, refusal

_ENDED = {"completed", "failed", "expired", "cancelled"}
_SECONDS, _UPLOAD_SECONDS = 60.0, 900.0
_SLACK = 2 * 86_400.0
_CAPACITY_CODES = {"token_limit_exceeded", "rate_limit_exceeded"}


@dataclass(frozen=True)
class OpenAIBatches:
    """The batches of one account.

    Attributes:
        wire: The way to the server.
        most: The most requests a batch may have.
        largest: The most bytes its file may have.
    """

    wire: Wire
    most: int = 50_000
    largest: int = 200_000_000

    def line(self, custom_id: str, body: bytes) -> bytes:
        """One request, as a batch holds it."""
        head = f'{{"custom_id":"{custom_id}","method":"POST","url":"/v1/chat/completions","body":'
        return head.encode() + body + b"}\n"

    async def prepare(self, batch: str, lines: Sequence[bytes]) -> bytes:
        """Upload the requests."""
        response = await self.wire.upload(
            "/files",
            name=f"screentest-{batch}.jsonl",
            content=b"".join(lines),
            fields={"purpose": "batch"},
            seconds=_UPLOAD_SECONDS,
        )
        uploaded = self.wire.json_object(response, "")
        return orjson.dumps(
            {
                "input_file_id": _text(uploaded, "id"),
                "endpoint": "/v1/chat/completions",
                "completion_window": "24h",
                "metadata": {"screentest": batch},
            }
        )

    async def create(self, prepared: bytes) -> str:
        """Create a batch, and return the provider's name for it."""
        return _text(await self._object("/batches", prepared), "id")

    async def find(self, batch: BatchRecord, passed: set[str]) -> Found:
        """Look for a batch by the name we gave it in its metadata."""
        after = ""
        while True:
            page = await self._object(f"/batches?limit=100{after}")
            listed = [one for one in page.get("data") or [] if isinstance(one, dict)]
            for one in listed:
                if (one.get("metadata") or {}).get("screentest") == batch.id and one["id"] not in passed:
                    return Found(remote=_text(one, "id"))
            if not page.get("has_more") or not listed or listed[-1]["created_at"] < batch.noted - _SLACK:
                return Found()
            after = f"&after={quote(_text(listed[-1], 'id'), safe='')}"

    async def ended(self, remote: str) -> Mapping[str, Any] | None:
        """What the provider says about a batch, once it has ended."""
        batch = await self._object(f"/batches/{quote(remote, safe='')}")
        return batch if batch.get("status") in _ENDED else None

    async def results(self, ended: Mapping[str, Any], custom_ids: Sequence[str]) -> Mapping[str, Outcome]:
        """The lines of the files of outputs and errors."""
        outcomes: dict[str, Outcome] = {}
        for file in filter(None, (ended.get("output_file_id"), ended.get("error_file_id"))):
            path = f"/files/{quote(file, safe='')}/content"
            response, _ = await self.wire.send(path, model="", seconds=_UPLOAD_SECONDS)
            outcomes |= {_custom_id(line): line for line in response.content.splitlines() if line.strip()}
        for number, custom_id in enumerate(custom_ids, start=1):
            if custom_id not in outcomes:
                outcomes[custom_id] = _whole(ended, number)
        return outcomes

    def answer(self, line: bytes, model: str) -> dict[str, Any]:
        """The body of a response, as the online API gives it."""
        result = self.wire.decoded(line)
        response, error = result.get("response"), result.get("error")
        if isinstance(response, dict) and response.get("status_code") == 200 and isinstance(response.get("body"), dict):
            return response["body"]
        if isinstance(response, dict) and response.get("status_code") and response["status_code"] != 200:
            raise refusal(response["status_code"], response.get("body"), model=model)
        raise _unanswered(error if isinstance(error, dict) else {}, model)

    async def _object(self, path: str, content: bytes | None = None) -> dict[str, Any]:
        response, _ = await self.wire.send(path, content=content, model="", seconds=_SECONDS)
        return self.wire.json_object(response, "")


def _custom_id(line: bytes) -> str:
    try:
        return str(orjson.loads(line)["custom_id"])
    except (orjson.JSONDecodeError, KeyError, TypeError):
        raise Unavailable("a file of results holds a line that is no result") from None


def _unanswered(error: Mapping[str, Any], model: str) -> ScreentestError:
    code, said = str(error.get("code") or ""), str(error.get("message") or "no reason given")
    if code == "batch_expired":
        return TimedOut(f"the batch expired before its turn: {said}", model=model)
    if code == "batch_cancelled":
        return Rejected(f"the batch was cancelled: {said}", model=model)
    return Unavailable(f"{code} {said}".strip(), model=model)


def _whole(batch: Mapping[str, Any], number: int) -> CallError:
    """Why a request of a batch has no line: the batch expired, was cancelled, or was refused as a whole."""
    status = batch.get("status")
    if status == "expired":
        return TimedOut("the batch expired before its turn")
    if status == "cancelled":
        return Rejected("the batch was cancelled")
    if status != "failed":
        return Unavailable("the batch ended without a result for it")
    found = [error for error in (batch.get("errors") or {}).get("data") or [] if isinstance(error, dict)]
    if any(error.get("code") in _CAPACITY_CODES for error in found):
        return Crowded(f"the batch was refused: {found[0].get('message')}")
    blamed = {error.get("line"): error.get("message") for error in found}
    if number in blamed or None in blamed or not blamed:
        return Rejected(f"the batch was refused: {blamed.get(number) or blamed.get(None) or 'no reason given'}")
    return Unavailable("the batch was refused because of another request in it")


def _text(told: Mapping[str, Any], field: str) -> str:
    value = told.get(field)
    if not isinstance(value, str) or not value:
        raise Unavailable(f"the response holds no {field}")
    return value
