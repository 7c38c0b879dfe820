"""Single requests of story play: deeds, answers, outcomes and minds that fit the moment, in both languages alike."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import pytest
from understudy_stage import CAST, LANGUAGES, LEVELS, ask, compare, dimension, view

from screentest.agents import NARRATOR, Cue
from screentest.llms.understudy import Understudy
from screentest.llms.understudy.deed import answered, intended, read
from screentest.llms.understudy.ground import Ground
from screentest.llms.understudy.skill import Level
from screentest.llms.understudy.tale import Kind, Tale, tale
from screentest.pools import Beliefs, Language, Line, Profile, Reminder, Situation, Standing, View

UNITS = {1: 3.0, 2: 1.0, 3: 0.5, 4: 0.0, 5: 0.0}
SLOTS = {
    *("actor", "name", "other", "thing", "fix", "here", "why", "aim", "mood", "avowal", "drive", "note", "goal"),
    *("deed", "plan", "obstacle", "theirs", "at", "spot", "gesture"),
}


def facts(kind: str, seen: View, influence: str = "") -> dict[str, Any]:
    return {"view": seen, "dimension": None, "cue": Cue.model_validate({"kind": kind, "influence": influence})}


def narrated(language: Language, purpose: str, seen: View, deed: Line, key: str = "k", **more: Any) -> dict[str, Any]:
    people = {f"id-{at}": profile.name for at, profile in enumerate(seen.others)}
    seen = replace(seen, history=(*seen.history, deed))
    text = ask(Understudy("x", "expert"), purpose, key, language, view=seen, deed=deed, people=people, **more).text
    return json.loads(text)


def beliefs(intention: str) -> Beliefs:
    return Beliefs(belief="-", desire="-", intention=intention, others="-", scene="-", influence="-")


def kinds(known: Tale) -> dict[str, Kind]:
    return {**known.deeds, **known.answers}


def sample(frame: str, language: Language) -> str:
    cast = CAST[language]
    thing, fix = ("the old map", "the door") if language == "en" else ("地图", "木门")
    values = {"name": cast[1].name, "actor": cast[2].name.replace(".", ""), "thing": thing, "fix": fix}
    return re.sub(r"\{(\w+)\}", lambda match: values[match[1]], frame)


def test_both_languages_know_the_same_kinds_of_deeds_answers_places_and_minds() -> None:
    english, chinese = tale("en"), tale("zh")
    assert list(kinds(english)) == list(kinds(chinese))
    for id_, kind in kinds(english).items():
        other = kinds(chinese)[id_]
        for part in ("tempers", "thing", "kinds", "fix", "name", "bound", "only", "base", "minutes"):
            assert getattr(kind, part) == getattr(other, part), (id_, part)
        assert {part for part, frames in kind.frames.items() if frames} == {
            part for part, frames in other.frames.items() if frames
        }
        assert abs(len(kind.act) - len(other.act)) <= 1, id_
    for part in ("tempers", "settings", "situations", "beliefs", "words", "reflection"):
        assert list(getattr(english, part)) == list(getattr(chinese, part)), part
    assert english.fixtures == chinese.fixtures


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_slot_is_known_and_every_wording_is_recognized_as_what_it_is(language: Language) -> None:
    known, ground = tale(language), Ground.of(view(language, CAST[language][0].name, ()))
    groups = [frames for kind in kinds(known).values() for frames in (kind.act, kind.say, *kind.frames.values())]
    groups += [*known.situations.values(), *(frames for part, frames in known.beliefs.items() if part != "moods")]
    assert {slot for frames in groups for frame in frames for slot in frame.slots} <= SLOTS
    bracket = "（{}）" if language == "zh" else "({})"
    for kind in known.deeds.values():
        for frame in kind.act:
            line = Line.parse(CAST[language][0].name, bracket.format(sample(frame.text, language)))
            found = read(line, ground)
            assert found.kind is kind, frame.text
            assert (found.name == CAST[language][1].name) == ("name" in frame.slots), frame.text
        for frame in kind.frames["plan"]:
            meant = intended(sample(frame.text, language), language)
            assert meant is not None
            assert meant[0] is kind, frame.text
    for kind in known.answers.values():
        for frame in kind.act:
            line = Line.parse(CAST[language][0].name, bracket.format(sample(frame.text, language)))
            assert answered(line, language) is kind, frame.text


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("level", LEVELS)
def test_whoever_is_away_comes_back_and_is_then_there(level: Level, language: Language) -> None:
    name = CAST[language][0].name
    away = {name: Standing(position="-", state="-", present=False)}
    seen = replace(view(language, name, ()), standings=away)
    text = ask(Understudy("x", level), "play.scene", "k", language, **facts("act", seen)).text
    deed = Line.parse(name, text)
    told = replace(view(language, None, ()), standings=away)
    assert read(deed, Ground.of(seen)).kind is tale(language).deeds["return"]
    resolved = narrated(language, "narrate.resolve", told, deed, reaction=None)
    assert [change["present"] for change in resolved["changes"] if change["character"] == "id-0"] == [True]
    assert resolved["environment"]["description"] == told.situation.description


@pytest.mark.parametrize("language", LANGUAGES)
def test_nobody_acts_upon_one_who_is_away(language: Language) -> None:
    cast = CAST[language]
    away = {cast[1].name: Standing(position="-", state="-", present=False)}
    seen = replace(view(language, cast[0].name, ()), standings=away)
    for key in range(40):
        text = ask(Understudy("x", "expert"), "play.scene", str(key), language, **facts("act", seen)).text
        assert read(Line.parse(cast[0].name, text), Ground.of(seen)).name in (None, cast[2].name), text


@pytest.mark.parametrize(
    ("language", "position"), [("en", "tied to the mast, unable to move"), ("zh", "被绑在柱子上，动弹不得")]
)
def test_captives_struggle_and_others_free_them(language: Language, position: str) -> None:
    cast, known = CAST[language], tale(language)
    caught = {cast[1].name: Standing(position=position, state="-")}
    captive = replace(view(language, cast[1].name, ()), standings=caught)
    text = ask(Understudy("x", "expert"), "play.scene", "k", language, **facts("act", captive)).text
    assert read(Line.parse(cast[1].name, text), Ground.of(captive)).kind is known.deeds["struggle"]
    rescuer = replace(view(language, cast[0].name, ()), standings=caught)
    deeds = [
        Line.parse(
            cast[0].name, ask(Understudy("x", "expert"), "play.scene", str(key), language, **facts("act", rescuer)).text
        )
        for key in range(20)
    ]
    freeing = [line for line in deeds if read(line, Ground.of(rescuer)).kind is known.deeds["free"]]
    assert freeing
    told = replace(view(language, None, ()), standings=caught)
    changes = [
        narrated(language, "narrate.resolve", told, freeing[0], str(key), reaction=None)["changes"] for key in range(12)
    ]
    positions = {change["position"] for each in changes for change in each if change["character"] == "id-1"}
    assert positions
    assert position not in positions


@pytest.mark.parametrize(
    ("language", "intention"),
    [
        ("en", "I mean to have a quiet word with Tom, though Tom is watching me."),
        ("zh", "我打算私下里同小满说句话，只是小满正盯着我。"),
    ],
)
def test_an_expert_does_what_it_meant_to_do(language: Language, intention: str) -> None:
    cast = CAST[language]
    seen = replace(view(language, cast[0].name, ()), beliefs=beliefs(intention))
    for key in range(10):
        text = ask(Understudy("x", "expert"), "play.scene", str(key), language, **facts("act", seen)).text
        found = read(Line.parse(cast[0].name, text), Ground.of(seen))
        assert (found.kind, found.name) == (tale(language).deeds["approach"], cast[1].name)


@pytest.mark.parametrize(
    ("language", "text", "kind", "name"),
    [
        ("en", "(She quietly unlocks the gate.) Go, Tom!", "open", "Tom"),
        ("en", "(hands Tom the oar) Row.", "give", "Tom"),
        ("en", "(hums)", None, None),
        ("zh", "（轻轻推开大门）小满，走！", "open", "小满"),
        ("zh", "（把船桨递给小满）划吧。", "give", "小满"),
        ("zh", "（哼着小曲）", None, None),
    ],
)
def test_deeds_in_other_words_are_understood_or_left_alone(
    language: Language, text: str, kind: str | None, name: str | None
) -> None:
    told = view(language, None, ())
    deed = Line.parse(CAST[language][0].name, text)
    found = read(deed, Ground.of(told))
    assert (found.kind and found.kind.id, found.name) == (kind, name)
    resolved = narrated(language, "narrate.resolve", told, deed, reaction=None)
    assert resolved["outcome"]
    assert bool(resolved["changes"]) == (kind is not None)


@pytest.mark.parametrize(
    ("language", "text", "noun"),
    [("en", "(picks up the oar and turns it over)", "the oar"), ("zh", "（俯身捡起船桨）", "船桨")],
)
def test_what_is_taken_is_then_held_and_can_be_given_away(language: Language, text: str, noun: str) -> None:
    cast = CAST[language]
    told = view(language, None, ())
    taken = [
        narrated(language, "narrate.resolve", told, Line.parse(cast[0].name, text), str(n), reaction=None)
        for n in range(9)
    ]
    holding = next(change for each in taken for change in each["changes"] if noun in change["state"])
    standings = {cast[0].name: Standing(position=holding["position"], state=holding["state"])}
    mine = replace(view(language, cast[0].name, ()), standings=standings)
    assert [prop.phrase for prop in Ground.of(mine).held[cast[0].name]] == [noun]
    give = sample(tale(language).deeds["give"].act[0].text, language)
    give = give.replace("the old map" if language == "en" else "地图", noun)
    deed = Line.parse(cast[0].name, f"（{give}）" if language == "zh" else f"({give})")
    given = [
        narrated(language, "narrate.resolve", replace(told, standings=standings), deed, str(n), reaction=None)[
            "changes"
        ]
        for n in range(9)
    ]
    done = next(changes for changes in given if len(changes) == 2)
    states = {change["character"]: change["state"] for change in done}
    assert noun in states["id-1"]
    assert noun not in states["id-0"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_mind_weighs_each_memory_and_keeps_names_and_figures(language: Language) -> None:
    cast = CAST[language]
    seen = view(language, cast[0].name, ())
    texts = {
        "en": ("Tom: (nods) All right.", "Ada got 47 crowns from Mr. Corwin, and Tom wept.", "It rains."),
        "zh": ("小满: （点了点头）行。", "何婉秋从高先生那里拿了 47 个银元，小满落泪了。", "下雨了。"),
    }[language]
    memories = tuple(Reminder(text=text, ago=0) for text in texts)
    weighed = json.loads(ask(Understudy("x", "expert"), "mind.weigh", "k", language, view=seen, memories=memories).text)
    assert [rating["memory"] for rating in weighed["ratings"]] == [1, 2, 3]
    importance = [rating["importance"] for rating in weighed["ratings"]]
    assert all(1 <= value <= 10 for value in importance)
    assert importance[1] == max(importance)
    assert importance[2] == min(importance)
    many = (*memories, *(Reminder(text=f"{cast[2].name}: ({n}) {n}", ago=0) for n in range(90, 95)))
    text = json.loads(ask(Understudy("x", "expert"), "mind.reflect", "k", language, view=seen, memories=many).text)
    assert all(part in text["reflection"] for part in ("47", "94", cast[1].name, cast[2].name))
    assert "\n" not in text["reflection"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_mind_speaks_of_what_it_did_and_renews_what_it_thinks(language: Language) -> None:
    name = CAST[language][0].name
    deed = sample(tale(language).deeds["open"].act[0].text, language)
    told = sample(tale(language).deeds["open"].frames["done"][0].text, language)
    history = (
        Line.parse(name, f"（{deed}）" if language == "zh" else f"({deed})"),
        Line(speaker=NARRATOR[language], text=told),
    )
    seen = view(language, name, history)
    first = json.loads(ask(Understudy("x", "expert"), "mind.believe", "k", language, view=seen).text)
    again = replace(seen, beliefs=Beliefs.model_validate(first))
    second = json.loads(ask(Understudy("x", "expert"), "mind.believe", "k", language, view=again).text)
    assert ("the door" if language == "en" else "木门") in first["belief"].lower()
    assert all(first.values())
    assert all(first[part] != second[part] for part in ("desire", "intention", "scene", "influence"))


@pytest.mark.parametrize("name", ["A[b]", "X (the old)", "{thing}", "旁人（乙）", "\\1", "Mr. 47"])
@pytest.mark.parametrize("language", LANGUAGES)
def test_odd_names_cannot_break_a_line(language: Language, name: str) -> None:
    others = (Profile(name, {}, "odd"), Profile("Z", {}, "z"))
    situation = Situation(place="{here}", description="（")
    seen = View(
        viewer="character",
        language=language,
        world="",
        situation=situation,
        me=CAST[language][0],
        others=others,
        history=(),
    )
    told = replace(seen, viewer="narrator", me=None, others=(*others, CAST[language][0]))
    for key in range(12):
        text = ask(Understudy("x", "expert"), "play.scene", str(key), language, **facts("act", seen)).text
        line = Line.parse(CAST[language][0].name, text)
        assert not line.thought
        assert not re.search(r"[()（）\[\]]", line.action + line.speech), text
        assert narrated(language, "narrate.influence", told, line, str(key))["target"] in ("id-0", "id-1", None)
        assert narrated(language, "narrate.resolve", told, line, str(key), reaction=None)["outcome"]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("level", LEVELS)
def test_one_can_act_and_think_alone_in_an_empty_world(level: Level, language: Language) -> None:
    alone = View(
        viewer="character",
        language=language,
        world="",
        situation=Situation(),
        me=Profile("X", {}),
        others=(),
        history=(),
    )
    told = replace(alone, viewer="narrator", me=None, others=(Profile("X", {}),))
    for key in range(20):
        text = ask(Understudy("x", level), "play.test", str(key), language, **facts("act", alone)).text
        line = Line.parse("X", text)
        assert line.action
        assert narrated(language, "narrate.resolve", told, line, str(key), reaction=None)["outcome"]
        assert all(
            json.loads(ask(Understudy("x", level), "mind.believe", str(key), language, view=alone).text).values()
        )


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_judge_prefers_an_experts_deeds_to_a_novices(language: Language) -> None:
    judge = Understudy("judge", "novice")
    cast = CAST[language]
    gained, conceded = 0.0, 0.0
    for seed in range(10):
        history = _played(language, seed)
        seen = view(language, cast[0].name, history)
        for id_ in ("CR", "FR", "RR", "CA", "PA"):
            asked = facts("act", seen) | {"dimension": dimension(language, id_)}
            a, b = (
                Line.parse(cast[0].name, ask(Understudy("x", level), "play.test", f"{seed}", language, **asked).text)
                for level in ("expert", "novice")
            )
            first, second = compare(judge, seen, a, b, id_).score, compare(judge, seen, b, a, id_).score
            gained += UNITS[first] + UNITS[6 - second]
            conceded += UNITS[second] + UNITS[6 - first]
    assert gained > conceded * 1.1


def _played(language: Language, seed: int) -> tuple[Line, ...]:
    history: tuple[Line, ...] = ()
    for turn, profile in enumerate(CAST[language] * 2):
        seen = view(language, profile.name, history)
        text = ask(Understudy("x", "adept"), "play.scene", f"{seed}/{turn}", language, **facts("act", seen)).text
        history = (*history, Line.parse(profile.name, text))
    return history


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_place_to_stand_is_kept_and_nobody_shares_it(language: Language) -> None:
    cast = CAST[language]
    told = [Ground.of(view(language, profile.name, ())) for profile in (*cast, cast[0])]
    spots = [[ground.position(profile.name) for profile in cast] for ground in told]
    assert len(set(spots[0])) == len(cast)
    assert all(each == spots[0] for each in spots)


@pytest.mark.parametrize(
    ("language", "given", "shown"),
    [
        ("en", "The high seat, unmoved", "at the high seat"),
        ("en", "Stands by the gate.", "standing by the gate"),
        ("en", "a few steps from Tom", "a few steps from Tom"),
        ("zh", "殿中高座，不动声色", "在殿中高座"),
        ("zh", "关前", "在关前"),
        ("zh", "立于瀑布之前", "立于瀑布之前"),
    ],
)
def test_a_bare_place_in_a_profile_gets_its_preposition(language: Language, given: str, shown: str) -> None:
    profile = Profile(CAST[language][1].name, {"position" if language == "en" else "位置": given})
    seen = replace(view(language, CAST[language][0].name, ()), others=(profile,))
    assert Ground.of(seen).position(profile.name) == shown


@pytest.mark.parametrize(
    ("language", "text", "told"),
    [("en", "(hums)", " hums"), ("zh", "（哼着小曲）", "哼着小曲"), ("en", "(I hum, and you listen)", "")],
)
def test_what_comes_of_a_gesture_tells_the_gesture_in_many_ways(language: Language, text: str, told: str) -> None:
    name, seen = CAST[language][0].name, view(language, None, ())
    line = Line.parse(name, text)
    outcomes = [
        narrated(language, "narrate.resolve", seen, line, str(key), reaction=None)["outcome"] for key in range(30)
    ]
    assert all(told in outcome for outcome in outcomes)
    assert not any("you listen" in outcome for outcome in outcomes)
    assert len(set(outcomes)) > (3 if told else 1)


@pytest.mark.parametrize(
    ("language", "place", "description"),
    [("en", "Under water", "Nobody can breathe."), ("en", "The river bank", "Mist."), ("zh", "水底", "四面是鱼。")],
)
def test_no_fire_burns_where_nothing_speaks_for_one(language: Language, place: str, description: str) -> None:
    where = Situation(time="", place=place, description=description)
    seen = replace(view(language, None, ()), situation=where)
    assert "fire" not in {prop.kind for prop in Ground.of(seen).fixtures}
    lit = "A fire burns." if language == "en" else "一个火堆烧着。"
    seen = replace(seen, situation=where.model_copy(update={"description": f"{description} {lit}"}))
    assert "fire" in {prop.kind for prop in Ground.of(seen).fixtures}
