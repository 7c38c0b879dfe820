"""What the templates are filled with in these tests: a small scene per language, and the barest one there can be."""

from __future__ import annotations

from typing import Any

from screentest.judges.dimensions import Dimension
from screentest.pools import Language, Line, Profile, Situation, View

FENCE = "⟦5ce7e57⟧"

NAMES = (
    "director",
    "filter",
    "json_only",
    "judge_dimension",
    "judge_pairwise",
    "reask",
    "scene_character",
    "test_character",
)
FENCED = ("director", "filter", "judge_dimension", "judge_pairwise")
WITH_A_VIEW = (*FENCED, "scene_character", "test_character")


def contexts(
    view: View, *, a: str = "", b: str = "", said: str = "", may_end: bool = True
) -> dict[str, dict[str, Any]]:
    """The variables of every template, for one view. ``said`` stands for the texts that come from elsewhere."""
    dimensions = _DIMENSIONS[view.language]
    return {
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
        "json_only": {"schema": said},
        "judge_dimension": {"view": view, "dimensions": dimensions, "a": a, "b": b, "fence": FENCE},
        "judge_pairwise": {"view": view, "dimension": dimensions[1], "a": a, "b": b, "fence": FENCE},
        "reask": {"error": said},
        "scene_character": {"view": view, "instruction": said},
        "test_character": {"view": view, "strategy": said},
    }


def full(language: Language) -> dict[str, dict[str, Any]]:
    """Everything a scene can have."""
    a, b, said = _REPLIES[language]
    return contexts(_VIEWS[language], a=a, b=b, said=said)


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
        me=Profile("Nell", {}),
        others=(Profile("Hob", {}),),
        history=history,
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
        me=Profile("Nell", {"trade": "midwife", "secret": "She cannot swim."}),
        others=(Profile("Hob", {"trade": "keeper of the light"}), Profile("Ada", {"trade": "innkeeper"})),
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
        me=Profile("阿宁", {"行当": "接生婆", "秘密": "她不会水。"}),
        others=(Profile("老宋", {"行当": "摆渡人"}), Profile("阿青", {"行当": "客栈掌柜"})),
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
