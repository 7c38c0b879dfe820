"""Vectors: how an embedding model is asked for them, and how they are written in its reply."""

from __future__ import annotations

import base64
from collections.abc import Sequence

import numpy as np
import orjson
from numpy.typing import NDArray

from screentest.errors import InvalidReply
from screentest.llms.model import Message, Model, Reply, Request

PURPOSE = "embed"
STORED = np.dtype("<f4")


async def embed(model: Model, texts: Sequence[str], *, key: str) -> NDArray[np.float32]:
    """One row for each text, as the model gives it.

    Args:
        model: An embedding model, wrapped or not.
        texts: What to embed; at least one, none empty.
        key: The call's place in the run.

    Raises:
        CallError: The model could not be reached.
        InvalidReply: It did not answer with one finite vector for each text, all of the same width.
    """
    request = Request(messages=tuple(Message("user", text) for text in texts), purpose=PURPOSE, key=key)
    reply = await model.reply(request)
    try:
        return _read(reply, len(texts))
    except Misfit as misfit:
        raise InvalidReply(f"no usable embeddings: {misfit}", model=model.name, reply=reply) from None


class Misfit(Exception):
    """Why vectors cannot be used."""


def written(vectors: NDArray[np.float32]) -> str:
    """Vectors as the text of a reply: JSON with their shape, and their little-endian float32 bytes in base64."""
    data = base64.b64encode(vectors.astype(STORED).tobytes()).decode()
    return orjson.dumps({"shape": vectors.shape, "float32": data}).decode()


def misfitting(misfit: Misfit) -> str:
    """Why vectors cannot be used, as the text of a reply."""
    return orjson.dumps({"problem": str(misfit)}).decode()


def _read(reply: Reply, count: int) -> NDArray[np.float32]:
    try:
        told = orjson.loads(reply.text)
        if reply.finish != "stop":
            raise Misfit(told["problem"])
        vectors = np.frombuffer(base64.b64decode(told["float32"], validate=True), STORED).reshape(told["shape"])
    except (ValueError, TypeError, KeyError):
        raise Misfit("the reply is not written as vectors; is this a model with `provider: embeddings`?") from None
    if vectors.ndim != 2 or len(vectors) != count:
        raise Misfit(f"{len(vectors)} vectors for {count} texts")
    return vectors.astype(np.float32)
