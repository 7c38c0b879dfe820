"""How much a memory matters, at a glance and without a model.

The score starts from where the memory comes from, and moves by the signs that stand in the text; of the weighty matters
two count, every other sign counts once:

=================================================  ================================================
told by the narrator, or reflected                 0.40
done or seen                                       0.30
a weighty matter (promise, secret, death, letter)  +0.20 each, at most +0.40
something that changes things (gave, fled, broke)  +0.10
a number, a time, a sum                            +0.08
a name                                             +0.06
a negation or refusal                              +0.05
an outcry or a silence (``!``, ``…``, ``——``)      +0.05
the length                                         -0.10 for two words, up to +0.08 for 24 and more
a courtesy and nothing else                        -0.20
=================================================  ================================================

It is kept within 0.05 and 1. English and Chinese are read by the same signs.
"""

from __future__ import annotations

import re
from functools import lru_cache
from operator import add

from screentest.agents.memory import signs
from screentest.agents.memory.record import Kind

_BASE: dict[Kind, float] = {"did": 0.3, "saw": 0.3, "told": 0.4, "reflected": 0.4}
_LEAST, _MOST = 0.05, 1.0
_MATTER, _MATTERS = 0.2, 2
_CHANGE, _NUMBER, _NAME, _REFUSAL, _OUTCRY, _COURTESY = 0.10, 0.08, 0.06, 0.05, 0.05, -0.2
_SHORT, _LONG, _PER_WORD = 2, 24, 0.18 / 22
_CHARACTERS_PER_WORD = 1.7
_COURTEOUS = 8

_WORD = re.compile("[a-z]+")
_DIGIT = re.compile(
    r"\d|[零二三四五六七八九十百千万两半几][年月日天夜更时点里人个文块条把封次岁步]|[十百千万两]{2}|第[一二三四五六七八九十]"
)
_NAMED = re.compile(
    r"(?<=[a-z,;] )[A-Z][a-z]{2}|[《「『]"
    r"|[一-鿿](?:先生|夫人|太太|小姐|姑娘|掌柜|老板|师傅|大人|将军|公子|大夫|教授|队长|船长)"
)
_OUTCRY_SIGN = re.compile(r"[!！…]|\.\.\.|——|--|[?？]{2}")


def importance(text: str, kind: Kind) -> float:
    """How much a memory matters, from 0.05 to 1, by the signs that this module lists.

    Args:
        text: The memory, in English or Chinese.
        kind: Where it comes from.
    """
    words = _WORD.findall(text.lower())
    found = [sign for word in words for sign in _signs(word)]
    if not text.isascii():
        found += [signs.CHINESE[part] for part in (*text, *map(add, text, text[1:])) if part in signs.CHINESE]
    kinds = {sign.kind for sign in found}
    matters = len({sign.stem for sign in found if sign.kind == "matter"})
    number = "number" in kinds or _DIGIT.search(text) is not None
    score = _BASE[kind] + _MATTER * min(_MATTERS, matters) + _length(text, len(words))
    score += _CHANGE * ("change" in kinds) + _NUMBER * number + _REFUSAL * ("refusal" in kinds)
    score += _NAME * (_NAMED.search(text) is not None) + _OUTCRY * (_OUTCRY_SIGN.search(text) is not None)
    if "courtesy" in kinds and not (matters or number or "change" in kinds) and _words(text, len(words)) < _COURTEOUS:
        score += _COURTESY
    return round(min(_MOST, max(_LEAST, score)), 3)


@lru_cache(maxsize=8192)
def _signs(word: str) -> tuple[signs.Sign, ...]:
    """The signs that an English word is."""
    parts = (word[:size] + "*" for size in range(3, len(word) + 1))
    return tuple(signs.ENGLISH[part] for part in (word, *parts) if part in signs.ENGLISH)


def _words(text: str, words: int) -> float:
    """About how many words a text has."""
    return words if text.isascii() else max(words, len(text) / _CHARACTERS_PER_WORD)


def _length(text: str, words: int) -> float:
    return -0.1 + _PER_WORD * (min(_LONG, max(_SHORT, _words(text, words))) - _SHORT)
