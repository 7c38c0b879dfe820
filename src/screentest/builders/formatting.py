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

_PAIRS = {")": "(", "）": "（", "]": "[", "】": "【", "”": "“", "」": "「"}
_ENDING = re.compile(r"[.!?]+[\"'”’]*(?=\s+[\"'“‘]*[A-Z])|[。！？]+[”」』’]*(?=.)")
_ABBREVIATION = re.compile(r"\b(?:Mr|Mrs|Ms|Dr|St|Prof|Capt|Lt|Sgt|Col|Gen|Rev|Hon|Jr|Sr|vs|No|[A-Z])\.")
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
        "speaker prefix": re.match(rf"\s*[<*\"“]*{re.escape(line.speaker)}[>*]*\s*[:：]", line.text) is not None,
        "wrong language": _language(line.text) not in (language, None),
        "several sentences": len(_ENDING.findall(_ABBREVIATION.sub("", line.speech))) > 0,
        "near-duplicate of an earlier line": any(_alike(line.text, earlier.text) for earlier in history),
    }
    return tuple(fault for fault, found in checks.items() if found)


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
