"""The understudy as a model."""

from __future__ import annotations

import json
import random
from typing import Any, cast

from screentest.errors import Rejected
from screentest.llms.model import Reply, Request
from screentest.llms.understudy.acting import act, react
from screentest.llms.understudy.believing import believe
from screentest.llms.understudy.composer import compose
from screentest.llms.understudy.direction import direct
from screentest.llms.understudy.facts import CueLike, ProfileLike, ViewLike, fact, view_of
from screentest.llms.understudy.judging import assign, compare, grade
from screentest.llms.understudy.narrating import influence, resolve
from screentest.llms.understudy.reflecting import criticise, rewrite
from screentest.llms.understudy.remembering import reflect, weigh
from screentest.llms.understudy.skill import SKILLS, Level
from screentest.randomness import generator


class Understudy:
    """The offline stand-in: no language model, and it does not pretend to be one.

    It reads a request's ``facts``, never its prose, and answers by seeded retrieval and recombination. The same request
    gets the same bytes, on every machine. Its skill bears on the lines it composes; it directs, narrates, thinks and
    judges alike at every skill, narrates and thinks by a small stock of deeds and what follows from them, and judges
    and criticises by lexical features of the lines only.

    Args:
        name: The configured label.
        skill: ``"novice"``, ``"adept"`` or ``"expert"``.
    """

    def __init__(self, name: str, skill: Level) -> None:
        self._name = name
        self._level: Level = skill

    @property
    def name(self) -> str:
        """The configured label."""
        return self._name

    @property
    def skill(self) -> Level:
        """How good it is at composing lines."""
        return self._level

    async def reply(self, request: Request) -> Reply:
        """Answer ``request`` from its facts.

        Raises:
            Rejected: The purpose is none of the understudy's, or a fact is missing.
        """
        return Reply(text=self._answer(request), finish="stop", model=f"understudy-{self._level}", cost=0.0)

    def _answer(self, request: Request) -> str:
        rng = generator(request.seed, request.key, request.purpose)
        match request.purpose:
            case "play.scene" | "play.test":
                return self._line(request)
            case "direct":
                return _json(direct(view_of(request), fact(request, "speakers"), fact(request, "may_end"), rng))
            case "judge.dimension":
                candidates, dimensions = fact(request, "candidates"), fact(request, "dimensions")
                return _json(assign(view_of(request), candidates, dimensions, rng))
            case "judge.pairwise":
                return _json(compare(view_of(request), fact(request, "candidates"), fact(request, "dimension")))
            case "filter":
                return _json(grade(view_of(request)))
            case "narrate.influence":
                return _json(influence(view_of(request), fact(request, "deed"), fact(request, "people"), rng))
            case "narrate.resolve":
                deed, reaction, people = (fact(request, name) for name in ("deed", "reaction", "people"))
                return _json(resolve(view_of(request), deed, reaction, people, rng))
            case _:
                return self._thought(request, rng)

    def _thought(self, request: Request, rng: random.Random) -> str:
        match request.purpose:
            case "mind.believe":
                return _json(believe(*self._character(request), rng))
            case "mind.weigh":
                return _json(weigh(*self._character(request), fact(request, "memories")))
            case "mind.reflect":
                return _json(reflect(*self._character(request), fact(request, "memories")))
            case "reflect.critique":
                return _json(criticise(view_of(request), fact(request, "numbers")))
            case "reflect.rewrite":
                skill = SKILLS[self._level]
                return _json(rewrite(*self._character(request), fact(request, "numbers"), skill=skill, rng=rng))
            case _:
                raise Rejected(f"the understudy cannot do {request.purpose}", model=self._name)

    def _line(self, request: Request) -> str:
        view, me = self._character(request)
        dimension, cue = fact(request, "dimension"), cast("CueLike | None", request.facts.get("cue"))
        skill, side = SKILLS[self._level], request.purpose.removeprefix("play.")

        def say() -> str:
            rng = generator(request.seed, request.key, request.purpose, self._level)
            return compose(view, me, dimension=dimension.id if dimension else "", side=side, skill=skill, rng=rng)

        if cue is None or cue.kind == "line":
            return say()
        play = act if cue.kind == "act" else react
        rng = generator(request.seed, request.key, request.purpose, self._level, cue.kind)
        return play(view, me, skill=skill, rng=rng, emphasized=say if dimension else None)

    def _character(self, request: Request) -> tuple[ViewLike, ProfileLike]:
        """The view, and the character whose it is."""
        view = view_of(request)
        if view.me is None:
            raise Rejected(f"the understudy cannot do {request.purpose} without a character to play", model=self._name)
        return view, view.me


def _json(value: dict[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False)
