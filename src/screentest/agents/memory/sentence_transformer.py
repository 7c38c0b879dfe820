"""Vectors from a sentence-transformers model on this machine (the extra ``st``)."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from screentest.agents.memory.embedder import Vectors, unit_rows
from screentest.errors import InputError
from screentest.randomness import Place

_loading = threading.Lock()
_loaded: dict[str, _Encoder] = {}


class SentenceTransformerEmbedder:
    """A model that knows which texts mean the same. It is loaded once a process, however many embedders there are.

    Encoding goes on in one thread beside the event loop, which each time takes whatever texts are waiting, from all
    callers. By default they pass through the model one by one, so that no vector depends on what else was waiting and a
    run makes the same bytes at any concurrency; on a CPU that costs nothing, as short texts gain little from a batch.

    Args:
        model: A directory that holds one, or a name that sentence-transformers knows.
        batch: How many texts pass through the model at once. More is faster on a GPU, and gives up the promise above in
            the last digits.

    Raises:
        InputError: The extra is not installed, or there is no such model.
    """

    def __init__(self, model: str | Path, *, batch: int = 1) -> None:
        self._encoder, self._batch = _encoder(str(model)), batch
        self.name = f"{Path(model).name}-{self._encoder.width}"

    async def embed(self, texts: Sequence[str], *, place: Place) -> Vectors:
        """One unit row for each text (see :class:`screentest.agents.memory.Embedder`)."""
        del place
        rows = await asyncio.wrap_future(self._encoder.submit(list(texts), self._batch))
        return unit_rows(rows, count=len(texts), width=self._encoder.width, embedder=self.name)


@dataclass(slots=True)
class _Job:
    texts: list[str]
    batch: int
    rows: Future[Vectors] = field(default_factory=Future)


class _Encoder:
    """One loaded model, and the thread it works in."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self.width = len(model.encode("How wide?", show_progress_bar=False))
        self._waiting: deque[_Job] = deque()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="sentence-transformer")

    def submit(self, texts: list[str], batch: int) -> Future[Vectors]:
        job = _Job(texts, batch)
        self._waiting.append(job)
        self._thread.submit(self._encode_all)
        return job.rows

    def _encode_all(self) -> None:
        """Encode for everybody who waits, in one go; whoever is encoded for is not waiting any more."""
        jobs = [self._waiting.popleft() for _ in range(len(self._waiting))]
        jobs = [job for job in jobs if job.rows.set_running_or_notify_cancel()]
        if not jobs:
            return
        texts = [text for job in jobs for text in job.texts]
        try:
            rows = self._model.encode(
                texts, batch_size=min(job.batch for job in jobs), show_progress_bar=False, convert_to_numpy=True
            )
        except Exception as error:
            for job in jobs:
                job.rows.set_exception(error)
            return
        for job in jobs:
            job.rows.set_result(rows[: len(job.texts)])
            rows = rows[len(job.texts) :]


def _encoder(model: str) -> _Encoder:
    with _loading:
        if model not in _loaded:
            _loaded[model] = _Encoder(_load(model))
        return _loaded[model]


def _load(model: str) -> Any:
    try:
        from sentence_transformers import SentenceTransformer  # pyright: ignore[reportMissingImports]
    except ImportError as missing:
        raise InputError(
            "sentence-transformers is not installed",
            why=str(missing),
            hint="pip install 'screentest[st]' (for CPU only, install torch first: "
            "pip install torch --index-url https://download.pytorch.org/whl/cpu), or use the hashing embedder",
        ) from None
    try:
        return SentenceTransformer(model)
    except (OSError, ValueError, RuntimeError, KeyError) as error:
        why = " ".join(str(error).split())[:300]
        hint = "name a directory that holds a sentence-transformers model"
        raise InputError("the embedding model cannot be loaded", where=model, why=why, hint=hint) from None
