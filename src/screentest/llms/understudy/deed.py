"""Reading deeds and answers back from lines, whoever wrote them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from screentest.llms.understudy.facts import LineLike
from screentest.llms.understudy.ground import Ground
from screentest.llms.understudy.props import Prop, named
from screentest.llms.understudy.tale import Kind, Tale, pattern, tale

ACTION = re.compile(r"\s*(?:\(([^()]*)\)|（([^（）]*)）)\s*")
"""What is done, in brackets."""
_CLAUSE_END = r"(?=[,.;，。；]|$)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Deed:
    """A deed, as far as it can be told.

    Attributes:
        actor: Who does it.
        kind: What kind it is; ``None`` if it is none that the understudy knows.
        thing: The thing in it.
        fix: The fixture in it.
        name: At whom it is aimed, or who is spoken to.
    """

    actor: str
    kind: Kind | None
    thing: Prop | None = None
    fix: Prop | None = None
    name: str | None = None


def read(line: LineLike, ground: Ground) -> Deed:
    """What is done in a line: by the understudy's own wording, else by the first word that shows a kind."""
    action, language = line.action, ground.tale.language
    id_, slots = _recognized(action, language, "deeds")
    props = named(action, language)
    spoken = {call.lower(): name for name, call in ground.called.items()}
    slots_named = spoken.get(slots.get("name", "").lower())
    mentioned = ground.mentioned(action, line.speaker) or ground.mentioned(line.speech, line.speaker)
    return Deed(
        actor=line.speaker,
        kind=ground.tale.deeds.get(id_),
        thing=_slot(slots, "thing", language) or next((prop for prop in props if not prop.fixed), None),
        fix=_slot(slots, "fix", language) or next((prop for prop in props if prop.fixed), None),
        name=slots_named if slots_named != line.speaker and slots_named else mentioned,
    )


def is_deed(line: LineLike, ground: Ground) -> bool:
    """Whether a line is worded as a deed and not as an answer to one."""
    return line.speaker in ground.called and bool(_worded(line.action, ground.tale.language, "deeds")[0])


@dataclass(frozen=True, slots=True)
class Told:
    """A line as somebody other than the stage tells it."""

    speaker: str
    text: str
    speech: str
    action: str

    @classmethod
    def of(cls, speaker: str, text: str) -> Told:
        """Tell the action, if the line begins with one, from the speech."""
        match = ACTION.match(text)
        return (
            cls(speaker, text, text[match.end() :], match[1] or match[2] or "")
            if match
            else cls(speaker, text, text, "")
        )


def remembered(ground: Ground) -> list[LineLike]:
    """The lines that came back to the viewer's mind."""
    found: list[LineLike] = []
    for reminder in ground.view.reminders:
        speaker, _, text = reminder.text.partition(": ")
        if (line := Told.of(speaker, text)).action:
            found.append(line)
    return found


def answered(line: LineLike, language: str) -> Kind | None:
    """What kind of answer a line is."""
    return tale(language).answers.get(_recognized(line.action, language, "answers")[0])


def intended(text: str, language: str) -> tuple[Kind, Mapping[str, str]] | None:
    """What deed an intention names, and the words for whom and what."""
    for kind in tale(language).deeds.values():
        for frame in kind.frames["plan"]:
            if match := pattern(frame.text, _CLAUSE_END).search(text):
                return kind, match.groupdict()
    return None


def _slot(slots: Mapping[str, str], slot: str, language: str) -> Prop | None:
    return next(iter(named(slots.get(slot, ""), language)), None)


@lru_cache(maxsize=4096)
def _recognized(action: str, language: str, group: str) -> tuple[str, Mapping[str, str]]:
    id_, slots = _worded(action, language, group)
    return (id_, slots) if id_ else (_signed(action, tale(language), group), {})


@lru_cache(maxsize=4096)
def _worded(action: str, language: str, group: str) -> tuple[str, Mapping[str, str]]:
    kinds: Mapping[str, Kind] = getattr(tale(language), group)
    for kind in kinds.values():
        for frame in kind.act:
            if match := pattern(frame.text).fullmatch(action):
                return kind.id, match.groupdict()
    return "", {}


def _signed(action: str, known: Tale, group: str) -> str:
    """The kind whose sign comes first in the text, the longest sign if several do."""
    kinds: Mapping[str, Kind] = getattr(known, group)
    text, found = action.lower(), list[tuple[int, int, str]]()
    for kind in kinds.values():
        for sign in kind.signs:
            place = text.find(sign) if known.language == "zh" else _word(text, sign)
            if place >= 0:
                found.append((place, -len(sign), kind.id))
    return min(found)[2] if found else ""


def _word(text: str, sign: str) -> int:
    match = re.search(rf"\b{re.escape(sign)}\b", text)
    return match.start() if match else -1
