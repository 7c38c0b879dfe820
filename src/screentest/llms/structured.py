"""The structured-reply ladder: what a model said becomes a validated object, or an error, never a guess."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import json_repair
from pydantic import BaseModel, ValidationError

from screentest.errors import EmptyReply, FilteredReply, InvalidReply, RefusedReply, TruncatedReply
from screentest.llms.model import Message, Model, Reply, Request
from screentest.prompts import render

_FENCE = re.compile(r"\A```[a-zA-Z]*\s*\n(.*?)\n?\s*```\Z", re.DOTALL)
_SHOWN_ERRORS = 8


class _Unparsable(ValueError):
    """The text is not one JSON value that fits."""


async def ask(model: Model, request: Request) -> Reply:
    """Ask a model, and insist on an answer that can be used.

    Args:
        model: The model.
        request: The question. With a schema, a reply that does not fit is asked for once more, under the key
            ``<key>/reask``, with the error shown.

    Returns:
        The reply, its text stripped. With a schema, ``parsed`` is set; usage, cost and latency are those of both calls.

    Raises:
        CallError: No reply came.
        EmptyReply: The reply has no text.
        TruncatedReply: It stopped at the token limit.
        RefusedReply: The model declined.
        FilteredReply: The provider's filter stepped in.
        InvalidReply: It does not fit the schema, even after one re-ask.
    """
    first = _finished(await model.reply(request), model.name)
    if request.schema is None:
        return first
    try:
        return replace(first, parsed=parse(first.text, request.schema))
    except _Unparsable as error:
        again = _reask(request, first.text, str(error))
    second = (await model.reply(again)).after(first)
    _finished(second, model.name)
    try:
        return replace(second, parsed=parse(second.text, request.schema))
    except _Unparsable as error:
        raise InvalidReply(f"not what the schema asks for: {error}", model=model.name, reply=second) from None


def parse(text: str, schema: type[BaseModel]) -> BaseModel:
    """One object of ``schema`` from ``text``.

    Taken are: JSON; JSON in a code fence or with words around it; JSON with slips of the pen that json-repair mends.
    Refused are: no object or several, a key given twice with different values, a value left out, a misfit.

    Raises:
        ValueError: With a message fit to be shown to the model.
    """
    try:
        return schema.model_validate(_json(text))
    except ValidationError as error:
        raise _Unparsable(_readable(error)) from None


def _json(text: str) -> Any:
    text = text.strip()
    if fenced := _FENCE.match(text):
        text = fenced[1].strip()
    start = text.find("{")
    if start < 0:
        raise _Unparsable("there is no JSON object in it")
    try:
        value, end = _DECODER.raw_decode(text, start)
    except json.JSONDecodeError:
        return _repaired(_without_postscript(text[start:]))
    if "{" in text[end:]:
        raise _Unparsable("it holds more than one JSON object; write exactly one")
    return value


def _without_postscript(text: str) -> str:
    """``text`` up to its last brace, unless that would cut an object which was never closed."""
    cut = text[: text.rfind("}") + 1]
    return cut if cut.count("}") >= cut.count("{") > 0 else text


def _repaired(text: str) -> Any:
    try:
        value = json_repair.loads(text, skip_json_loads=True, strict=True)
    except (ValueError, RecursionError):
        raise _Unparsable("it is not valid JSON, or holds more than one object") from None
    if not isinstance(value, dict) or not value:
        raise _Unparsable("it is not one JSON object")
    return value


def _unambiguous(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for key, value in pairs:
        if key in made and made[key] != value:
            raise _Unparsable(f"the key {key!r} is given twice with different values")
        made[key] = value
    return made


_DECODER = json.JSONDecoder(object_pairs_hook=_unambiguous, strict=False)


def _readable(error: ValidationError) -> str:
    found = error.errors(include_url=False, include_context=False, include_input=False)
    told = [f"{'.'.join(map(str, one['loc'])) or 'the object'}: {one['msg']}" for one in found[:_SHOWN_ERRORS]]
    return "; ".join(told)


def _reask(request: Request, bad: str, error: str) -> Request:
    shown = (Message("assistant", bad), *render("reask", request.language, error=error))
    return replace(request, messages=(*request.messages, *shown), key=f"{request.key}/reask")


def _finished(reply: Reply, name: str) -> Reply:
    match reply.finish:
        case "length":
            raise TruncatedReply("stopped at the token limit; raise max_tokens", model=name, reply=reply)
        case "refusal":
            raise RefusedReply("the model declined to answer", model=name, reply=reply)
        case "filtered":
            raise FilteredReply("the provider's content filter stepped in", model=name, reply=reply)
        case "unknown":
            raise InvalidReply("it ended for a reason that is not known", model=name, reply=reply)
        case "stop":
            stripped = reply.text.strip()
            if not stripped:
                raise EmptyReply("the reply has no text", model=name, reply=reply)
            return replace(reply, text=stripped)
