"""Phrases: things and first-person clauses found in text, and what is better left alone."""

from __future__ import annotations

import pytest

from screentest.llms.understudy import chinese, english
from screentest.llms.understudy.lexicon import lexicon
from screentest.llms.understudy.material import called
from screentest.llms.understudy.text import content, faults


@pytest.mark.parametrize(
    ("text", "things"),
    [
        ("She kept the torn chart under the stairs.", ("the torn chart", "the stairs")),
        ("Give me a lantern and your brother's coat.", ("that lantern", "your brother's coat")),
        ("The old are never asked, and the captain refused.", ("the captain",)),
        ("Nobody answered quickly.", ()),
    ],
)
def test_english_things_are_noun_phrases(text: str, things: tuple[str, ...]) -> None:
    assert english.things(text) == things


@pytest.mark.parametrize(
    ("key", "value", "name", "avowals"),
    [
        ("background", "She grew up in a mill. She hates the sea.", "Ada", ("I grew up in a mill", "I hate the sea")),
        ("secret", "Ada keeps his letters and reads them nightly.", "Ada", ("I keep my letters",)),
        ("background", "A retired sailor with one eye.", "Ada", ("I am a retired sailor with one eye",)),
        ("relations", "Tom: the nephew she raised", "Ada", ("Tom is the nephew I raised",)),
        ("fear", "The sound of ice.", "Ada", ("I fear the sound of ice",)),
        ("secret", "The will is forged.", "Ada", ("the will is forged",)),
        ("background", "Mud everywhere.", "Ada", ()),
        ("appearance", "She wears a red coat.", "Ada", ()),
    ],
)
def test_english_profiles_are_said_in_the_first_person(
    key: str, value: str, name: str, avowals: tuple[str, ...]
) -> None:
    assert english.avowals(key, value, name) == avowals


@pytest.mark.parametrize(
    ("text", "things"),
    [
        ("他把那封信藏在船舱。", ("那封信",)),
        ("我的算盘呢？", ("我的算盘",)),
        ("她合上《论语》，不说话。", ("《论语》",)),
        ("一盏油灯还亮着。", ("那盏油灯",)),
        ("不知道。", ()),
    ],
)
def test_chinese_things_are_noun_phrases(text: str, things: tuple[str, ...]) -> None:
    assert chinese.things(text) == things


@pytest.mark.parametrize(
    ("key", "value", "name", "avowals"),
    [
        ("背景", "她在渡口撑了二十年船。", "婉秋", ("我在渡口撑了二十年船",)),
        ("背景", "婉秋守着旧钟，不肯走。", "婉秋", ("我守着旧钟",)),
        ("恐惧", "怕听见冰声。", "婉秋", ("我最怕的就是听见冰声",)),
        ("关系", "小满：她带大的侄儿", "婉秋", ("小满是我带大的侄儿",)),
        ("背景", "退休的船长。", "婉秋", ("我是退休的船长",)),
        ("外貌", "她穿红袄。", "婉秋", ()),
    ],
)
def test_chinese_profiles_are_said_in_the_first_person(
    key: str, value: str, name: str, avowals: tuple[str, ...]
) -> None:
    assert chinese.avowals(key, value, name) == avowals


def test_owners_change_with_the_speaker() -> None:
    assert english.turned("my letter") == "your letter"
    assert english.owned("his letter") == "my letter"
    assert chinese.turned("我的信") == "你的信"
    assert chinese.owned("他的信") == "我的信"


def test_a_scenes_own_words_are_those_it_repeats() -> None:
    assert chinese.vocabulary(("灯塔，在海边。", "灯塔，关了。", "算盘，响了。")) == ("灯塔",)


def test_people_are_called_as_people_call_them() -> None:
    assert called("Miriam Vale", "en") == "Miriam"
    assert called("Mrs. Vale", "en") == "Mrs Vale"
    assert called("何婉秋", "zh") == "何婉秋"


def test_content_leaves_stop_words_out() -> None:
    assert content("The keepers would not go there.", "en") == {"keeper"}
    assert content("灯塔的灯", "zh") == {"灯塔"}


@pytest.mark.parametrize(
    ("text", "language", "found"),
    [
        ("(nods) I know the tide.", "en", ()),
        ("I know (the tide.", "en", ("brackets",)),
        ("Tom: I know.", "en", ("prefix",)),
        ("I know. You do not.", "en", ("sentences",)),
        ("我知道潮水。", "en", ("language",)),
        ("（点点头）我知道潮水。", "zh", ()),
        ("小满：我知道。", "zh", ("prefix",)),
        ("(nods)", "en", ("empty",)),
    ],
)
def test_faults_of_form_are_found(text: str, language: str, found: tuple[str, ...]) -> None:
    assert faults(text, language) == found


@pytest.mark.parametrize("language", ["en", "zh"])
def test_there_are_frames_enough_and_small_talk_needs_nothing(language: str) -> None:
    known = lexicon(language)
    sets = [*(frames for side in known.frames.values() for frames in side.values()), known.plain]
    assert sum(map(len, sets)) >= 100
    assert sum(not frame.slots for frame in known.plain) >= 10
    slots = {slot for frames in sets for frame in frames for slot in frame.slots}
    assert slots <= {"echo", "earlier", "mine", "avowal", "world", "drive", "name", "other"}
