"""Where only two are there, nobody speaks of the others; where three are, one may."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from understudy_stage import CAST, LANGUAGES, ask, view

from screentest.agents import NARRATOR, Cue
from screentest.llms.understudy import Understudy
from screentest.llms.understudy.tale import tale
from screentest.pools import Language, Line, Standing, View

ONLY_AMONG_THREE = ("leave", "expose")


def happenings(language: Language, seen: View) -> str:
    """Whatever is done, answered, told and thought, for many keys."""
    model, me, other = Understudy("x", "expert"), CAST[language][0].name, CAST[language][1].name
    found, line = list[str](), Line(speaker=me, text="-")
    for key in map(str, range(40)):
        cues = {"act": seen, "reaction": replace(seen, history=(Line(speaker=other, text="(nods)"),))}
        for kind, shown in cues.items():
            cue = Cue.model_validate({"kind": kind, "influence": ""})
            line = Line.parse(me, ask(model, "play.scene", key, language, view=shown, dimension=None, cue=cue).text)
            told = {"view": replace(shown, history=(*shown.history, line)), "deed": line}
            told |= {"people": {"id": other, "mine": me}}
            found.append(line.text)
            found.append(json.loads(ask(model, "narrate.influence", key, language, **told).text)["influence"])
            found.append(
                json.loads(ask(model, "narrate.resolve", key, language, **told, reaction=None).text)["outcome"]
            )
        thought = replace(seen, history=(*seen.history, line, Line(speaker=NARRATOR[language], text="-")))
        found.append(ask(model, "mind.believe", key, language, view=thought).text)
    return "\n".join(found)


@pytest.mark.parametrize("language", LANGUAGES)
def test_two_people_have_no_others_around_them(language: Language) -> None:
    three = view(language, CAST[language][0].name, ())
    away = replace(three, standings={three.others[1].name: Standing(position="-", state="-", present=False)})
    words = tale(language).company
    assert any(word in happenings(language, three) for word in words)
    for seen in (replace(three, others=three.others[:1]), away):
        assert not [word for word in words if word in happenings(language, seen)]


@pytest.mark.parametrize("language", LANGUAGES)
def test_there_are_words_for_two_for_everything_that_two_can_do(language: Language) -> None:
    known = tale(language)
    groups = dict(known.situations) | {part: frames for part, frames in known.beliefs.items() if part != "moods"}
    for kind in (*known.deeds.values(), *known.answers.values()):
        if kind.id not in ONLY_AMONG_THREE:
            groups |= {f"{kind.id}.{part}": frames for part, frames in kind.frames.items() if frames}
            groups |= {f"{kind.id}.act": kind.act, f"{kind.id}.say": kind.say}
    for name, frames in groups.items():
        assert any(not any(word in frame.text for word in known.company) for frame in frames), name
