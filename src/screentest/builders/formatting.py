"""Formatting faults of a line, found by rule (FURINA App. G)."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from typing import Literal

from screentest.pools import Language, Line

FormattingFault = Literal[
    "unbalanced brackets", "speaker prefix", "wrong language", "several sentences", "near-duplicate of an earlier line"
]

_PAIRS = {")": "(", "）": "（", "]": "[", "】": "【", "”": "“", "」": "「", "』": "『"}
_ELLIPSIS = re.compile(r"\.{2,}|…+")
_ENDING = re.compile(r"[.!?]++[\"'”’]*+(?=\s+[\"'“‘]*[^\W\d_a-z])|[。！？]++[”」』’\"']*+(?=.)")
_ABBREVIATION = re.compile(r"\b(?:Mr|Mrs|Ms|Dr|St|Prof|Capt|Lt|Sgt|Col|Gen|Rev|Hon|Jr|Sr|vs|[A-Z])\.")
_HAN = re.compile(r"[\u3400-\u9fff]")
_LATIN = re.compile(r"[A-Za-z]")
_NEAR = 0.9


def formatting_faults(line: Line, history: Sequence[Line], language: Language) -> tuple[FormattingFault, ...]:
    """What is formally wrong with a line.

    Args:
        line: The line.
        history: The lines before it.
        language: The language it should be in.

    Returns:
        The faults found, none for a clean line.
    """
    checks: dict[FormattingFault, bool] = {
        "unbalanced brackets": not _balanced(line.text),
        "speaker prefix": _prefixed(line),
        "wrong language": _language(line.text) not in (language, None),
        "several sentences": _ENDING.search(_ABBREVIATION.sub("", _ELLIPSIS.sub("", line.speech))) is not None,
        "near-duplicate of an earlier line": any(_alike(line.text, earlier.text) for earlier in history),
    }
    return tuple(fault for fault, found in checks.items() if found)


def _prefixed(line: Line) -> bool:
    """Whether the speech starts with its speaker's name, or part of it, and a colon."""
    names = "|".join(re.escape(name) for name in (line.speaker, *line.speaker.split()))
    return re.match(rf"[<*\"“]*(?:{names})?[>*]*\s*[:：]", line.speech) is not None


def _balanced(text: str) -> bool:
    opened: list[str] = []
    for character in text:
        if character in _PAIRS.values():
            opened.append(character)
        elif character in _PAIRS and (not opened or opened.pop() != _PAIRS[character]):
            return False
    return not opened


def _language(text: str) -> Language | None:
    """The language a text is mostly in; a Chinese character weighs as much as a short word."""
    han, latin = len(_HAN.findall(text)), len(_LATIN.findall(text)) / 4
    if han == latin:
        return None
    return "zh" if han > latin else "en"


def _alike(text: str, earlier: str) -> bool:
    if text == earlier:
        return True
    matcher = difflib.SequenceMatcher(None, text, earlier, autojunk=False)
    return matcher.real_quick_ratio() >= _NEAR and matcher.quick_ratio() >= _NEAR and matcher.ratio() >= _NEAR
