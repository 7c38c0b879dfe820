"""How long the calls of a plan take at the configured limits."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from screentest.builders.planning.assumptions import SCENARIOS, Scenario, Stage
from screentest.builders.planning.plan import Range, StageTime
from screentest.builders.planning.sheet import Sheet

Account = tuple[str, str | None, str | None]


def stage_time(sheet: Sheet, stage: Stage, concurrency: int, chains: Mapping[Scenario, float]) -> StageTime:
    """How long a stage takes: as long as the tightest of its limits makes it.

    Args:
        sheet: What is needed.
        stage: Which stage.
        concurrency: The most calls in flight.
        chains: Seconds of the longest chain of calls that wait for each other.
    """
    found = {name: dict(_bounds(sheet, stage, name, concurrency)) for name in SCENARIOS}
    for name in SCENARIOS:
        found[name]["the longest chain of calls that wait for each other"] = chains.get(name, 0.0)
    seconds = {name: max(bounds.values()) for name, bounds in found.items()}
    expected = found["expected"]
    return StageTime(
        stage=stage, seconds=Range[float](**seconds), bound_by=max(expected, key=lambda name: expected[name])
    )


def _bounds(sheet: Sheet, stage: Stage, scenario: Scenario, concurrency: int) -> Iterator[tuple[str, float]]:
    """Seconds, by what takes them."""
    calls, tokens, busy = (defaultdict[Account, float](float) for _ in range(3))
    labels: dict[Account, set[str]] = defaultdict(set)
    for entry, need in sheet.needs(scenario):
        if entry.stage != stage:
            continue
        spec = sheet.models[entry.model]
        account = (spec.provider, spec.base_url, spec.key_variable)
        calls[account] += need.calls
        tokens[account] += need.input + need.output
        busy[account] += need.calls * sheet.seconds(entry, scenario)
        labels[account].add(entry.model)
    served = {account: busy[account] for account in busy if account[0] != "understudy"}
    if served:
        yield f"{concurrency} calls in flight", sum(served.values()) / concurrency
    for account, names in labels.items():
        who = ", ".join(sorted(names))
        if account[0] == "understudy":
            yield f"the understudy's own work ({who})", busy[account]
            continue
        specs = [sheet.models[name] for name in names]
        most = min(spec.concurrency for spec in specs)
        yield f"concurrency {most} of {who}", busy[account] / most
        if rpms := [spec.rpm for spec in specs if spec.rpm]:
            yield f"rpm {min(rpms)} of {who}", 60 * calls[account] / min(rpms)
        if tpms := [spec.tpm for spec in specs if spec.tpm]:
            yield f"tpm {min(tpms)} of {who}", 60 * tokens[account] / min(tpms)
