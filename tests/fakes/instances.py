"""Valid instances of a JSON schema, drawn by a generator."""

from __future__ import annotations

import json
import random
from typing import Any

_WORDS = ("amber", "bell", "candle", "dune", "ember", "fjord", "gale", "harbour", "iron", "juniper", "kelp", "lantern")


def instance(schema: dict[str, Any], draw: random.Random, root: dict[str, Any] | None = None) -> Any:
    """A value that fits ``schema``, of the keywords pydantic writes: seldom true, null only where nothing else fits."""
    root = schema if root is None else root
    if "$ref" in schema:
        return instance(root["$defs"][schema["$ref"].rsplit("/", 1)[-1]], draw, root)
    for several in ("anyOf", "oneOf"):
        if several in schema:
            something = [one for one in schema[several] if one.get("type") != "null"]
            return instance(draw.choice(something), draw, root)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return draw.choice(schema["enum"])
    match schema.get("type"):
        case "object":
            return {name: instance(child, draw, root) for name, child in schema.get("properties", {}).items()}
        case "array":
            few, many = schema.get("minItems", 1), schema.get("maxItems", schema.get("minItems", 0) + 2)
            return [instance(schema["items"], draw, root) for _ in range(draw.randint(min(few, many), many))]
        case "integer":
            low = schema.get("minimum", schema.get("exclusiveMinimum", 0) + ("exclusiveMinimum" in schema))
            high = schema.get("maximum", schema.get("exclusiveMaximum", low + 5) - ("exclusiveMaximum" in schema))
            return draw.randint(int(low), int(high))
        case "number":
            low = schema.get("minimum", 0.0)
            return round(draw.uniform(low, schema.get("maximum", low + 1)), 3)
        case "boolean":
            return draw.random() < 0.1
        case "null":
            return None
        case _:
            text = " ".join(draw.choices(_WORDS, k=draw.randint(3, 8)))
            text += "." * max(0, schema.get("minLength", 0) - len(text))
            return text[: schema.get("maxLength")]


def described_schema(prompt: str) -> dict[str, Any] | None:
    """The last JSON schema of an object that a prompt spells out."""
    decoder, found, at = json.JSONDecoder(), None, prompt.find("{")
    while at >= 0:
        try:
            value, end = decoder.raw_decode(prompt, at)
        except json.JSONDecodeError:
            at = prompt.find("{", at + 1)
            continue
        if isinstance(value, dict) and value.get("type") == "object" and "properties" in value:
            found = value
        at = prompt.find("{", end)
    return found
