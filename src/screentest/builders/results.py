"""Results: what an evaluation adds up to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from pydantic import BaseModel, ConfigDict

from screentest import __version__
from screentest.builders.benchmark import Benchmark
from screentest.builders.comparison import Comparison
from screentest.builders.config import Config
from screentest.judges import Interval, Scored, estimate
from screentest.randomness import seed_at

_UNREADABLE = {"invalid", "empty", "truncated", "refused", "filtered"}


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Score(_Record):
    """A performance, in percent of the maximum (eq. 3), with 95 % bootstrap intervals.

    Attributes:
        items: How many items there were.
        scored: How many of them have a score, and so enter the means.
        conversations: How many conversations the scored items come from.
        headline: Unweighted mean over dimensions; ``None`` if nothing was scored.
        item_mean: Mean over items.
        clustered: Interval of the headline, resampling conversations; ``None`` with fewer than two.
        plain: Interval of the headline, resampling items; ``None`` with fewer than two.
    """

    items: int
    scored: int
    conversations: int
    headline: float | None
    item_mean: float | None
    clustered: Interval | None
    plain: Interval | None


class ModelResult(_Record):
    """What one tested model came to. ``items = overall.scored + unscored``.

    Attributes:
        items: Items of the benchmark.
        unscored: Items without a score.
        unparsed: Verdicts that came, and were paid for, but could not be read, of two per item.
        failures: Failed calls by stage and kind, such as ``judge.invalid``.
        overall: Over all items.
        languages: Per language.
        dimensions: Per dimension.
        language_dimensions: Per language, then dimension: the table of the paper.
        kinds: Established against synthesized characters.
        language_kinds: The same per language.
        gap: Established minus synthesized headline, in points of percent; ``None`` if either is missing.
    """

    items: int
    unscored: int
    unparsed: int
    failures: dict[str, int]
    overall: Score
    languages: dict[str, Score]
    dimensions: dict[str, Score]
    language_dimensions: dict[str, dict[str, Score]]
    kinds: dict[str, Score]
    language_kinds: dict[str, dict[str, Score]]
    gap: float | None


class Results(_Record):
    """The results of an evaluation.

    Attributes:
        benchmark: The benchmark's name.
        content_hash: The hash of its items.
        base: The base model's label.
        judge: The judge's label.
        understudy: Whether a stand-in model took part, so that this says nothing about real models.
        seed: The run's seed.
        resamples: Bootstrap resamples.
        versions: The versions of what evaluated.
        models: Tested label to result, in the order asked for.
    """

    benchmark: str
    content_hash: str
    base: str
    judge: str
    understudy: bool
    seed: int
    resamples: int
    versions: dict[str, str]
    models: dict[str, ModelResult]

    def ranking(self) -> list[tuple[str, ModelResult]]:
        """Models by headline, best first; those without one last."""

        def headline(entry: tuple[str, ModelResult]) -> float:
            value = entry[1].overall.headline
            return -1.0 if value is None else value

        return sorted(self.models.items(), key=headline, reverse=True)


def summarise(
    benchmark: Benchmark, config: Config, labels: Sequence[str], comparisons: Sequence[Comparison]
) -> Results:
    """Add up comparisons.

    Args:
        benchmark: What the models were tested on.
        config: Names base and judge, and sets seed and resamples.
        labels: The tested models.
        comparisons: One per tested model and item.
    """
    order = [dimension.id for dimensions in benchmark.manifest.dimensions.values() for dimension in dimensions]
    involved = {*labels, config.roles.base, config.roles.judge}
    return Results(
        benchmark=benchmark.manifest.name,
        content_hash=benchmark.manifest.content_hash,
        base=config.roles.base,
        judge=config.roles.judge,
        understudy=benchmark.manifest.understudy
        or any(config.models[label].provider == "understudy" for label in involved),
        seed=config.seed,
        resamples=config.evaluate.resamples,
        versions={"screentest": __version__},
        models={label: _result([c for c in comparisons if c.model == label], order, config) for label in labels},
    )


def _result(comparisons: list[Comparison], order: Sequence[str], config: Config) -> ModelResult:
    def score(part: Iterable[Comparison]) -> Score:
        return _score(list(part), seed_at(config.seed, "bootstrap"), config.evaluate.resamples)

    def by(key: Callable[[Comparison], str], part: Sequence[Comparison]) -> dict[str, Score]:
        values = sorted(
            {key(comparison) for comparison in part}, key=lambda v: (order.index(v) if v in order else 0, v)
        )
        return {value: score(c for c in part if key(c) == value) for value in values}

    languages = sorted({comparison.language for comparison in comparisons})
    of_language = {language: [c for c in comparisons if c.language == language] for language in languages}
    kinds = by(lambda c: c.kind, comparisons)
    return ModelResult(
        items=len(comparisons),
        unscored=sum(comparison.points is None for comparison in comparisons),
        unparsed=sum(f.stage == "judge" and f.kind in _UNREADABLE for c in comparisons for f in c.failures),
        failures=dict(sorted(Counter(f"{f.stage}.{f.kind}" for c in comparisons for f in c.failures).items())),
        overall=score(comparisons),
        languages=by(lambda c: c.language, comparisons),
        dimensions=by(lambda c: c.dimension, comparisons),
        language_dimensions={name: by(lambda c: c.dimension, part) for name, part in of_language.items()},
        kinds=kinds,
        language_kinds={name: by(lambda c: c.kind, part) for name, part in of_language.items()},
        gap=_gap(kinds),
    )


def _score(comparisons: list[Comparison], seed: int, resamples: int) -> Score:
    scored = [
        Scored(comparison.points, comparison.dimension, comparison.conversation)
        for comparison in comparisons
        if comparison.points is not None
    ]
    found = estimate(scored, seed=seed, resamples=resamples)
    return Score(
        items=len(comparisons),
        scored=len(scored),
        conversations=found.clusters if found else 0,
        headline=found.headline if found else None,
        item_mean=found.item_mean if found else None,
        clustered=found.clustered if found else None,
        plain=found.plain if found else None,
    )


def _gap(kinds: dict[str, Score]) -> float | None:
    established, synthesized = kinds.get("established"), kinds.get("synthesized")
    if not established or not synthesized or established.headline is None or synthesized.headline is None:
        return None
    return established.headline - synthesized.headline
