"""Formatting rules: what each flags, and what it leaves alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from screentest.builders.formatting import FormattingFault, formatting_faults
from screentest.pools import Language, Line


def _faults(text: str, language: Language, speaker: str, *earlier: str) -> tuple[FormattingFault, ...]:
    history = [Line(speaker="Someone", text=said) for said in earlier]
    return formatting_faults(Line.parse(speaker, text), history, language)


_CLEAN_EN = (
    "Mr. Holmes, the carriage is at the door.",
    "Dr. J. H. Watson and Mrs. St. Clair were there.",
    "Sit down. (Points at the bed)",
    "(points at the bed) Sit down.",
    "Well... no.",
    "Wait... I saw him.",
    "Wait… I saw him!",
    "You did what?!",
    '"Stop!" he cried, "or I fire."',
    "“Stop!”",
    "I said: go home.",
    "Watson: that is whom you want, not me.",
    "It cost 3.50 and not a penny more.",
    "沈砚秋 told me so in Linhe town.",
)
_CLEAN_ZH = (
    "（放下笔）不急，先晾一晾。",
    "(放下笔)不急，先晾一晾。",
    "坐吧。（指着床）",
    "真的？！",
    "走！！",
    "走吧……不。",
    "“走吧。”",
    '他只说了一句："走吧。"',
    "『走吧。』",
    "Sherlock Holmes先生，请坐，喝口茶再说。",
)


@pytest.mark.parametrize("text", _CLEAN_EN)
def test_a_clean_english_line_is_left_alone(text: str) -> None:
    assert _faults(text, "en", "Miriam Vale") == ()


@pytest.mark.parametrize("text", _CLEAN_ZH)
def test_a_clean_chinese_line_is_left_alone(text: str) -> None:
    assert _faults(text, "zh", "沈砚秋") == ()


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("(nods Sit down.", "en"),
        ("nods) Sit down.", "en"),
        (")nods( Sit down.", "en"),
        ("(nods] Sit down.", "en"),
        ("（点头 坐吧。", "zh"),
        ("（点头)坐吧。", "zh"),
        ("“走吧。", "zh"),
        ("『走吧。", "zh"),
        ("坐吧】。", "zh"),
    ],
)
def test_unbalanced_brackets_are_flagged(text: str, language: Language) -> None:
    assert "unbalanced brackets" in _faults(text, language, "Ada")


@pytest.mark.parametrize(
    ("text", "language", "speaker"),
    [
        ("Miriam Vale: Mark it.", "en", "Miriam Vale"),
        ("**Miriam Vale**: Mark it.", "en", "Miriam Vale"),
        ("**Miriam Vale:** Mark it.", "en", "Miriam Vale"),
        ("<Miriam Vale>: Mark it.", "en", "Miriam Vale"),
        ("Miriam: Mark it.", "en", "Miriam Vale"),
        ("(nods) Miriam Vale: Mark it.", "en", "Miriam Vale"),
        ("Miriam Vale (nods): Mark it.", "en", "Miriam Vale"),
        ("[Miriam Vale]: Mark it.", "en", "Miriam Vale"),
        ("沈砚秋：不急。", "zh", "沈砚秋"),
        ("【沈砚秋】：不急。", "zh", "沈砚秋"),
    ],
)
def test_a_speaker_prefix_is_flagged(text: str, language: Language, speaker: str) -> None:
    assert _faults(text, language, speaker) == ("speaker prefix",)


@pytest.mark.parametrize(
    ("text", "language"), [("不急，先晾一晾。", "en"), ("Mark it, then.", "zh"), ("OK, sure, 好。", "zh")]
)
def test_the_wrong_language_is_flagged(text: str, language: Language) -> None:
    assert _faults(text, language, "Ada") == ("wrong language",)


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Mark it. We sail.", "en"),
        ("No. You lie.", "en"),
        ("Why? Because.", "en"),
        ("Well?! Go.", "en"),
        ('"Stop." "Never."', "en"),
        ("Sit down. (points) Now listen.", "en"),
        ("Assieds-toi. Écoute.", "en"),
        ("坐吧。听我说。", "zh"),
        ("“走吧。”“不。”", "zh"),
        ("坐吧。（指着床）听我说。", "zh"),
    ],
)
def test_several_sentences_are_flagged(text: str, language: Language) -> None:
    assert _faults(text, language, "Ada") == ("several sentences",)


@pytest.mark.parametrize(
    ("text", "earlier", "flagged"),
    [
        ("I never counted the bells.", "I never counted the bells.", True),
        ("I never counted the bells!", "I never counted the bells.", True),
        ("I never counted the sails.", "The bells were counted twice.", False),
    ],
)
def test_a_near_duplicate_is_flagged(text: str, earlier: str, flagged: bool) -> None:
    found = _faults(text, "en", "Ada", "Something else entirely.", earlier)
    assert found == (("near-duplicate of an earlier line",) if flagged else ())


_texts = st.text(
    alphabet=st.sampled_from("aA .!?…。！？\"'“”‘’「」『』()（）[]【】:：*<>沈é\\\n\t\x00\ud7ff"), max_size=40
)


@given(
    text=_texts | st.text(max_size=40), earlier=st.lists(_texts, max_size=3), speaker=st.sampled_from(["A.*(", "沈"])
)
def test_no_text_makes_it_crash(text: str, earlier: list[str], speaker: str) -> None:
    faults = _faults(text, "zh", speaker, *earlier)
    assert len(set(faults)) == len(faults)
