"""The embedder of the base install."""

from __future__ import annotations

import asyncio
import subprocess
import sys

import numpy as np
import pytest

from memory.minds import PLACE
from screentest.agents.memory import HashingEmbedder
from screentest.agents.memory.hashing import tokens

LINES = (
    "Where did she hide the key?",
    "Miriam hid the brass key.",
    "the the the",
    "...",
    "铜钥匙藏在哪里？",
    "沈砚秋把铜钥匙藏好了。",
    "Ａda 说 OK",
)


async def nearness(one: str, other: str) -> float:
    rows = await HashingEmbedder().embed([one, other], place=PLACE)
    return float(rows[0] @ rows[1])


async def test_rows_are_of_unit_length_or_say_nothing() -> None:
    rows = await HashingEmbedder(64).embed(LINES, place=PLACE)
    assert rows.shape == (len(LINES), 64)
    assert rows.dtype == np.float32
    assert np.linalg.norm(rows, axis=1) == pytest.approx([1, 1, 1, 0, 1, 1, 1])


async def test_a_row_depends_on_its_text_alone() -> None:
    embedder = HashingEmbedder()
    together = await embedder.embed(LINES * 30, place=PLACE)
    for number, line in enumerate(LINES):
        alone = await HashingEmbedder().embed([line], place=PLACE)
        assert (alone[0] == together[number]).all()
        assert (alone[0] == together[-len(LINES) + number]).all()


async def test_a_row_outlives_the_bound_on_known_tokens() -> None:
    embedder = HashingEmbedder(32)
    before = await embedder.embed(LINES, place=PLACE)
    await embedder.embed([f"word{number}" for number in range(20_000)], place=PLACE)
    assert (await embedder.embed(LINES, place=PLACE) == before).all()


def test_a_row_is_the_same_in_every_process() -> None:
    rows = asyncio.run(HashingEmbedder(8).embed(LINES[:2], place=PLACE))
    code = (
        "import asyncio; from screentest.randomness import Place; "
        "from screentest.agents.memory import HashingEmbedder; "
        f"print(asyncio.run(HashingEmbedder(8).embed({LINES[:2]!r}, place=Place(0, 'x'))).tobytes().hex())"
    )
    told = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": "99"}
    )
    assert told.stdout.strip() == rows.tobytes().hex()


@pytest.mark.parametrize(
    ("one", "near", "far"),
    [
        ("Where is the lantern?", "Ada lit the lanterns", "Where is the captain?"),
        ("harbour pilot", "the harbor pilots", "the garden party"),
        ("MIRIAM VALE", "miriam vale", "ada byron"),
        ("铜钥匙在哪里", "他把铜钥匙给了她", "他在哪里睡觉"),
        ("宋画是假的", "那幅宋画是仿的", "那碗面是凉的"),
    ],
)
async def test_shared_content_counts_more_than_shared_grammar(one: str, near: str, far: str) -> None:
    assert await nearness(one, near) > await nearness(one, far) + 0.1


async def test_repetition_counts_less_and_less() -> None:
    once = await nearness("storm and rope", "storm")
    often = await nearness("storm storm storm storm and rope", "storm")
    linear = 4 / np.sqrt(4**2 + 1)
    assert once < often < linear


def test_tokens_of_both_languages() -> None:
    assert tokens("Don't ask, Ada_2!") == ["don", "t", "ask", "ada_2"]
    assert tokens("铜钥匙, ＡＤＡ说") == ["铜", "钥", "匙", "铜钥", "钥匙", "ada", "说"]
    assert tokens("Привет, мир") == ["привет", "мир"]
