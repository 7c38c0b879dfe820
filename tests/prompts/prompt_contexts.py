"""What the templates are filled with in these tests.

A small scene per language, played as a dialogue and as a story, and the barest one there can be.
"""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from screentest.agents import NARRATOR, Cue
from screentest.agents.memory import Memory
from screentest.judges.dimensions import Dimension
from screentest.pools import Beliefs, Language, Line, Profile, Reminder, Situation, Standing, Tie, View

FENCE = "⟦5ce7e57⟧"

NAMES = (
    "beliefs",
    "critique",
    "director",
    "filter",
    "importance",
    "json_only",
    "judge_dimension",
    "judge_pairwise",
    "narrator_influence",
    "narrator_resolve",
    "observation",
    "reask",
    "reflection",
    "rewrite",
    "scene_character",
    "test_character",
)
FENCED = (
    *("critique", "director", "filter", "judge_dimension", "judge_pairwise", "narrator_influence", "narrator_resolve"),
    "rewrite",
)
WITH_A_HISTORY = (*FENCED, "beliefs", "scene_character", "test_character")
IN_A_STORY = {
    "director.story": "director",
    "judge_dimension.story": "judge_dimension",
    "judge_pairwise.story": "judge_pairwise",
    "narrator_resolve.alone": "narrator_resolve",
    "scene_character.act": "scene_character",
    "test_character.reaction": "test_character",
}
"""Golden copies of what a template becomes in a story, where that is not what it becomes in a dialogue."""


def contexts(
    view: View, *, a: str = "", b: str = "", said: str = "", may_end: bool = True, cue: Cue | None = None
) -> dict[str, dict[str, Any]]:
    """The variables of every template, for one view. ``said`` stands for the texts that come from elsewhere."""
    dimensions = _DIMENSIONS[view.language]
    deed, reaction = (Line(speaker="Hob", text="…"), None) if len(view.history) < 2 else view.history[-2:]
    people = {profile.id: profile.name for profile in view.others}
    memories = tuple(
        Memory(id=7 + place, kind="saw", text=text, turn=place, minutes=place, importance=0.3)
        for place, text in enumerate(reminder.text for reminder in view.reminders or (Reminder(text="…", ago=0),))
    )
    moved, cue = cue is not None, cue or Cue()
    own = [place for place, line in enumerate(view.history) if view.me and line.speaker == view.me.name]
    numbers = {place: number for number, place in enumerate(own, start=1)}
    critique = SimpleNamespace(strengths=a, weaknesses=b, advice=said)
    return {
        "beliefs": {"view": view},
        "critique": {"view": view, "numbers": numbers, "fence": FENCE},
        "director": {
            "view": view,
            "speakers": tuple(who.name for who in view.others),
            "may_end": may_end,
            "spoken": {who.name: int(who.name in {line.speaker for line in view.history}) for who in view.others},
            "turn": 3,
            "turns": 20,
            "fence": FENCE,
        },
        "filter": {"view": view, "fence": FENCE},
        "importance": {"view": view, "memories": memories},
        "json_only": {"schema": said},
        "judge_dimension": {"view": view, "dimensions": dimensions, "a": a, "b": b, "fence": FENCE},
        "judge_pairwise": {"view": view, "dimension": dimensions[1], "a": a, "b": b, "fence": FENCE},
        "narrator_influence": {"view": view, "deed": deed, "people": people, "fence": FENCE},
        "narrator_resolve": {"view": view, "deed": deed, "reaction": reaction, "people": people, "fence": FENCE},
        "observation": {"view": view, "cue": cue, "coaching": said, "moved": moved},
        "reask": {"error": said},
        "reflection": {"view": view, "memories": memories},
        "rewrite": {"view": view, "numbers": numbers, "critique": critique, "fence": FENCE},
        "scene_character": {"view": view, "cue": cue, "instruction": said},
        "test_character": {"view": view, "cue": cue, "strategy": said},
    }


def full(language: Language) -> dict[str, dict[str, Any]]:
    """Everything a scene can have; in a dialogue, where a dialogue has it."""
    a, b, said = _REPLIES[language]
    told = contexts(_VIEWS[language], a=a, b=b, said=said)
    return {name: context if name in _IN_A_DIALOGUE else story(language)[name] for name, context in told.items()}


def story(language: Language) -> dict[str, dict[str, Any]]:
    """The same scene as a story, some rounds on: its people act, move, remember and have something on their mind."""
    a, b, said = _REPLIES[language]
    mine, theirs = _story(language), _onlooking(language)
    cue = Cue(kind="act")
    told = contexts(mine, a=a, b=b, said=said, cue=cue)
    told |= {
        name: context
        for name, context in contexts(theirs, a=a, b=b).items()
        if name.startswith("narrator") or name in ("director", "filter")
    }
    _, hob, _ = _PEOPLE[language]
    *_, deed, _ = theirs.history
    told["narrator_influence"] |= {
        "view": replace(theirs, history=theirs.history[:-1]),
        "deed": deed,
        "people": {profile.id: profile.name for profile in theirs.others if profile.name == hob},
    }
    told["narrator_resolve.alone"] = {
        **told["narrator_influence"],
        "people": told["narrator_resolve"]["people"],
        "reaction": None,
    }
    watched = replace(theirs, viewer="judge", me=mine.me, reminders=mine.reminders, ties=())
    judged = contexts(replace(watched, influence=_INFLUENCES[language]), a=a, b=b)
    told |= {name: context for name, context in judged.items() if name.startswith("judge")}
    return told | {
        "scene_character.act": told["scene_character"],
        "test_character.reaction": {
            **told["test_character"],
            "cue": Cue(kind="reaction", influence=_INFLUENCES[language]),
        },
        **{golden: told[name] for golden, name in IN_A_STORY.items() if golden.endswith(".story")},
    }


def minimal(language: Language) -> dict[str, dict[str, Any]]:
    """No world, no situation, no motivations, no script, nothing said yet, profiles that are only names."""
    bare = contexts(bare_view(language), a="…", b="…", may_end=False)
    return bare | {"json_only": {"schema": "{}"}, "reask": {"error": "no JSON"}}


def bare_view(language: Language, *history: Line) -> View:
    """A view of two people who have nothing but their names."""
    return View(
        viewer="character",
        language=language,
        world="",
        situation=Situation(),
        me=Profile("Nell", {}, "nell-1"),
        others=(Profile("Hob", {}, "hob-2"),),
        history=history,
    )


def _story(language: Language) -> View:
    nell, _, ada = _PEOPLE[language]
    dialogue = _VIEWS[language]
    return replace(
        dialogue,
        history=(*dialogue.history, *_STORIES[language]),
        standings={nell: _STANDINGS[language][0], ada: _STANDINGS[language][1]},
        reminders=_REMINDERS[language],
        beliefs=_BELIEFS[language],
    )


def _onlooking(language: Language) -> View:
    """What director and narrator see of it."""
    seen = _story(language)
    assert seen.me
    nell, hob, ada = _PEOPLE[language]
    trade = next(iter(seen.me.attributes))
    return replace(
        seen,
        viewer="narrator",
        me=None,
        others=(*seen.others, Profile(nell, {trade: seen.me.attributes[trade]}, seen.me.id)),
        history=tuple(line.model_copy(update={"thought": ""}) for line in seen.history),
        reminders=(),
        beliefs=None,
        ties=(Tie(nell, hob, 1.0), Tie(hob, ada, 0.4)),
        motivations={},
        script=(),
    )


_DIMENSIONS: dict[Language, tuple[Dimension, ...]] = {
    "en": tuple(
        Dimension(id=i, name=n, definition=d, example="Weak: … Good: …", strategy="…", instruction="…")
        for i, n, d in (("CR", "Context", "Rests on what is given."), ("PA", "Preference", "Sounds like a person."))
    ),
    "zh": tuple(
        Dimension(id=i, name=n, definition=d, example="失误：…… 好：……", strategy="……", instruction="……")
        for i, n, d in (("CR", "语境", "立足于已知的内容。"), ("PA", "偏好", "听着像个活人。"))
    ),
}

_VIEWS: dict[Language, View] = {
    "en": View(
        viewer="character",
        language="en",
        world="An island coast where every light has one keeper.",
        situation=Situation(time="A night in March", place="The landing", description="The last boat is wrecked."),
        me=Profile("Nell", {"trade": "midwife", "secret": "She cannot swim."}, "nell-5b0c11e2"),
        others=(
            Profile("Hob", {"trade": "keeper of the light"}, "hob-91d3aa07"),
            Profile("Ada", {"trade": "innkeeper"}, "ada-c44f2e90"),
        ),
        history=(
            Line(speaker="Hob", text="(kicks the hull) She will not float again."),
            Line(speaker="Nell", text="Then find me another boat.", thought="I must not go by water."),
        ),
        motivations={"Nell": "Reach the child in time.", "Hob": "Keep the light burning."},
        script=(
            Line(speaker="Ada", text="There is the causeway at low tide."),
            Line(speaker="Nell", text="", thought="Low tide is at four."),
        ),
    ),
    "zh": View(
        viewer="character",
        language="zh",
        world="山里的镇子，一条河把它和外头隔开。",
        situation=Situation(time="三月的夜里", place="渡口", description="最后一条船撞破了。"),
        me=Profile("阿宁", {"行当": "接生婆", "秘密": "她不会水。"}, "5b0c11e2"),
        others=(
            Profile("老宋", {"行当": "摆渡人"}, "91d3aa07"),
            Profile("阿青", {"行当": "客栈掌柜"}, "c44f2e90"),
        ),
        history=(
            Line(speaker="老宋", text="（踢了踢船帮）这条船是下不了水了。"),
            Line(speaker="阿宁", text="那就再给我找一条。", thought="千万别走水路。"),
        ),
        motivations={"阿宁": "赶在孩子落地前到那家去。", "老宋": "守住渡口。"},
        script=(
            Line(speaker="阿青", text="天亮前水浅，石头路能走。"),
            Line(speaker="阿宁", text="", thought="四更水最浅。"),
        ),
    ),
}

_REPLIES: dict[Language, tuple[str, str, str]] = {
    "en": ("(ties up her skirt) Then we walk.", "Very well.", "Ask about the tide."),
    "zh": ("（挽起裤脚）那就走过去。", "好吧。", "问一问水情。"),
}

_IN_A_DIALOGUE = {
    *("director", "filter", "json_only", "judge_dimension", "judge_pairwise", "reask"),
    *("scene_character", "test_character"),
}

_PEOPLE: dict[Language, tuple[str, str, str]] = {"en": ("Nell", "Hob", "Ada"), "zh": ("阿宁", "老宋", "阿青")}

_STORIES: dict[Language, tuple[Line, ...]] = {
    "en": (
        Line(speaker=NARRATOR["en"], text="Hob's lantern swings round, and the hole in the hull is plain to see."),
        Line(speaker="Nell", text="(snatches the lantern from the post) I will go on foot."),
        Line(speaker="Hob", text="(takes hold of her sleeve) Not at this hour, you will not."),
    ),
    "zh": (
        Line(speaker=NARRATOR["zh"], text="灯笼一晃，船底的窟窿露了出来。"),
        Line(speaker="阿宁", text="（从木桩上摘下灯笼）我走着去。"),
        Line(speaker="老宋", text="（扯住她的袖子）这个时辰可去不得。"),
    ),
}

_STANDINGS: dict[Language, tuple[Standing, Standing]] = {
    "en": (
        Standing(position="by the wreck, lantern in hand", state="wet to the knees"),
        Standing(position="on the road to the inn", state="out of breath", present=False),
    ),
    "zh": (
        Standing(position="破船边，手里提着灯笼", state="膝盖以下全湿了"),
        Standing(position="回客栈的路上", state="跑得上气不接下气", present=False),
    ),
}

_REMINDERS: dict[Language, tuple[Reminder, ...]] = {
    "en": (
        Reminder(text="Ada: (points seaward) The stones are bare by four.", ago=0),
        Reminder(text="Hob: I lost a brother on that causeway.", ago=12),
        Reminder(text="Nell: (hides the letter in her sleeve)", ago=200),
        Reminder(text="I promised the Carrs that I would come, whatever the sea does.", ago=4400),
    ),
    "zh": (
        Reminder(text="阿青：（指着河心）四更石头就露出来了。", ago=0),
        Reminder(text="老宋：我兄弟就折在那条石头路上。", ago=12),
        Reminder(text="阿宁：（把信藏进袖子里）", ago=200),
        Reminder(text="我答应过卡家，水再大也要到。", ago=4400),
    ),
}

_BELIEFS: dict[Language, Beliefs] = {
    "en": Beliefs(
        belief="I am cold and late, and nobody here knows what I fear.",
        desire="To be at the Carrs' before the child is.",
        intention="To take the causeway at four and keep away from the water until then.",
        others="Hob means well and hides something; Ada has gone for help.",
        scene="The landing is a trap as long as the tide is in.",
        influence="I must win Hob over, and not let him see me look at the sea.",
    ),
    "zh": Beliefs(
        belief="我又冷又迟，没人知道我怕什么。",
        desire="赶在孩子落地前到卡家。",
        intention="等四更走石头路，在那之前离水远些。",
        others="老宋是好意，可他瞒着事；阿青去叫人了。",
        scene="水没退，这渡口就是个死地方。",
        influence="得说动老宋，别让他瞧出我怕水。",
    ),
}

_INFLUENCES: dict[Language, str] = {
    "en": "Hob's grip on her sleeve holds Nell back, a step from the water.",
    "zh": "老宋扯住袖子，阿宁被拦在离水一步远的地方。",
}
