"""Embeddings: OpenAI's, and every server's that speaks its protocol (vLLM, Ollama, TEI, Qwen, Jina …).

An embedding model is a :class:`~screentest.llms.Model` like any other: its request holds one user message for each
text, and its reply's text is the vectors, written as JSON. So calls for vectors are limited, retried, budgeted, kept in
the journal and answered from there like all others, and none is paid for twice.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from screentest.llms.model import Reply, Request, Usage
from screentest.llms.spec import ModelSpec
from screentest.llms.vectors import STORED, Misfit, misfitting, written
from screentest.llms.wire import Wire, unusable

PATH = "/embeddings"


class EmbeddingModel:
    """A model served over ``/embeddings``.

    A response that does not hold one vector for each text becomes a reply too, with the finish ``unknown``: it was paid
    for, and :func:`~screentest.llms.vectors.embed` refuses it the same way whenever it is read again.

    Vectors are asked for in base64, as OpenAI's own client does: that is a quarter of the bytes, and no numbers to
    parse. Servers that send numbers all the same are understood.

    Args:
        name: The configured label.
        spec: The model.
        wire: The way to its server.
    """

    def __init__(self, name: str, spec: ModelSpec, wire: Wire) -> None:
        self._name, self._spec, self._wire = name, spec, wire

    @property
    def name(self) -> str:
        """The configured label."""
        return self._name

    async def reply(self, request: Request) -> Reply:
        """The vectors of all messages (see :class:`screentest.llms.Model`)."""
        spec, texts = self._spec, [message.content for message in request.messages]
        body: dict[str, Any] = {"model": spec.model, "input": texts, "encoding_format": "base64"}
        if spec.dimensions is not None:
            body["dimensions"] = spec.dimensions
        answer, latency = await self._wire.post(body | spec.extra, model=self._name, seconds=spec.timeout)
        data = answer.get("data")
        if not isinstance(data, list):
            raise unusable(answer, "the response holds no embeddings", model=self._name)
        try:
            told, finish = written(_matrix(data, len(texts), spec.dimensions)), "stop"
        except Misfit as misfit:
            told, finish = misfitting(misfit), "unknown"
        usage = _usage(answer.get("usage"))
        return Reply(
            text=told,
            finish=finish,
            model=str(answer.get("model") or spec.model),
            usage=usage,
            latency=latency,
            cost=spec.price.cost(usage) if spec.price else None,
        )


def _matrix(data: list[Any], count: int, dimensions: int | None) -> NDArray[np.float32]:
    """The vectors in the order of the texts: servers may send them in any, with their ``index``."""
    if len(data) != count:
        raise Misfit(f"{len(data)} vectors for {count} texts")
    rows: dict[int, NDArray[np.float32]] = {}
    for entry in data:
        if not isinstance(entry, dict) or not isinstance(entry.get("index"), int):
            raise Misfit("a vector without an index")
        rows[entry["index"]] = _vector(entry.get("embedding"))
    if rows.keys() != set(range(count)):
        raise Misfit(f"the indices are not 0 to {count - 1}")
    widths = {len(row) for row in rows.values()}
    if len(widths) > 1:
        raise Misfit(f"vectors of different widths ({min(widths)} and {max(widths)})")
    if dimensions is not None and widths != {dimensions}:
        raise Misfit(f"vectors of width {max(widths)}, where {dimensions} was asked for")
    vectors = np.stack([rows[index] for index in range(count)])
    if not np.isfinite(vectors).all():
        raise Misfit("a vector holds values that are no finite numbers")
    return vectors


def _vector(given: object) -> NDArray[np.float32]:
    """Little-endian float32 bytes in base64, or a list of numbers."""
    if isinstance(given, str):
        try:
            vector = np.frombuffer(base64.b64decode(given, validate=True), STORED)
        except (binascii.Error, ValueError):
            raise Misfit("a vector that is neither numbers nor base64") from None
    elif isinstance(given, list) and set(map(type, given)) <= {int, float}:
        with np.errstate(over="ignore"):
            vector = np.array(given, np.float64).astype(np.float32)
    else:
        raise Misfit("a vector that is neither numbers nor base64")
    if not len(vector):
        raise Misfit("an empty vector")
    return vector


def _usage(told: Mapping[str, Any] | object) -> Usage | None:
    tokens = told.get("prompt_tokens") if isinstance(told, Mapping) else None
    return Usage(input=tokens) if isinstance(tokens, int) else None
