"""Progress of a run: a live grid on a terminal, plain lines elsewhere; always on standard error."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from typing import Protocol

from rich.console import Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from screentest.builders import EvaluationProgress, Progress
from screentest.cli.console import clean, err
from screentest.cli.console import tell as tell_json
from screentest.llms import Meter
from screentest.sim import Tally

_PLAIN_EVERY = 5.0
_JSON_EVERY = 1.0


@dataclass(slots=True)
class Clock:
    """Time since the run began, and when it may end."""

    began: float = field(default_factory=time.monotonic)

    @property
    def elapsed(self) -> float:
        """Seconds since the run began."""
        return time.monotonic() - self.began

    def remaining(self, share: float) -> str:
        """When it may be over, given the share that is done; empty when all of it is."""
        if share >= 1:
            return ""
        return f", ETA {_duration(self.elapsed * (1 - share) / share) if share > 0 else '–'}"


class Display(Protocol):
    """How a stage is going, in three styles."""

    def grid(self) -> RenderableType:
        """For a terminal, drawn several times a second."""
        ...

    def line(self) -> str:
        """For anything else: one plain line, empty while nothing has happened."""
        ...

    def record(self) -> dict[str, object]:
        """For programs: one JSON object."""
        ...


@asynccontextmanager
async def watched(display: Display, *, as_json: bool) -> AsyncIterator[None]:
    """Show progress on standard error while the body runs.

    Args:
        display: What to show.
        as_json: One JSON object a line, instead of a live grid or plain lines.
    """
    if err.is_terminal and not as_json:
        with Live(get_renderable=display.grid, console=err, refresh_per_second=4, transient=False):
            yield
        return

    def tell() -> None:
        if as_json:
            tell_json(display.record())
        elif line := display.line():
            err.print(line, soft_wrap=True)

    async def keep_telling() -> None:
        while True:
            await asyncio.sleep(_JSON_EVERY if as_json else _PLAIN_EVERY)
            tell()

    teller = asyncio.create_task(keep_telling())
    try:
        yield
    finally:
        teller.cancel()
        tell()


@dataclass(frozen=True, slots=True)
class BuildDisplay:
    """How a build is going: the coverage grid (character × dimension), conversations, calls, tokens, rate, ETA."""

    progress: Progress
    meter: Meter
    tally: Tally
    clock: Clock = field(default_factory=Clock)

    def line(self) -> str:
        """One plain line."""
        done, wanted = self._items()
        progress = self.progress
        if not (self.meter.started or progress.finished):
            return ""
        return (
            f"build: {done}/{wanted} items of the quota, {progress.closed}/{len(progress.cells)} cells closed, "
            f"{progress.finished} conversations ({progress.failed} failed, {progress.playing} playing), "
            f"{_calls(self.meter, self.tally, self.clock)}{self.clock.remaining(self._share())}"
        )

    def grid(self) -> RenderableType:
        """The live grid."""
        progress = self.progress
        names = list(dict.fromkeys(d.id for dimensions in progress.dimensions.values() for d in dimensions))
        table = Table(title=f"items kept, of {progress.quota} wanted in every cell", title_justify="left", box=None)
        table.add_column("test character")
        table.add_column("source")
        for name in names:
            table.add_column(name, justify="right")
        for cell in progress.cells:
            spoken = {dimension.id for dimension in progress.dimensions[cell.character.language]}
            table.add_row(
                clean(cell.character.name),
                cell.source,
                *(self._count(cell.key, name) if name in spoken else Text("·", "dim") for name in names),
            )
        return Group(Text(self.line(), "dim"), table)

    def record(self) -> dict[str, object]:
        """One JSON object."""
        done, wanted = self._items()
        progress = self.progress
        return {
            "event": "progress",
            "stage": "build",
            "items": {"done": done, "wanted": wanted},
            "cells": {"closed": progress.closed, "all": len(progress.cells)},
            "conversations": {
                "finished": progress.finished,
                "failed": progress.failed,
                "playing": progress.playing,
            },
            **_calls_record(self.meter, self.tally, self.clock),
        }

    def _count(self, cell: str, dimension: str) -> Text:
        kept = self.progress.kept[cell, dimension]
        style = "green" if kept >= self.progress.quota else "yellow" if kept else "dim"
        return Text(str(kept), style)

    def _items(self) -> tuple[int, int]:
        progress, wanted, done = self.progress, 0, 0
        for cell in progress.cells:
            for dimension in progress.dimensions[cell.character.language]:
                wanted += progress.quota
                done += min(progress.quota, progress.kept[cell.key, dimension.id])
        return done, wanted

    def _share(self) -> float:
        done, wanted = self._items()
        cells = self.progress.closed / len(self.progress.cells) if self.progress.cells else 0.0
        return max(done / wanted if wanted else 0.0, cells)


@dataclass(frozen=True, slots=True)
class EvaluationDisplay:
    """How an evaluation is going."""

    progress: EvaluationProgress
    meter: Meter
    tally: Tally
    clock: Clock = field(default_factory=Clock)

    def line(self) -> str:
        """One plain line."""
        progress = self.progress
        share = progress.done / progress.comparisons if progress.comparisons else 0.0
        if not (self.meter.started or progress.done):
            return ""
        return (
            f"eval: {progress.done}/{progress.comparisons} comparisons ({progress.failed} without a score), "
            f"{_calls(self.meter, self.tally, self.clock)}{_batches(self.meter)}{self.clock.remaining(share)}"
        )

    def grid(self) -> RenderableType:
        """The live table."""
        table = Table(title="scored so far", title_justify="left", box=None)
        table.add_column("model")
        table.add_column("items", justify="right")
        table.add_column("item mean", justify="right")
        for label, (total, count) in self.progress.points.items():
            table.add_row(label, str(count), f"{100 * total / (3 * count):.1f}")
        return Group(Text(self.line(), "dim"), table)

    def record(self) -> dict[str, object]:
        """One JSON object."""
        progress = self.progress
        return {
            "event": "progress",
            "stage": "eval",
            "comparisons": {"done": progress.done, "all": progress.comparisons, "unscored": progress.failed},
            "batches": asdict(self.meter.batches),
            **_calls_record(self.meter, self.tally, self.clock),
        }


def _calls(meter: Meter, tally: Tally, clock: Clock) -> str:
    rate = meter.finished / clock.elapsed if clock.elapsed else 0.0
    failed = sum(meter.failed.values())
    tokens = f"{_count(meter.input)} in / {_count(meter.output)} out"
    if meter.unmetered == meter.finished + failed:
        tokens = "not reported"
    elif meter.unmetered:
        tokens += f" + {meter.unmetered} calls unknown"
    reused = f"{tally.reused} reused, " if tally.reused else ""
    return (
        f"{meter.finished} calls ({reused}{meter.in_flight} in flight, {failed} failed, {meter.retries} retries, "
        f"{rate:.0f}/s), tokens {tokens}"
    )


def _batches(meter: Meter) -> str:
    batches = meter.batches
    if not (batches.open or batches.submitted or batches.ended):
        return ""
    return f", batches: {batches.submitted} at the provider ({batches.waiting} requests), {batches.ended} ended"


def _calls_record(meter: Meter, tally: Tally, clock: Clock) -> dict[str, object]:
    return {
        "seconds": round(clock.elapsed, 1),
        "calls": {
            "finished": meter.finished,
            "in_flight": meter.in_flight,
            "failed": dict(meter.failed),
            "retries": meter.retries,
            "reused": tally.reused,
            "repeated": tally.repeated,
        },
        "tokens": {"input": meter.input, "output": meter.output, "cached": meter.cached, "unknown": meter.unmetered},
        "usd": {"known": round(meter.cost, 6), "unknown": meter.unpriced},
    }


def _count(number: int) -> str:
    return f"{number / 1e6:.1f}M" if number >= 1e6 else f"{number / 1e3:.1f}k" if number >= 1e4 else str(number)


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"
