"""What comes to a character's mind, and what does not."""

from __future__ import annotations

import random
from itertools import product

import numpy as np
import pytest

from memory.minds import PLACE, Alike, Given, asked, ids, remembering
from screentest.agents.memory import HashingEmbedder, Memories, Weights
from screentest.errors import InputError, InvalidReply, Unavailable

FACTS = {
    "en": ("Miriam hid the brass key under the third flagstone.", "Where did Miriam hide the key?"),
    "zh": ("沈砚秋把铜钥匙藏在第三块石板下面。", "铜钥匙藏在哪里？"),
}
TALK = {
    "en": (
        "The captain|A sailor|The widow|Old Tom|The cook|Nobody|The notary|A stranger",
        "counted|mended|poured|forgot|praised|dropped|carried|admired",
        "the nets|a barrel of rum|the lamp|his coat|two candles|the ledger|some bread|the rope",
        "by the window|before the storm|on the quay|with a sigh|in the cellar|after supper|at the gate|near the stove",
        "and said nothing|while it rained|as always|and laughed aloud",
    ),
    "zh": (
        "掌柜|船夫|寡妇|老陈|厨子|书生|捕头|陌生人",
        "清点|修补|倒了|忘记|称赞|碰掉|搬走|端详",
        "渔网|一坛酒|油灯|旧棉袄|两支蜡烛|账本|几个馒头|麻绳",
        "在窗边|赶在风雨前|在码头上|叹了口气|在地窖里|吃过晚饭|站在门口|靠着炉子",
        "一言不发|外面下着雨|和平常一样|放声大笑",
    ),
}


def chatter(language: str) -> list[str]:
    """5,000 lines of which none is about the fact."""
    parts = [part.split("|") for part in TALK[language]]
    lines = [(" " if language == "en" else "").join(line) + "." for line in product(*parts)]
    return random.Random(language).sample(lines, 5000)


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_a_fact_from_turn_2_is_found_at_turn_40_among_5000_memories(language: str) -> None:
    fact, question = FACTS[language]
    present, absent = (Memories(HashingEmbedder(), capacity=6000) for _ in range(2))
    planted = None
    for number, line in enumerate(chatter(language)):
        turn = number * 40 // 5000
        if turn == 2 and planted is None:
            planted = present.note("saw", fact, turn=2, minutes=4)
        for memories in (present, absent):
            memories.note("saw", line, turn=turn, minutes=2 * turn)
    (first, *_) = await present.recall(question, minutes=80, place=PLACE)
    assert first.memory == planted
    recalled = await absent.recall(question, minutes=80, k=6000, place=PLACE)
    assert len(recalled) == 5000
    assert fact not in {recollection.memory.text for recollection in recalled}
    assert recalled[0].relevance < first.relevance / 2


async def test_what_matters_comes_first_among_equals() -> None:
    memories = remembering("the mill", "the mill", "the mill")
    memories.rate({0: 0.2, 1: 0.9, 2: 0.4})
    assert ids(await asked(memories, "the mill")) == [1, 2, 0]
    memories.rate({1: 0.0})
    assert ids(await asked(memories, "the mill")) == [2, 0, 1]
    unweighed = Memories(Alike(), weights=Weights(importance=0, recency=0))
    for importance in (0.1, 0.9):
        unweighed.note("saw", "the mill", turn=0, minutes=0, importance=importance)
    assert ids(await asked(unweighed, "the mill")) == [0, 1], "of equals the older one"


async def test_what_is_fresh_comes_first_among_equals_and_more_so_with_a_short_half_life() -> None:
    memories = remembering("the mill", "the mill")
    (fresh, stale) = await asked(memories, "the mill", minutes=31)
    assert (fresh.memory.id, stale.memory.id) == (1, 0)
    assert fresh.recency == pytest.approx(1 / (1 + 30 / 120), abs=1e-6)
    hasty = remembering("the mill", "the mill", weights=Weights(half_life=1))
    (first, second) = await asked(hasty, "the mill", minutes=31)
    assert second.score / first.score < stale.score / fresh.score
    important = remembering("the mill", "the mill")
    important.rate({0: 0.9})
    assert ids(await asked(important, "the mill", minutes=31)) == [0, 1], "importance outweighs a minute"


async def test_the_score_is_the_product_that_the_weights_say() -> None:
    memories = Memories(HashingEmbedder(), weights=Weights(relevance=2, recency=0.5, importance=1.5, half_life=10))
    memories.note("saw", "Ada stopped the wheel", turn=0, minutes=0, importance=0.64)
    (found,) = await asked(memories, "Who stopped the wheel?", minutes=30)
    assert 0.2 < found.relevance < 1
    assert found.recency == 0.25
    assert found.score == pytest.approx(found.relevance**2 * 0.5 * 0.64**1.5, abs=1e-6)


async def test_nothing_relevant_still_brings_the_strongest_to_mind() -> None:
    memories = remembering("the mill stopped", "the wheel turned", "rain fell")
    memories.rate({0: 0.1, 1: 1.0, 2: 0.1})
    recalled = await asked(memories, "???")
    assert [recollection.relevance for recollection in recalled] == [0, 0, 0]
    assert ids(recalled) == [1, 2, 0]


async def test_more_than_there_is_can_be_asked_for() -> None:
    memories = remembering("the mill", "the wheel")
    assert sorted(ids(await asked(memories, "the mill", k=50))) == [0, 1]
    assert ids(await asked(memories, "the mill", k=1)) == [0]
    assert await asked(memories, "the mill", k=0) == ()


async def test_what_the_prompt_shows_already_is_left_out() -> None:
    memories = remembering("the mill", "the mill", "the mill")
    recalled = await memories.recall("the mill", minutes=3, place=PLACE, before=2)
    assert ids(recalled) == [1, 0]


async def test_where_nothing_can_come_to_mind_nothing_is_embedded() -> None:
    embedder = Given(np.eye(3, dtype=np.float32))
    memories = Memories(embedder)
    assert await memories.recall("the mill", minutes=0, place=PLACE) == ()
    memories.note("did", "I stopped the wheel", turn=4, minutes=4)
    assert await memories.recall("the mill", minutes=4, place=PLACE, before=4) == ()
    assert embedder.asked == []


async def test_one_call_embeds_the_query_and_all_that_is_new() -> None:
    embedder = Given(np.eye(3, dtype=np.float32), np.eye(1, 3, dtype=np.float32), np.eye(2, 3, dtype=np.float32))
    memories = remembering("one", "two", embedder=embedder)
    await asked(memories, "first?")
    await asked(memories, "second?")
    memories.edit(1, "two again")
    await asked(memories, "third?")
    assert embedder.asked == [["one", "two", "first?"], ["second?"], ["two again", "third?"]]


async def test_a_failed_call_loses_nothing() -> None:
    embedder = Given(Unavailable("down"), np.eye(2, dtype=np.float32))
    memories = remembering("one", embedder=embedder)
    with pytest.raises(Unavailable):
        await asked(memories, "one?")
    assert ids(await asked(memories, "one?")) == [0]
    assert embedder.asked == [["one", "one?"], ["one", "one?"]]


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (np.array([[1, 0], [np.nan, 1]], np.float32), "no finite numbers"),
        (np.array([[1, 0], [np.inf, 1]], np.float32), "no finite numbers"),
        (np.ones((3, 2), np.float32), r"shape \(3, 2\) for 2 texts"),
        (np.ones(2, np.float32), r"shape \(2,\)"),
        (np.ones((2, 0), np.float32), "width 0"),
    ],
)
async def test_vectors_that_cannot_be_searched_are_refused(answer: np.ndarray, problem: str) -> None:
    memories = remembering("one", embedder=Given(answer, np.eye(2, dtype=np.float32)))
    with pytest.raises(InvalidReply, match=problem):
        await asked(memories, "one?")
    assert ids(await asked(memories, "one?")) == [0], "nothing of them was kept"


async def test_vectors_of_another_width_are_refused() -> None:
    memories = remembering("one", embedder=Given(np.eye(2, dtype=np.float32), np.eye(1, 5, dtype=np.float32)))
    await asked(memories, "one?")
    with pytest.raises(InvalidReply, match="width 5, where those before have 2"):
        await asked(memories, "one?")


async def test_vectors_need_not_be_of_unit_length() -> None:
    long = np.array([[3e30, 4e30], [0.006, 0.008]], np.float32)
    (found,) = await asked(remembering("one", embedder=Given(long)), "one?")
    assert found.relevance == 1


@pytest.mark.parametrize("text", ["", "  \n "])
async def test_an_empty_text_is_neither_noted_nor_asked(text: str) -> None:
    memories = remembering("one")
    with pytest.raises(InputError, match="nothing to remember"):
        memories.note("saw", text, turn=1, minutes=1)
    with pytest.raises(InputError, match="nothing to remember"):
        await asked(memories, text)
    assert len(memories) == 1


def test_a_text_is_put_on_one_line() -> None:
    memories = remembering("  one\n\ttwo\u2028three \ud83d ")
    assert memories[0].text == "one two three ?"
