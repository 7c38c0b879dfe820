"""What a player finds to talk about: retrieval from the view, within the reach of its skill."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from types import ModuleType

from screentest.llms.understudy import chinese, english
from screentest.llms.understudy.facts import LineLike, ProfileLike, ViewLike
from screentest.llms.understudy.lexicon import SLOT, lexicon
from screentest.llms.understudy.skill import Skill
from screentest.llms.understudy.text import content, gathered

_TITLES = re.compile(
    r"(?:first|second|third|mr|mrs|miss|ms|dr|sir|lady|lord|captain|old|young|big|little|long|black|white|red|aunt|uncle|father|"
    r"mother|brother|sister|queen|king|prince|princess|professor|the|saint|st|magistrate|judge|inspector|nurse|chief|march|"
    r"corporal|lieutenant|admiral|van|von|commander|mayor|count|countess|duke|baron|baroness|madame|sergeant|colonel|doctor|"
    r"major|mister|widow|farmer|gatekeeper|master|mysterious|unknown|hooded|wounded|strange|tall|dark|one|another|young|ancient)$",
    re.IGNORECASE,
)
_WORN = 3
_BREAKS = re.compile(r"[，,…:：;；.!?。！？()（）\[\]]")
_NOUN_LIKE = ("the ", "a ", "an ", "my ")
_QUOTED = re.compile(r"“([^”]*)”|\"([^\"]*)\"|「([^」]*)」")


@dataclass(frozen=True, slots=True)
class Material:
    """What may fill each slot of a frame, best first, and what catchphrases the speaker has."""

    slots: dict[str, list[str]]
    catchphrases: tuple[str, ...]


def grammar(language: str) -> ModuleType:
    """The phrases of ``language``: ``things``, ``avowals``, ``place``, ``turned``, ``owned``, ``core`` and more."""
    return chinese if language == "zh" else english


def called(name: str, language: str) -> str:
    """How others address someone: "Miriam Vale" is called Miriam, "Mrs. Vale" is called Mrs Vale."""
    parts = name.replace(".", "").split()
    if language == "zh" or not parts or _TITLES.match(parts[0]) or len(parts[0]) < 3:
        return name.replace(".", "")
    return parts[0]


def spoken(view: ViewLike) -> list[LineLike]:
    """The lines of those who take part: what a narrator tells is nobody's line."""
    cast = {profile.name for profile in (*view.others, *((view.me,) if view.me else ()))}
    return [line for line in view.history if line.speaker in cast]


def gather(view: ViewLike, me: ProfileLike, skill: Skill, rng: random.Random) -> Material:
    """Look around as far as ``skill`` reaches."""
    language, phrases = view.language, grammar(view.language)
    heard = spoken(view)[-skill.span :]
    answered, others = _company(view, me)
    focus = gathered((line.text for line in heard[-2:]), language)
    names = tuple(sorted((p.name for p in (me, *view.others)), key=lambda name: (-len(name), name)))
    words = _vocabulary(view, me) if language == "zh" else ()

    def things_in(lines: Iterable[LineLike]) -> list[str]:
        return [thing for line in lines for thing in hear(line)]

    def hear(line: LineLike) -> list[str]:
        found: Sequence[str] = _things(line.speech, names, language)
        if line.speaker == answered:
            found = [phrases.turned(thing) for thing in found]
        elif line.speaker != me.name:
            found = [thing for thing in found if phrases.turned(thing) == thing]
        return [*found, *(word for word in words if word in line.speech and not any(word in thing for thing in found))]

    attributes = list(me.attributes.items())[: skill.profile]
    said_aloud = [(k, v) for k, v in attributes if not any(word in k.lower() for word in lexicon(language).unspoken)]
    avowals = [said for k, v in said_aloud for said in phrases.avowals(k, v, me.name)]
    if answered:
        avowals = [said for said in avowals if called(answered, language) not in said]
    mine = [phrases.owned(thing) for _, v in said_aloud for thing in _things(v, names, language)]
    world = [*_things(view.situation.description, names, language)]
    world += [thing for thing in _things(view.world, names, language) if not thing.startswith("《")]
    if here := phrases.place(view.situation.place):
        world.insert(0, here)
    drive = [phrases.owned(thing) for thing in _things(view.motivations.get(me.name, ""), names, language)]
    drive += things_in(line for line in view.script if line.speaker != me.name)
    slots = {
        "echo": things_in(heard[:-3:-1]) or things_in(heard[::-1]),
        "earlier": things_in(heard[:-2]),
        "mine": _by_relevance(mine, focus, language, rng),
        "avowal": _by_relevance(avowals, focus, language, rng),
        "world": rng.sample(world, len(world)),
        "drive": rng.sample(drive or world, len(drive or world)),
    }
    fresh = {slot: _fresh(options, heard, me.name, language) for slot, options in slots.items()}
    fresh["echo"] = fresh["echo"] or fresh["drive"]
    slots = {slot: fresh[slot] or options[:2] for slot, options in slots.items()}
    slots["echo"] = slots["echo"] or slots["drive"]
    if answered:
        slots["name"] = [called(answered, language)]
    if others:
        slots["other"] = [called(name, language) for name in others[:1]]
    lately = "\n".join(line.text.lower() for line in heard)
    catchphrases = [phrase for phrase in _catchphrases(tuple(attributes), language) if phrase.lower() not in lately]
    return Material(slots, tuple(catchphrases))


def _fresh(options: Iterable[str], heard: Sequence[LineLike], me: str, language: str) -> list[str]:
    """Without what the speaker has said, and what everybody goes on about, as far as it is remembered."""
    said = "\n".join(line.text for line in heard if line.speaker == me)
    everything = "\n".join(line.text for line in heard)
    core = grammar(language).core
    distinct = dict.fromkeys(options)
    return [option for option in distinct if core(option) not in said and everything.count(core(option)) < _WORN]


def _company(view: ViewLike, me: ProfileLike) -> tuple[str, list[str]]:
    """Whom to answer, and the rest, the quietest first."""
    present = [profile.name for profile in view.others]
    spoken = [line.speaker for line in view.history]
    quiet = sorted(present, key=lambda name: (spoken.count(name), present.index(name)))
    last = next((name for name in reversed(spoken) if name != me.name and name in present), "")
    answered = last or (quiet[0] if quiet else "")
    return answered, [name for name in quiet if name != answered]


@lru_cache(maxsize=8192)
def _things(text: str, names: tuple[str, ...], language: str) -> tuple[str, ...]:
    """The things ``text`` names, other than the people present and the stock phrases of the frames."""
    phrases, stock = grammar(language), _stock(language)
    for name in names:
        text = text.replace(name, "，" if language == "zh" else name)
    people = [called(name, language) for name in names]
    return tuple(t for t in phrases.things(text) if t not in stock and not any(name in t for name in people))


@cache
def _stock(language: str) -> frozenset[str]:
    known, phrases = lexicon(language), grammar(language)
    framed = (f for side in known.frames.values() for frames in side.values() for f in frames)
    frames = [*framed, *known.plain, *known.openings, *known.tails]
    gaps = ("，", "的") if language == "zh" else (",", "it")
    bare = (SLOT.sub(gap, frame.text) for frame in frames for gap in gaps)
    found = {thing for text in bare for thing in phrases.things(text)}
    return frozenset(found | {phrases.turned(thing) for thing in found})


def _vocabulary(view: ViewLike, me: ProfileLike) -> tuple[str, ...]:
    place = view.situation
    profiles = (me, *view.others)
    texts = (view.world, place.place, place.description, *(v for p in profiles for v in p.attributes.values()))
    names = [profile.name for profile in profiles]
    found = chinese.vocabulary((*texts, *view.motivations.values(), *(line.speech for line in view.script)))
    return tuple(word for word in found if not any(word in name or name in word for name in names))


def _by_relevance(options: list[str], focus: frozenset[str], language: str, rng: random.Random) -> list[str]:
    return sorted(options, key=lambda option: -len(content(option, language) & focus) + rng.random())


@lru_cache(maxsize=1024)
def _catchphrases(attributes: tuple[tuple[str, str], ...], language: str) -> tuple[str, ...]:
    keys = lexicon(language).speech_keys
    values = (value for key, value in attributes if any(word in key.lower() for word in keys))
    quoted = ("".join(groups).strip(" ,，") for value in values for groups in _QUOTED.findall(value))
    said = (phrase for phrase in quoted if 2 <= len(phrase) <= 20 and not _BREAKS.search(phrase))
    return tuple(phrase for phrase in said if not phrase.lower().startswith(_NOUN_LIKE))
