"""The stage as it is printed: rounds, reactions, and only what is new about the place."""

from __future__ import annotations

import pytest

from doubles import stage
from screentest.cli.stage import StageView
from screentest.pools import Line
from screentest.sim import EnvironmentChanged, Outcome, SpeakerChosen, Spoken


def shown(capsys: pytest.CaptureFixture[str], *events: SpeakerChosen | Spoken | Outcome | EnvironmentChanged) -> str:
    view = StageView(stage(), None, None)
    for event in events:
        view.show(event)
    return capsys.readouterr().out


def changed(**parts: str) -> EnvironmentChanged:
    return EnvironmentChanged(turn=1, situation=stage().situation.model_copy(update=parts))


def test_only_what_is_new_about_the_place_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    added = "The wheel has stopped. The door hangs open."
    printed = shown(
        capsys,
        changed(description=added),
        changed(time="Dusk", description=added),
        changed(time="Dusk", description="All is burnt."),
    )
    assert [line.strip() for line in printed.splitlines()] == ["The door hangs open.", "Dusk", "All is burnt."]


def test_a_round_is_announced_and_what_answers_a_deed_is_indented(capsys: pytest.CaptureFixture[str]) -> None:
    line, answer = Line(speaker="Ada", text="(knocks)"), Line(speaker="Ben", text="(opens)")
    printed = shown(
        capsys,
        SpeakerChosen(turn=4, speaker="Ada", by="round", reason="", emphasis=""),
        Spoken(turn=4, line=line, model="gpt", cue="act"),
        Spoken(turn=4, line=answer, model="gpt", cue="reaction"),
        Outcome(turn=4, actor="Ada", text="The door is open.", minutes=0),
        SpeakerChosen(turn=5, speaker="Ben", by="round", reason="", emphasis=""),
    )
    assert [one.rstrip() for one in printed.splitlines()] == [
        "— round 2",
        "Ada: (knocks)",
        "  Ben: (opens)",
        "  The door is open.",
        "",
    ]
