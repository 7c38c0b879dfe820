"""What a person who plays may look at between lines."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from screentest.agents import Cue
from screentest.agents.memory import Memory
from screentest.builders.game import LAST, Game, Reasons
from screentest.cli.console import clean, indented, note, out
from screentest.pools import Profile

_MANUAL = (
    ("(action) words", "what you do and say; [a thought] stays yours"),
    ("/pass", "do nothing"),
    ("/me", "who you are, and what drives you here"),
    ("/who", "who is here, where and in what state, and how near to you; /who NAME: what is known of somebody"),
    ("/why [NAME]", "what led to the last line: behind the scenes"),
    ("/memories [NAME]", "what you remember; or somebody else: behind the scenes"),
    ("/save NAME", "keep this moment"),
    ("/load NAME", "go back to it"),
    ("/rewind [N]", f"take back your last N lines and all that came of them; /load {LAST} takes that back"),
    ("/again", "make a call again that failed"),
    ("/quit", "leave; everything is kept"),
)
_ASKED = {"line": "You have the word.", "act": "It is your turn.", "reaction": "You can react."}
_BEHIND = "Behind the scenes: your character cannot know this."


def manual() -> None:
    """What can be entered."""
    table = _table()
    for entry, what in _MANUAL:
        table.add_row(Text(entry, "bold"), Text(what))
    out.print(table)


def asked(cue: Cue) -> None:
    """What the person is asked for."""
    if cue.influence:
        out.print(clean(f"This touches you: {cue.influence}", "bold italic"))
    out.print(clean(_ASKED[cue.kind], "bold"))


def faulted(game: Game) -> None:
    """What can be done after a fault."""
    if game.repeatable:
        note("A model could not be reached. /again makes the call again, and so does starting anew later.", "yellow")
    else:
        advice = "/rewind and do something else" if game.part.lines else "try another --seed in another --run directory"
        note(f"A model's reply cannot be used, and it is kept: the same would come again. {advice}.", "yellow")


def me(game: Game) -> None:
    """Whom the person plays: the whole profile, and what drives that character."""
    seen = game.view
    assert seen.me is not None, "a character sees itself"  # noqa: S101
    _profile(seen.me)
    if motivation := seen.motivations.get(seen.me.name):
        _told("motivation", motivation)
    for one in seen.reminders:
        _told("comes to mind", one.text)


def known(game: Game, name: str) -> None:
    """What anybody may know of somebody."""
    found = game.character(name).name
    for profile in game.view.others:
        if profile.name == found:
            _profile(profile)


def who(game: Game) -> None:
    """Who is here, as the person last saw them."""
    seen, nearness = game.view, game.nearness()
    now = seen.situation
    out.print(clean(" · ".join(filter(None, (now.time, now.place))), "dim"))
    table = _table()
    for name in (game.me.name, *nearness):
        standing = seen.standings.get(name)
        whereabouts = "here" if standing is None or standing.present else "away"
        how = f"{standing.position}; {standing.state}" if standing else ""
        near = "you" if name == game.me.name else f"nearness {nearness[name]:.2f}"
        table.add_row(clean(name, "bold"), whereabouts, clean(how), clean(near, "dim"))
    out.print(table)


def why(found: Reasons) -> None:
    """What led to a line."""
    line, speaker = found.spoken.line, found.spoken.line.speaker
    out.print(clean(_BEHIND, "dim italic"))
    out.print(clean(f"{speaker}: {line.text}", "bold"))
    if line.thought:
        _told("thought", line.thought)
    if found.reacting_to:
        _told(f"in answer to {found.reacting_to}", found.influence)
    for one in found.recollections:
        weights = f"relevance {one.relevance:.2f}, recency {one.recency:.2f}, importance {one.memory.importance:.2f}"
        _told(f"remembered, turn {one.memory.turn}", f"{one.memory.text} ({weights})")
    if found.beliefs:
        for part, text in found.beliefs.model_dump().items():
            _told(part, text)
    if not (line.thought or found.reacting_to or found.recollections or found.beliefs):
        out.print(clean(f"  {speaker} had nothing to go by yet but the scene and what was said.", "dim"))


def memories(found: Sequence[Memory], name: str) -> None:
    """What somebody remembers."""
    if name:
        out.print(clean(_BEHIND, "dim italic"))
    if not found:
        out.print("nothing yet", style="dim")
    for one in found:
        out.print(clean(f"turn {one.turn}, {one.kind}, importance {one.importance:.2f}: {one.text}"))


def _profile(profile: Profile) -> None:
    out.print(clean(profile.name, "bold"))
    for key, value in profile.attributes.items():
        _told(key, value)


def _told(what: str, text: str) -> None:
    indented(Text.assemble(clean(what, "dim"), "  ", clean(text)), 2)


def _table() -> Table:
    return Table(box=None, pad_edge=False, show_header=False)
