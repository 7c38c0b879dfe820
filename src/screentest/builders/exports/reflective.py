"""Reflective trajectories: a model criticises and rewrites its own lines, and learns from that (CharacterBox §4)."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal

from pydantic import BaseModel, Field, create_model, field_validator

from screentest.builders.exports.conversations import Part, parts_of, row, teacher_of
from screentest.builders.exports.directory import Export
from screentest.builders.exports.performance import Source
from screentest.errors import ScreentestError, Stopped, TooManyFailures
from screentest.llms import Meter, Model, Request, ask
from screentest.pools import Line, View
from screentest.pools.line import Words
from screentest.prompts import fence, render
from screentest.randomness import Place
from screentest.sim import REFLECTION, Session, group, locked, open_run, view

logger = logging.getLogger(__name__)


class Critique(BaseModel):
    """What a model makes of its own part."""

    strengths: Words
    weaknesses: Words
    advice: Words


class _Rewritten(BaseModel):
    @field_validator("lines", check_fields=False)
    @classmethod
    def _one_for_each(cls, lines: list[Any]) -> list[Any]:
        if len({line.number for line in lines}) < len(lines):
            raise ValueError("a line is rewritten twice")
        if silent := [line.number for line in lines if not Line.parse("-", line.line).text]:
            raise ValueError(f"line {silent[0]} has neither speech nor action")
        return lines


@lru_cache(maxsize=256)
def _rewritten(count: int) -> type[BaseModel]:
    number: Any = Literal[tuple(range(1, count + 1))]
    line = create_model("Rewritten", number=(number, ...), line=(Words, ...))
    lines: Any = list[line]
    return create_model("Rewriting", __base__=_Rewritten, lines=(lines, Field(min_length=count, max_length=count)))


@dataclass(frozen=True, slots=True)
class Setback:
    """Why a part could not be rewritten."""

    kind: str
    detail: str


@dataclass(frozen=True, slots=True)
class Reflecting:
    """A model that looks back on what it played.

    Attributes:
        model: The model.
    """

    model: Model

    async def rewrite(self, part: Part) -> tuple[str, ...]:
        """Criticise a part, and write its lines anew: two calls, the second of which sees the first's answer.

        Raises:
            CallError: The model could not be reached.
            BadReply: A reply cannot be used.
        """
        place = Place(part.told.performance.seed, f"{REFLECTION}/{part.told.performance.trajectory.conversation}")
        place = place / part.character.id / self.model.name
        whole = part.told.whole
        seen = replace(view(whole, part.character), situation=whole.scene.situation)
        numbers = {step.position: number for number, step in enumerate(part.taken, start=1)}
        critique = await self._ask("critique", seen, Critique, place, numbers=numbers)
        schema = _rewritten(len(part.taken))
        reply: Any = await self._ask("rewrite", seen, schema, place, numbers=numbers, critique=critique)
        written = {one.number: Line.parse(part.character.name, one.line).text for one in reply.lines}
        return tuple(written[number] for number in numbers.values())

    async def _ask(self, name: str, seen: View, schema: type[BaseModel], place: Place, **material: Any) -> BaseModel:
        here = place / f"reflect.{name}"
        told = [text for one in material.values() if isinstance(one, BaseModel) for text in one.model_dump().values()]
        mark = fence(str(place.run_seed), *seen.texts(), *told)
        reply = await ask(
            self.model,
            Request(
                messages=render(name, seen.language, view=seen, fence=mark, **material),
                purpose=f"reflect.{name}",
                key=here.path,
                seed=here.seed,
                language=seen.language,
                schema=schema,
                facts={"view": seen, **material},
            ),
        )
        assert reply.parsed is not None, "a schema was asked for"  # noqa: S101
        return reply.parsed


async def reflective(
    source: Source, teacher: str | None = None, *, session: Session | None = None, meter: Meter | None = None
) -> Export:
    """Conversations as :func:`guided` makes them, in which a model has rewritten its own lines.

    Two calls for each character with lines of the model's; each is kept in the run's store, so that repeating this
    makes only the calls that brought no reply. A part that failed is counted, never made up.

    Args:
        source: The run.
        teacher: The label of the model; the source that was preferred most often by default.
        session: How to work on the run.
        meter: Counts calls and tokens.

    Raises:
        InputError: There is no such model, nobody to learn from, or the run's trajectories are damaged.
        RunLocked: Another process is working on the run.
        Stopped: The budget is used up, or the store cannot be written; do it again to go on.
        TooManyFailures: Not one part could be rewritten.
    """
    session, teacher = session or Session(), teacher_of(source, teacher)
    session = replace(session, retry_failed=not session.replay)
    left_out = Counter[str]()
    parts = list(parts_of(source, teacher, left_out))
    with locked(source.run):
        async with open_run(source.run, {teacher: source.config.models[teacher]}, session, meter or Meter()) as opened:
            reflecting, room = Reflecting(opened.models[teacher]), asyncio.Semaphore(session.width)

            async def one(part: Part) -> Sequence[str] | Setback:
                async with room:
                    return await _tried(reflecting, part)

            outcomes = await group(one(part) for part in parts)
    rows: list[dict[str, Any]] = []
    setbacks: list[Setback] = []
    for part, outcome in zip(parts, outcomes, strict=True):
        if isinstance(outcome, Setback):
            setbacks.append(outcome)
        else:
            rows.append(row(part, outcome))
    left_out.update(f"failed: {setback.kind}" for setback in setbacks)
    if setbacks and not rows:
        raise TooManyFailures(
            f"none of {len(setbacks)} parts could be rewritten; the same command again makes the calls that brought no "
            f"reply. The first: {setbacks[0].detail}"
        )
    return Export(
        kind="reflective",
        rows=rows,
        of="characters in conversations",
        left_out=left_out,
        teacher=teacher,
        setback=setbacks[0].detail if setbacks else "",
    )


async def _tried(reflecting: Reflecting, part: Part) -> Sequence[str] | Setback:
    """The lines, or what went wrong. One part must never take another one down."""
    where = f"{part.told.performance.trajectory.conversation}, {part.character.id}"
    try:
        return await reflecting.rewrite(part)
    except Stopped:
        raise
    except ScreentestError as error:
        logger.info("%s: could not be rewritten: %s", where, error)
        return Setback(error.kind, str(error))
    except Exception as error:
        logger.exception("%s: unexpected error", where)
        return Setback("internal", f"{type(error).__name__}: {error}")
