"""Lines: deterministic, well-formed, drawn from what the speaker sees, and better with skill."""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys

import pytest
from understudy_stage import CAST, LANGUAGES, LEVELS, ask, compare, dialogue, dimension, view

from screentest.errors import Rejected
from screentest.llms.understudy import Understudy
from screentest.llms.understudy.skill import Level
from screentest.llms.understudy.text import faults, overlap, shape
from screentest.pools import Language, Line, Profile, Situation, View

IDS = ("CR", "FR", "RR", "CA", "PA")
UNITS = {1: 3.0, 2: 1.0, 3: 0.5, 4: 0.0, 5: 0.0}


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("level", LEVELS)
def test_the_same_request_gets_the_same_bytes_and_another_key_mostly_another_line(
    level: Level, language: Language
) -> None:
    seen = view(language, CAST[language][0].name, dialogue(language, Understudy("x", "adept"), 1, turns=6))
    asked = dimension(language, "CR")

    def say(key: str) -> str:
        return ask(Understudy("x", level), "play.test", key, language, view=seen, dimension=asked).text

    assert [say(f"k{n}") for n in range(10)] == [say(f"k{n}") for n in range(10)]
    assert len({say(f"k{n}") for n in range(20)}) > 10


def test_the_bytes_do_not_depend_on_the_process() -> None:
    here = pathlib.Path(__file__).parent
    code = (
        "from understudy_stage import dialogue, LANGUAGES\n"
        "from screentest.llms.understudy import Understudy\n"
        "for language in LANGUAGES:\n"
        "    for line in dialogue(language, Understudy('x', 'expert'), 2): print(ascii(line))\n"
    )
    outputs = {
        subprocess.run(  # noqa: S603
            [sys.executable, "-c", code],
            cwd=here,
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            check=True,
        ).stdout
        for hash_seed in ("1", "2")
    }
    assert len(outputs) == 1
    assert outputs.pop().count(b"Line(") == 24


def test_the_label_does_not_change_the_line_and_the_reply_says_what_it_is() -> None:
    seen = view("en", "Tom", ())
    one, two = (
        ask(Understudy(name, "expert"), "play.test", "k", view=seen, dimension=dimension("en", "PA"))
        for name in ("one", "two")
    )
    assert one == two
    assert (one.model, one.finish, one.cost, one.usage, one.latency) == ("understudy-expert", "stop", 0.0, None, 0.0)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("level", LEVELS)
def test_lines_keep_the_rules_of_form(level: Level, language: Language) -> None:
    for seed in range(6):
        history = dialogue(language, Understudy("x", level), seed, turns=20)
        for at, line in enumerate(history):
            assert faults(line.text, language) == (), line.text
            assert line.speech.endswith((".", "?", "!", "。", "？", "！")), line.text
            assert not re.search(r"\{|\}|\s[,.?!]|[,，][,，.。]|[\r\n]", line.text), line.text
            assert not line.speech.startswith(line.speaker), line.text
            closest = max((overlap(shape(line.text), shape(past.text)) for past in history[:at]), default=0.0)
            assert closest < 0.75, line.text


@pytest.mark.parametrize("language", LANGUAGES)
def test_chinese_lines_use_chinese_punctuation_and_english_lines_english(language: Language) -> None:
    text = "".join(line.text for seed in range(4) for line in dialogue(language, Understudy("x", "expert"), seed))
    assert not re.search(r"[,?!()]" if language == "zh" else r"[，。？！（）\u4e00-\u9fff]", text)


def test_someone_elses_private_profile_cannot_be_drawn_on() -> None:
    lines = [line for seed in range(8) for line in dialogue("en", Understudy("x", "expert"), seed)]
    assert {line.speaker for line in lines if "I sold the old bell" in line.text} == {"Ada Finch"}


@pytest.mark.parametrize(
    "profile",
    [
        Profile("X", {}),
        Profile("Ann", {"k": "v"}),
        Profile("Bilbo Baggins", {"description": "An elderly Hobbit. He holds a pipe.", "position": "By the fire."}),
        Profile("张角", {"description": "张角，一位未能中举的秀才，自号“太平道人”。", "states": "内心激动"}),
        Profile("{name}", {"{slot}": "{0} {x!r} %s \\1"}),
    ],
)
@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("level", LEVELS)
def test_any_profile_works_alone_in_an_empty_world(level: Level, language: Language, profile: Profile) -> None:
    seen = View(
        viewer="character", language=language, world="", situation=Situation(), me=profile, others=(), history=()
    )
    for purpose in ("play.test", "play.scene"):
        for id_ in IDS:
            text = ask(
                Understudy("x", level), purpose, "k", language, view=seen, dimension=dimension(language, id_)
            ).text
            assert faults(text, language) == (), text


def test_a_dimension_of_the_users_own_is_played_too() -> None:
    wit = dimension("en", "CR").model_copy(update={"id": "WIT"})
    line = ask(Understudy("x", "expert"), "play.test", "k", view=view("en", "Tom", ()), dimension=wit).text
    assert faults(line, "en") == ()


def test_what_it_cannot_do_it_refuses() -> None:
    with pytest.raises(Rejected, match=r"cannot do book\.extract"):
        ask(Understudy("x", "adept"), "book.extract", "k", view=view("en", "Tom", ()))
    with pytest.raises(Rejected, match="without the fact 'dimension'"):
        ask(Understudy("x", "adept"), "play.test", "k", view=view("en", "Tom", ()))
    with pytest.raises(Rejected, match="without a character"):
        ask(Understudy("x", "adept"), "play.test", "k", view=view("en", None, ()), dimension=dimension("en", "CR"))


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(("better", "worse", "margin"), [("expert", "adept", 0.05), ("adept", "novice", 0.3)])
def test_the_judge_prefers_more_skill(better: Level, worse: Level, margin: float, language: Language) -> None:
    judge = Understudy("judge", "novice")
    gained, conceded = 0.0, 0.0
    for seed in range(8):
        history = dialogue(language, Understudy("x", "adept"), seed, turns=12)
        for at in (3, 6, 9, 12):
            for id_ in IDS:
                seen = view(language, CAST[language][0].name, history[:at])
                a, b = (
                    Line.parse(
                        CAST[language][0].name,
                        ask(
                            Understudy("x", level),
                            "play.test",
                            f"{seed}/{at}",
                            language,
                            view=seen,
                            dimension=dimension(language, id_),
                        ).text,
                    )
                    for level in (better, worse)
                )
                first, second = compare(judge, seen, a, b, id_).score, compare(judge, seen, b, a, id_).score
                gained += UNITS[first] + UNITS[6 - second]
                conceded += UNITS[second] + UNITS[6 - first]
    most = 8 * 4 * len(IDS) * 2 * 3
    assert gained / most > conceded / most + margin
