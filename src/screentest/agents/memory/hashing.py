"""The embedder of the base install: hashed words and character n-grams, for any language, without a model."""

from __future__ import annotations

import re
import unicodedata
import zlib
from array import array
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import chain
from operator import add

import numpy as np
from numpy.typing import NDArray

from screentest.agents.memory.embedder import Vectors
from screentest.randomness import Place

_CHUNK = 64
_SHIFT = 32
_KNOWN = 16_384
_GRAMS = (3, 4)
_GRAM_SHARE = 1.0
_MIXES = (2_654_435_761, 2_246_822_519, 3_266_489_917)
_FUNCTION_WORD = 0.1
_PAIR, _CHARACTER = (1.0, 0.15), (0.3, 0.04)
_WIDE = "⺀-鿿豈-﫿"
_WORDS = re.compile("[a-z0-9_]+")
_FULL_WIDTH = re.compile("[０-９Ａ-Ｚａ-ｚ]")
_RUNS = re.compile(f"[{_WIDE}]+|[^\\W{_WIDE}]+")

_FUNCTION_WORDS = """
    a about after again all am an and any are as at be been before being but by can could d did do does doing
    done down for from get go had has have he her here hers him his how i if in into is it its just ll m me more
    most my no not now of off on once one only or other our out over own re s same she should so some such t
    than that the their them then there these they this those through to too under up us ve very was we were
    what when where which while who whom whose why will with would you your
"""
_FUNCTION_CHARACTERS = (
    "的了是在我你您他她它们这那有和与就也都又还很把被让给对从到向着过呢吗吧啊呀么什哪谁个之其而且但或若"
)


class HashingEmbedder:
    """Texts are near each other when they share words, or words that share spellings.

    A text is the sum of its words, a repeated one counting ``1 + ln n``; a word is itself and its 3- and 4-grams; a run
    of Chinese is its characters and, above all, its pairs of characters. Function words count little. Each such
    feature adds or takes one at three places given by its hashes (the signed hashing trick: Weinberger et al., 2009),
    which are the same in every process; three, so that no two texts look alike because two features share one place.
    It needs no model, but it knows no synonyms either.

    Args:
        width: How wide the vectors are.
    """

    def __init__(self, width: int = 512) -> None:
        self.name = f"hashing-{width}"
        self._width = width
        self._forget()

    async def embed(self, texts: Sequence[str], *, place: Place) -> Vectors:
        """One unit row for each text (see :class:`screentest.agents.memory.Embedder`)."""
        del place
        rows = np.zeros((len(texts), self._width), np.float32)
        for start in range(0, len(texts), _CHUNK):
            rows[start : start + _CHUNK] = self._sums(texts[start : start + _CHUNK])
        lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
        lengths[lengths == 0] = 1.0
        return rows / lengths[:, None]

    def _sums(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """The features of each text, added up."""
        if len(self._numbers) > _KNOWN:
            self._forget()
        said = [[self._numbers.get(token) or self._learn(token) for token in tokens(text)] for text in texts]
        lengths = [len(line) for line in said]
        total = sum(lengths)
        if not total:
            return np.zeros((len(texts), self._width))
        token = np.fromiter(chain.from_iterable(said), np.int64, total)
        once, count = np.unique(np.repeat(np.arange(len(texts)), lengths) << _SHIFT | token, return_counts=True)
        text, token = once >> _SHIFT, once & (1 << _SHIFT) - 1
        first, end = np.frombuffer(self._ends, np.int64)[np.stack([token - 1, token])]
        size = end - first
        feature = np.arange(size.sum()) + np.repeat(first - np.cumsum(size) + size, size)
        place = np.repeat(text * self._width, size) + np.frombuffer(self._buckets, np.int32)[feature]
        weight = np.repeat(1 + np.log(count), size) * np.frombuffer(self._weights, np.float32)[feature]
        added = np.bincount(place, weight, len(texts) * self._width)
        return added.astype(np.float64).reshape(len(texts), self._width)

    def _learn(self, token: str) -> int:
        """The number of a token that is new, from 1; its features are put at the end of all."""
        for features, weight in _features(token):
            checksums = [zlib.crc32(feature.encode()) for feature in features]
            hashes = [checksum * mix & 0xFFFF_FFFF for checksum in checksums for mix in _MIXES]
            self._buckets.extend((hash >> 8) % self._width for hash in hashes)
            self._weights.extend(weight if hash >> 31 else -weight for hash in hashes)
        self._ends.append(len(self._buckets))
        return self._numbers.setdefault(token, len(self._ends) - 1)

    def _forget(self) -> None:
        """Start anew with the tokens that are known, lest they grow without bounds."""
        self._numbers: dict[str, int] = {}
        self._ends, self._buckets, self._weights = array("q", [0]), array("i"), array("f")


def tokens(text: str) -> list[str]:
    """The words of a text, and the characters and pairs of characters of its Chinese."""
    if text.isascii():
        return _WORDS.findall(text.lower())
    if _FULL_WIDTH.search(text):
        text = unicodedata.normalize("NFKC", text)
    found: list[str] = []
    for run in _RUNS.findall(text.lower()):
        if _is_wide(run[0]):
            found.extend(run)
            found.extend(map(add, run, run[1:]))
        else:
            found.append(run)
    return found


def _is_wide(char: str) -> bool:
    return "⺀" <= char <= "鿿" or "豈" <= char <= "﫿"


@cache
def _function_words() -> frozenset[str]:
    return frozenset(_FUNCTION_WORDS.split())


def _features(token: str) -> Iterator[tuple[list[str], float]]:
    """What a token is hashed as, and how much each of it weighs."""
    if _is_wide(token[0]):
        function = sum(char in _FUNCTION_CHARACTERS for char in token) / len(token)
        content, common = _PAIR if len(token) > 1 else _CHARACTER
        yield [token], content + (common - content) * function
    elif token in _function_words():
        yield [token], _FUNCTION_WORD
    else:
        framed = f"<{token}>"
        grams = [framed[at : at + n] for n in _GRAMS for at in range(len(framed) - n + 1)]
        yield [token], 1.0
        yield grams, _GRAM_SHARE / max(1, len(grams)) ** 0.5
