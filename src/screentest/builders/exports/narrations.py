"""The narrator's log: what it was asked and what it answered, for a model to learn to narrate (CharacterNR)."""

from __future__ import annotations

from typing import Any

import orjson

from screentest.builders.exports.directory import Export
from screentest.builders.exports.performance import Source
from screentest.builders.exports.retelling import Retelling
from screentest.errors import InputError


def narrations(source: Source) -> Export:
    """One exchange for each call of the narrator that was answered.

    The answer is what was taken of the reply: one JSON object with the fields in the order asked for. Calls stand for
    themselves, so that those of conversations that failed later on are among them.

    Raises:
        InputError: The run was played without a narrator, or its trajectories are damaged.
    """
    if not source.config.rules.narrator:
        hint = "build with `staging: story`"
        raise InputError("there are no narrator's logs", where=str(source.run), why="it had no narrator", hint=hint)
    rows: list[dict[str, Any]] = []
    for performance in source.performances():
        provenance = performance.provenance(performance.test)
        for narration in Retelling(performance).narrations:
            prompt = narration.matter.prompt(performance.seed)
            answer = {"role": "assistant", "content": orjson.dumps(narration.answer).decode()}
            rows.append(
                {
                    "messages": [*({"role": one.role, "content": one.content} for one in prompt), answer],
                    **provenance,
                    "model": source.config.roles.narrator,
                    "turn": narration.turn,
                    "purpose": f"narrate.{narration.matter.name}",
                }
            )
    return Export(kind="narrator", rows=rows, of="answered calls of the narrator", teacher=source.config.roles.narrator)
