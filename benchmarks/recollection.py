"""What characters' memories cost: a thousand characters with a thousand memories each, and one with 200.

Measured are the resident memory they take, memories noted and embedded a second, and how long it takes to recall. The
search itself is compared like for like with what numpy needs for the same answer: a matrix times a vector, and the
best eight of the result. All in one process, with the hashing embedder.

``python benchmarks/recollection.py`` exits with 1 if FAISS takes more than 1.2 times as long as numpy to find the best
of 200. ``python benchmarks/recollection.py 100`` has a hundred characters.
"""

from __future__ import annotations

import asyncio
import gc
import random
import sys
import time
from collections.abc import Callable, Sequence
from itertools import cycle, islice
from pathlib import Path

import faiss
import numpy as np

from screentest.agents.memory import HashingEmbedder, Memories
from screentest.agents.memory.index import Index
from screentest.pools import starter_pool
from screentest.randomness import Place

CHARACTERS, MEMORIES, FEW, BEST, WIDTH = 1000, 1000, 200, 8, 512
RECALLS, ROUNDS = 2000, 7
SLOWEST = 1.2
PLACE = Place(0, "benchmark")


def resident() -> float:
    """The process's resident memory in MB."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 2**20


def spoken() -> list[str]:
    """Lines of the starter pool, English and Chinese."""
    return [line.text for scene in starter_pool() for line in scene.script]


def percentiles(seconds: Sequence[float]) -> str:
    """The median and the 95th percentile in microseconds."""
    p50, p95 = np.percentile(np.array(seconds) * 1e6, (50, 95))
    return f"{p50:>10.1f} µs   p95 {p95:.1f} µs"


def best_of(rounds: int, times: int, work: Callable[[], object]) -> float:
    """Microseconds that ``work`` takes in the best of some rounds."""
    best = float("inf")
    for _ in range(rounds):
        began = time.perf_counter()
        for _ in range(times):
            work()
        best = min(best, (time.perf_counter() - began) / times)
    return best * 1e6


async def populate(minds: Sequence[Memories], lines: Sequence[str]) -> tuple[float, float]:
    """Give every mind its memories, each an own text; returns the seconds it took to note and to embed them."""
    noting = embedding = 0.0
    for number, mind in enumerate(minds):
        texts = [f"{line} [{number}.{turn}]" for turn, line in enumerate(islice(cycle(lines), MEMORIES))]
        began = time.perf_counter()
        for turn, text in enumerate(texts):
            mind.note("saw", text, turn=turn, minutes=turn)
        noted = time.perf_counter()
        await mind.recall(texts[0], minutes=MEMORIES, k=1, place=PLACE)
        noting, embedding = noting + noted - began, embedding + time.perf_counter() - noted
    return noting, embedding


async def recalls(minds: Sequence[Memories], lines: Sequence[str], draw: random.Random) -> list[float]:
    """Seconds of each of many recalls by different characters."""
    taken: list[float] = []
    for _ in range(RECALLS):
        mind, query = draw.choice(minds), draw.choice(lines)
        began = time.perf_counter()
        await mind.recall(query, minutes=MEMORIES, k=BEST, place=PLACE)
        taken.append(time.perf_counter() - began)
    return taken


def compared(draw: np.random.Generator) -> tuple[float, float, float]:
    """Microseconds to find the best of a few vectors: FAISS, numpy, and all similarities as a recall takes them."""
    rows = draw.standard_normal((FEW, WIDTH)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    faiss.omp_set_num_threads(1)  # as the index does
    flat, ours = faiss.IndexIDMap2(faiss.IndexFlatIP(WIDTH)), Index(WIDTH)
    flat.add_with_ids(rows, np.arange(FEW))  # pyright: ignore[reportCallIssue]
    ours.add(range(FEW), rows)
    asked = rows[:1].copy()

    def by_numpy() -> np.ndarray:
        near = rows @ asked[0]
        best = np.argpartition(-near, BEST)[:BEST]
        return best[np.argsort(-near[best])]

    def by_faiss() -> np.ndarray:
        return flat.search(asked, BEST)[1][0]  # pyright: ignore[reportCallIssue]

    assert (by_numpy() == by_faiss()).all(), "both find the same"
    found = {work: best_of(ROUNDS, RECALLS, work) for work in (by_faiss, by_numpy, lambda: ours.similarities(asked))}
    faiss_took, numpy_took, all_took = found.values()
    return faiss_took, numpy_took, all_took


async def measure(characters: int) -> int:
    """Measure, print, judge."""
    lines, embedder, draw = spoken(), HashingEmbedder(WIDTH), random.Random(1)
    await embedder.embed(lines, place=PLACE)
    Memories(embedder).note("saw", "warm", turn=0, minutes=0)
    faiss_took, numpy_took, all_took = compared(np.random.default_rng(1))
    before = resident()
    minds = [Memories(embedder, capacity=MEMORIES) for _ in range(characters)]
    noting, embedding = await populate(minds, lines)
    grown, total = resident() - before, characters * MEMORIES
    taken = await recalls(minds, lines, draw)
    few = Memories(embedder)
    for turn, text in enumerate(islice(cycle(lines), FEW)):
        few.note("saw", text, turn=turn, minutes=turn)
    await few.recall("warm", minutes=FEW, place=PLACE)
    taken_of_few = await recalls([few], lines, draw)
    began = time.perf_counter()
    for line in lines[:RECALLS]:
        await embedder.embed([line], place=PLACE)
    alone = (time.perf_counter() - began) / len(lines[:RECALLS]) * 1e6
    ratio = faiss_took / numpy_took
    print(f"{characters:,} characters with {MEMORIES:,} memories each, vectors of width {WIDTH}")
    print(f"{'resident memory':<44}{grown:>10,.0f} MB   {grown * 2**20 / total:,.0f} bytes a memory")
    print(f"{'of that, the vectors':<44}{total * WIDTH * 4 / 2**20:>10,.0f} MB")
    print(f"{'noted, importance guessed':<44}{total / noting:>10,.0f} /s")
    print(f"{'embedded and indexed':<44}{total / embedding:>10,.0f} /s")
    print(f"{'recall the best 8 of 1,000, query embedded':<44}{percentiles(taken)}")
    print(f"{'recall the best 8 of 200, query embedded':<44}{percentiles(taken_of_few)}")
    print(f"{'of that, embedding the query':<44}{alone:>10.1f} µs")
    print(f"{'of that, all 200 similarities from FAISS':<44}{all_took:>10.1f} µs")
    print(f"{'best 8 of 200 by FAISS, nothing else':<44}{faiss_took:>10.1f} µs")
    print(f"{'best 8 of 200 by numpy, nothing else':<44}{numpy_took:>10.1f} µs")
    print(f"{'ratio':<44}{ratio:>10.2f}      at most {SLOWEST}")
    return int(ratio > SLOWEST)


if __name__ == "__main__":
    sys.exit(asyncio.run(measure(int(sys.argv[1]) if sys.argv[1:] else CHARACTERS)))
