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
        view.show(event, minutes=14)
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


def test_a_text_that_is_written_anew_is_not_told_twice(capsys: pytest.CaptureFixture[str]) -> None:
    old = "The wheel has stopped."
    printed = shown(
        capsys,
        changed(time="Dusk"),
        changed(time="Dusk, a little later"),
        changed(time="Dusk, a little later", description=f"It rains! {old} Mr. Ash (wet) waits. "),
        changed(time="Dusk, a little later", description=f"{old} It rains!"),
        changed(time="Duskfall", description=f"{old} It rains!"),
        changed(time="黄昏", description="火在烧。门开着。"),
        changed(time="黄昏，稍后", description="门开着。下雨了。"),
    )
    assert [line.strip() for line in printed.splitlines()] == [
        "Dusk",
        "a little later",
        "It rains! Mr. Ash (wet) waits.",
        "Duskfall",
        "黄昏 · 火在烧。门开着。",
        "稍后 · 下雨了。",
    ]


def test_wrapped_lines_end_without_blanks(capsys: pytest.CaptureFixture[str]) -> None:
    told = "The rope gives way, and the sack comes down. " * 9
    printed = shown(capsys, Outcome(turn=4, actor="Ada", text=told, minutes=0)).splitlines()
    assert len(printed) > 2 and all(line.startswith("  ") and line == line.rstrip() for line in printed)
    assert " ".join(line.strip() for line in printed) == told.strip()


@pytest.mark.parametrize(
    ("minutes", "told"), [(119, "119 minutes"), (120, "2 hours"), (2879, "47 hours"), (2880, "2 days")]
)
def test_story_time_is_told_when_a_round_begins(capsys: pytest.CaptureFixture[str], minutes: int, told: str) -> None:
    StageView(stage(), None, None).show(
        SpeakerChosen(turn=4, speaker="Ada", by="round", reason="", emphasis=""), minutes
    )
    assert capsys.readouterr().out == f"— round 2 ({told} in)\n"


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
        "— round 2 (14 minutes in)",
        "Ada: (knocks)",
        "  Ben: (opens)",
        "  The door is open.",
        "",
    ]
