"""The ladder to a structured reply, as far as a provider climbs it: native schema, forced tool, described in text."""

from __future__ import annotations

import logging
import re
from functools import lru_cache
from typing import Any

import orjson
from pydantic import BaseModel

from screentest.errors import Rejected
from screentest.llms.capabilities import Capabilities
from screentest.llms.model import Message, Request
from screentest.llms.spec import ModelSpec, Rung
from screentest.prompts import render

log = logging.getLogger(__name__)

_BLAMES: dict[Rung, re.Pattern[str]] = {
    "native": re.compile(r"response_format|json_schema|output_config|output_format|schema|structured|guided|grammar"),
    "tool": re.compile(r"tool|function"),
}
_UNDER_KEY_OR_QUOTA = {401, 402, 403}
_SMALL_RANGE = 20
_LEFT_OUT = {"title", "default", "discriminator", "minLength", "maxLength"}
_CONSTRAINTS = {
    *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    *("pattern", "minItems", "maxItems", "uniqueItems"),
}


class Ladder:
    """Where on the ladder one model stands. It only ever steps down, and remembers.

    Args:
        spec: The model; ``structured`` pins a rung.
        row: What the model takes.
    """

    def __init__(self, spec: ModelSpec, row: Capabilities) -> None:
        forced_tool_works = not (spec.thinking and row.thinking == "budget")
        self._rungs: list[Rung] = [rung for rung in row.rungs if rung != "tool" or forced_tool_works]
        if spec.structured:
            self._rungs = [spec.structured]

    @property
    def rung(self) -> Rung:
        """The rung in use."""
        return self._rungs[0]

    def step_down(self, rung: Rung, refusal: Rejected) -> bool:
        """Leave ``rung`` if ``refusal`` blames it and there is a lower one.

        Returns:
            Whether to try again. Also true when a concurrent call has already stepped down.
        """
        if rung not in _BLAMES or refusal.status in _UNDER_KEY_OR_QUOTA or not _BLAMES[rung].search(str(refusal)):
            return False
        if rung != self.rung:
            return True
        if len(self._rungs) == 1:
            return False
        self._rungs.pop(0)
        log.info("%s: structured replies by '%s' refused, using '%s'", refusal.model, rung, self.rung)
        return True


def told_the_schema(request: Request, schema: type[BaseModel]) -> tuple[Message, ...]:
    """The request's messages, with the schema described in the system message (there is one system message at most)."""
    (told,) = render("json_only", request.language, schema=orjson.dumps(plain_schema(schema)).decode())
    first, *rest = request.messages
    if first.role != "system":
        return (told, *request.messages)
    return (Message("system", f"{first.content}\n\n{told.content}"), *rest)


@lru_cache(maxsize=4096)
def plain_schema(schema: type[BaseModel]) -> dict[str, Any]:
    """The JSON schema of a pydantic class, as pydantic writes it."""
    return schema.model_json_schema()


@lru_cache(maxsize=4096)
def strict_schema(schema: type[BaseModel], *, constraints: bool) -> dict[str, Any]:
    """The JSON schema of a pydantic class, in the subset that providers enforce while a model writes.

    Every object is closed and every property required; titles, defaults and lengths of texts are gone.

    Args:
        schema: The class.
        constraints: Whether the provider knows ranges and patterns. If not, they are left out (the reply is validated
            anyway), but a small range of integers becomes an enumeration.
    """
    return _strict(plain_schema(schema), constraints=constraints)


def _strict(node: Any, *, constraints: bool) -> Any:
    if isinstance(node, list):
        return [_strict(item, constraints=constraints) for item in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        return {"$ref": node["$ref"]}
    strict: dict[str, Any] = {}
    for key, value in node.items():
        if key in _LEFT_OUT:
            continue
        if key in {"properties", "$defs"}:
            strict[key] = {name: _strict(child, constraints=constraints) for name, child in value.items()}
        elif key in {"enum", "const", "required"}:
            strict[key] = value
        else:
            strict["anyOf" if key == "oneOf" else key] = _strict(value, constraints=constraints)
    if strict.get("type") == "object" and "properties" in strict:
        strict |= {"additionalProperties": False, "required": list(strict["properties"])}
    return strict if constraints else _unconstrained(strict)


def _unconstrained(node: dict[str, Any]) -> dict[str, Any]:
    low, high = node.get("minimum"), node.get("maximum")
    plain = {key: value for key, value in node.items() if key not in _CONSTRAINTS}
    if node.get("type") == "integer" and low is not None and high is not None and high - low < _SMALL_RANGE:
        plain["enum"] = list(range(low, high + 1))
    return plain
