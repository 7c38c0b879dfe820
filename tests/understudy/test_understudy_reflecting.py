"""Reflecting: a criticism that names lexical findings and no more, and other words for the lines that it found weak."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from pydantic import BaseModel
from understudy_stage import CAST, LANGUAGES, LEVELS, ask, dialogue, view

from screentest.agents import Cue
from screentest.llms.understudy import Understudy
from screentest.llms.understudy.lexicon import lexicon
from screentest.llms.understudy.skill import Level
from screentest.llms.understudy.text import faults, overlap, shape
from screentest.pools import Language, Line

ME = {language: CAST[language][0].name for language in LANGUAGES}
NOTICE = {"en": "Offline understudy, lexical features only", "zh": "离线替身，只看词面特征"}
WEAK = {
    "en": (
        "I ran the ferry, Tom, and the bell hung on the landing.",
        "That is how it is.",
        "(nods) That is how it is.",
    ),
    "zh": ("小满，我在渡口撑船，那口旧钟就挂在岸边。", "事情也就这样了。", "（点点头）事情也就这样了。"),
}
ASKED = {
    "en": ("Where is the bell, and who rang it?", "Who sold the oars?"),
    "zh": ("那口旧钟在哪里？", "船桨是谁卖的？"),
}


class Critique(BaseModel):
    """What is asked for first."""

    strengths: str
    weaknesses: str
    advice: str


def played(language: Language) -> tuple[Line, ...]:
    """A scene of which the first line of three is a good one."""
    other = CAST[language][1].name
    asked = [Line(speaker=other, text=text) for text in ASKED[language]]
    mine = [Line.parse(ME[language], text) for text in WEAK[language]]
    return asked[0], mine[0], asked[1], mine[1], mine[2]


def numbered(language: Language, history: tuple[Line, ...]) -> dict[int, int]:
    mine = [at for at, line in enumerate(history) if line.speaker == ME[language]]
    return {at: number for number, at in enumerate(mine, 1)}


def criticised(language: Language, history: tuple[Line, ...], level: Level = "adept") -> Critique:
    seen, numbers = view(language, ME[language], history), numbered(language, history)
    text = ask(Understudy("x", level), "reflect.critique", "k", language, view=seen, numbers=numbers).text
    return Critique.model_validate_json(text)


def rewritten(language: Language, history: tuple[Line, ...], level: Level = "adept", **more: Any) -> list[str]:
    numbers = numbered(language, history)
    facts = {"view": view(language, ME[language], history), "numbers": numbers, "critique": None, **more}
    lines = json.loads(ask(Understudy("x", level), "reflect.rewrite", "k", language, **facts).text)["lines"]
    assert [line["number"] for line in lines] == list(numbers.values())
    return [line["line"] for line in lines]


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_criticism_names_lexical_findings_by_the_lines_number_and_says_that_it_knows_no_more(
    language: Language,
) -> None:
    critique, say = criticised(language, played(language)), lexicon(language).critique
    assert all(text.startswith(NOTICE[language]) for text in critique.model_dump().values())
    first, second, third = (say["line"].partition("{quote}")[0].format(number=number) for number in (1, 2, 3))
    assert first in critique.strengths and second not in critique.strengths
    assert first not in critique.weaknesses
    about_second, about_third = critique.weaknesses.split(second)[1].split(third)
    assert say["weaknesses"]["context"] in about_second and say["weaknesses"]["specific"] in about_second
    assert say["weaknesses"]["repetition"] in about_third and say["weaknesses"]["repetition"] not in about_second
    assert WEAK[language][1] in about_second
    assert say["advice"]["repetition"] in critique.advice and say["advice"]["fault"] not in critique.advice


@pytest.mark.parametrize("language", LANGUAGES)
def test_where_nothing_is_found_that_is_said(language: Language) -> None:
    say, history = lexicon(language).critique, played(language)
    good, weak = criticised(language, history[:2]), criticised(language, history[2:4])
    assert (say["weaknesses"]["none"] in good.weaknesses, say["advice"]["none"] in good.advice) == (True, True)
    assert say["strengths"]["none"] in weak.strengths


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("level", LEVELS)
def test_strong_lines_stay_and_weak_ones_get_other_words_behind_the_same_action(
    language: Language, level: Level
) -> None:
    history = played(language)
    first, second, third = rewritten(language, history, level)
    assert first == history[1].text
    assert second != history[3].text
    assert Line.parse("-", third).action == history[4].action
    assert overlap(shape(second), shape(third)) < 0.5
    assert not faults(second, language) and not faults(third, language)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("level", LEVELS)
def test_what_a_rewriting_leaves_to_criticise_is_less(language: Language, level: Level) -> None:
    def weak(history: tuple[Line, ...]) -> int:
        return len(re.findall(r"line \d+, |第\d+句", criticised(language, history).weaknesses))

    before = after = 0
    for seed in range(5):
        history = dialogue(language, Understudy("x", level), seed, turns=14)
        new = iter(rewritten(language, history, level))
        again = tuple(Line.parse(line.speaker, next(new)) if line.speaker == ME[language] else line for line in history)
        before, after = before + weak(history), after + weak(again)
    assert after < before or before == 0


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_story_keeps_its_deeds_and_gives_them_other_words(language: Language) -> None:
    me, model, changed = ME[language], Understudy("x", "novice"), 0
    cue = Cue.model_validate({"kind": "act", "influence": ""})
    for key in map(str, range(12)):
        asked = Line(speaker=CAST[language][1].name, text=ASKED[language][1])
        seen = view(language, me, (asked,))
        deed = Line.parse(me, ask(model, "play.test", key, language, view=seen, dimension=None, cue=cue).text)
        (new,) = rewritten(language, (asked, deed), "novice")
        assert Line.parse("-", new).action == deed.action
        changed += new != deed.text
    assert changed


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_was_never_said_gets_words_and_the_same_ones_each_time(language: Language) -> None:
    asked = Line(speaker=CAST[language][1].name, text=ASKED[language][0])
    silent = Line(speaker=ME[language], text="", thought="-")
    lines = rewritten(language, (asked, silent))
    assert Line.parse("-", lines[0]).speech
    assert rewritten(language, (asked, silent)) == lines
