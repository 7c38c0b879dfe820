"""Picking a frame: one that can be filled, rather the speaker's own than another's, and one not heard lately."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from screentest.llms.understudy.lexicon import Frame


@dataclass(frozen=True, slots=True)
class Share:
    """One character's share of frames: every ``of``-th from ``first`` on, so that no two characters talk alike.

    Attributes:
        first: The place of its first frame.
        of: How many shares there are.
        unfit: Words that do not fit those who are there: where there are two, nobody turns to the others.
    """

    first: int
    of: int
    unfit: tuple[str, ...] = ()

    def __contains__(self, at: object) -> bool:
        return isinstance(at, int) and at % self.of == self.first % self.of


def pick(frames: Sequence[Frame], values: Mapping[str, str], heard: str, rng: random.Random, share: Share) -> str:
    """A filled frame.

    Args:
        frames: What there is to choose from.
        values: What the slots can be filled with.
        heard: What was said before, lower-cased.
        rng: The call's own generator.
        share: Which frames come before the rest, and what words make a frame the last resort.

    Returns:
        The filled frame; empty if none can be filled.
    """
    fillable = {at: frame for at, frame in enumerate(frames) if frame.slots <= values.keys()}
    fitting = {at: frame for at, frame in fillable.items() if not any(word in frame.text for word in share.unfit)}
    possible = fitting or fillable
    fresh = {at: frame for at, frame in possible.items() if frame.key not in heard}
    own = [frame for at, frame in fresh.items() if at in share]
    choices = own or list((fresh or possible).values())
    return rng.choice(choices).fill(values) if choices else ""
