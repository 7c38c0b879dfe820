"""The ground that deeds are done on: who is there, what they hold, what lies about, as far as a view tells."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from screentest.llms.understudy.facts import ProfileLike, ViewLike
from screentest.llms.understudy.lexicon import Frame
from screentest.llms.understudy.material import called, grammar
from screentest.llms.understudy.picking import Share
from screentest.llms.understudy.props import Prop, named, setting_of, stock
from screentest.llms.understudy.tale import Kind, Tale, tale
from screentest.randomness import generator

_CLAUSE = re.compile(r"[,.;，。；]")
_BRACKETS = re.compile(r"[()\[\]（）【】]")
_WHEREABOUTS = re.compile(r" (?:of|in|at|on|near|under|beneath|above|below|behind|outside|beside|by) ")
_WORN = frozenset(["cloth"])
COMPANY = 3
"""How many it takes for one to turn from another to the others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """What a view tells of people and things.

    Attributes:
        view: The view.
        tale: The small world of its language.
        people: Everyone's name, the viewer's own last.
        called: Name to how that person is called.
        present: Who is there.
        bound: Who cannot move.
        held: Name to what that person holds.
        free: What can be carried and nobody holds, what the texts name first.
        fixtures: What cannot be carried, what the texts name first.
        here: How the place is called; empty if it has no short name.
    """

    view: ViewLike
    tale: Tale
    people: tuple[str, ...]
    called: Mapping[str, str]
    present: frozenset[str]
    bound: frozenset[str]
    held: Mapping[str, tuple[Prop, ...]]
    free: tuple[Prop, ...]
    fixtures: tuple[Prop, ...]
    here: str

    @classmethod
    def of(cls, view: ViewLike) -> Ground:
        """Look around."""
        known, language = tale(view.language), view.language
        profiles = (*view.others, *((view.me,) if view.me else ()))
        names = [profile.name for profile in profiles]
        positions = {profile.name: _position(profile, view, known) for profile in profiles}
        held = {profile.name: _held(profile, view, known) for profile in profiles}
        taken = {prop.noun for props in held.values() for prop in props}
        now = view.situation
        about = named("\n".join([now.description, now.place, *positions.values()]), language)
        kinds = {prop.kind for prop in about}
        listed = [prop for prop in stock(now.place, now.description, language) if prop.kind not in kinds]
        everything = {prop.noun: prop for prop in (*reversed(listed), *reversed(about))}.values()
        props = [prop for prop in reversed(everything) if prop.noun not in taken and not _gone(prop, view, known)]
        return cls(
            view=view,
            tale=known,
            people=tuple(names),
            called={profile.name: address(profile.name, language) for profile in profiles},
            present=frozenset(name for name in held if name not in view.standings or view.standings[name].present),
            bound=frozenset(name for name in names if _is_bound(positions[name], {*names} - {name}, known)),
            held=held,
            free=tuple(prop for prop in props if not prop.fixed and prop.kind not in _WORN),
            fixtures=tuple(prop for prop in props if prop.fixed),
            here=_here(now.place, language) or known.words["here"],
        )

    def position(self, name: str) -> str:
        """Where someone is, as a short phrase that names a place."""
        return self.known_position(name) or self.spot(name)

    def known_position(self, name: str) -> str:
        """Where someone is said to be; empty if nobody says it."""
        phrases, standing = grammar(self.tale.language), self.view.standings.get(name)
        if standing:
            return phrases.placed(standing.position) or standing.position
        profile = next(p for p in (*self.view.others, self.view.me) if p and p.name == name)
        text = _CLAUSE.split(_attribute(profile, self.tale.position_keys))[0].strip()
        for form in (name, self.called[name]):
            text = text.removeprefix(form).strip()
        return plain(phrases.placed(text)) if text else ""

    def spot(self, name: str) -> str:
        """Where someone may be taken to stand as long as nobody says anything else; one's own, and always the same."""
        now = self.view.situation
        setting = setting_of(now.place, now.description, self.tale.language)
        spots = setting.spots if setting else self.tale.spots
        mixed = generator(0, "spots", now.place, *sorted(self.people)).sample(spots, len(spots))
        return mixed[sorted(self.people).index(name) % len(mixed)]

    def share(self, name: str, of: int = 0) -> Share:
        """Someone's share of frames, out of as many shares as there are people, or out of ``of`` if those are fewer."""
        ranks = sorted(self.people)
        unfit = () if len(self.present | {name}) >= COMPANY else self.tale.company
        return Share(ranks.index(name) if name in ranks else 0, min(of or len(ranks), len(ranks)), unfit)

    def notes(self) -> list[tuple[str, frozenset[str]]]:
        """What earlier deeds have left to be seen, as it stands in the description, and what things that is about."""
        text = self.view.situation.description
        props = named(text, self.tale.language)
        found: dict[str, frozenset[str]] = {}
        for kind in self.tale.deeds.values():
            for frame in kind.frames["note"]:
                for thing in props:
                    for fix in props if {"thing", "fix"} <= frame.slots else (thing,):
                        note = self.note(frame, thing, fix)
                        if note in text:
                            found[note] = frozenset([thing.noun, fix.noun])
        return sorted(found.items(), key=lambda item: text.find(item[0]))

    def note(self, frame: Frame, thing: Prop | None, fix: Prop | None) -> str:
        """A note as the description has it."""
        values = {"thing": thing.phrase if thing else "", "fix": fix.phrase if fix else ""}
        return grammar(self.tale.language).finished(frame.fill(values))

    def already(self, kind: Kind, thing: Prop | None, fix: Prop | None) -> bool:
        """Whether this deed would change nothing any more."""
        text = self.view.situation.description
        return any(self.note(frame, thing, fix) in text for frame in kind.frames["note"])

    def mentioned(self, text: str, but: str) -> str | None:
        """The first of the people, other than ``but``, whom ``text`` names."""
        at = {name: _first(text, name, self.called[name]) for name in self.people if name != but}
        found = [name for name, place in at.items() if place >= 0]
        return min(found, key=lambda name: (at[name], -len(self.called[name])), default=None)


def plain(text: str) -> str:
    """Text that cannot pose as an action or a thought."""
    return " ".join(_BRACKETS.sub("", text).split())


def _here(place: str, language: str) -> str:
    """What a place is called for short, if need be without where that is: "the hall of the old king" is the hall."""
    phrases = grammar(language)
    return plain(phrases.place(place) or phrases.place(_WHEREABOUTS.split(place)[0]))


def address(name: str, language: str) -> str:
    """How someone is called in a story."""
    return plain(called(name, language)) or name[:1]


def _first(text: str, name: str, call: str) -> int:
    places = [text.find(form) for form in (name, call) if form in text]
    return min(places, default=-1)


def _attribute(profile: ProfileLike, keys: tuple[str, ...]) -> str:
    return next((value for key, value in profile.attributes.items() if key.lower() in keys), "")


def _position(profile: ProfileLike, view: ViewLike, known: Tale) -> str:
    standing = view.standings.get(profile.name)
    return f"{standing.position}; {standing.state}" if standing else _attribute(profile, known.position_keys)


def _is_bound(text: str, others: set[str], known: Tale) -> bool:
    """Whether a position is a captive's own: nobody else is named beside the word that shows it."""
    clauses = (clause for clause in _CLAUSE.split(text) if not any(name in clause for name in others))
    if known.language == "zh":
        return any(re.search(rf"(?:{'|'.join(known.bound)})(?!的)", clause) for clause in clauses)
    return any(not set(known.bound).isdisjoint(re.findall(r"[a-z]+", clause.lower())) for clause in clauses)


def _held(profile: ProfileLike, view: ViewLike, known: Tale) -> tuple[Prop, ...]:
    """What someone holds: by its standing once it has one, before that by how it is described."""
    if standing := view.standings.get(profile.name):
        texts = [standing.state]
    else:
        values = (value for key, value in profile.attributes.items() if key.lower() in known.carried_keys)
        texts = [clause for value in values for clause in _CLAUSE.split(value) if _holds(clause, known)]
    found = {prop.noun: prop for text in texts for prop in named(text, known.language)}
    return tuple(prop for prop in found.values() if not prop.fixed and prop.kind not in _WORN)


def _holds(clause: str, known: Tale) -> bool:
    if known.language == "zh":
        return any(sign in clause for sign in known.holding)
    return not set(known.holding).isdisjoint(clause.lower().split())


def _gone(prop: Prop, view: ViewLike, known: Tale) -> bool:
    """Whether it was hidden or broken, as far as anybody remembers."""
    frames = [
        *known.deeds["hide"].frames["done"],
        *known.deeds["break"].frames["done"],
        *known.deeds["break"].frames["note"],
    ]
    marks = [_around_thing(frame, prop) for frame in frames if "thing" in frame.slots]
    texts = [view.situation.description.lower(), *(line.text.lower() for line in view.history)]
    return any(mark in text for mark in marks for text in texts)


def _around_thing(frame: Frame, prop: Prop) -> str:
    """The stretch of a frame that holds the thing, filled, between its other slots."""
    text = frame.text.replace("{thing}", prop.phrase)
    return next(part for part in re.split(r"\{\w+\}", text) if prop.phrase in part).strip().lower()
