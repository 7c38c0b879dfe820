"""Judging and directing: by features of the lines alone, the same at every skill."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from understudy_stage import (
    CAST,
    LANGUAGES,
    LEVELS,
    Choice,
    Direction,
    Grading,
    ask,
    compare,
    dialogue,
    dimension,
    view,
)

from screentest.agents import NARRATOR
from screentest.judges import furina_dimensions
from screentest.llms.understudy import Understudy
from screentest.llms.understudy.skill import Level
from screentest.pools import Language, Line

IDS = ("CR", "FR", "RR", "CA", "PA")
HISTORY: dict[Language, tuple[Line, ...]] = {
    language: dialogue(language, Understudy("x", "adept"), 3, turns=8) for language in LANGUAGES
}
_PIECES = st.sampled_from(
    [
        "the bell",
        "why",
        "because",
        "Tom",
        "?",
        "(nods)",
        "mind the tide",
        "I fear",
        "那口旧钟",
        "为什么",
        "！",
        "渡船",
        ":",
        "(",
    ]
)
TEXTS = st.one_of(st.text(max_size=80), st.lists(_PIECES, max_size=8).map(" ".join))


@settings(max_examples=150, deadline=None)
@given(a=TEXTS, b=TEXTS, id_=st.sampled_from(IDS), language=st.sampled_from(LANGUAGES))
def test_swapping_the_candidates_mirrors_the_score(a: str, b: str, id_: str, language: Language) -> None:
    me = CAST[language][0].name
    seen = view(language, me, HISTORY[language])
    one, two = Line.parse(me, a), Line.parse(me, b)
    judge = Understudy("judge", "adept")
    assert compare(judge, seen, one, two, id_).score + compare(judge, seen, two, one, id_).score == 6
    assert compare(judge, seen, one, one, id_).score == 3


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_skill_judges_and_directs_alike(language: Language) -> None:
    me = CAST[language][0].name
    seen = view(language, me, HISTORY[language])
    a, b = Line(speaker=me, text="Why the bell, Tom?"), Line(speaker=me, text="那口旧钟的事我没有忘。")
    facts = {
        "judge.pairwise": {"view": seen, "candidates": (a, b), "dimension": dimension(language, "CR")},
        "judge.dimension": {"view": seen, "candidates": (a, b), "dimensions": furina_dimensions(language)},
        "direct": {"view": seen, "speakers": (me, CAST[language][1].name), "may_end": True},
        "filter": {"view": seen},
    }
    for purpose, given_facts in facts.items():
        texts = {ask(Understudy("j", level), purpose, "k", language, **given_facts).text for level in LEVELS}
        assert len(texts) == 1


def test_the_verdict_depends_on_the_text_of_the_lines_and_not_on_who_proposed_them() -> None:
    seen = view("en", "Ada Finch", HISTORY["en"])
    judge = Understudy("judge", "adept")
    a, b = "I sold the old bell, Tom, because the coal ran out.", "That is how it is."
    plain = compare(judge, seen, Line(speaker="Ada Finch", text=a), Line(speaker="Ada Finch", text=b), "RR")
    named = compare(judge, seen, Line(speaker="expert", text=a), Line(speaker="novice", text=b, thought="expert"), "RR")
    assert plain == named
    assert plain.score <= 2


def test_the_explanation_names_features_numbers_and_quotes_in_the_views_language() -> None:
    judge = Understudy("judge", "adept")
    seen = view("en", "Ada Finch", (Line(speaker="Tom", text="Who took the bell from the landing?"),))
    ours = Line(speaker="Ada Finch", text="Because the coal ran out, Tom, I sold the bell.")
    theirs = Line(speaker="Ada Finch", text="That is how it is.")
    english = compare(judge, seen, ours, theirs, "RR").explanation
    assert "lexical features only" in english
    assert "gives or asks reasons A 1.00, B 0.00 (A: because)" in english
    chinese = compare(
        judge,
        view("zh", "何婉秋", (Line(speaker="小满", text="那口旧钟是谁拿走的？"),)),
        Line(speaker="何婉秋", text="小满，因为没有煤过冬，我才卖了那口旧钟。"),
        Line(speaker="何婉秋", text="事情也就这样了。"),
        "RR",
    ).explanation
    assert "只看词面特征" in chinese
    assert "因为" in chinese


@pytest.mark.parametrize(
    ("language", "good", "bad"),
    [
        ("en", "I know the bell, Tom, so what do you want with it?", "Tom: I know the bell. It is old. What now"),
        ("en", "I know the bell, Tom, so what do you want with it?", "那口旧钟我认得，你要它做什么？"),
        ("zh", "小满，那口旧钟我认得，你要它做什么？", "小满：那口旧钟我认得。它很旧。你要它做什么？"),
        ("zh", "小满，那口旧钟我认得，你要它做什么？", "（（点点头）那口旧钟"),
    ],
)
def test_faults_of_form_cost(language: Language, good: str, bad: str) -> None:
    me = CAST[language][0].name
    text = "那口旧钟呢？" if language == "zh" else "Where is the bell?"
    seen = view(language, me, (Line(speaker=CAST[language][1].name, text=text),))
    score = compare(Understudy("j", "adept"), seen, Line(speaker=me, text=good), Line(speaker=me, text=bad), "CR").score
    assert score < 3


def test_repeating_an_earlier_line_costs() -> None:
    first = Line(speaker="Ada Finch", text="I know the currents by name, Tom, and the bridge knows nothing.")
    asked = Line(speaker="Tom", text="And the bridge, what does it know of the currents?")
    seen = view("en", "Ada Finch", (first, asked))
    fresh = Line(speaker="Ada Finch", text="Only the currents remember the bridge, Tom.")
    assert compare(Understudy("j", "adept"), seen, fresh, first, "PA").score < 3


@pytest.mark.parametrize("language", LANGUAGES)
def test_all_five_dimensions_get_assigned(language: Language) -> None:
    judge, found, me = Understudy("judge", "adept"), Counter[str](), CAST[language][0].name
    for seed in range(10):
        history = dialogue(language, Understudy("x", "expert"), seed, turns=10)
        for at in (4, 7, 10):
            seen = view(language, me, history[:at])
            asked = dimension(language, IDS[(seed + at) % 5])
            a, b = (
                Line.parse(
                    me,
                    ask(Understudy("x", level), "play.test", f"{seed}/{at}", language, view=seen, dimension=asked).text,
                )
                for level in ("expert", "adept")
            )
            reply = ask(
                judge,
                "judge.dimension",
                f"{seed}/{at}",
                language,
                view=seen,
                candidates=(a, b),
                dimensions=furina_dimensions(language),
            )
            found[Choice.model_validate_json(reply.text).dimension] += 1
    assert set(found) == set(IDS)
    assert min(found.values()) >= 2


def test_a_custom_dimension_is_chosen_when_its_definition_is_spoken_of() -> None:
    bell = dimension("en", "CR").model_copy(update={"id": "BELL", "definition": "Speaks of the bell and the coal."})
    moon = dimension("en", "CR").model_copy(update={"id": "MOON", "definition": "Speaks of the moon and the stars."})
    line = Line(speaker="Ada Finch", text="I sold the bell for coal.")
    for key in map(str, range(10)):
        reply = ask(
            Understudy("j", "novice"),
            "judge.dimension",
            key,
            view=view("en", "Ada Finch", ()),
            candidates=(line, line),
            dimensions=(moon, bell),
        )
        assert Choice.model_validate_json(reply.text).dimension == "BELL"


@pytest.mark.parametrize("level", LEVELS)
def test_the_director_lets_whoever_was_addressed_answer(level: Level) -> None:
    history = (
        Line(speaker="Tom", text="The boat is late."),
        Line(speaker="Mr. Corwin", text="The bridge will not be."),
        Line(speaker="Ada Finch", text="And who asked you, Mr Corwin?"),
    )
    names = ("Ada Finch", "Tom", "Mr. Corwin")
    reply = ask(Understudy("d", level), "direct", "k", view=view("en", None, history), speakers=names, may_end=False)
    answer = json.loads(reply.text)
    assert answer["speaker"] == "Mr. Corwin"
    assert set(answer) == {"reason", "speaker"}


def test_the_director_ends_more_readily_as_lines_add_up_and_only_when_it_may() -> None:
    line = Line(speaker="Tom", text="The boat is late.")

    def ends(lines: int) -> int:
        replies = [
            ask(
                Understudy("d", "adept"),
                "direct",
                f"k{n}",
                view=view("en", None, (line,) * lines),
                speakers=("Tom", "Ada Finch"),
                may_end=True,
            )
            for n in range(200)
        ]
        answers = [Direction.model_validate_json(reply.text) for reply in replies]
        assert all((answer.speaker is None) == answer.end for answer in answers)
        return sum(answer.end for answer in answers)

    assert ends(0) == 0
    assert 0 < ends(8) < ends(40)


def test_the_filter_tells_a_dialogue_from_a_monologue_of_repetitions() -> None:
    judge = Understudy("f", "adept")

    def graded(history: tuple[Line, ...]) -> str:
        return Grading.model_validate_json(ask(judge, "filter", "k", view=view("en", None, history)).text).grade

    assert graded(dialogue("en", Understudy("x", "expert"), 5, turns=14)) == "high"
    assert graded((Line(speaker="Tom", text="The boat is late."),) * 10) == "poor"


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_the_narrator_tells_is_nobodys_turn(language: Language) -> None:
    """Neither whoever it names nor how much it tells bears on who is next, when it ends, or what it is worth."""
    names = tuple(profile.name for profile in CAST[language])
    history = HISTORY[language]
    told = tuple(
        each
        for line in history
        for each in (line, Line(speaker=NARRATOR[language], text=f"{line.speaker}, {line.speaker}!"))
    )
    for purpose, facts in (("direct", {"speakers": names, "may_end": True}), ("filter", {})):
        for key in map(str, range(20)):
            plain, narrated = (
                ask(Understudy("d", "adept"), purpose, key, language, view=view(language, None, lines), **facts).text
                for lines in (history, told)
            )
            assert plain == narrated
