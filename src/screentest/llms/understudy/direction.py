"""Directing: who speaks next, or that the scene ends."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from screentest.llms.understudy.facts import ViewLike
from screentest.llms.understudy.lexicon import lexicon
from screentest.llms.understudy.material import called, spoken

_END_PER_LINE = 0.006


def direct(view: ViewLike, speakers: Sequence[str], may_end: bool, rng: random.Random) -> dict[str, Any]:
    """Choose the next speaker: whoever was addressed, then whoever has spoken least; end more readily as lines add up.

    Args:
        view: What the director sees.
        speakers: Who may speak next.
        may_end: Whether the scene may end now.
        rng: The call's own generator.
    """
    say, history = lexicon(view.language).direction, spoken(view)
    end = {"end": False} if may_end else {}
    if may_end and rng.random() < _END_PER_LINE * len(history):
        return {"reason": say["end"].format(count=len(history)), "speaker": None, "end": True}
    last = history[-1] if history else None
    turns = [line.speaker for line in history]
    most = max((turns.count(name) for name in speakers), default=0)
    addressed = {
        name for name in speakers if last and name != last.speaker and called(name, view.language) in last.speech
    }

    def claim(name: str) -> float:
        just_spoke = last is not None and last.speaker == name
        return 2.0 * (name in addressed) + 0.8 * (most - turns.count(name)) - 3.0 * just_spoke + rng.random()

    chosen = max(speakers, key=claim)
    quiet = most > 0 and turns.count(chosen) == min(turns.count(name) for name in speakers)
    reason = say["addressed" if chosen in addressed else "quiet" if quiet else "turn"]
    return {"reason": reason.format(name=chosen), "speaker": chosen, **end}
