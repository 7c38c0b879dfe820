"""First contact with a model: is there a key, does it reply, by which way does it reply in the form asked for?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from pydantic import BaseModel, ConfigDict

from screentest.agents import Director
from screentest.builders.doctor.finding import Finding, advice, problem
from screentest.builders.doctor.trial import canned_pairs
from screentest.errors import (
    HOPELESS,
    BadReply,
    CallError,
    Disconnected,
    InvalidReply,
    RateLimited,
    Rejected,
    ScreentestError,
    TimedOut,
    TruncatedReply,
    Unavailable,
)
from screentest.llms import Model, ModelSpec, Reply, Request, open_models
from screentest.llms.capabilities import capabilities
from screentest.llms.ladder import Ladder
from screentest.llms.spec import Rung
from screentest.llms.vectors import embed
from screentest.randomness import Place

_ATTEMPTS = 2


class Contact(BaseModel):
    """What came of talking to one model.

    Attributes:
        label: The model's label.
        roles: The roles it plays.
        key: Whether its key is set; ``unneeded`` where none is.
        replied: Whether it gave a structured reply.
        rung: The way it did: ``native`` schema, forced ``tool``, or described in ``text``; ``None`` for an understudy.
        seconds: How long the reply took.
        usage: Whether it reports tokens.
        priced: Whether its price is known.
        calls: Calls made.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    label: str
    roles: tuple[str, ...]
    key: Literal["set", "missing", "unneeded"]
    replied: bool = False
    rung: Rung | None = None
    seconds: float | None = None
    usage: bool = False
    priced: bool
    calls: int = 0


@dataclass(slots=True)
class Watched:
    """A model whose calls are counted, and whose last reply is kept.

    Attributes:
        model: The model.
        calls: How many calls it was asked for.
        last: The last reply.
    """

    model: Model
    calls: int = 0
    last: Reply | None = None

    @property
    def name(self) -> str:
        """The label of the model within."""
        return self.model.name

    async def reply(self, request: Request) -> Reply:
        """Answer ``request``."""
        self.calls += 1
        self.last = await self.model.reply(request)
        return self.last


async def contact(
    label: str, spec: ModelSpec, roles: tuple[str, ...], environment: Mapping[str, str]
) -> tuple[Contact, list[Finding]]:
    """Have a model direct one turn of a canned scene: a short prompt and a short, structured reply.

    The ways to a structured reply are tried one by one, best first, until one works.

    Args:
        label: The model's label.
        spec: The model.
        roles: The roles it plays.
        environment: Where its key is read from.

    Returns:
        What came of it, and what to change.
    """
    variable = spec.key_variable
    key = "unneeded" if variable is None else "set" if environment.get(variable, "").strip() else "missing"
    priced = spec.price is not None or spec.provider == "understudy"
    visit = _Visit(f"models.{label}")
    first = Contact(label=label, roles=roles, key=key, priced=priced)
    if key == "missing":
        change = f"export {variable}=…, or name another variable in key_env"
        return first, [problem(visit.where, f"the environment variable {variable} is not set", change)]
    for rung in _rungs(spec):
        pinned = spec.model_copy(update={"structured": rung, "retries": min(spec.retries, _ATTEMPTS)})
        found = await visit.attempt(label, spec, pinned, environment)
        if found is not None:
            usage, seconds = found.usage is not None or spec.provider == "understudy", found.latency
            visit.consider(spec, rung, usage=usage, priced=priced)
            reached = {"replied": True, "rung": rung, "seconds": seconds, "usage": usage, "calls": visit.calls}
            return first.model_copy(update=reached), visit.findings
        if visit.over:
            break
    return first.model_copy(update={"calls": visit.calls}), [*visit.findings, visit.failure()]


@dataclass(slots=True)
class _Visit:
    """The attempts at one model, and what they showed."""

    where: str
    calls: int = 0
    over: bool = False
    unaided: bool = True
    refused: list[ScreentestError] = field(default_factory=list[ScreentestError])
    findings: list[Finding] = field(default_factory=list[Finding])
    unforeseen: str = ""

    async def attempt(
        self, label: str, spec: ModelSpec, pinned: ModelSpec, environment: Mapping[str, str]
    ) -> Reply | None:
        """One way to a structured reply; ``None`` if it leads nowhere."""
        try:
            async with open_models({label: pinned}, environment=environment) as models:
                watched = Watched(models[label])
                try:
                    await (_embed(watched) if spec.provider == "embeddings" else _direct(watched))
                finally:
                    self.calls += watched.calls
                return watched.last
        except ScreentestError as error:
            self.refused.append(error)
            self.over = not isinstance(error, Rejected | InvalidReply) or getattr(error, "status", None) in HOPELESS
            self.unaided = self.unaided and _steps_down_itself(spec, pinned.structured, error)
        except Exception as error:  # its text is not shown: it could hold the key
            self.unforeseen, self.over = type(error).__name__, True
        return None

    def consider(self, spec: ModelSpec, rung: Rung | None, *, usage: bool, priced: bool) -> None:
        """What may be better about a model that replied."""
        if self.refused:
            what = f"structured replies work by {rung!r} only ({_plain(self.refused[0])})"
            change = f"set `structured: {rung}`"
            found = advice if self.unaided else problem
            saves = ", which saves the refused calls at the start of every run" if self.unaided else ""
            self.findings.append(found(self.where, what, f"{change}{saves}"))
        if not usage:
            what = "the server reports no token usage"
            change = "turn it on there if you can; until then costs are unknown and `tpm` counts the longest replies"
            self.findings.append(advice(self.where, what, change))
        if not priced:
            zeros = " (zeros if it costs nothing)" if spec.local else ""
            change = f"add `price: {{input: …, output: …}}`, dollars per million tokens{zeros}, for plans and --max-usd"
            self.findings.append(advice(self.where, "its price is not configured", change))

    def failure(self) -> Finding:
        """Why a model could not be used, and what to change."""
        if self.unforeseen:
            change = "check base_url and the key for stray characters; if they are fine, please report this"
            return problem(self.where, f"an unexpected {self.unforeseen}", change)
        error = self.refused[-1]
        return problem(self.where, _plain(error), _remedy(error))


async def _direct(model: Model) -> None:
    pair = canned_pairs("en")[0]
    speakers = tuple(profile.name for profile in pair.view("director").others)
    await Director(model).direct(
        pair.view("director"),
        speakers=speakers,
        spoken={},
        may_end=False,
        turn=2,
        turns=6,
        place=Place(0, "doctor/contact"),
    )


async def _embed(model: Model) -> None:
    await embed(model, ["Who goes there?", "来者何人？"], key="doctor/contact/embed")


def _rungs(spec: ModelSpec) -> tuple[Rung | None, ...]:
    if spec.provider in {"understudy", "embeddings"}:
        return (None,)
    if spec.structured:
        return (spec.structured,)
    row = capabilities(spec.provider, spec.model)
    return tuple(rung for rung in row.rungs if rung != "tool" or not (spec.thinking and row.thinking == "budget"))


def _steps_down_itself(spec: ModelSpec, rung: Rung | None, error: ScreentestError) -> bool:
    """Whether a run would have left this rung on its own."""
    if spec.provider == "understudy" or rung is None or not isinstance(error, Rejected):
        return False
    ladder = Ladder(spec, capabilities(spec.provider, spec.model))
    return ladder.step_down(rung, error)


def _plain(error: ScreentestError) -> str:
    """The error without the label in front, which the finding names already."""
    text, label = " ".join(str(error).split()), getattr(error, "model", "")
    return text.removeprefix(f"{label}: ")


def _remedy(error: ScreentestError) -> str:
    match error:
        case Rejected(status=401 | 403):
            return "check the key in the environment, and that it may use this model"
        case Rejected(status=404):
            return "check `model` and `base_url`: the server does not know this name"
        case Rejected(status=402):
            return "top up the account"
        case Rejected():
            return "check `model`, `extra` and the parameters against what the server takes"
        case RateLimited():
            return "set `rpm` and `tpm` to the account's limits, or wait"
        case TimedOut():
            return "raise `timeout`, or use a faster model"
        case Disconnected():
            return "check `base_url`, and that the server is up and can be reached from here"
        case Unavailable():
            return "try again later; if it lasts, ask whoever runs the server"
        case TruncatedReply():
            return "raise `max_tokens`"
        case InvalidReply():
            return "set another way in `structured`, or use another model: this one does not write the JSON asked for"
        case CallError() | BadReply():
            return "use another model for this role"
        case _:
            return "correct the configuration"
