"""Trajectories as CharacterBox defines them, one per character: ``{E, c, o_1, a_1, …}`` (§3.2)."""

from __future__ import annotations

from typing import Any

from screentest.agents import NARRATOR
from screentest.builders.exports.directory import Export
from screentest.builders.exports.performance import Performance, Source
from screentest.builders.exports.retelling import Retelling, Step
from screentest.pools import Beliefs, Character, Line

_NO_BELIEFS = dict.fromkeys(Beliefs.model_fields, "")


def trajectories(source: Source) -> Export:
    """The trajectory of every character of every conversation.

    Conversations that failed are among them, up to where they failed: ``ended`` tells. Texts that are not there are
    empty, so that every field has one shape in every record.

    Raises:
        InputError: A line of the run's trajectories is damaged.
    """
    rows: list[dict[str, Any]] = []
    silent = 0
    for performance in source.performances():
        told = Retelling(performance)
        for character, steps in told.acts():
            if steps:
                rows.append(_record(told, character, steps))
            else:
                silent += 1
    return Export(
        kind="trajectories", rows=rows, of="characters in conversations", left_out={"who had no line": silent}
    )


def _record(told: Retelling, character: Character, steps: list[Step]) -> dict[str, Any]:
    performance = told.performance
    scene, trajectory = performance.scene, performance.trajectory
    knows_script = character is not performance.test
    pairs = zip([None, *steps], steps, strict=False)
    return {
        **performance.provenance(character),
        "source": trajectory.source,
        "grade": trajectory.grade or "",
        "ended": trajectory.events[-1].reason if trajectory.events[-1].event == "scene_closed" else "fault",
        "environment": {
            "title": scene.title,
            "world": scene.world,
            "situation": scene.situation.model_dump(),
            "others": [_profile(other, public_only=True) for other in performance.characters if other is not character],
            "motivation": scene.motivations.get(character.name, "") if knows_script else "",
        },
        "profile": {**_profile(character), "kind": character.kind, "under_test": character is performance.test},
        "steps": [_step(told, before, step) for before, step in pairs],
    }


def _profile(character: Character, *, public_only: bool = False) -> dict[str, Any]:
    shown = [one for one in character.attributes if one.visibility == "public" or not public_only]
    return {"id": character.id, "name": character.name, "attributes": [one.model_dump() for one in shown]}


def _step(told: Retelling, before: Step | None, step: Step) -> dict[str, Any]:
    shown, performance = step.shown, told.performance
    return {
        "turn": step.turn,
        "minutes": step.minutes,
        "cue": step.cue.kind,
        "observation": {
            "lines": [_heard(performance, line) for line in told.between(before, step)],
            "situation": shown.situation.model_dump(),
            "standings": [{"name": name, **one.model_dump()} for name, one in shown.standings.items()],
            "reminders": [one.model_dump() for one in shown.reminders],
            "beliefs": shown.beliefs.model_dump() if shown.beliefs else _NO_BELIEFS,
            "influence": step.cue.influence,
        },
        "action": {
            "text": step.line.text,
            "thought": step.line.thought,
            "deed": step.line.action,
            "speech": step.line.speech,
        },
        "model": step.model,
        "emphasis": step.emphasis.id,
    }


def _heard(performance: Performance, line: Line) -> dict[str, str]:
    narrated = line.speaker == NARRATOR[performance.scene.language] and performance.rules.narrator
    return {"kind": "outcome" if narrated else "line", "speaker": line.speaker, "text": line.text}
