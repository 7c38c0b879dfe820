"""The embeddings endpoint of a fake provider: texts that share words get vectors that are near each other.

server.embeddings = vectors(width=3, shuffled=True)   # or any other behaviour
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

from fakes.behaviours import Behaviour, Raw, Seen

Damage = Callable[[dict[str, Any]], object]


def vectors(
    width: int = 32, *, shuffled: bool = False, numbers: bool = False, damage: Damage | None = None
) -> Behaviour:
    """Vectors in OpenAI's format.

    Args:
        width: How wide they are, unless the request says.
        shuffled: Send the last one first.
        numbers: Send them as numbers, whatever the request asks for.
        damage: Changes the body before it is sent.
    """

    def answer(seen: Seen) -> Raw:
        texts: list[str] = seen.body["input"]
        packed = seen.body.get("encoding_format") == "base64" and not numbers
        rows = [vector(text, seen.body.get("dimensions", width)) for text in texts]
        data = [
            {"object": "embedding", "index": index, "embedding": _written(row, packed)}
            for index, row in enumerate(rows)
        ]
        tokens = sum(len(text) for text in texts)
        body: dict[str, Any] = {
            "object": "list",
            "data": data[::-1] if shuffled else data,
            "model": f"{seen.body['model']}-v1",
            "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
        }
        if damage:
            damage(body)
        return Raw(json.dumps(body).encode())

    return answer


def vector(text: str, width: int) -> list[float]:
    """The vector of a text: its words (or characters), counted by their hash."""
    row = [0.0] * width
    for word in text.lower().split() if text.isascii() else text:
        row[zlib.crc32(word.strip(".,?!").encode()) % width] += 1.0
    return row


def _written(row: list[float], packed: bool) -> list[float] | str:
    return base64.b64encode(np.array(row, "<f4").tobytes()).decode() if packed else row
