"""Remembering: how much memories matter to a character, and what remains of several."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from screentest.llms.understudy.facts import MemoryLike, ProfileLike, ViewLike
from screentest.llms.understudy.ground import address, plain
from screentest.llms.understudy.props import named
from screentest.llms.understudy.tale import tale
from screentest.llms.understudy.text import content, gathered, marks
from screentest.randomness import generator

_ACTION = re.compile(r"\(([^()]*)\)|（([^（）]*)）")
_FIGURE = re.compile(
    r"\d+(?:[.,:]\d+)*|(?:[二三四五六七八九十百千万]|一(?=[二三四五六七八九十百千万]))[一二三四五六七八九十百千万]*(?=[个位名人年月日天两里封把张件条次文])"
)
_MOST, _KEPT = 10, 3


def weigh(view: ViewLike, me: ProfileLike, memories: Sequence[MemoryLike]) -> dict[str, Any]:
    """How much each memory matters: its figures, its feeling, its share of what the character is and wants.

    Args:
        view: What the character sees.
        me: The character.
        memories: The memories.
    """
    weights = [_weight(memory.text, view, me) for memory in memories]
    return {"ratings": [{"memory": at, "importance": weight} for at, weight in enumerate(weights, 1)]}


def reflect(view: ViewLike, me: ProfileLike, memories: Sequence[MemoryLike]) -> dict[str, Any]:
    """What remains of several memories: the weightiest as they were, and of the others every name and figure.

    Args:
        view: What the character sees.
        me: The character.
        memories: The memories, the oldest first.
    """
    say = tale(view.language).reflection
    weights = [_weight(memory.text, view, me) for memory in memories]
    best = sorted(range(len(memories)), key=lambda at: (-weights[at], at))[:_KEPT]
    kept = [_short(memories[at].text, view) for at in sorted(best)]
    rng = generator(0, "reflection", me.name, *(memory.text for memory in memories))
    text = rng.choice(say["open"]) + say["join"].join(dict.fromkeys(kept)) + say["end"]
    everything = "\n".join(memory.text for memory in memories)
    people = [profile.name for profile in view.others]
    names = [name for name in people if name in everything and name not in text]
    figures = [found for found in dict.fromkeys(_FIGURE.findall(everything)) if found not in text]
    text += say["also"].format(names=say["comma"].join(map(plain, names))) if names else ""
    text += say["figures"].format(figures=say["comma"].join(figures)) if figures else ""
    return {"reflection": text, "importance": max(weights, default=1)}


def _weight(text: str, view: ViewLike, me: ProfileLike) -> int:
    language = view.language
    self_image = gathered([*me.attributes.values(), view.motivations.get(me.name, "")], language)
    weight = 2.0
    weight += 2 * (address(me.name, language) in text)
    weight += min(2, len(content(text, language) & self_image))
    weight += min(2, len(marks(text, "emotive", language)))
    weight += bool(_FIGURE.search(text)) + bool(named(text, language))
    return min(_MOST, round(weight))


def _short(text: str, view: ViewLike) -> str:
    """A memory as a clause: what was done, else what was said; what was drawn together before, without its opening."""
    say = tale(view.language).reflection
    for opening in say["open"]:
        text = text.removeprefix(opening)
    speaker, _, rest = text.partition(": ")
    if action := _ACTION.search(rest):
        text = say["did"].format(name=speaker, action=action[1] or action[2])
    elif rest and speaker in {profile.name for profile in (*view.others, view.me) if profile}:
        text = say["said"].format(name=speaker, speech=rest)
    return plain(text).rstrip(".。 ")
