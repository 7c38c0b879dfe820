"""A character's memory: noted as it happens, recalled by relevance, recency and importance (CharacterBox §3.2)."""

from screentest.agents.memory.embedder import Embedder, Vectors, unit_rows
from screentest.agents.memory.endpoint import EndpointEmbedder
from screentest.agents.memory.hashing import HashingEmbedder
from screentest.agents.memory.importance import importance
from screentest.agents.memory.memories import CAPACITY, Memories
from screentest.agents.memory.ranking import Weights
from screentest.agents.memory.record import Kind, Memory, Recollection
from screentest.agents.memory.sentence_transformer import SentenceTransformerEmbedder

__all__ = [
    "CAPACITY",
    "Embedder",
    "EndpointEmbedder",
    "HashingEmbedder",
    "Kind",
    "Memories",
    "Memory",
    "Recollection",
    "SentenceTransformerEmbedder",
    "Vectors",
    "Weights",
    "importance",
    "unit_rows",
]
