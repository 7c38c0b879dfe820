"""How much the engine adds to waiting for models, when many conversations run at once.

Every call takes a fixed, fake latency. A conversation cannot end sooner than its longest chain of dependent calls
(source and base answer in parallel, and count once), so that the figure of merit is one ratio within one run:

    makespan / (longest chain of dependent calls x latency)

``python benchmarks/concurrency.py`` plays the starter pool's scenes and exits with 1 if the ratio of 64 conversations
exceeds 1.15. More conversations are shown beside it: there the understudy's own computing, on one core, comes to weigh.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from itertools import cycle, islice

from screentest.llms import Gate, Gated, Model, Reply, Request
from screentest.llms.understudy import Understudy
from screentest.pools import Character, Pool, Scene, starter_pool
from screentest.randomness import generator
from screentest.sim import Event, Fault, Players, Rules, group, play, record

LIMIT, BOUND = 1.15, 64
LATENCY = 0.2
RULES = Rules(turns=20)
PLANS = (("lean", 64), ("understudy", 64), ("lean", 256), ("understudy", 256))


class Lean:
    """A model that costs next to nothing, so that the engine is what is measured."""

    name = "lean"

    async def reply(self, request: Request) -> Reply:
        """Say something valid."""
        draw = generator(request.seed, request.key)
        match request.purpose:
            case "direct":
                text = json.dumps({"reason": "-", "speaker": draw.choice(request.facts["speakers"]), "end": False})
            case "judge.dimension":
                text = json.dumps({"reason": "-", "dimension": draw.choice(request.facts["dimensions"]).id})
            case "judge.pairwise":
                text = json.dumps({"explanation": "-", "score": draw.randint(1, 5)})
            case _:
                text = f"(turns the lamp down) It is {draw.randrange(10**9)} steps to the harbour, and none is dry."
        return Reply(text=text, finish="stop", model=self.name)


@dataclass
class Clock:
    """The latency of every call, and the longest chain of dependent calls of every conversation.

    A call depends on those of its conversation that had ended when it began.
    """

    latency: float

    def __post_init__(self) -> None:
        self.calls = 0
        self._longest: Counter[str] = Counter()

    @property
    def chain(self) -> int:
        """Calls in the longest chain of any conversation."""
        return max(self._longest.values())

    async def wait(self, request: Request) -> None:
        """Take as long as a call takes."""
        conversation = request.key.partition("/turn/")[0]
        depth = self._longest[conversation] + 1
        self.calls += 1
        await asyncio.sleep(self.latency)
        self._longest[conversation] = max(self._longest[conversation], depth)


@dataclass(frozen=True)
class Latent:
    """A model that answers after the clock's latency."""

    model: Model
    clock: Clock

    @property
    def name(self) -> str:
        """The model's label."""
        return self.model.name

    async def reply(self, request: Request) -> Reply:
        """Wait, then answer."""
        await self.clock.wait(request)
        return await self.model.reply(request)


@dataclass(frozen=True)
class Measured:
    """One measurement: ``makespan`` and ``cpu`` in seconds."""

    model: str
    conversations: int
    calls: int
    chain: int
    latency: float
    makespan: float
    cpu: float

    @property
    def ratio(self) -> float:
        """Makespan over the least time it could have taken."""
        return self.makespan / (self.chain * self.latency)

    def row(self) -> str:
        """A row of the table."""
        cpu_per_call = 1000 * self.cpu / self.calls
        return (
            f"{self.model:<12}{self.conversations:>13}{self.calls:>8}{self.chain:>7}"
            f"{self.makespan:>11.2f}{cpu_per_call:>13.2f}{self.ratio:>8.3f}"
        )


HEAD = f"{'models':<12}{'conversations':>13}{'calls':>8}{'chain':>7}{'makespan s':>11}{'CPU ms/call':>13}{'ratio':>8}"


def pairings(pool: Pool) -> list[tuple[Scene, Character]]:
    """Every scene with every test character that can enter it, scenes going round."""
    by_character = defaultdict[str, list[tuple[Scene, Character]]](list)
    for scene in pool:
        for character in pool.characters:
            if character.language == scene.language and character.name not in pool.cast_names(scene.id):
                by_character[character.id].append((scene, character))
    return [pair for pairs in by_character.values() for pair in pairs]


async def measure(name: str, model: Model, conversations: int, latency: float, rules: Rules) -> Measured:
    """Play this many conversations at once and take the time."""
    clock = Clock(latency)
    player = Gated(Latent(model, clock), Gate(2 * conversations, opens_at=2 * conversations))
    players = Players(director=player, scene=player, source=player, base=player, judge=player)

    async def perform(k: int, scene: Scene, test: Character) -> tuple[Event, ...]:
        key = f"{k:03d}"
        return await record(play(scene, test=test, models=players, seed=1, key=key, rules=rules), key)

    cast = list(islice(cycle(pairings(starter_pool())), conversations))
    began, cpu = time.perf_counter(), time.process_time()
    played = await group(perform(k, scene, test) for k, (scene, test) in enumerate(cast))
    makespan, cpu = time.perf_counter() - began, time.process_time() - cpu
    for events in played:
        assert not any(isinstance(event, Fault) for event in events), events[-2]
    return Measured(name, conversations, clock.calls, clock.chain, latency, makespan, cpu)


MODELS: dict[str, Callable[[], Model]] = {"lean": Lean, "understudy": lambda: Understudy("understudy", "adept")}


def main() -> int:
    """Measure, print, judge."""
    print(f"{LATENCY * 1000:.0f} ms a call, {RULES.turns} turns; ratio = makespan / (chain x latency)")
    print(HEAD, flush=True)
    worst = 0.0
    for name, conversations in PLANS:
        found = asyncio.run(measure(name, MODELS[name](), conversations, LATENCY, RULES))
        print(found.row(), flush=True)
        if conversations <= BOUND:
            worst = max(worst, found.ratio)
    print(f"worst ratio of {BOUND} conversations: {worst:.3f} ({'within' if worst <= LIMIT else 'OVER'} the limit)")
    return int(worst > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
