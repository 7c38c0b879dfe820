"""The judge's trial: canned pairs with an obvious winner, each shown in both orders."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import cache
from importlib import resources
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict, TypeAdapter

from screentest.builders.doctor.finding import Finding, problem
from screentest.errors import ScreentestError
from screentest.judges import Order, Pair, PairwiseJudge, furina_dimensions
from screentest.llms import Model
from screentest.pools import Character, Language, Line, Scene, Situation, View
from screentest.randomness import Place
from screentest.sim import State, view

ORDERS: tuple[Order, Order] = ("challenger_first", "reference_first")
_ENOUGH = 0.75


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class _Person(_Record):
    name: str
    public: dict[str, str]
    private: dict[str, str] = {}

    def character(self, language: Language) -> Character:
        return Character.model_validate({**self.model_dump(), "language": language, "kind": "synthesized"})


class CannedPair(_Record):
    """Two lines for the same moment, one of them plainly better."""

    language: Language
    dimension: str
    world: str
    situation: Situation
    character: _Person
    other: _Person
    history: str
    good: str
    bad: str

    def view(self, viewer: Literal["director", "judge"]) -> View:
        """What the director or the judge sees of the moment."""
        cast = (self.other.character(self.language),)
        scene = Scene(id="doctor", language=self.language, world=self.world, situation=self.situation, cast=cast)
        line = Line(speaker=self.other.name, text=self.history)
        return view(State(scene=scene, test=self.character.character(self.language), history=[line]), viewer)

    def pair(self) -> Pair:
        """The lines; the good one is the challenger."""
        good, bad = (Line.parse(self.character.name, text) for text in (self.good, self.bad))
        return Pair(challenger=good, reference=bad)


class LanguageTrial(_Record):
    """How a judge did in one language. ``verdicts + failed = 2 × pairs``.

    Attributes:
        language: The language.
        pairs: Canned pairs.
        verdicts: Verdicts that came.
        failed: Verdicts that did not.
        right: Verdicts for the obvious winner.
        ties: Verdicts of 3.
        first: Verdicts for the line shown first.
        consistent: Pairs on which both orders agree.
    """

    language: Language
    pairs: int
    verdicts: int
    failed: int
    right: int
    ties: int
    first: int
    consistent: int

    @property
    def accuracy(self) -> float | None:
        """The share of verdicts for the obvious winner; ``None`` without verdicts."""
        return self.right / self.verdicts if self.verdicts else None


class Trial(_Record):
    """How a judge did.

    Attributes:
        judge: The judge's label.
        languages: One each.
    """

    judge: str
    languages: tuple[LanguageTrial, ...]

    def findings(self, first_failure: str) -> list[Finding]:
        """What to change about it.

        Args:
            first_failure: Why the first of the failed verdicts failed.
        """
        where, found = f"roles.judge ({self.judge})", list[Finding]()
        another = "give roles.judge to a stronger model"
        verdicts, failed, ties, first = (
            sum(getattr(trial, name) for trial in self.languages) for name in ("verdicts", "failed", "ties", "first")
        )
        if failed:
            what = f"{failed} of {verdicts + failed} verdicts failed ({first_failure})"
            found.append(problem(where, what, "raise max_tokens or set `structured` if that is why, or " + another))
        if verdicts and ties == verdicts:
            return [*found, problem(where, f"says 'equal' on all {verdicts} verdicts, winners obvious", another)]
        if verdicts and not ties and first in (0, verdicts):
            side = "first" if first else "second"
            what = f"prefers the line shown {side} in all {verdicts} verdicts, whichever it is"
            return [*found, problem(where, what, another + "; `orders: both` would only turn it into ties")]
        return found + [finding for trial in self.languages for finding in _weaknesses(where, trial, another)]


@cache
def canned_pairs(language: Language) -> tuple[CannedPair, ...]:
    """The pairs in one language."""
    text = (resources.files("screentest.builders.doctor") / f"{language}.yaml").read_text(encoding="utf-8")
    rows = [{**row, "language": language} for row in yaml.safe_load(text)]
    return TypeAdapter(tuple[CannedPair, ...]).validate_python(rows)


async def try_judge(model: Model, languages: Sequence[Language]) -> tuple[Trial, list[Finding]]:
    """Have a judge compare every canned pair in both orders.

    Args:
        model: The judge.
        languages: Which languages to try.

    Returns:
        How it did, and what to change.
    """
    failures: list[str] = []

    async def score(pair: CannedPair, order: Order, place: Place) -> int | None:
        dimension = next(one for one in furina_dimensions(pair.language) if one.id == pair.dimension)
        try:
            verdict = await PairwiseJudge(model).compare(
                pair.view("judge"), pair.pair(), dimension, order=order, place=place
            )
        except ScreentestError as error:
            failures.append(" ".join(str(error).split()).removeprefix(f"{model.name}: "))
            return None
        except Exception as error:  # its text is not shown: it could hold the key
            failures.append(f"an unexpected {type(error).__name__}")
            return None
        return verdict.score

    async def tried(language: Language) -> LanguageTrial:
        place, pairs = Place(0, f"doctor/{language}"), canned_pairs(language)
        jobs = (score(pair, order, place / number) for number, pair in enumerate(pairs) for order in ORDERS)
        scores = await asyncio.gather(*jobs)
        return _told(language, list(zip(scores[::2], scores[1::2], strict=True)))

    trial = Trial(judge=model.name, languages=tuple([await tried(language) for language in languages]))
    return trial, trial.findings(failures[0] if failures else "")


def _told(language: Language, scores: Sequence[tuple[int | None, int | None]]) -> LanguageTrial:
    """Add up the scores of each pair: the good line shown first, then second; 1 and 2 are for the good line."""
    said = [(order, score) for both in scores for order, score in zip(ORDERS, both, strict=True) if score is not None]
    return LanguageTrial(
        language=language,
        pairs=len(scores),
        verdicts=len(said),
        failed=2 * len(scores) - len(said),
        right=sum(score < 3 for _, score in said),
        ties=sum(score == 3 for _, score in said),
        first=sum(score != 3 and (score < 3) == (order == "challenger_first") for order, score in said),
        consistent=sum(a is not None and b is not None and _side(a) == _side(b) for a, b in scores),
    )


def _side(score: int) -> int:
    return (score > 3) - (score < 3)


def _weaknesses(where: str, trial: LanguageTrial, another: str) -> list[Finding]:
    found: list[Finding] = []
    if trial.accuracy is not None and trial.accuracy < _ENOUGH:
        what = f"finds the obvious winner in only {trial.right} of {trial.verdicts} verdicts ({trial.language})"
        found.append(problem(where, what, another))
    answered = trial.failed == 0
    if answered and trial.consistent < _ENOUGH * trial.pairs:
        what = f"keeps to its verdict in only {trial.consistent} of {trial.pairs} pairs when the order is swapped"
        found.append(problem(where, f"{what} ({trial.language})", f"{another}, or set `build: {{orders: both}}`"))
    return found
