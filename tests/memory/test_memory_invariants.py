"""Whatever is noted, edited, forgotten, summed up, saved and loaded, in any order: records and vectors agree."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from memory.minds import PLACE, asked, ids, remembering
from screentest.agents.memory import HashingEmbedder, Memories, Memory, Recollection
from screentest.errors import InputError

WORDS = st.lists(st.sampled_from(["mill", "wheel", "rope", "磨坊", "水车", "storm"]), min_size=1, max_size=4)
TEXTS = WORDS.map(" ".join)
EMBEDDER = HashingEmbedder(16)


class Lives(RuleBasedStateMachine):
    """Memories beside a plain model of them: a dictionary, and what each reflection stands for."""

    @initialize(capacity=st.integers(1, 6))
    def begin(self, capacity: int) -> None:
        self.memories = Memories(EMBEDDER, capacity=capacity)
        self.expected: dict[int, Memory] = {}
        self.origins: dict[int, set[int]] = {}
        self.made = 0

    def keep(self, memory: Memory, origins: set[int]) -> None:
        assert memory.id == self.made, "ids ascend and are never used again"
        self.made += 1
        self.expected[memory.id] = memory
        self.origins[memory.id] = origins

    def recalled(self, query: str, k: int = 100) -> tuple[Recollection, ...]:
        return asyncio.run(self.memories.recall(query, minutes=50, k=k, place=PLACE))

    @rule(kind=st.sampled_from(["did", "saw", "told"]), text=TEXTS, turn=st.integers(0, 9))
    def note(self, kind: str, text: str, turn: int) -> None:
        memory = self.memories.note(kind, text, turn=turn, minutes=3 * turn)  # pyright: ignore[reportArgumentType]
        self.keep(memory, {memory.id})

    @precondition(lambda self: self.expected)
    @rule(data=st.data(), text=TEXTS)
    def edit(self, data: st.DataObject, text: str) -> None:
        id = data.draw(st.sampled_from(sorted(self.expected)))
        self.expected[id] = self.expected[id].model_copy(update={"text": text})
        assert self.memories.edit(id, text) == self.expected[id]

    @precondition(lambda self: self.expected)
    @rule(data=st.data(), importance=st.floats(0, 1))
    def rate(self, data: st.DataObject, importance: float) -> None:
        id = data.draw(st.sampled_from(sorted(self.expected)))
        self.expected[id] = self.expected[id].model_copy(update={"importance": importance})
        self.memories.rate({id: importance})

    @precondition(lambda self: self.expected)
    @rule(data=st.data())
    def forget(self, data: st.DataObject) -> None:
        id = data.draw(st.sampled_from(sorted(self.expected)))
        self.memories.forget(id)
        del self.expected[id]

    @precondition(lambda self: len(self.expected) > self.memories.capacity)
    @rule(text=TEXTS)
    def sum_up(self, text: str) -> None:
        surplus = [memory.id for memory in self.memories.surplus()]
        assert len(surplus) >= 2
        memory = self.memories.consolidate(surplus, text, turn=9, minutes=40, importance=0.7)
        assert memory.sources == tuple(surplus)
        self.keep(memory, set().union(*(self.origins[id] for id in surplus)))
        for id in surplus:
            del self.expected[id]
        assert len(self.memories) <= self.memories.capacity

    @rule(query=TEXTS)
    def recall(self, query: str) -> None:
        recalled = self.recalled(query)
        assert sorted(ids(recalled)) == sorted(self.expected)
        assert [one.memory for one in recalled] == [self.expected[one.memory.id] for one in recalled]
        keys = [(-one.score, one.memory.id) for one in recalled]
        assert keys == sorted(keys)
        assert self.recalled(query, k=2) == recalled[:2]

    @rule(query=TEXTS)
    def save_and_load(self, query: str) -> None:
        with tempfile.TemporaryDirectory() as directory:
            self.memories.save(Path(directory))
            loaded = Memories.load(Path(directory), EMBEDDER)
        before, self.memories = self.recalled(query), loaded
        assert self.recalled(query) == before

    @invariant()
    def the_records_are_as_expected(self) -> None:
        assert list(self.memories) == [self.expected[id] for id in sorted(self.expected)]
        assert len(self.memories) == len(self.expected)
        assert bool(self.memories.surplus()) == (len(self.expected) > self.memories.capacity)

    @invariant()
    def every_reflection_knows_what_it_stands_for(self) -> None:
        for id in self.expected:
            assert set(self.memories.origins(id)) == self.origins[id]


TestLives = Lives.TestCase
TestLives.settings = settings(max_examples=40, stateful_step_count=25, deadline=None, derandomize=True)


async def test_provenance_is_kept_through_two_consolidations(tmp_path: Path) -> None:
    memories = remembering(*(f"day {number} at the mill" for number in range(6)))
    first = memories.consolidate([0, 1, 2], "three days at the mill", turn=6, minutes=6, importance=0.6)
    second = memories.consolidate([3, first.id], "the mill, day after day", turn=7, minutes=7, importance=0.7)
    memories.save(tmp_path)
    for mind in (memories, Memories.load(tmp_path, HashingEmbedder())):
        assert [memory.id for memory in mind] == [4, 5, second.id]
        assert mind[second.id].sources == (3, first.id)
        assert mind.origins(second.id) == (0, 1, 2, 3)
        assert mind.origins(4) == (4,)
        assert 0 not in mind
    assert ids(await asked(memories, "day after day at the mill"))[0] == second.id
    memories.forget(second.id)
    assert memories.note("saw", "another day", turn=8, minutes=8).id == 8


async def test_what_is_forgotten_or_reworded_does_not_come_to_mind_as_it_was() -> None:
    memories = remembering("the wheel stopped", "rain fell", "the wheel turned")
    assert set(ids(await asked(memories, "the wheel", k=2))) == {0, 2}
    memories.forget(0)
    memories.edit(1, "the wheel broke")
    recalled = await asked(memories, "the wheel")
    assert {one.memory.text for one in recalled} == {"the wheel broke", "the wheel turned"}
    assert all(one.relevance > 0.3 for one in recalled)


def test_the_surplus_is_the_old_and_unimportant_and_makes_room() -> None:
    memories = remembering(*(f"day {number}" for number in range(41)), capacity=40)
    memories.rate({0: 1.0, 40: 0.0})
    surplus = [memory.id for memory in memories.surplus()]
    assert surplus == [1, 2, 3, 4, 5, 6, 40]
    memories.consolidate(surplus, "a week", turn=41, minutes=41, importance=0.5)
    assert len(memories) == 35
    assert memories.surplus() == ()


@pytest.mark.parametrize("sources", [[], [0, 0], [0, 9]])
def test_a_reflection_replaces_memories_that_are_there(sources: list[int]) -> None:
    memories = remembering("one", "two")
    with pytest.raises(InputError):
        memories.consolidate(sources, "both", turn=2, minutes=2, importance=0.5)
    assert [memory.text for memory in memories] == ["one", "two"]


def test_what_is_not_there_cannot_be_changed() -> None:
    memories = remembering("one")
    memories.forget(0)
    for change in (lambda: memories.edit(0, "two"), lambda: memories.forget(0), lambda: memories[0]):
        with pytest.raises(InputError, match="no memory 0"):
            change()


@pytest.mark.parametrize("importance", [-0.1, 1.1, float("nan")])
def test_ratings_are_taken_together_or_not_at_all(importance: float) -> None:
    memories = remembering("one", "two")
    for ratings in ({0: 0.9, 1: importance}, {0: 0.9, 7: 0.5}):
        with pytest.raises(InputError):
            memories.rate(ratings)
    assert memories[0].importance == 0.5


async def test_what_happens_while_vectors_are_made_is_not_lost() -> None:
    class Slow(HashingEmbedder):
        async def embed(self, texts: object, *, place: object) -> np.ndarray:
            started.set()
            await go_on.wait()
            return await super().embed(texts, place=place)  # pyright: ignore[reportArgumentType]

    started, go_on = asyncio.Event(), asyncio.Event()
    memories = remembering("the mill", "the wheel", "the rope", embedder=Slow())
    recalling = asyncio.create_task(asked(memories, "the mill"))
    await started.wait()
    memories.forget(1)
    memories.edit(2, "a mill again")
    memories.note("saw", "the mill burns", turn=3, minutes=3)
    go_on.set()
    assert ids(await recalling) == [0], "what is new since then has no vector yet"
    assert set(ids(await asked(memories, "the mill"))) == {0, 2, 3}
