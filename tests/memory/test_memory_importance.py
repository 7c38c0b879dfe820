"""The importance of a memory at a glance."""

from __future__ import annotations

import statistics

import pytest

from screentest.agents.memory import importance
from screentest.pools import starter_pool


@pytest.mark.parametrize(
    ("weighty", "slight"),
    [
        ("I promise I will never tell your secret.", "I like to sit here in the evening."),
        ("She hid 300 crowns under the flagstone.", "She put her cup upon the table."),
        ("His father was murdered.", "His coat was brown."),
        ("Meet me at midnight.", "Meet me some time."),
        ("Get out!", "Go on."),
        ("the lamp belongs to Miriam", "the lamp belongs to someone"),
        ("I refuse to go there.", "I walk to go there."),
        ("I have nothing more to say to you.", "I have something more to say to you."),
        ("我发誓绝不说出这个秘密。", "我喜欢晚上坐在这里看书。"),
        ("他把三百两银子藏在石板下面。", "他把茶杯放在桌子上面。"),
        ("他父亲被人杀了。", "他衣裳是灰色的。"),
        ("今晚在桥头见。", "改日在桥头见。"),
        ("他走了！", "他坐着。"),
    ],
)
def test_what_matters_scores_higher(weighty: str, slight: str) -> None:
    assert importance(weighty, "saw") >= importance(slight, "saw") + 0.04


@pytest.mark.parametrize(
    "courtesy", ["Hello.", "(nods) Yes.", "Good evening to you.", "你好。", "（点头）好的。", "嗯。"]
)
def test_courtesies_hardly_matter(courtesy: str) -> None:
    assert importance(courtesy, "saw") < 0.15
    assert importance(f"{courtesy} He is dead. 他死了。", "saw") > 0.4, "unless something follows"


@pytest.mark.parametrize("text", ["Ada stopped the wheel.", "水车停了。"])
def test_what_the_narrator_tells_scores_higher(text: str) -> None:
    assert importance(text, "told") > importance(text, "saw") == importance(text, "did")


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_lines_of_real_scenes_are_told_apart(language: str) -> None:
    scenes = [scene for scene in starter_pool() if scene.language == language]
    scores = [importance(line.text, "saw") for scene in scenes for line in scene.script]
    assert all(0.05 <= score <= 1 for score in scores)
    assert statistics.pstdev(scores) > 0.12
    assert len(set(scores)) > len(scores) / 3
    tenths = statistics.quantiles(scores, n=10)
    assert tenths[-1] - tenths[0] > 0.3
