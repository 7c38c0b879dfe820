"""Verification: are a run's files what they say, and does every count reconcile?"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from screentest.builders.benchmark import Benchmark
from screentest.builders.campaign import Flagged
from screentest.builders.comparison import read_comparisons
from screentest.builders.results import Results, summarise
from screentest.builders.resumption import Stage, has_emitted, stages
from screentest.errors import InputError, ScreentestError
from screentest.files import broken_seals
from screentest.sim import STORE, Trajectory, damage, locked
from screentest.sim.run import HOLDER


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was checked.

    Attributes:
        what: What should hold.
        problem: Why it does not; empty if it does.
    """

    what: str
    problem: str = ""


def verify(run: Path) -> tuple[Check, ...]:
    """Check a run directory; nothing is changed.

    Of a stage that has emitted nothing yet there is only the store to check: that it is not finished is no damage (see
    :func:`screentest.builders.resumption.remainder`).

    Raises:
        InputError: The directory is no run.
        RunLocked: Another process is working on the run.
    """
    begun = stages(run)
    if (run / HOLDER).is_file():
        with suppress(InputError), locked(run):  # a directory that cannot be written has nobody at work in it
            pass
    checks = [_checked("the store is sound", lambda: _store(run))]
    for stage in begun:
        if not has_emitted(run, stage.name):
            continue
        name = stage.name
        checks.append(_checked(f"{name}: files are those that were emitted", lambda name=name: _sealed(run, name)))
        if stage.name == "build":
            checks += _build(run)
        else:
            checks += _evaluation(run, stage)
    return tuple(checks)


def _build(run: Path) -> Iterator[Check]:
    try:
        benchmark = Benchmark.open(run / "benchmark")
        items = list(benchmark.items())
    except ScreentestError as error:
        yield Check("the benchmark's items are those that were emitted", str(error))
        return
    yield Check("the benchmark's items are those that were emitted")
    report = benchmark.manifest.report
    yield _equal("items in the file = manifest = report", len(items), benchmark.manifest.items, report.items)
    yield _equal(
        "conversations = kept + graded low + with nothing to keep + failed",
        report.conversations,
        report.kept + report.graded_low + report.ungraded + report.failed,
        sum(cell.scenes for cell in report.cells),
    )
    yield _equal(
        "auditions = items + flagged + ties + lost + in conversations not kept",
        report.auditions,
        report.items + report.flagged + report.ties + report.lost + report.in_conversations_not_kept,
        sum(sum(cell.assigned.values()) for cell in report.cells),
    )
    yield _equal("kept items per cell add up", report.items, sum(sum(cell.kept.values()) for cell in report.cells))
    yield _checked("trajectories match the report", lambda: _trajectories(run, benchmark))
    yield _checked("lines for review match the report", lambda: _review(run, report.flagged))


def _sealed(run: Path, stage: str) -> str:
    broken = broken_seals(run, stage)
    return f"changed or missing: {', '.join(broken)}" if broken else ""


def _trajectories(run: Path, benchmark: Benchmark) -> str:
    report = benchmark.manifest.report
    found = [Trajectory.model_validate_json(line) for line in (run / "trajectories.jsonl").open("rb")]
    counts = (
        len(found),
        sum(bool(trajectory.faults) for trajectory in found),
        sum(len(trajectory.auditions) for trajectory in found),
    )
    expected = (report.conversations, report.failed, report.auditions)
    if counts != expected:
        return f"conversations, failed, auditions are {counts}, the report says {expected}"
    faults = Counter(fault.kind for trajectory in found for fault in trajectory.faults)
    return "" if dict(faults) == report.faults else f"faults are {dict(faults)}, the report says {report.faults}"


def _review(run: Path, flagged: int) -> str:
    found = sum(bool(Flagged.model_validate_json(line)) for line in (run / "review.jsonl").open("rb"))
    return "" if found == flagged else f"there are {found}, the report says {flagged}"


def _evaluation(run: Path, stage: Stage) -> Iterator[Check]:
    try:
        results = Results.model_validate_json((run / "results.json").read_bytes())
        comparisons = list(read_comparisons(run / "evaluations.jsonl"))
        benchmark = stage.open_benchmark()
    except (OSError, ValidationError, ScreentestError) as error:
        yield Check("the results can be read", " ".join(str(error).split()))
        return
    yield Check("the results can be read")
    if results.content_hash != benchmark.manifest.content_hash:
        yield Check("results are of this benchmark", "it has changed since; run `screentest eval` again")
        return
    yield Check("results are of this benchmark")
    tested = tuple(results.models)
    planned = benchmark.manifest.items * len(tested)
    yield _equal("comparisons = items × tested models", len(comparisons), planned)
    for label, result in results.models.items():
        mine = [comparison for comparison in comparisons if comparison.model == label]
        failed = sum(comparison.points is None for comparison in mine)
        what = f"{label}: items = scored + without a score"
        yield _equal(what, result.items, result.overall.scored + result.unscored, len(mine))
        yield _equal(f"{label}: without a score = comparisons with a failure", result.unscored, failed)
    again = summarise(benchmark, stage.config, tested, comparisons)
    again = again.model_copy(update={"versions": results.versions})
    yield Check(
        "the results follow from the comparisons",
        "" if again == results else "adding them up again gives other numbers",
    )


def _store(run: Path) -> str:
    if found := damage(run / STORE):
        return found
    with closing(sqlite3.connect(f"{(run / STORE).resolve().as_uri()}?mode=ro", uri=True)) as connection:
        found = connection.execute("PRAGMA integrity_check").fetchone()[0]
    return "" if found == "ok" else found


def _checked(what: str, check: Callable[[], str]) -> Check:
    try:
        return Check(what, check())
    except (OSError, ValidationError, sqlite3.Error) as error:
        return Check(what, " ".join(str(error).split()))


def _equal(what: str, *values: object) -> Check:
    return Check(what, "" if len(set(values)) == 1 else f"found {' / '.join(map(str, values))}")
