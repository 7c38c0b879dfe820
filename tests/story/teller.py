"""A cast of models that tells stories, as told to, and remembers what each of them was asked."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from doubles import collected, stage
from screentest.llms import Reply, Request
from screentest.pools import Beliefs, Character, Scene
from screentest.randomness import generator
from screentest.sim import Event, Players, Rules, play

Answer = Callable[[Request], object]


@dataclass
class Teller:
    """One model for every part.

    Attributes:
        answers: What to answer instead, by purpose: text, or what becomes JSON.
        delay: Seconds an answer takes.
        name: Its label.
        requests: What it was asked, in order.
    """

    answers: Mapping[str, Answer] = field(default_factory=dict[str, Answer])
    delay: Callable[[Request], float] | None = None
    name: str = "teller"
    requests: list[Request] = field(default_factory=list[Request])

    async def reply(self, request: Request) -> Reply:
        """Answer."""
        self.requests.append(request)
        if self.delay:
            await asyncio.sleep(self.delay(request))
        answer = self.answers.get(request.purpose, told)(request)
        text = answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)
        return Reply(text=text, finish="stop", model=self.name, cost=0.0)

    @property
    def players(self) -> Players:
        """The teller in all parts."""
        return Players(director=self, scene=self, source=self, base=self, judge=self, narrator=self)

    def asked(self, purpose: str) -> list[Request]:
        """The requests of one purpose."""
        return [request for request in self.requests if request.purpose == purpose]


def told(request: Request) -> object:
    """Something valid for the request's purpose, drawn from its own seed."""
    draw, facts = generator(request.seed, request.key), request.facts
    match request.purpose:
        case "direct":
            return {"reason": "why not", "speaker": draw.choice(facts["speakers"]), "end": False}
        case "judge.dimension":
            return {"reason": "it suits", "dimension": draw.choice(facts["dimensions"]).id}
        case "judge.pairwise":
            return {"explanation": "so it is", "score": draw.randint(1, 5)}
        case "filter":
            return {"reason": "lively", "grade": "high"}
        case "narrate.influence":
            return {"influence": f"influence-{draw.randrange(10**6)}", "target": draw.choice([*facts["people"], None])}
        case "narrate.resolve":
            return outcome(f"outcome-{draw.randrange(10**6)}")
        case "mind.believe":
            me = facts["view"].me.name
            return {part: f"{part}-of-{me}-{draw.randrange(10**6)}" for part in Beliefs.model_fields}
        case "mind.weigh":
            count = len(facts["memories"])
            return {"ratings": [{"memory": one, "importance": draw.randint(1, 10)} for one in range(1, count + 1)]}
        case "mind.reflect":
            return {"reflection": f"reflection-{draw.randrange(10**6)}", "importance": 5}
        case _:
            return f"(lifts the lamp) It is number {draw.randrange(10**9)} now."


def outcome(text: str = "It is so.", **parts: object) -> dict[str, object]:
    """A resolution; nothing else changes unless told."""
    return {"outcome": text, "minutes": 3, "changes": [], "environment": None, "concluded": False, **parts}


def touches(name: str | None) -> Answer:
    """An influence on the character of this name, wherever it may be touched."""

    def answer(request: Request) -> object:
        found = {who: identifier for identifier, who in request.facts["people"].items()}
        return {"influence": f"{name} is touched", "target": found.get(name)}

    return answer


def moved(character: Character, *, present: bool, position: str = "outside", state: str = "calm") -> dict[str, object]:
    """One entry of a resolution's changes."""
    return {"character": character.id, "position": position, "state": state, "present": present}


def story(teller: Teller, *, scene: Scene | None = None, rounds: int = 2, **options: Any) -> list[Any]:
    """All events of a story."""
    rules = options.pop("rules", None) or Rules(staging="story", rounds=rounds, min_rounds=1)
    return asyncio.run(collected(play(scene or stage(), models=teller.players, rules=rules, **options)))


def of(events: Iterable[Event], kind: type[Any]) -> list[Any]:
    """The events of one kind."""
    return [event for event in events if isinstance(event, kind)]
