"""A view: all that one participant may see."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from screentest.pools.character import Language
from screentest.pools.line import Line
from screentest.pools.mind import Beliefs, Reminder, Standing, Tie
from screentest.pools.scene import Situation


@dataclass(frozen=True, slots=True)
class Profile:
    """The part of a character's profile that a viewer may read.

    Attributes:
        name: As others call them.
        attributes: Key to value.
        id: The character's id, by which the narrator names it.
    """

    name: str
    attributes: Mapping[str, str]
    id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What one participant is shown. Built by :func:`screentest.sim.view` alone.

    Attributes:
        viewer: Who looks: ``"director"``, ``"narrator"``, ``"judge"``, ``"filter"`` or ``"character"``.
        language: The scene's language.
        world: The world (part of ``B``).
        situation: Time, place, description (part of ``B``), as they are now.
        me: The viewer's own full profile; for the judge, the test character's, since it judges how it is played;
            ``None`` for everyone else.
        others: The other characters' public profiles.
        history: The lines that the viewer perceived, or the latest of them. Only its own lines carry a thought.
        standings: Name to where and how someone is, as the viewer last saw it; those whom nothing moved are left out.
        reminders: What came to the viewer's mind; for the judge, to the test character's.
        beliefs: The viewer's own beliefs, if it has formed any.
        ties: Who is near to whom, for director and narrator only; otherwise empty.
        influence: What the deed that the viewer is to answer does to it; for the judge, to the test character.
        motivations: ``M``, for scene characters only; otherwise empty.
        script: ``D_orig``, for scene characters only; otherwise empty. Only the viewer's own lines carry a thought.
    """

    viewer: str
    language: Language
    world: str
    situation: Situation
    me: Profile | None
    others: tuple[Profile, ...]
    history: tuple[Line, ...]
    standings: Mapping[str, Standing] = field(default_factory=dict[str, Standing])
    reminders: tuple[Reminder, ...] = ()
    beliefs: Beliefs | None = None
    ties: tuple[Tie, ...] = ()
    influence: str = ""
    motivations: Mapping[str, str] = field(default_factory=dict[str, str])
    script: tuple[Line, ...] = ()

    def texts(self) -> tuple[str, ...]:
        """Every text of the view that somebody outside wrote, e.g. to find a fence that occurs in none of them."""
        profiles = self.others if self.me is None else (self.me, *self.others)
        return (
            self.world,
            *(self.situation.time, self.situation.place, self.situation.description),
            *(profile.name for profile in profiles),
            *(text for profile in profiles for pair in profile.attributes.items() for text in pair),
            *(text for line in self.history for text in (line.speaker, line.text)),
            *(text for standing in self.standings.values() for text in (standing.position, standing.state)),
            *(reminder.text for reminder in self.reminders),
            self.influence,
        )
