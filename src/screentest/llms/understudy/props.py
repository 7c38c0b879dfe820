"""Props: the plain, concrete objects that a text names, found by a list of nouns and never guessed."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, lru_cache

from screentest.llms.understudy.lexicon import lexicon
from screentest.llms.understudy.tale import Setting, Tale, tale

_WORD = re.compile(r"[A-Za-zÀ-ɏ]+(?:['’-][A-Za-zÀ-ɏ]+)*|[^\sA-Za-zÀ-ɏ]")
_DETERMINERS = frozenset(["a", "an", "the", "his", "her", "their", "my", "your", "its", "this", "that", "one"])
_SENTENCE_END = re.compile(r"[.!?。！？]")
_LONGEST = 3
_BIG = frozenset(["great", "huge", "vast", "big", "tall", "giant"])
_INFLECTED = ("ed", "ing", "ly")


@dataclass(frozen=True, slots=True)
class Prop:
    """An object.

    Attributes:
        noun: What it is listed as, e.g. ``map``.
        phrase: How it is spoken of, e.g. ``the old map``, ``那封信``.
        kind: Its kind, e.g. ``paper``, ``opening``.
        fixed: Whether nobody can carry it.
    """

    noun: str
    phrase: str
    kind: str
    fixed: bool


@lru_cache(maxsize=8192)
def named(text: str, language: str) -> tuple[Prop, ...]:
    """The objects that ``text`` names, in order, each noun once."""
    found = _chinese(text) if language == "zh" else _english(text)
    return tuple({prop.noun: prop for prop in reversed(found)}.values())[::-1]


def stock(place: str, description: str, language: str) -> tuple[Prop, ...]:
    """What lies about in a place of this kind, whether or not anybody says so; no fire where the kind is not known."""
    known, setting = tale(language), setting_of(place, description, language)
    about = setting or list(known.settings.values())[-1]
    listed = [*about.things.items(), *about.fixtures.items()]
    return tuple(_listed(noun, kind, known) for kind, nouns in listed for noun in nouns if setting or kind != "fire")


def setting_of(place: str, description: str, language: str) -> Setting | None:
    """What kind of place it is.

    That is told by the place, else by the first sentence of the description, which later deeds leave as it is.
    """
    known = tale(language)
    return _setting(place, known) or _setting(_SENTENCE_END.split(description)[0], known)


def _setting(place: str, known: Tale) -> Setting | None:
    """The setting that the head of the place's name shows: its first telling word in English, its last in Chinese."""
    found: list[tuple[int, int, Setting]] = []
    for setting in known.settings.values():
        for sign in setting.signs:
            if known.language == "zh" and sign in place:
                found.append((-place.rfind(sign) - len(sign), -len(sign), setting))
            elif known.language == "en" and (match := re.search(rf"\b{sign}\b", place.lower())):
                found.append((match.start(), -len(sign), setting))
    return min(found, key=lambda each: each[:2])[2] if found else None


def _listed(noun: str, kind: str, known: Tale) -> Prop:
    if known.language == "zh":
        return _prop_zh(noun, kind, known)
    return Prop(noun, f"the {noun}", kind, kind in known.fixtures)


def _prop_zh(noun: str, kind: str, known: Tale) -> Prop:
    phrase = f"那{known.measures[noun]}{noun}" if noun in known.measures else noun
    return Prop(noun, phrase, kind, kind in known.fixtures)


def _english(text: str) -> list[Prop]:
    tokens = _WORD.findall(text)
    found: list[Prop] = []
    at = 0
    while at < len(tokens):
        length = next((n for n in range(_LONGEST, 0, -1) if _is_noun(tokens[at : at + n])), 0)
        if length and (prop := _phrase(tokens, at, at + length)):
            found.append(prop)
        at += length or 1
    return found


def _is_noun(tokens: list[str]) -> bool:
    return " ".join(tokens).lower() in tale("en").nouns


def _phrase(tokens: list[str], start: int, end: int) -> Prop | None:
    """The noun with its adjectives, if it stands alone behind a determiner: "the key", but not "a key member"."""
    known, words = tale("en"), lexicon("en")
    after = tokens[end].lower() if end < len(tokens) else "."
    stands = not after[0].isalpha() or after in words.stop | words.verbs or after.endswith(_INFLECTED)
    first = start
    while first > 0 and start - first < 2 and tokens[first - 1].lower() in words.adjectives | known.materials:
        first -= 1
    before = tokens[first - 1].lower() if first else ""
    if not _BIG.isdisjoint(word.lower() for word in tokens[first:start]):
        return None
    if not stands or not (before in _DETERMINERS or before.endswith(("'s", "’s"))):
        return None
    noun = " ".join(tokens[start:end])
    kind = known.nouns[noun.lower()]
    return Prop(noun.lower(), " ".join(["the", *tokens[first:end]]), kind, kind in known.fixtures)


@cache
def _chinese_nouns() -> re.Pattern[str]:
    known = tale("zh")
    long = sorted((noun for noun in known.nouns if noun not in known.measures), key=lambda noun: (-len(noun), noun))
    short = "|".join(f"(?<=[这那一]{known.measures[noun]}){noun}" for noun in sorted(known.measures))
    return re.compile("|".join([*long, short]))


def _chinese(text: str) -> list[Prop]:
    known = tale("zh")
    return [_prop_zh(noun, known.nouns[noun], known) for noun in _chinese_nouns().findall(text)]


def joined(props: Iterable[Prop], language: str) -> str:
    """A list of objects as a phrase."""
    return tale(language).words["and"].join(prop.phrase for prop in props)
