"""What a plan says beside its figures: what it rests on, and what to add to the configuration."""

from __future__ import annotations

from collections.abc import Iterable

from screentest.builders.config import Config
from screentest.builders.planning.assumptions import Assumptions, Measured
from screentest.builders.planning.plan import Assumed, Row
from screentest.sim import Staging


def assumptions(assumed: Assumptions, measured: Measured, *, build: Staging | None) -> tuple[Assumed, ...]:
    """Everything a plan assumes.

    Args:
        assumed: The table of defaults.
        measured: What an earlier run came to, which wins.
        build: How the scenes of a build are played; ``None`` if an evaluation alone is planned.
    """
    found: list[Assumed] = []
    if build:
        found += _of_scenes(assumed, measured, build)
    if measured.tokens:
        found.append(Assumed(what="tokens of prompts and replies", value=_tokens(measured), origin="measured"))
    else:
        purposes = assumed.output if build else ("play.test", "judge.pairwise")
        sizes = ", ".join(f"{name} {assumed.output[name]}" for name in purposes)
        found.append(Assumed(what="tokens of a reply", value=sizes, origin="default"))
    reasks, length = assumed.reasks, assumed.reply_length
    found += [
        _default("reply length", f"low ×{length['low']:g}, worst ×{length['worst']:g}"),
        _default("re-asks of each structured reply", f"expected {_percent(reasks['expected'])}, worst one each"),
        _default("speed of a reply", f"{assumed.first_token:g} s, then {assumed.speed:g} tokens/s"),
        _default("prompt tokens served from a provider's cache", "none"),
        _default(
            "standard deviation of an item's score",
            f"{assumed.item_deviation:g} % of the maximum; correlation within a conversation {assumed.alike:g}",
        ),
    ]
    return tuple(found)


def notes(config: Config, rows: Iterable[Row]) -> tuple[str, ...]:
    """What to know about the figures.

    Args:
        config: Names the models.
        rows: The plan's rows.
    """
    rows = list(rows)
    found: list[str] = []
    for label in dict.fromkeys(row.model for row in rows if row.cost is None):
        free = ", with zeros if it costs nothing" if config.models[label].local else ""
        found.append(
            f"the price of {label} is unknown: add `price: {{input: …, output: …}}` (dollars per million tokens) to "
            f"models.{label}{free}"
        )
    labels = {row.model for row in rows}
    if thinkers := sorted(label for label in labels if Assumptions.thinks(config.models[label])):
        found.append(
            f"tokens of thought are assumed for {', '.join(thinkers)}; measure a small run and give it as --run"
        )
    if any(config.models[label].provider == "understudy" for label in labels):
        found.append("understudies cost nothing; their tokens are counted as if they were real models")
    found.append("worst is what the plan allows for, not a bound: retries and longer replies come on top")
    return tuple(found)


def shortfall(config: Config, short: float, cells: int) -> tuple[str, ...]:
    """A note if the cap on scenes is expected to end cells before their quota is met.

    Args:
        config: Sets the cap.
        short: How many cells, as expected.
        cells: How many there are.
    """
    if round(short) < 1:
        return ()
    return (
        f"the cap on scenes, {config.build.scenes}, is expected to end {round(short)} of {cells} cells before their "
        "quota is met: raise build.scenes, or lower build.quota",
    )


def _of_scenes(assumed: Assumptions, measured: Measured, staging: Staging) -> list[Assumed]:
    kept = measured.kept
    length = _of_dialogues(assumed, measured) if staging == "dialogue" else _of_stories(assumed)
    return [
        *length,
        _default("test lines that become items", f"{_percent(assumed.kept)}, {_percent(assumed.best_wins)} at best")
        if kept is None
        else Assumed(
            what="test lines that become items",
            value=", ".join(
                [_percent(kept), *(f"{who} {_percent(part)}" for who, part in measured.kept_by_source.items())]
            ),
            origin="measured",
        ),
        _default("the judge takes up the emphasised dimension", _percent(assumed.follows)),
    ]


def _of_dialogues(assumed: Assumptions, measured: Measured) -> list[Assumed]:
    turns, share = measured.turns, measured.test_share
    return [
        _default("lines of a scene", f"{_percent(assumed.turns)} of build.turns")
        if turns is None
        else Assumed(what="lines of a scene", value=f"{turns:.1f}", origin="measured"),
        _default("the test character's lines", f"{assumed.test_lines:g} times an equal share")
        if share is None
        else Assumed(what="the test character's lines", value=_percent(share), origin="measured"),
    ]


def _of_stories(assumed: Assumptions) -> list[Assumed]:
    return [
        _default("length of a story", "build.rounds, not concluded earlier"),
        _default("deeds that somebody answers", f"{_percent(assumed.reacts)}, at worst all"),
    ]


def _tokens(measured: Measured) -> str:
    return f"{len(measured.tokens)} means over {sum(measured.calls.values())} calls"


def _default(what: str, value: str) -> Assumed:
    return Assumed(what=what, value=value, origin="default")


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
