"""What a call costs this machine: the engine's CPU and that of the way to a server, beside what the bare SDK takes.

Scenes are filled up until their prompts have 6 KB and 30 KB on average. The server is another process, so that the CPU
time of this one is what calls cost here. The calls of the same performances are made in six ways:

* ``create``: ``AsyncOpenAI().chat.completions.create`` alone;
* ``post``: the SDK's ``client.post`` on aiohttp, as this package uses it, with nothing around it;
* ``model``: a model as a run opens it, with retries, limits and reading the reply;
* ``engine``: playing, with a model that knows every reply already: prompts, parsing, events;
* ``journal``: the same, with every call kept in a store;
* ``all``: playing, with every call kept, and a model as a run opens it.

The ways take turns and the best of each counts. Where the CPU of ``journal`` and ``all`` goes is found by looking now
and then; what belongs to no part is the event loop, sockets and the thread that writes the store.

``python benchmarks/overhead.py`` exits with 1 if at 6 KB the engine
with its journal takes more than 0.30 ms a call, or everything more than 1.0 ms.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from concurrency import Lean, pairings
from openai import AsyncOpenAI
from sampling import sampled, shares
from serving import serving

from screentest.llms import Gate, Gated, Journaled, Meter, Model, ModelSpec, Noted, Reply, Request, open_models
from screentest.llms.journal import digest
from screentest.llms.openai import wire
from screentest.llms.structured import parse
from screentest.llms.wire import Wire
from screentest.pools import Character, Scene, starter_pool
from screentest.prompts import fence, render
from screentest.sim import Fault, Players, Rules, Session, Store, group, open_run, play, record, view

SIZES = (6, 30)
CONVERSATIONS, IN_FLIGHT, ROUNDS, BARE_CALLS = 32, 32, 5, 500
REACH = {"journal": 0.30, "all": 1.0}
RULES = Rules(turns=20)
FILLER = "The harbour lies under its usual weather, and the lamps on the quay are lit an hour before they are needed. "

PARTS: dict[str, Callable[..., Any]] = {
    "SDK": AsyncOpenAI.post,
    "encoding and reading": Wire.post,
    "prompts": render,
    "fences": fence,
    "views": view,
    "keys": digest,
    "parsing": parse,
    "journal": Journaled.reply,
    "playing": play,
}

Cast = Sequence[tuple[Scene, Character]]


@dataclass(frozen=True)
class Known:
    """A model that has every reply ready."""

    replies: Mapping[str, Reply]
    name: str = "lean"

    async def reply(self, request: Request) -> Reply:
        """Look it up."""
        return self.replies[request.key]


@dataclass(frozen=True)
class Recording:
    """A model whose requests and replies are kept."""

    model: Model
    heard: list[tuple[Request, Reply]]

    @property
    def name(self) -> str:
        """The model's label."""
        return self.model.name

    async def reply(self, request: Request) -> Reply:
        """Pass on, and keep both."""
        reply = await self.model.reply(request)
        self.heard.append((request, reply))
        return reply


async def perform(cast: Cast, model: Model) -> None:
    """Play all conversations at once."""
    players = Players(director=model, scene=model, source=model, base=model, judge=model)
    keyed = [(f"{k:03d}", scene, test) for k, (scene, test) in enumerate(cast)]
    for events in await group(
        record(play(scene, test=test, models=players, seed=1, key=key, rules=RULES), key) for key, scene, test in keyed
    ):
        assert not any(isinstance(event, Fault) for event in events), events[-2]


def rehearse(cast: Cast) -> list[tuple[Request, Reply]]:
    """What is asked and said when the lean model plays."""
    heard: list[tuple[Request, Reply]] = []
    asyncio.run(perform(cast, Recording(Lean(), heard)))
    return heard


def kilobytes(heard: Sequence[tuple[Request, Reply]]) -> float:
    """The size of a prompt on average."""
    sizes = [sum(len(message.content.encode()) for message in request.messages) for request, _ in heard]
    return sum(sizes) / len(sizes) / 1024


def filled(cast: Cast, size: int) -> Cast:
    """The same conversations, their worlds told at such length that prompts have so many KB on average."""
    missing = round(1024 * (size - kilobytes(rehearse(cast))))
    assert missing >= 0, f"the prompts have {-missing} bytes more than {size} KB already"
    told = (FILLER * (missing // len(FILLER) + 1))[:missing]
    return [(scene.model_copy(update={"world": f"{scene.world} {told}"}), test) for scene, test in cast]


def english(conversations: int) -> Cast:
    """So many pairs of an English scene and a test character, sketched so that their prompts fit into 6 KB."""
    pairs = [(_small(scene), _sketched(test)) for scene, test in pairings(starter_pool()) if scene.language == "en"]
    return list(islice(cycle(pairs), conversations))


def _small(scene: Scene) -> Scene:
    """The scene with two people, and without its script."""
    cast = tuple(map(_sketched, scene.cast[:2]))
    drives = {member.name: scene.motivations[member.name] for member in cast}
    return scene.model_copy(update={"cast": cast, "motivations": drives, "script": ()})


def _sketched(character: Character) -> Character:
    """The character with six attributes."""
    sides = {"public": character.public, "private": character.private}
    return character.model_copy(update={side: dict(islice(told.items(), 3)) for side, told in sides.items()})


async def spread(requests: Sequence[Request], call: Callable[[Request], Awaitable[object]]) -> None:
    """Make the calls, so many at once."""
    waiting = iter(requests)

    async def work() -> None:
        for request in waiting:
            await call(request)

    await group(work() for _ in range(IN_FLIGHT))


@dataclass(frozen=True)
class Bench:
    """The ways to make the calls of one performance; each makes them and tells how many they were.

    Attributes:
        url: Where the server is.
        cast: What is played.
        heard: What is asked and said in it.
    """

    url: str
    cast: Cast
    heard: Sequence[tuple[Request, Reply]]

    @property
    def spec(self) -> ModelSpec:
        """The model at the server."""
        return ModelSpec(provider="openai", model="gpt-4.1", base_url=self.url)

    @property
    def requests(self) -> list[Request]:
        """As many requests as those ways need that do not play."""
        return [request for request, _ in self.heard[:: max(1, len(self.heard) // BARE_CALLS)]]

    async def create(self) -> int:
        """The SDK alone."""
        requests = self.requests
        async with AsyncOpenAI(api_key="none", base_url=self.url, max_retries=0) as client:

            async def call(request: Request) -> object:
                told: Any = [{"role": message.role, "content": message.content} for message in request.messages]
                return await client.chat.completions.create(model="gpt-4.1", messages=told, max_tokens=1024)

            await spread(requests, call)
        return len(requests)

    async def post(self) -> int:
        """The SDK's client on aiohttp."""
        requests, sender = self.requests, wire(self.url, None, 60.0)

        async def call(request: Request) -> object:
            body = {"model": "gpt-4.1", "messages": request.messages, "max_tokens": 1024}
            return await sender.post(body, model="lean", seconds=60.0)

        try:
            await spread(requests, call)
        finally:
            await sender.close()
        return len(requests)

    async def model(self) -> int:
        """A model as a run opens it."""
        requests = self.requests
        async with open_models({"lean": self.spec}, environment={}, meter=Meter()) as models:
            await spread(requests, models["lean"].reply)
        return len(requests)

    async def engine(self) -> int:
        """Playing, with every reply known."""
        await perform(self.cast, self._known())
        return len(self.heard)

    async def journal(self) -> int:
        """The same, kept in a store."""
        identity = self.spec.identity()
        with tempfile.TemporaryDirectory() as place, closing(Store(Path(place) / "run.db")) as store:
            model = Gated(Noted(self._known(), store, identity), Gate(IN_FLIGHT, opens_at=IN_FLIGHT))
            await perform(self.cast, Journaled(model, store, identity))
        return len(self.heard)

    async def all(self) -> int:
        """Playing, kept in a store, with a model as a run opens it."""
        session, meter = Session(concurrency=IN_FLIGHT, environment={}), Meter()
        with tempfile.TemporaryDirectory() as place:
            async with open_run(Path(place), {"lean": self.spec}, session, meter) as run:
                await perform(self.cast, run.models["lean"])
        return meter.finished

    def _known(self) -> Known:
        return Known({request.key: reply for request, reply in self.heard})


WAYS: dict[str, Callable[[Bench], Awaitable[int]]] = {
    "create": Bench.create,
    "post": Bench.post,
    "model": Bench.model,
    "engine": Bench.engine,
    "journal": Bench.journal,
    "all": Bench.all,
}
HEAD = f"{'way':<10}" + "".join(f"{f'{size} KB, ms':>12}{'/ create':>10}" for size in SIZES) + f"{'at most':>10}"


def cpu(bench: Bench, way: str) -> float:
    """Milliseconds of CPU a call."""

    async def taken() -> float:
        began = time.process_time()
        calls = await WAYS[way](bench)
        return 1000 * (time.process_time() - began) / calls

    return asyncio.run(taken())


def prepared(url: str, size: int, conversations: int) -> Bench:
    """A performance with prompts of so many KB."""
    cast = filled(english(conversations), size)
    return Bench(url, cast, rehearse(cast))


def measure(bench: Bench, rounds: int) -> dict[str, float]:
    """Milliseconds of CPU a call, for every way."""
    turns = [{way: cpu(bench, way) for way in WAYS} for _ in range(rounds)]
    return {way: min(turn[way] for turn in turns) for way in WAYS}


def row(way: str, found: Sequence[Mapping[str, float]]) -> str:
    """A row of the table."""
    cells = "".join(f"{taken[way]:>12.3f}{taken[way] / taken['create']:>10.3f}" for taken in found)
    return f"{way:<10}{cells}" + (f"{REACH[way]:>10.2f}" if way in REACH else "")


def main() -> int:
    """Measure, print, judge."""
    print(f"CPU a call, {CONVERSATIONS} conversations at once, best of {ROUNDS}")
    with serving() as server:
        benches = [prepared(server.url, size, CONVERSATIONS) for size in SIZES]
        found = [measure(bench, ROUNDS) for bench in benches]
        print(HEAD)
        for way in WAYS:
            print(row(way, found))
        for way in REACH:
            with sampled(PARTS) as looks:
                cpu(benches[0], way)
            print(f"{way} at {SIZES[0]} KB: {shares(looks)}")
    over = [way for way, most in REACH.items() if found[0][way] > most]
    print(f"over the reach at {SIZES[0]} KB: {', '.join(over) or 'nothing'}")
    return int(bool(over))


if __name__ == "__main__":
    sys.exit(main())
