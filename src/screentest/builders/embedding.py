"""What makes memories comparable, as a configuration names it."""

from __future__ import annotations

from collections.abc import Mapping

from screentest.agents.memory import Embedder, EndpointEmbedder, HashingEmbedder, SentenceTransformerEmbedder
from screentest.builders.config import Config
from screentest.llms import Model


def embedder(config: Config, models: Mapping[str, Model]) -> Embedder:
    """The embedder of ``memory.embedder``.

    Args:
        config: Names it.
        models: Label to model; the embeddings model among them, if a model embeds.

    Raises:
        InputError: It needs an extra that is not installed, or cannot be loaded.
    """
    name = config.memory.embedder
    if not config.rules.memory or name == "hashing":
        return HashingEmbedder()
    if label := config.embeddings:
        spec = config.models[label]
        return EndpointEmbedder(models[label], served=spec.model or "", dimensions=spec.dimensions)
    return SentenceTransformerEmbedder(name.removeprefix("st:"))
