"""Words of a text, without a parser: lower-cased word stems in Latin script, character bigrams in Chinese."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from itertools import pairwise

from screentest.llms.understudy.lexicon import lexicon

_RUN = re.compile(r"[A-Za-zÀ-ɏ0-9]+(?:['’-][A-Za-zÀ-ɏ0-9]+)*|[\u3400-\u9fff]+")
_HAN = re.compile(r"[\u3400-\u9fff]")
_LATIN = re.compile(r"[A-Za-zÀ-ɏ]")
_ACTION = re.compile(r"\([^()]*\)|（[^（）]*）")
_ENDS = re.compile(r"[.!?。！？…]+(?=[\s”\"'’』」]*\S)")


@lru_cache(maxsize=4096)
def words(text: str) -> tuple[str, ...]:
    """The words of ``text`` in order; a Chinese run gives its characters."""
    found: list[str] = []
    for run in _RUN.findall(text):
        if _HAN.match(run):
            found.extend(run)
        else:
            found.append(_stem(run))
    return tuple(found)


@lru_cache(maxsize=4096)
def content(text: str, language: str) -> frozenset[str]:
    """The words of ``text`` that say something: no stop words; Chinese as character bigrams."""
    known = lexicon(language)
    found: set[str] = set()
    for run in _RUN.findall(text):
        if _HAN.match(run):
            pairs = (run[i : i + 2] for i in range(len(run) - 1))
            found.update(p for p in pairs if p not in known.common and known.stop.isdisjoint(p))
        elif (word := _stem(run)) not in known.stop and run.lower() not in known.stop and len(word) > 1:
            found.add(word)
    return frozenset(found)


@lru_cache(maxsize=4096)
def marks(text: str, kind: str, language: str) -> frozenset[str]:
    """Which words of one of the lexicon's lists (``why``, ``recall``, ``emotive``) occur in ``text``."""
    listed: frozenset[str] = getattr(lexicon(language), kind)
    if language == "zh":
        return frozenset(word for word in listed if word in text)
    return listed.intersection(run.lower() for run in _RUN.findall(text))


@lru_cache(maxsize=4096)
def faults(text: str, language: str) -> tuple[str, ...]:
    """Faults of form: unbalanced brackets, a speaker prefix, another language, several sentences, nothing said."""
    speech = _ACTION.sub(" ", text).strip()
    found: list[str] = []
    if any(mark in speech for mark in "()（）[]【】"):
        found.append("brackets")
    if re.match(r"[^\s，。,.!?！？]{1,30}[:：]", speech) and not re.match(r"[^:：]*\s", speech.split(":")[0]):
        found.append("prefix")
    han, latin = len(_HAN.findall(speech)), len(_LATIN.findall(speech))
    if (han * 2 > latin) != (language == "zh") and han + latin:
        found.append("language")
    if _ENDS.search(speech):
        found.append("sentences")
    if not han + latin:
        found.append("empty")
    return tuple(found)


def overlap(one: frozenset[str], other: frozenset[str]) -> float:
    """Jaccard similarity, 0 to 1."""
    shared = len(one & other)
    return shared / (len(one) + len(other) - shared) if shared else 0.0


@lru_cache(maxsize=4096)
def shape(text: str) -> frozenset[str]:
    """The pairs of neighbouring words of ``text``: what makes two lines near-duplicates."""
    found = words(text)
    return frozenset(a + " " + b for a, b in pairwise(found)) or frozenset(found)


def gathered(texts: Iterable[str], language: str) -> frozenset[str]:
    """The content words of several texts."""
    return frozenset[str]().union(*(content(text, language) for text in texts))


def _stem(word: str) -> str:
    word = word.lower().replace("’", "'").removesuffix("'s")
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word
