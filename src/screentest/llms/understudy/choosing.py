"""Choosing a deed: what can be done here, what suits the temper, and what was intended."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from screentest.llms.understudy.deed import Deed, intended, is_deed, read, remembered
from screentest.llms.understudy.facts import ProfileLike, ViewLike
from screentest.llms.understudy.ground import Ground
from screentest.llms.understudy.props import Prop, named
from screentest.llms.understudy.tale import Kind
from screentest.randomness import generator

HOSTILE = frozenset(["snatch", "seize", "push", "block"])
"""The deeds that are done against someone."""
FRIENDLY = frozenset(["give", "kneel", "free", "struggle", "return", "stir", "lay"])
"""The deeds that are done for someone, or for all."""

_STAYED = 6
_WEIGHTS = {"leave": 0.25, "kneel": 0.4, "push": 0.6, "seize": 0.6, "break": 0.3, "free": 8.0, "approach": 1.2}
_LATEST, _LATELY = 3, 6


@dataclass(frozen=True, slots=True)
class Choice:
    """A deed that could be done: its kind, and with what, where, to whom."""

    kind: Kind
    thing: Prop | None
    fix: Prop | None
    name: str | None


def tempers(profile: ProfileLike, view: ViewLike, ground: Ground) -> dict[str, float]:
    """How much of each temper someone has, by the words of its profile; they sum to 1."""
    text = "\n".join([*profile.attributes.values(), view.motivations.get(profile.name, "")]).lower()
    words = Counter(text.replace(",", " ").replace(".", " ").split())
    counts = {
        id_: 0.4
        + sum(min(2, text.count(sign) if ground.tale.language == "zh" else words[sign]) for sign in temper.signs)
        for id_, temper in ground.tale.tempers.items()
    }
    total = sum(counts.values())
    return {id_: count / total for id_, count in counts.items()}


def choose(ground: Ground, me: str, nature: Mapping[str, float], rng: random.Random, *, heeds: bool) -> Choice:
    """The next deed of ``me``: the intended one if that is still possible and heeded, else one that suits.

    Args:
        ground: Where everything is.
        me: Who is to act.
        nature: How much of each temper it has.
        rng: The call's own generator.
        heeds: Whether it does what it meant to do.
    """
    options = list(_options(ground, me, rng))
    beliefs = ground.view.beliefs
    if heeds and beliefs and (meant := intended(beliefs.intention, ground.tale.language)):
        kind, words = meant
        fitting = [option for option in options if option.kind is kind and _fits(option, words, ground)]
        if fitting:
            return fitting[0]
    done = [read(line, ground) for line in (*remembered(ground), *ground.view.history) if is_deed(line, ground)]
    kinds = list(dict.fromkeys(option.kind.id for option in options))
    kind = rng.choices(kinds, [_inclination(ground.tale.deeds[id_], me, nature, done) for id_ in kinds])[0]
    within = [option for option in options if option.kind.id == kind]
    return rng.choices(within, [_interest(option, me, done, ground) for option in within])[0]


def _options(ground: Ground, me: str, rng: random.Random) -> Iterator[Choice]:
    others = [name for name in ground.people if name != me and name in ground.present]
    for kind in ground.tale.deeds.values():
        if not _may(kind, ground, me, others):
            continue
        names: list[str | None] = [name for name in others if _aimable(kind, name, ground)]
        if not kind.name:
            names = [_spoken_to(ground, me, others, rng)]
        for name in names:
            for thing in _things(kind, ground, me, name):
                fixtures = [prop for prop in ground.fixtures if prop.kind in kind.fix] if kind.fix else [None]
                for fix in fixtures:
                    if not ground.already(kind, thing, fix):
                        yield Choice(kind, thing, fix or next(iter(ground.fixtures), None), name)


def _may(kind: Kind, ground: Ground, me: str, others: list[str]) -> bool:
    if me not in ground.present:
        return kind.only == "absent"
    if me in ground.bound:
        return kind.only == "bound"
    if kind.id == "leave":
        return len(others) > 1 and len(ground.view.history) >= _STAYED
    return not kind.only


def _aimable(kind: Kind, name: str, ground: Ground) -> bool:
    """Whether a deed of this kind can be aimed at someone: a captive can be freed, spoken to and shown things."""
    if name in ground.bound:
        return kind.bound or kind.id in ("approach", "show")
    return not kind.bound


def _things(kind: Kind, ground: Ground, me: str, name: str | None) -> list[Prop | None]:
    if not kind.thing:
        return [None]
    owner = {"own": me, "theirs": name}.get(kind.thing)
    props = ground.held[owner] if owner else ground.free
    return [prop for prop in props if not kind.kinds or prop.kind in kind.kinds]


def _spoken_to(ground: Ground, me: str, others: list[str], rng: random.Random) -> str | None:
    """Whoever acted last, or anyone."""
    if me in ground.bound:
        others = [name for name in others if name not in ground.bound]
    last = next((line.speaker for line in reversed(ground.view.history) if line.speaker in others), None)
    return last if last and rng.random() < 0.5 else (rng.choice(others) if others else None)


def _fits(option: Choice, words: Mapping[str, str], ground: Ground) -> bool:
    called = ground.called[option.name] if option.name else ""
    found = {"thing": option.thing.phrase if option.thing else "", "fix": option.fix.phrase if option.fix else ""}
    wanted = {slot: words[slot].lower() for slot in words if slot in ("thing", "fix")}
    if option.kind.name and words.get("name", called).lower() != called.lower():
        return False
    return all(found[slot].lower() == text for slot, text in wanted.items())


def _inclination(kind: Kind, me: str, nature: Mapping[str, float], done: Sequence[Deed]) -> float:
    """How much a kind of deed appeals: by temper, by taste, and less if it has been done already."""
    weight = _WEIGHTS.get(kind.id, 1.0) * sum(nature[temper] for temper in kind.tempers) / len(kind.tempers)
    weight *= generator(0, "taste", me, kind.id).uniform(0.4, 1.6)
    if any(deed.kind is kind for deed in done[-_LATEST:]):
        weight *= 0.1
    if any(deed.kind is kind and deed.actor == me for deed in done):
        weight *= 0.05
    return weight


def _interest(option: Choice, me: str, done: Sequence[Deed], ground: Ground) -> float:
    """What the texts name and what has been in play matters more than what lies about; good and ill are returned."""
    view, language = ground.view, ground.tale.language
    told = {prop.noun for prop in named(f"{view.situation.description}\n{view.motivations.get(me, '')}", language)}
    lately = {prop.noun for line in view.history[-_LATELY:] for prop in named(line.text, language)}
    same = [deed for deed in done if deed.kind is option.kind]
    weight = 0.1 if any((deed.thing, deed.name) == (option.thing, option.name) for deed in same) else 1.0
    suffered = {deed.kind.id for deed in done if deed.kind and (deed.actor, deed.name) == (option.name, me)}
    if option.kind.id in HOSTILE:
        weight *= 5.0 if suffered & HOSTILE else 0.2 if suffered & FRIENDLY else 1.0
    if option.kind.id in FRIENDLY:
        weight *= 0.4 if suffered & HOSTILE else 2.0 if suffered & FRIENDLY else 1.0
    for prop in (option.thing, option.fix if option.kind.fix else None):
        if prop:
            weight *= 1.0 + 3.0 * (prop.noun in told) + (prop.noun in lately)
    return weight
