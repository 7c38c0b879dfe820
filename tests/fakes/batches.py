"""The batch endpoints of a fake provider, in both protocols' wire formats; they are kept across connections.

server.batches.result = {"st-…-0": Expires()}   # or a function of (custom id, request)
server.batches.handed_in                        # how often each custom id was handed in, in batches that were created
"""

from __future__ import annotations

import itertools
import json
import re
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal
from urllib.parse import parse_qs, urlsplit

from fakes.behaviours import Answer, Fails, Raw, Says, Seen


@dataclass(frozen=True)
class Expires:
    """The request is not answered within the day."""


@dataclass(frozen=True)
class Cancels:
    """The request is cancelled before its turn."""


Result = Answer | Expires | Cancels
Say = Callable[[Seen], Answer]
Complete = Callable[[Seen, Says], dict[str, Any]]


@dataclass
class Handed:
    """A batch as the provider has it."""

    id: str
    protocol: Literal["openai", "anthropic"]
    requests: dict[str, Seen]
    metadata: dict[str, str]
    created: float
    polls: int = 0
    errors: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    lines: tuple[bytes, bytes] | None = None

    @property
    def models(self) -> set[str]:
        """The models that its requests ask."""
        return {seen.body["model"] for seen in self.requests.values()}


class FakeBatches:
    """The batches of one account.

    Args:
        say: What a request is answered.
        complete: The body of a regular answer.

    Attributes:
        handed: Every batch that was created, in order.
        polls: How often a batch is said to be in progress.
        result: Overrules ``say``: a function of custom id and request, ``None`` for no opinion.
        enqueued: The most requests that may be under way at once, in OpenAI's batches.
        missing: Whether the server has no such endpoints.
        deaf: How many more times a batch is created but the caller is told of a failure (status 500).
        down: How many more calls are answered 503, without effect.
    """

    def __init__(self, say: Say, complete: Complete) -> None:
        self._say, self._complete = say, complete
        self.handed: list[Handed] = []
        self.files: dict[str, bytes] = {}
        self.polls = 2
        self.result: Callable[[str, Seen], Result | None] = lambda custom_id, seen: None
        self.enqueued: int | None = None
        self.missing = False
        self.deaf = self.down = 0
        self._numbers = itertools.count(1)

    @property
    def handed_in(self) -> Counter[str]:
        """How often each custom id was handed in, refused batches left out."""
        return Counter(custom_id for batch in self.handed if not batch.errors for custom_id in batch.requests)

    def gone(self) -> None:
        """Forget everything."""
        self.handed.clear()
        self.files.clear()

    def answer(self, method: str, target: str, headers: dict[str, str], content: bytes) -> Raw | Fails | None:
        """The answer to a call of a batch endpoint; ``None`` for other paths."""
        url = urlsplit(target)
        for route, pattern, act in _ROUTES:
            if method == route and (match := pattern.fullmatch(url.path)):
                if self.missing:
                    return Fails(404, "no such path")
                if "authorization" not in headers and "x-api-key" not in headers:
                    return Fails(401, "no key", "authentication_error")
                if self.down:
                    self.down -= 1
                    return Fails(503, "down for a moment")
                return act(self, *match.groups(), headers=headers, content=content, query=parse_qs(url.query))
        return None

    def upload(self, *, headers: dict[str, str], content: bytes, **_: Any) -> Raw | Fails:
        boundary = headers["content-type"].partition("boundary=")[2]
        parts = dict(_part(part) for part in content.split(f"--{boundary}".encode())[1:-1])
        if parts["purpose"] != b"batch":
            return Fails(400, "purpose: must be batch")
        name = f"file-{next(self._numbers)}"
        self.files[name] = parts["file"]
        return _json({"id": name, "object": "file", "bytes": len(parts["file"]), "purpose": "batch"})

    def create_openai(self, *, headers: dict[str, str], content: bytes, **_: Any) -> Raw | Fails:
        body = json.loads(content)
        if (body["endpoint"], body["completion_window"]) != ("/v1/chat/completions", "24h"):
            return Fails(400, "endpoint or window")
        lines = [json.loads(line) for line in self.files[body["input_file_id"]].splitlines()]
        assert all((line["method"], line["url"]) == ("POST", "/v1/chat/completions") for line in lines)
        batch = self._created("openai", headers, [(line["custom_id"], line["body"]) for line in lines])
        batch.metadata = body["metadata"]
        if len(batch.models) > 1:
            batch.errors = [{"code": "mismatched_model", "line": 2, "message": "one model per file", "param": None}]
        under_way = sum(len(one.requests) for one in self.handed if not one.errors and one.polls <= self.polls)
        if self.enqueued is not None and under_way > self.enqueued:
            message = f"Enqueued token limit reached. Limit: {self.enqueued}"
            batch.errors = [{"code": "token_limit_exceeded", "line": None, "message": message, "param": None}]
        return self._told(batch)

    def create_anthropic(self, *, headers: dict[str, str], content: bytes, **_: Any) -> Raw | Fails:
        requests = [(one["custom_id"], one["params"]) for one in json.loads(content)["requests"]]
        if not all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", custom_id) for custom_id, _ in requests):
            return Fails(400, "custom_id: String should match pattern", "invalid_request_error")
        return self._told(self._created("anthropic", headers, requests))

    def poll(self, name: str, **_: Any) -> Raw | Fails:
        batch = self._find(name)
        if batch is None:
            return Fails(404, f"no batch {name}", "not_found_error")
        batch.polls += 1
        return _json(self._shown(batch))

    def page(self, *, query: dict[str, list[str]], protocol: str) -> Raw:
        newest = [batch for batch in reversed(self.handed) if batch.protocol == protocol]
        after = query.get("after" if protocol == "openai" else "after_id", [""])[0]
        start = next((n for n, batch in enumerate(newest, start=1) if batch.id == after), 0)
        shown = newest[start : start + int(query["limit"][0])]
        for batch in shown:
            batch.polls += 1
        return _json({"data": [self._shown(batch) for batch in shown], "has_more": start + len(shown) < len(newest)})

    def page_openai(self, *, query: dict[str, list[str]], **_: Any) -> Raw:
        return self.page(query=query, protocol="openai")

    def page_anthropic(self, *, query: dict[str, list[str]], **_: Any) -> Raw:
        return self.page(query=query, protocol="anthropic")

    def file(self, name: str, **_: Any) -> Raw | Fails:
        return Raw(self.files[name]) if name in self.files else Fails(404, f"no file {name}")

    def results(self, name: str, **_: Any) -> Raw | Fails:
        batch = self._find(name)
        if batch is None or not self._has_ended(batch):
            return Fails(404, f"no results of {name}", "not_found_error")
        return Raw(b"".join(self._lines(batch)))

    def _created(
        self, protocol: Literal["openai", "anthropic"], headers: dict[str, str], requests: list[tuple[str, Any]]
    ) -> Handed:
        name = f"{'batch' if protocol == 'openai' else 'msgbatch'}_{next(self._numbers)}"
        seen = {custom_id: Seen(protocol, headers, body) for custom_id, body in requests}
        assert len(seen) == len(requests), "custom ids must be unique"
        self.handed.append(Handed(name, protocol, seen, {}, time.time()))
        return self.handed[-1]

    def _told(self, batch: Handed) -> Raw | Fails:
        if self.deaf:
            self.deaf -= 1
            return Fails(500, "lost the connection to ourselves")
        return _json(self._shown(batch))

    def _find(self, name: str) -> Handed | None:
        return next((batch for batch in self.handed if batch.id == name), None)

    def _has_ended(self, batch: Handed) -> bool:
        return bool(batch.errors) or batch.polls > self.polls

    def _shown(self, batch: Handed) -> dict[str, Any]:
        return self._shown_openai(batch) if batch.protocol == "openai" else self._shown_anthropic(batch)

    def _shown_openai(self, batch: Handed) -> dict[str, Any]:
        ended, files = self._has_ended(batch), (None, None)
        if ended and not batch.errors:
            names = f"{batch.id}-output", f"{batch.id}-error"
            self.files |= {name: lines for name, lines in zip(names, self._lines(batch), strict=True) if lines}
            files = tuple(name if name in self.files else None for name in names)
        expired = any(isinstance(self.result(*one), Expires) for one in batch.requests.items())
        status = "failed" if batch.errors else "expired" if ended and expired else "completed"
        return {
            "id": batch.id,
            "object": "batch",
            "endpoint": "/v1/chat/completions",
            "status": status if ended else "in_progress",
            "errors": {"object": "list", "data": batch.errors} if batch.errors else None,
            "output_file_id": files[0],
            "error_file_id": files[1],
            "created_at": int(batch.created),
            "request_counts": {"total": len(batch.requests), "completed": 0, "failed": 0},
            "metadata": batch.metadata,
        }

    def _shown_anthropic(self, batch: Handed) -> dict[str, Any]:
        ended, total = self._has_ended(batch), len(batch.requests)
        counts = dict.fromkeys(("processing", "succeeded", "errored", "canceled", "expired"), 0)
        return {
            "id": batch.id,
            "type": "message_batch",
            "processing_status": "ended" if ended else "in_progress",
            "request_counts": counts | {"succeeded" if ended else "processing": total},
            "created_at": datetime.fromtimestamp(batch.created, UTC).isoformat().replace("+00:00", "Z"),
            "results_url": f"https://api.anthropic.com/v1/messages/batches/{batch.id}/results" if ended else None,
        }

    def _lines(self, batch: Handed) -> tuple[bytes, bytes]:
        """The lines of outputs and of errors, last request first; each request is answered once."""
        if batch.lines is None:
            line = self._openai_line if batch.protocol == "openai" else self._anthropic_line
            good, bad = [], []
            for custom_id, seen in reversed(batch.requests.items()):
                result = self.result(custom_id, seen) or self._say(seen)
                (good if isinstance(result, Says) else bad).append(json.dumps(line(custom_id, seen, result)).encode())
            batch.lines = _joined(good), _joined(bad)
        return batch.lines

    def _openai_line(self, custom_id: str, seen: Seen, result: Result) -> dict[str, Any]:
        response, error = None, None
        match result:
            case Says():
                response = {"status_code": 200, "request_id": "req_1", "body": self._complete(seen, result)}
            case Fails(status=status, message=message, code=code):
                body = {"error": {"message": message, "type": "error", "param": None, "code": code or None}}
                response = {"status_code": status, "request_id": "req_1", "body": body}
            case Expires():
                message = "This request could not be executed before the completion window expired."
                error = {"code": "batch_expired", "message": message}
            case _:
                error = {"code": "batch_cancelled", "message": "This request was cancelled."}
        return {"id": "batch_req_1", "custom_id": custom_id, "response": response, "error": error}

    def _anthropic_line(self, custom_id: str, seen: Seen, result: Result) -> dict[str, Any]:
        told: dict[str, Any]
        match result:
            case Says():
                told = {"type": "succeeded", "message": self._complete(seen, result)}
            case Fails(message=message, code=code):
                error = {"type": code or "invalid_request_error", "message": message}
                told = {"type": "errored", "error": {"type": "error", "error": error, "request_id": "req_1"}}
            case Expires():
                told = {"type": "expired"}
            case _:
                told = {"type": "canceled"}
        return {"custom_id": custom_id, "result": told}


def _joined(lines: list[bytes]) -> bytes:
    return b"".join(line + b"\n" for line in lines)


def _json(body: object) -> Raw:
    return Raw(json.dumps(body).encode())


def _part(part: bytes) -> tuple[str, bytes]:
    head, _, content = part.removeprefix(b"\r\n").removesuffix(b"\r\n").partition(b"\r\n\r\n")
    named = re.search(rb'name="([^"]*)"', head)
    assert named is not None
    return named[1].decode(), content


_ROUTES: list[tuple[str, re.Pattern[str], Callable[..., Raw | Fails]]] = [
    ("POST", re.compile(r"/v1/files"), FakeBatches.upload),
    ("GET", re.compile(r"/v1/files/([^/]+)/content"), FakeBatches.file),
    ("POST", re.compile(r"/v1/batches"), FakeBatches.create_openai),
    ("GET", re.compile(r"/v1/batches"), FakeBatches.page_openai),
    ("GET", re.compile(r"/v1/batches/([^/]+)"), FakeBatches.poll),
    ("POST", re.compile(r"/v1/messages/batches"), FakeBatches.create_anthropic),
    ("GET", re.compile(r"/v1/messages/batches"), FakeBatches.page_anthropic),
    ("GET", re.compile(r"/v1/messages/batches/([^/]+)"), FakeBatches.poll),
    ("GET", re.compile(r"/v1/messages/batches/([^/]+)/results"), FakeBatches.results),
]
