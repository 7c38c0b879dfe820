"""Played scenes to tell again, and what their models were asked."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from doubles import Troupe, heroine, improvised, placed, played, resolves, stage, troupe
from screentest.builders.exports import Performance, Retelling
from screentest.judges import furina_dimensions
from screentest.llms import Message, Request
from screentest.randomness import generator
from screentest.sim import MemoryRules, Rules, Trajectory, play

VERA = heroine()
PLACES = ("in the loft", "under the wheel")
STAGINGS = {
    "a dialogue": Rules(turns=14, min_turns=12),
    "a dialogue with a narrator": Rules(turns=14, min_turns=12, narrator=True),
    "a dialogue with memory": Rules(turns=24, min_turns=22, memory=True, remembering=MemoryRules(window=4)),
    "a story": Rules(staging="story", rounds=4, min_rounds=4),
    "a long story that is forgotten and remembered": Rules(
        staging="story",
        rounds=9,
        min_rounds=9,
        emphasis="sample",
        remembering=MemoryRules(window=5, recall=3, capacity=24, importance="judged"),
    ),
}


@dataclass(frozen=True)
class Told:
    """A scene that was played, and told again.

    Attributes:
        troupe: Who played it, and what they were asked.
        performance: What was played.
    """

    troupe: Troupe
    performance: Performance

    @property
    def again(self) -> Retelling:
        """It, told again."""
        return Retelling(self.performance)

    def asked(self, *purposes: str) -> dict[str, tuple[Message, ...]]:
        """The prompts of some purposes as they were sent, by key."""
        return {one.key: one.messages for one in self.troupe.requests if one.purpose in purposes}


def told(rules: Rules, **answers: Callable[[Request], str]) -> Told:
    """Play a scene in which people move about, leave and come back, and tell it again."""
    answers = {"narrate_resolve": eventful, "judge_pairwise": _scores, "play_scene": _thinks, **answers}
    cast, counts = troupe(**answers), {"CR": 2, "FR": 0, "RR": 1, "CA": 0, "PA": 0}
    scene, key = stage(), "vera/source/000"
    events = played(play(scene, test=VERA, models=cast.players, seed=11, key=key, rules=rules, counts=counts))
    trajectory = Trajectory(
        conversation=key,
        scene=scene.id,
        character=VERA.id,
        source="source",
        counts=counts,
        events=tuple(events),
        grade="high",
    )
    # What is read back from a file is what is told again.
    trajectory = Trajectory.model_validate_json(trajectory.model_dump_json())
    return Told(cast, performance(trajectory, scene=scene, rules=rules))


def performance(trajectory: Trajectory, **parts: Any) -> Performance:
    """A performance of our scene."""
    fields: dict[str, Any] = {
        "scene": stage(),
        "test": VERA,
        "dimensions": furina_dimensions("en"),
        "rules": Rules(),
        "seed": 11,
        "licence": "CC0-1.0",
        "understudy": False,
    }
    return Performance(trajectory=trajectory, **{**fields, **parts})


def eventful(request: Request) -> str:
    """Somebody is elsewhere now, sometimes away; sometimes the weather changes."""
    draw = generator(request.seed, request.key)
    people: dict[str, str] = request.facts["people"]
    who = draw.choice(list(people))
    weather = {"time": "Noon", "place": "The mill", "description": f"It rains, for the {draw.randrange(10**6)}th time."}
    return resolves(
        f"A beam gives way, the {draw.randrange(10**6)}th.",
        placed(who, f"{draw.choice(PLACES)}, step {draw.randrange(10**6)}", present=draw.random() < 0.6),
        minutes=draw.randrange(90),
        environment=weather if draw.random() < 0.4 else None,
    )


def _scores(request: Request) -> str:
    return json.dumps({"explanation": "so it is", "score": generator(request.seed, request.key).choice((1, 2, 4, 5))})


def _thinks(request: Request) -> str:
    return f"[nobody knows {generator(request.seed, request.key).randrange(10**6)}] {improvised(request)}"
