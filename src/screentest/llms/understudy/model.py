"""The understudy as a model."""

from __future__ import annotations

import json
from typing import Any

from screentest.errors import Rejected
from screentest.llms.model import Reply, Request
from screentest.llms.understudy.composer import compose
from screentest.llms.understudy.direction import direct
from screentest.llms.understudy.facts import fact, view_of
from screentest.llms.understudy.judging import assign, compare, grade
from screentest.llms.understudy.skill import SKILLS, Level
from screentest.randomness import generator


class Understudy:
    """The offline stand-in: no language model, and it does not pretend to be one.

    It reads a request's ``facts``, never its prose, and answers by seeded retrieval and recombination. The same request
    gets the same bytes, on every machine. Its skill bears on the lines it composes; it directs and judges alike at
    every skill, and judges by lexical features of the lines only.

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
            case _:
                raise Rejected(f"the understudy cannot do {request.purpose}", model=self._name)

    def _line(self, request: Request) -> str:
        view = view_of(request)
        if view.me is None:
            raise Rejected(f"the understudy cannot do {request.purpose} without a character to play", model=self._name)
        rng = generator(request.seed, request.key, request.purpose, self._level)
        side = request.purpose.removeprefix("play.")
        return compose(
            view, view.me, dimension=fact(request, "dimension").id, side=side, skill=SKILLS[self._level], rng=rng
        )


def _json(value: dict[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False)
