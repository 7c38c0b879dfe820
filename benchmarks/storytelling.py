"""What a story takes: calls and critical path against the paper's algorithm, and whether 500 turns level off.

The paper's algorithm (CharacterBox, Algorithm 1 and appendix D) asks for one thing a call, and for one after another:
a turn's action, its dialogue, its influence, the reaction, the outcome, the update of actor and of reactor, and the
environment; after a round, self-belief and environment belief of every character. Where nobody reacts, there is no
reaction, no outcome and no reactor to update. Its calls are counted for the very story that was played here.

Then one scene is played for 500 turns. What a turn costs and what prompts weigh must level off; the last hundred turns
are compared with turns 201 to 300, when memories have long been full. What Python has allocated and
what the process holds must level off as well: the last hundred turns may add a tenth at most.

``python benchmarks/storytelling.py`` exits with 1 if a story takes more calls than the paper's, or if prompts, calls
a turn or memory do not level off. It reads ``/proc``, and so needs Linux.
"""

from __future__ import annotations

import asyncio
import gc
import sys
import tracemalloc
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import orjson
from concurrency import Clock, Latent
from footprint import resident

from screentest.llms import Reply, Request
from screentest.pools import Beliefs, Character, Scene, Situation
from screentest.randomness import generator
from screentest.sim import Event, Influenced, MemoryRules, Players, Rules, SpeakerChosen, play

CASTS, ROUNDS, LATENCY = (2, 3, 4), 4, 0.005
TURNS, BUCKET, CAPACITY = 500, 100, 128
GROWTH = 1.1
_NAMES = ("Ada", "Ben", "Cyn", "Dov")
_THINGS = ("lamp", "ledger", "key", "rope", "map", "coin", "letter", "knife", "bell", "basket")
_DEEDS = ("hides", "takes", "opens", "hands over", "turns round", "drops", "points at", "wraps up")


class Teller:
    """A model that costs next to nothing and tells no story twice."""

    name = "teller"

    async def reply(self, request: Request) -> Reply:
        """Say something valid."""
        draw = generator(request.seed, request.key)
        return Reply(text=_said(request, draw), finish="stop", model=self.name)


def _said(request: Request, draw: Any) -> str:
    facts: Any = request.facts
    thing, deed, number = draw.choice(_THINGS), draw.choice(_DEEDS), draw.randrange(400)
    match request.purpose:
        case "narrate.influence":
            target = draw.choice(list(facts["people"])) if draw.random() < 0.7 else None
            return _json(influence=f"the {thing} is out of reach now", target=target)
        case "narrate.resolve":
            return _json(
                outcome=f"The {thing} numbered {number} lies in plain sight, and everybody looks at it.",
                minutes=2,
                changes=[],
                environment=None,
                concluded=False,
            )
        case "mind.believe":
            return _json(**dict.fromkeys(Beliefs.model_fields, f"I must have the {thing} before number {number} does."))
        case "mind.reflect":
            return _json(
                reflection=f"Many things passed from hand to hand, the {thing} {number} among them.", importance=5
            )
        case _:
            return f"({deed} the {thing}) Nobody leaves before number {number} is found."


def _json(**parts: object) -> str:
    return orjson.dumps(parts).decode()


def cast_of(size: int) -> Scene:
    """A scene with so many characters."""
    return Scene(
        id=f"store-{size}",
        language="en",
        world="A harbour town where everything is counted twice.",
        situation=Situation(time="Night", place="A chandler's store", description="The stock is to be counted."),
        cast=tuple(
            Character.model_validate(
                {
                    "name": name,
                    "language": "en",
                    "kind": "synthesized",
                    "public": {"trade": f"{name} counts the stock and trusts nobody else's count."},
                    "private": {"secret": f"{name} has miscounted before."},
                }
            )
            for name in _NAMES[:size]
        ),
    )


@dataclass(frozen=True)
class Taken:
    """What a story took: calls, and the longest chain of them that wait for each other; and what the paper's takes."""

    size: int
    rounds: int
    calls: int
    chain: int
    paper: int


async def taken(size: int, rounds: int = ROUNDS) -> Taken:
    """Play a story and count."""
    clock = Clock(LATENCY)
    events = [event async for event in play(cast_of(size), models=_all(Latent(Teller(), clock)), rules=_rules(rounds))]
    return Taken(size, rounds, clock.calls, clock.chain, paper_calls(events, size, rounds))


def paper_calls(events: list[Event], size: int, rounds: int) -> int:
    """How many calls the paper's algorithm makes for the same story; each waits for the one before."""
    reacted = sum(isinstance(event, Influenced) and event.target is not None for event in events)
    turns = sum(isinstance(event, SpeakerChosen) for event in events)
    return 8 * reacted + 5 * (turns - reacted) + 2 * size * rounds


def _rules(rounds: int) -> Rules:
    return Rules(staging="story", rounds=rounds, min_rounds=rounds, remembering=MemoryRules(capacity=CAPACITY))


def _all(model: Any) -> Players:
    return Players(director=model, scene=model, source=model, base=model, judge=model, narrator=model)


@dataclass
class Watched:
    """Weighs prompts, by turn."""

    model: Teller
    name: str = "teller"
    turn: int = 0
    calls: Counter[int] = field(default_factory=Counter[int])
    weight: Counter[int] = field(default_factory=Counter[int])

    async def reply(self, request: Request) -> Reply:
        """Weigh, and pass on."""
        self.calls[self.turn] += 1
        self.weight[self.turn] += sum(len(message.content) for message in request.messages)
        return await self.model.reply(request)


@dataclass(frozen=True)
class Bucket:
    """A hundred turns: calls and prompt characters a turn, the mean prompt; KB allocated and MB resident at the end."""

    last: int
    calls: float
    weight: float
    prompt: float
    allocated: float
    resident: float


async def endured(turns: int = TURNS, bucket: int = BUCKET) -> list[Bucket]:
    """Play one scene for long."""
    watched, found = Watched(Teller()), list[Bucket]()
    scene = cast_of(len(_NAMES))
    tracemalloc.start()
    async for event in play(scene, models=_all(watched), rules=_rules(turns // len(_NAMES))):
        if not isinstance(event, SpeakerChosen):
            continue
        watched.turn = event.turn
        if event.turn % bucket == 0 or event.turn == turns:
            gc.collect()
            span = range(event.turn - bucket, event.turn)
            calls, weight = sum(watched.calls[turn] for turn in span), sum(watched.weight[turn] for turn in span)
            held = tracemalloc.get_traced_memory()[0] / 2**10
            found.append(Bucket(event.turn, calls / bucket, weight / bucket, weight / calls, held, resident() / 2**20))
    tracemalloc.stop()
    return found


def _grown(found: list[Bucket]) -> list[str]:
    first, before, last = found[len(found) // 2], *found[-2:]
    costs = [name for name in ("calls", "weight", "prompt") if getattr(last, name) > GROWTH * getattr(first, name)]
    return costs + [name for name in ("allocated", "resident") if getattr(last, name) > GROWTH * getattr(before, name)]


def main() -> int:
    """Measure, print, and say whether all is within the limits."""
    print(f"{ROUNDS} rounds of a story; calls, and those of them that wait for each other")
    print("characters   calls   of the paper   ratio   critical path   of the paper   ratio")
    failed = False
    for size in CASTS:
        one = asyncio.run(taken(size))
        calls, path = one.calls / one.paper, one.chain / one.paper
        print(f"{size:10} {one.calls:7} {one.paper:14} {calls:7.2f} {one.chain:15} {one.paper:14} {path:7.2f}")
        failed |= calls > 1
    found = asyncio.run(endured())
    print(f"\n{TURNS} turns of one scene, 4 characters, at most {CAPACITY} memories each")
    print("up to turn   calls a turn   characters a turn   characters a prompt   KB allocated   MB resident")
    for one in found:
        costs = f"{one.last:10} {one.calls:14.2f} {one.weight:19.0f} {one.prompt:21.0f}"
        print(f"{costs} {one.allocated:14.0f} {one.resident:13.1f}")
    grown = _grown(found)
    print(f"grows: {', '.join(grown)}" if grown else f"levels off (within {GROWTH - 1:.0%})")
    return 1 if failed or grown else 0


if __name__ == "__main__":
    sys.exit(main())
