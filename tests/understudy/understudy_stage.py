"""Small scenes to try the understudy on, and a conversation played with it directly."""

from __future__ import annotations

import asyncio
import json
from typing import Any, Literal

from pydantic import BaseModel

from screentest.judges import Dimension, furina_dimensions
from screentest.llms import Reply, Request
from screentest.llms.understudy import Understudy
from screentest.pools import Language, Line, Profile, Situation, View

LEVELS = ("novice", "adept", "expert")
LANGUAGES: tuple[Language, ...] = ("en", "zh")

_EN = (
    Profile(
        "Ada Finch",
        {
            "background": "She ran the ferry at Gull Point for twenty years. She knows the currents by name.",
            "persona": "Stubborn and dry, with a soft spot for strays.",
            "relations": "Tom: the nephew she raised; Corwin: a surveyor who cheated her once",
            "secret": "She sold the old bell to pay for the winter coal.",
            "speech": 'Short sentences. She says "mind the tide" when she wants to end a talk.',
            "fear": "The sound of ice under the hull.",
        },
    ),
    Profile("Tom", {"age": "17", "background": "An apprentice boatman who wants to see the city."}),
    Profile("Mr. Corwin", {"background": "A surveyor with a map of the new bridge.", "appearance": "A grey coat."}),
)
_ZH = (
    Profile(
        "何婉秋",
        {
            "背景": "她在渡口撑了二十年船。她认得每一道水流。",
            "性格": "倔强，心软。",
            "关系": "小满：她带大的侄儿；高先生：骗过她的测绘员",
            "秘密": "她把那口旧钟卖了换煤过冬。",
            "说话方式": "话短，口头禅是“看着点水”。",
            "恐惧": "怕听见船底的冰声。",
        },
    ),
    Profile("小满", {"年龄": "十七", "背景": "跟着姑姑学撑船的少年，一心想去城里。"}),
    Profile("高先生", {"背景": "带着新桥图纸的测绘员。", "外貌": "灰呢大衣。"}),
)
CAST: dict[str, tuple[Profile, ...]] = {"en": _EN, "zh": _ZH}
_WORLD = {
    "en": "The river towns live by their ferries. The new bridge will end them within the year.",
    "zh": "沿江的镇子靠渡船过活。新桥一年之内就要修好，渡船也就到头了。",
}
_SITUATION = {
    "en": Situation(
        time="Dusk", place="The ferry landing", description="The bell is missing, and the last boat waits."
    ),
    "zh": Situation(time="黄昏", place="渡口", description="那口旧钟不见了，末班渡船还等在岸边。"),
}
_SCRIPT = {
    "en": (Line(speaker="Tom", text="Who took the bell?"), Line(speaker="Mr. Corwin", text="Ask the bridge company.")),
    "zh": (Line(speaker="小满", text="那口旧钟是谁拿走的？"), Line(speaker="高先生", text="去问那家造桥的公司吧。")),
}
_PUBLIC = {
    "en": ("background", "persona", "relations", "age", "appearance"),
    "zh": ("背景", "性格", "关系", "年龄", "外貌"),
}


class Direction(BaseModel):
    """What the director is asked for when the scene may end."""

    reason: str
    speaker: str | None
    end: bool


class Choice(BaseModel):
    """What the judge is asked for first."""

    reason: str
    dimension: str


class Rating(BaseModel):
    """What the judge is asked for then."""

    explanation: str
    score: Literal[1, 2, 3, 4, 5]


class Grading(BaseModel):
    """What the filter is asked for."""

    reason: str
    grade: Literal["poor", "moderate", "high"]


def view(language: Language, who: str | None, history: tuple[Line, ...], *, script: bool = False) -> View:
    """What ``who`` sees; nobody in particular if ``None``."""
    cast, known = CAST[language], _PUBLIC[language]
    return View(
        viewer="character" if who else "director",
        language=language,
        world=_WORLD[language],
        situation=_SITUATION[language],
        me=next((profile for profile in cast if profile.name == who), None),
        others=tuple(
            Profile(p.name, {k: v for k, v in p.attributes.items() if k in known}) for p in cast if p.name != who
        ),
        history=history,
        script=_SCRIPT[language] if script else (),
    )


def dimension(language: Language, id_: str) -> Dimension:
    """One of FURINA's dimensions."""
    return next(d for d in furina_dimensions(language) if d.id == id_)


def ask(model: Understudy, purpose: str, key: str, language: Language = "en", **facts: Any) -> Reply:
    """Ask ``model`` synchronously; the prompt is empty, since only facts are read."""
    request = Request(messages=(), purpose=purpose, key=key, seed=11, language=language, facts=facts)
    return asyncio.run(model.reply(request))


def compare(model: Understudy, seen: View, a: Line, b: Line, id_: str) -> Rating:
    """One pairwise verdict."""
    language = seen.language
    reply = ask(
        model, "judge.pairwise", "k", language, view=seen, candidates=(a, b), dimension=dimension(language, id_)
    )
    return Rating.model_validate_json(reply.text)


def dialogue(language: Language, model: Understudy, seed: int, turns: int = 12) -> tuple[Line, ...]:
    """A conversation that ``model`` plays with itself, emphasis going round the five dimensions."""
    history: tuple[Line, ...] = ()
    ids = [d.id for d in furina_dimensions(language)]
    for turn in range(turns):
        key = f"{seed}/{turn}"
        names = tuple(profile.name for profile in CAST[language])
        directed = ask(
            model, "direct", key, language, view=view(language, None, history), speakers=names, may_end=False
        )
        who = json.loads(directed.text)["speaker"]
        side = "play.test" if who == names[0] else "play.scene"
        seen = view(language, who, history, script=side == "play.scene")
        asked = dimension(language, ids[(seed + turn) % len(ids)])
        history = (*history, Line.parse(who, ask(model, side, key, language, view=seen, dimension=asked).text))
    return history
