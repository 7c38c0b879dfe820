"""Dialogue as generated files write it, brought down to what is said.

Generated dialogue often carries more than speech: quotes around it, the speaker's name before it (``Bilbo: '…'``,
``刘备道：“…”``), a word that says that there is none, or narration. The first three are removed; narration cannot be
taken apart from speech safely and is left as written. Every change, and what looks like narration, comes with a remark.
"""

from __future__ import annotations

import re
from collections.abc import Collection

_CLOSING = {"“": "”", "‘": "’", "「": "」", "『": "』", '"': '"', "'": "'"}
_NOTHING = {"none", "null", "n/a", "无", "無", "空", "-", "—", "…", "..."}
_NOTHING_BUT_A_REMARK = re.compile(
    r"^(?:none|no dialogue)\W.*\b(?:silent|silence|dialogue|speaks?|spoken|words)\b"
    r"|^[无無](?:特定|任何|明确)?的?(?:对话|對話|台词)",
    re.IGNORECASE | re.DOTALL,
)
_INTRODUCED = re.compile(r"^([^“”‘’「」『』\"':：,，。.!?！？\n]{1,40}?)\s*([:：,，])\s*(\S.*)$", re.DOTALL)
_SAYING = tuple("道曰说言答应喊叫喝呼问语云绍")
_QUOTE_INSIDE = re.compile(r"[“”「」『』\"‘]|(?:^|[\s,:，：])'\w")
_ARTICLES = {"the", "a", "an", "of"}


def spoken(dialogue: str, name: str, others: Collection[str]) -> tuple[str, list[str]]:
    """What is said in a piece of dialogue.

    Args:
        dialogue: The text of the file.
        name: The speaker.
        others: The other people in the scene: a line introduced as theirs is left as written.

    Returns:
        The speech, ``""`` if nothing is said, and a remark on each kind of change.
    """
    text = dialogue.strip()
    if text.casefold().strip(" .。") in _NOTHING or not text:
        return "", [f"no speech (the file says {text!r})" if text else "no speech"]
    if _NOTHING_BUT_A_REMARK.search(text):
        return "", [f"no speech, only a remark about it: {_short(text)}"]
    remarks: dict[str, None] = {}
    lines = [_line(line.strip(), name, others, remarks) for line in text.splitlines() if line.strip()]
    return " ".join(" ".join(lines).split()), list(remarks)


def _line(text: str, name: str, others: Collection[str], remarks: dict[str, None]) -> str:
    if introduced := _without_introduction(text, name, others):
        introduction, text = introduced
        remarks[f"removed the speaker's name before the speech: {introduction}"] = None
    if (inside := _unquoted(text)) is not None:
        remarks["removed the quotes around the speech"] = None
        return inside
    if _QUOTE_INSIDE.search(text):
        remarks["quotes inside the dialogue, perhaps narration around speech; left as written"] = None
    elif text.startswith(name) or _words(text)[:1] == _words(name)[:1]:
        remarks["begins with the speaker's own name, perhaps narration; left as written"] = None
    return text


def _without_introduction(text: str, name: str, others: Collection[str]) -> tuple[str, str] | None:
    if not (match := _INTRODUCED.match(text)):
        return None
    introduction, mark, rest = match[1].strip(), match[2], match[3]
    if any(introduction.startswith(other) for other in others if not name.startswith(other)):
        return None
    is_quoted = _unquoted(rest) is not None
    if rest[0] in _CLOSING and not is_quoted:
        return None
    is_colon = mark in ":："
    words, own = _words(introduction), _words(name)
    named = bool(words) and words[0] in own
    says = introduction.endswith(_SAYING) and introduction.startswith((name, name[-2:], name[-1], f"{name[0]}公"))
    whole = is_colon and (introduction == name or says or (named and set(words) <= set(own)))
    leads = named and is_quoted and (is_colon or len(words) > 1)
    return (introduction + mark, rest) if whole or leads else None


def _unquoted(text: str) -> str | None:
    """What is between the quotes, if one pair of them encloses everything."""
    closing = _CLOSING.get(text[:1])
    if closing is None or len(text) < 2 or text[-1] != closing:
        return None
    inside = text[1:-1]
    for place, letter in enumerate(inside):
        is_apostrophe = letter in "'’" and place > 0 and inside[place - 1].isalnum()
        if letter in (text[0], closing) and not is_apostrophe:
            return None
    return inside.strip() or None


def _words(name: str) -> list[str]:
    return [word for word in re.findall(r"[^\W_]+", name.casefold()) if word not in _ARTICLES]


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:60]}…"
