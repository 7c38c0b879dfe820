"""FURINA's five dimensions, as they ship."""

from __future__ import annotations

import re

import pytest

from screentest.judges.dimensions import furina_dimensions
from screentest.pools import Language, Line

TEXTS = ("definition", "example", "strategy", "instruction")


@pytest.mark.parametrize("language", ["en", "zh"])
def test_are_the_papers_five_in_its_order(language: Language):
    assert [dimension.id for dimension in furina_dimensions(language)] == ["CR", "FR", "RR", "CA", "PA"]


def test_have_the_papers_names():
    assert [dimension.name for dimension in furina_dimensions("en")] == [
        "Context Reliance",
        "Factual Recall",
        "Reflective Reasoning",
        "Conversational Ability",
        "Preference Alignment",
    ]
    assert [dimension.name for dimension in furina_dimensions("zh")] == [
        "语境依托",
        "事实回忆",
        "反思推理",
        "对话能力",
        "偏好对齐",
    ]


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("field", TEXTS)
def test_say_something_of_their_own(language: Language, field: str):
    texts = [getattr(dimension, field) for dimension in furina_dimensions(language)]
    assert all(len(text) > 100 for text in texts)
    assert len(set(texts)) == len(texts)


@pytest.mark.parametrize(
    ("language", "labels"),
    [
        ("en", ["Profile: ", "Context: ", "Common mistake: ", "Good reply: "]),
        ("zh", ["档案：", "语境：", "常见失误：", "好的回应："]),
    ],
)
def test_show_a_mistake_and_a_good_reply_in_the_reply_format(language: Language, labels: list[str]):
    for dimension in furina_dimensions(language):
        lines = dimension.example.splitlines()
        assert [line[: len(label)] for line, label in zip(lines, labels, strict=True)] == labels
        good = Line.parse("who", lines[-1].removeprefix(labels[-1]))
        assert good.action
        assert good.speech
        assert len(re.findall(r"[.!?。！？]", good.speech)) == 1, "one sentence"


def test_speak_one_language_each():
    english = "".join(getattr(dimension, field) for dimension in furina_dimensions("en") for field in TEXTS)
    chinese = "".join(getattr(dimension, field) for dimension in furina_dimensions("zh") for field in TEXTS)
    assert not re.search(r"[\u3000-\u9fff\uff00-\uffef]", english)
    assert not re.search(r"[A-Za-z]", chinese)
