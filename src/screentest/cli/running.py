"""Running the stages of a run from the command line, and telling how it goes."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path

import orjson

from screentest.builders import Benchmark, Config, EvaluationProgress, Progress, Results, build, evaluate, rejudge
from screentest.cli import tables
from screentest.cli.console import UNDERSTUDY, log_run, note
from screentest.cli.progress import BuildDisplay, EvaluationDisplay, watched
from screentest.llms import Meter
from screentest.sim import STORE, Session, Tally, standing


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
        session = self._begin("build", config)
        progress, meter = Progress(), Meter()
        async with watched(BuildDisplay(progress, meter, session.tally), as_json=self.as_json):
            benchmark = await build(config, self.directory, session=session, progress=progress, meter=meter)
        self._end("build", meter, session.tally)
        tables.build_report(benchmark.manifest.report)
        return benchmark

    async def evaluate(self, benchmark: Benchmark, config: Config, tested: tuple[str, ...] = ()) -> Results:
        """Evaluate."""
        session = self._begin("eval", config)
        progress, meter = EvaluationProgress(), Meter()
        async with watched(EvaluationDisplay(progress, meter, session.tally), as_json=self.as_json):
            results = await evaluate(
                benchmark,
                config,
                self.directory,
                tested=tested,
                session=session,
                progress=progress,
                meter=meter,
            )
        self._end("eval", meter, session.tally)
        return results

    async def rejudge(self, benchmark: Benchmark, config: Config, judge: str) -> Results:
        """Judge the stored replies of an evaluation again."""
        session = self._begin("rejudge", config)
        progress, meter = EvaluationProgress(), Meter()
        async with watched(EvaluationDisplay(progress, meter, session.tally), as_json=self.as_json):
            results = await rejudge(
                benchmark, config, self.directory, judge, session=session, progress=progress, meter=meter
            )
        self._end("rejudge", meter, session.tally)
        return results

    def _begin(self, stage: str, config: Config) -> Session:
        """Say where the run stands; returns the stage's own session, which counts from zero."""
        log_run(self.directory)
        session = replace(self.session, tally=Tally())
        before = standing(self.directory / STORE).get("build" if stage == "build" else "eval")
        stored, interrupted = (before.stored, before.interrupted) if before else (0, 0)
        if self.as_json:
            self._tell({"event": "begin", "stage": stage, "stored": stored, "interrupted": interrupted})
            return session
        if config.rehearsal:
            note(UNDERSTUDY, "yellow")
        if stored or interrupted:
            verb = "Replaying" if self.session.replay else "Going on"
            note(f"{verb}: {stored} finished calls are in the store, {interrupted} were in flight when it stopped.")
        return session

    def _end(self, stage: str, meter: Meter, tally: Tally) -> None:
        if self.as_json:
            calls = {"reused": tally.reused, "repeated": tally.repeated, "new": tally.made - tally.repeated}
            self._tell({"event": "end", "stage": stage, "calls": calls})
            return
        if tally.reused:
            new = tally.made - tally.repeated
            note(f"Calls: {tally.reused} reused, {tally.repeated} repeated that were in flight, {new} new.")
        if meter.cost or meter.unpriced:
            unknown = f", plus {meter.unpriced} calls of unknown cost" if meter.unpriced else ""
            note(f"Spent in this session: ${meter.cost:.4f}{unknown}.")

    def _tell(self, record: dict[str, object]) -> None:
        print(orjson.dumps({**record, "run": str(self.directory)}).decode(), file=sys.stderr, flush=True)
