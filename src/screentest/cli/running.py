"""Running the stages of a run from the command line, and telling how it goes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from screentest.builders import Benchmark, Config, EvaluationProgress, Progress, Results, build, evaluate, rejudge
from screentest.builders.identity import frozen
from screentest.builders.planning import plan_build
from screentest.builders.resumption import check_build, check_evaluation, check_rejudging, is_finished
from screentest.cli import tables
from screentest.cli.accounts import remarks, retries
from screentest.cli.console import UNDERSTUDY, log_run, note, tell
from screentest.cli.progress import BuildDisplay, EvaluationDisplay, watched
from screentest.errors import TooManyFailures
from screentest.llms import Meter
from screentest.sim import STORE, Session, Tally, ledger, standing


@dataclass(frozen=True, slots=True)
class Runner:
    """Runs stages in one run directory.

    Attributes:
        directory: The run's directory.
        session: How to work on it.
        as_json: Tell progress as JSON lines.
    """

    directory: Path
    session: Session
    as_json: bool = False

    async def build(self, config: Config) -> Benchmark:
        """Build, and print what it came to."""
        check_build(config, self.directory)
        session = await self._begin("build", config)
        progress, meter = Progress(), Meter()
        display = BuildDisplay(progress, meter, session.tally)
        with self._closing("build", meter, session.tally):
            async with watched(display, as_json=self.as_json):
                benchmark = await build(config, self.directory, session=session, progress=progress, meter=meter)
        tables.build_report(benchmark.manifest.report, config.build.quota)
        return benchmark

    async def evaluate(self, benchmark: Benchmark, config: Config, tested: tuple[str, ...] = ()) -> Results:
        """Evaluate."""
        check_evaluation(benchmark, config, self.directory, tested)
        models = {*(frozen(self.directory, "eval") or {}).get("tested", ()), *(tested or config.roles.tested)}
        session = await self._begin("eval", config, benchmark.manifest.items * (1 + 3 * len(models)))
        progress, meter = EvaluationProgress(), Meter()
        display = EvaluationDisplay(progress, meter, session.tally)
        with self._closing("eval", meter, session.tally):
            async with watched(display, as_json=self.as_json):
                return await evaluate(
                    benchmark,
                    config,
                    self.directory,
                    tested=tested,
                    session=session,
                    progress=progress,
                    meter=meter,
                )

    async def rejudge(self, benchmark: Benchmark, config: Config, judge: str) -> Results:
        """Judge the stored replies of an evaluation again."""
        check_rejudging(benchmark, config, self.directory, judge)
        session = await self._begin("rejudge", config)
        progress, meter = EvaluationProgress(), Meter()
        display = EvaluationDisplay(progress, meter, session.tally)
        with self._closing("rejudge", meter, session.tally):
            async with watched(display, as_json=self.as_json):
                return await rejudge(
                    benchmark, config, self.directory, judge, session=session, progress=progress, meter=meter
                )

    async def _begin(self, stage: str, config: Config, planned: int | None = None) -> Session:
        """Say where the run stands; returns the stage's own session, which counts from zero."""
        log_run(self.directory)
        before = standing(self.directory / STORE).get("build" if stage == "build" else "eval", Tally())
        if planned is None and stage == "build" and frozen(self.directory, stage) and not self.session.replay:
            planned = await _planned_calls(config, self.directory, before.stored)
        todo = None if planned is None else max(0, planned - before.stored)
        if self.as_json:
            standing_now = {"stored": before.stored, "interrupted": before.interrupted, "to_do": todo}
            tell({"event": "begin", "stage": stage, "run": str(self.directory), **standing_now})
            return replace(self.session, tally=Tally())
        if config.rehearsal:
            note(UNDERSTUDY, "yellow")
        if before.stored or before.interrupted:
            verb = "Replaying" if self.session.replay else "Going on"
            rest = "" if todo is None else f"; {'about ' if stage == 'build' and todo else ''}{todo} to do"
            note(
                f"{verb}: {before.stored} finished calls are in the store, {before.interrupted} were in flight when it "
                f"stopped{rest}."
            )
        return replace(self.session, tally=Tally())

    @contextmanager
    def _closing(self, stage: str, meter: Meter, tally: Tally) -> Iterator[None]:
        """Say what was used once the stage is over, also if it failed too often."""
        try:
            yield
        except TooManyFailures:
            self._end(stage, meter, tally)
            raise
        self._end(stage, meter, tally)

    def _end(self, stage: str, meter: Meter, tally: Tally) -> None:
        new = tally.made - tally.repeated
        rows = [row for row in ledger(self.directory / STORE) if (row.stage == "build") == (stage == "build")]
        if self.as_json:
            calls = {"reused": tally.reused, "repeated": tally.repeated, "new": new}
            all_sessions = {"retries": dict(retries(rows)), "unsure": sum(row.unsure for row in rows)}
            tell({"event": "end", "stage": stage, "run": str(self.directory), "calls": calls, **all_sessions})
            return
        if tally.reused:
            note(f"Calls: {tally.reused} reused, {tally.repeated} repeated that were in flight, {new} new.")
        if meter.cost or meter.unpriced:
            unknown = f", plus {meter.unpriced} calls of unknown cost" if meter.unpriced else ""
            note(f"Spent in this session: ${meter.cost:.4f}{unknown}.")
        for line in remarks(rows):
            note(f"All sessions, {line}.")


async def _planned_calls(config: Config, run: Path, stored: int) -> int | None:
    """How many calls a build will have made in the end, if that can be said: all are stored, or an estimate."""
    if is_finished(config, run):
        return stored
    expected = round((await plan_build(config)).stage("build").calls.expected)
    return expected if expected > stored else None
