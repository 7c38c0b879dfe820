"""The way to a provider: its SDK's client, and its SDK's exceptions as ours.

The clients run on their SDK's aiohttp transport. It costs about half the CPU of the default one, and keeps every
connection: the default pool closes those above 100. The SDKs' resource methods (``create()``) are avoided, because they
transform every message recursively; ``client.post`` with an encoded body does what remains: authentication, headers,
time-outs and status errors.
"""

from __future__ import annotations

import asyncio
import email.utils
import math
import ssl
import time
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

import aiohttp
import httpx2
import orjson

from screentest.errors import (
    CallError,
    Disconnected,
    FilteredReply,
    RateLimited,
    Rejected,
    ScreentestError,
    TimedOut,
    Unavailable,
)
from screentest.llms.redaction import Redaction

LIMITS = httpx2.Limits(max_connections=10_000, max_keepalive_connections=10_000, keepalive_expiry=30.0)
_LONGEST_MESSAGE = 300
_FILTER_CODES = {"content_filter", "content_policy_violation", "data_inspection_failed", "datainspectionfailed"}


@cache
def trust() -> ssl.SSLContext:
    """The certificates every client trusts; reading them takes a while, so they are read once."""
    return httpx2.create_ssl_context()


class Client(Protocol):
    """What both SDKs' clients have in common."""

    async def post(
        self,
        path: str,
        *,
        cast_to: type[httpx2.Response],
        content: bytes | None = None,
        body: dict[str, str] | None = None,
        files: dict[str, tuple[str, bytes]] | None = None,
        options: Any,
    ) -> httpx2.Response:
        """Send a body, or a form with files, return the response, raise the SDK's errors."""
        ...

    async def get(self, path: str, *, cast_to: type[httpx2.Response], options: Any) -> httpx2.Response:
        """Return the response, raise the SDK's errors."""
        ...

    async def close(self) -> None:
        """Close the connections."""
        ...


@dataclass(frozen=True, slots=True)
class SdkErrors:
    """One SDK's exceptions."""

    status: type[Exception]
    timeout: type[Exception]
    connection: type[Exception]


class Wire:
    """One client to one provider, shared by all models there.

    Args:
        client: The SDK's client, with its own retries off.
        errors: The SDK's exceptions.
        path: Where requests go, below the base URL.
        redaction: Takes the key out of what the server says.
    """

    def __init__(self, client: Client, errors: SdkErrors, path: str, redaction: Redaction) -> None:
        self._client, self._errors, self._path, self._redaction = client, errors, path, redaction

    async def post(
        self, body: Mapping[str, Any], *, model: str, seconds: float, headers: Mapping[str, str] | None = None
    ) -> tuple[dict[str, Any], float]:
        """Send one request.

        Args:
            body: The JSON body.
            model: The label of the model, for error messages.
            seconds: How long the whole call may take.
            headers: Added to the client's own.

        Returns:
            The body of the response, without the key, and the seconds it took.

        Raises:
            CallError: What became of the call instead. No message holds the key.
            FilteredReply: The provider's filter refused the prompt.
        """
        response, elapsed = await self.send(
            self._path, content=encoded(body, model), model=model, seconds=seconds, headers=headers
        )
        return self.json_object(response, model), elapsed

    async def send(
        self,
        path: str,
        *,
        content: bytes | None = None,
        model: str,
        seconds: float,
        headers: Mapping[str, str] | None = None,
    ) -> tuple[httpx2.Response, float]:
        """Post ``content`` to a path below the base URL, or get what is there.

        Args:
            path: The path.
            content: What to post, as it is.
            model: As for :meth:`post`; so are ``seconds`` and ``headers``.
            seconds: How long the whole call may take.
            headers: Added to the client's own.

        Returns:
            The response, and the seconds it took.

        Raises:
            CallError: What became of the call instead. No message holds the key.
            FilteredReply: The provider's filter refused the prompt.
        """
        options = {"timeout": seconds, "headers": headers} if headers else {"timeout": seconds}
        if content is None:
            call = self._client.get(path, cast_to=httpx2.Response, options=options)
        else:
            call = self._client.post(path, cast_to=httpx2.Response, content=content, options=options)
        return await self._called(call, model, seconds)

    async def upload(
        self, path: str, *, name: str, content: bytes, fields: dict[str, str], seconds: float
    ) -> httpx2.Response:
        """Post a form with a file.

        Args:
            path: The path below the base URL.
            name: The file's name.
            content: What is in it.
            fields: The form's other fields.
            seconds: How long it may take.

        Raises:
            CallError: What became of the call instead.
        """
        options = {"timeout": seconds, "headers": {"Content-Type": "multipart/form-data"}}
        files = {"file": (name, content)}
        call = self._client.post(path, cast_to=httpx2.Response, body=fields, files=files, options=options)
        return (await self._called(call, "", seconds))[0]

    def json_object(self, response: httpx2.Response, model: str) -> dict[str, Any]:
        """The JSON object in a response, without the key.

        Raises:
            Unavailable: There is none.
        """
        try:
            body = self.decoded(response.content)
        except orjson.JSONDecodeError:
            body = None
        if not isinstance(body, dict):
            raise Unavailable("the response is not a JSON object", model=model, status=response.status_code)
        return body

    def decoded(self, content: bytes) -> Any:
        """JSON from the server, without the key.

        Raises:
            orjson.JSONDecodeError: It is no JSON.
        """
        return self._redaction.data(orjson.loads(content))

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def _called(
        self, call: Coroutine[Any, Any, httpx2.Response], model: str, seconds: float
    ) -> tuple[httpx2.Response, float]:
        started = time.perf_counter()
        problem: ScreentestError
        try:
            async with asyncio.timeout(seconds):
                response = await call
            return response, time.perf_counter() - started
        except TimeoutError:
            problem = TimedOut(f"no answer within {seconds:g} s", model=model)
        except self._errors.status as error:
            problem = self._refusal(getattr(error, "response"), model)  # noqa: B009 - common to both SDKs
        except self._errors.timeout as error:
            problem = (
                Disconnected("the connection was cut", model=model)
                if _was_cut(error)
                else TimedOut(f"no answer within {seconds:g} s", model=model)
            )
        except self._errors.connection:
            problem = Disconnected("the connection could not be made, or was cut", model=model)
        except (aiohttp.ClientError, httpx2.HTTPError, OSError):
            problem = Disconnected("the connection was cut", model=model)
        raise problem

    def _refusal(self, response: httpx2.Response, model: str) -> ScreentestError:
        try:
            body = self.decoded(response.content)
        except (orjson.JSONDecodeError, httpx2.HTTPError):
            body = None
        return refusal(response.status_code, body, response.headers, model=model)


def encoded(body: Mapping[str, Any], model: str) -> bytes:
    """A request's body as JSON.

    Raises:
        Rejected: It holds text that is no Unicode.
    """
    try:
        return orjson.dumps(body)
    except orjson.JSONEncodeError:
        raise Rejected("the prompt is not valid Unicode text (a lone surrogate?)", model=model) from None


def refusal(status: int, body: object, headers: Mapping[str, str] | None = None, *, model: str = "") -> ScreentestError:
    """The error for a refused call.

    Args:
        status: The HTTP status.
        body: The body, if it is JSON, without the key: both providers' shapes are understood.
        headers: The response's headers.
        model: The label of the model.
    """
    said, code = _said(body)
    message = f"{status} {said[:_LONGEST_MESSAGE]}".strip()
    if code in _FILTER_CODES:
        return FilteredReply(message, model=model)
    if status == 429 and code == "insufficient_quota":
        return Rejected(f"{message} (the account has no credit left)", model=model, status=status)
    if status == 429:
        return RateLimited(message, model=model, status=status, retry_after=retry_after(headers or {}))
    if status == 408:
        return TimedOut(message, model=model, status=status)
    if status == 409 or status >= 500:
        return Unavailable(message, model=model, status=status)
    return Rejected(message, model=model, status=status)


def unusable(body: Mapping[str, Any], what: str, *, model: str) -> CallError | ScreentestError:
    """The error for a 200 whose body is no reply: the error that some gateways put there, or :class:`Unavailable`."""
    error = body.get("error")
    if isinstance(error, dict):
        code = error.get("code")
        return refusal(code if isinstance(code, int) and code >= 400 else 502, body, model=model)
    return Unavailable(what, model=model, status=200)


def retry_after(headers: Mapping[str, str], now: float | None = None) -> float | None:
    """Seconds the provider asks to wait, from ``retry-after-ms`` or ``retry-after`` (seconds or an HTTP date).

    A date is held against the server's own clock if it tells the time (``date``), since ours may be wrong.
    """
    milliseconds, value = headers.get("retry-after-ms"), headers.get("retry-after")
    for text, scale in ((milliseconds, 0.001), (value, 1.0)):
        try:
            seconds = float(text or "") * scale
        except ValueError:
            continue
        if math.isfinite(seconds):
            return max(0.0, seconds)
    date = _date(value)
    if date is None:
        return None
    server = _date(headers.get("date")) if now is None else now
    return max(0.0, date - (time.time() if server is None else server))


def _date(text: str | None) -> float | None:
    try:
        return email.utils.parsedate_to_datetime(text or "").timestamp()
    except ValueError:
        return None


def _said(body: object) -> tuple[str, str]:
    if not isinstance(body, dict):
        return "", ""
    error = body.get("error", body)
    if isinstance(error, str):
        return error, ""
    if not isinstance(error, dict):
        return "", ""
    said = error.get("message") or error.get("detail")
    code = error.get("code") or error.get("type")
    return (said if isinstance(said, str) else ""), str(code or "").lower()


def _was_cut(error: BaseException) -> bool:
    """Whether the transport, which reports a cut connection as a time-out, really saw one cut."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, aiohttp.ClientError):
            return not isinstance(cause, TimeoutError)
        cause = cause.__cause__
    return False
