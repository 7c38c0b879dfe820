"""The examination: does everything that a configuration names work, before real money is spent on it?"""

from __future__ import annotations

import asyncio
import os
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict

from screentest.builders.config import Config
from screentest.builders.doctor import Contact, Finding, Trial, canned_pairs, contact, try_judge
from screentest.builders.doctor.contact import Watched
from screentest.builders.doctor.finding import problem
from screentest.builders.ingredients import Ingredients
from screentest.builders.planning.assumptions import Measured, default_assumptions
from screentest.builders.planning.sample import samples
from screentest.errors import InputError
from screentest.llms import ModelSpec, Sampling, open_models
from screentest.sim import Session

_REPLIES: Mapping[str, tuple[str, ...]] = {
    "director": ("direct",),
    "scene": ("play.scene",),
    "sources": ("play.test",),
    "base": ("play.test",),
    "tested": ("play.test",),
    "judge": ("judge.dimension", "judge.pairwise"),
    "filter": ("filter",),
}


@dataclass(frozen=True, slots=True)
class Agenda:
    """The calls an examination makes, re-asks and refused attempts aside.

    Attributes:
        models: The models that are asked for one small reply each.
        judge: The judge's label.
        pairs: Canned pairs it compares, in two orders each.
        offline: Whether all of them are understudies, so that no call leaves this machine.
    """

    models: tuple[str, ...]
    judge: str
    pairs: int
    offline: bool

    @property
    def calls(self) -> int:
        """How many calls that makes."""
        return len(self.models) + 2 * self.pairs


class Examination(BaseModel):
    """What was found.

    Attributes:
        contacts: One per model that has a role.
        trial: How the judge did; ``None`` if it could not be reached.
        context: The context window each model needs, in tokens: its longest rehearsed prompt and its longest reply.
        findings: What to change, problems first.
        calls: Calls made.
        offline: Whether all models are understudies, so that this says nothing about real ones.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    contacts: tuple[Contact, ...]
    trial: Trial | None
    context: dict[str, int]
    findings: tuple[Finding, ...]
    calls: int
    offline: bool

    @property
    def healthy(self) -> bool:
        """Whether nothing must be changed."""
        return all(finding.weight != "problem" for finding in self.findings)


def agenda(config: Config) -> Agenda:
    """What an examination of ``config`` will ask for, to be said before it is asked."""
    specs = _cast(config)
    pairs = sum(len(canned_pairs(language)) for language in config.pool.languages)
    offline = all(config.models[label].provider == "understudy" for label in specs)
    return Agenda(models=tuple(specs), judge=config.roles.judge, pairs=pairs, offline=offline)


async def examine(config: Config, session: Session | None = None) -> Examination:
    """Check keys, models, structured replies, the judge and the room for replies.

    Whatever fails becomes a finding; no finding holds a key.

    Args:
        config: What to examine.
        session: How to work; of it, the concurrency and the environment that holds the keys.

    Returns:
        What was found.
    """
    session = session or Session()
    environment = os.environ if session.environment is None else session.environment
    roles = _cast(config)
    reached = await asyncio.gather(
        *(contact(label, config.models[label], parts, environment) for label, parts in roles.items())
    )
    contacts = {found.label: found for found, _ in reached}
    findings = [finding for _, found in reached for finding in found]
    calls = sum(found.calls for found in contacts.values())
    trial = None
    if contacts[config.roles.judge].replied:
        trial, told, made = await _try(config, contacts[config.roles.judge], session.concurrency, environment)
        findings += told
        calls += made
    context, told = await _room(config, roles)
    findings += told
    variables = [spec.key_variable for spec in config.models.values() if spec.key_variable]
    secrets = [key for name in variables if (key := environment.get(name, "").strip())]
    return Examination(
        contacts=tuple(contacts.values()),
        trial=trial,
        context=context,
        findings=tuple(sorted((_discreet(one, secrets) for one in findings), key=lambda one: one.weight != "problem")),
        calls=calls,
        offline=agenda(config).offline,
    )


def _cast(config: Config) -> dict[str, tuple[str, ...]]:
    """The models that have a role, and their roles."""
    found: dict[str, list[str]] = defaultdict(list)
    for role, label in config.playing():
        found[label].append(role)
    return {label: tuple(dict.fromkeys(roles)) for label, roles in found.items()}


async def _try(
    config: Config, judge: Contact, concurrency: int, environment: Mapping[str, str]
) -> tuple[Trial, list[Finding], int]:
    spec = config.models[judge.label]
    most = min(spec.concurrency, concurrency)
    pinned = spec.model_copy(update={"structured": judge.rung, "concurrency": most})
    async with open_models({judge.label: pinned}, environment=environment) as models:
        watched = Watched(models[judge.label])
        trial, findings = await try_judge(watched, config.pool.languages)
        return trial, findings, watched.calls


async def _room(config: Config, roles: Mapping[str, tuple[str, ...]]) -> tuple[dict[str, int], list[Finding]]:
    """The context each model needs, and whether the longest reply is long enough."""
    findings = [
        problem(f"models.{label}", *short)
        for label, parts in roles.items()
        if (short := _too_short(config.models[label], parts)) is not None
    ]
    try:
        rehearsed = await samples(config, Ingredients.gather(config), Measured())
    except InputError as error:
        what = "; ".join(filter(None, (error.what, error.why)))
        return {}, [*findings, problem(error.where or "configuration", what, error.hint or "correct it")]
    prompts: Counter[str] = Counter()
    for sample in rehearsed.values():
        for part, tokens in sample.worst.longest.items():
            for label, played in roles.items():
                if part.role in played or (part.role == "base" and "tested" in played):
                    prompts[label] = max(prompts[label], tokens)
    longest = {label: config.models[label].longest_output(Sampling()) for label in prompts}
    return {label: tokens + longest[label] for label, tokens in prompts.items()}, findings


def _too_short(spec: ModelSpec, roles: tuple[str, ...]) -> tuple[str, str] | None:
    """What is the matter with ``max_tokens``, and what to change, if replies are likely to be cut."""
    if spec.provider == "understudy":
        return None
    unlimited = spec.model_copy(update={"max_tokens": 10**9, "thinking": None})
    purposes = [purpose for role in roles for purpose in _REPLIES.get(role, ())]
    replies = {purpose: default_assumptions().reply(unlimited, purpose, "worst").output for purpose in purposes}
    _, most = spec.sampled(Sampling())
    longest = max(replies, key=lambda name: replies[name], default="")
    if not replies or replies[longest] <= most:
        return None
    what = f"replies may take {most} tokens, but those for {longest} can need about {replies[longest]}"
    return what, f"set `max_tokens: {replies[longest]}` or more"


def _discreet(finding: Finding, secrets: list[str]) -> Finding:
    """A finding without any key, should a server have quoted one."""
    what = finding.what
    for secret in secrets:
        what = what.replace(secret, "***")
    return finding.model_copy(update={"what": what})
