"""The two commands, and a fake judge that can tell a good line from a bad one."""

from __future__ import annotations

import json
from pathlib import Path

import typer
from typer.testing import CliRunner, Result

from fakes import Behaviour, Says, Seen, improvise
from screentest.builders.doctor import canned_pairs
from screentest.cli.advice import doctor_command, plan_command
from screentest.pools import LANGUAGES

PRICE = {"input": 2.0, "output": 8.0}

app = typer.Typer(pretty_exceptions_enable=False)
app.command("plan")(plan_command)
app.command("doctor")(doctor_command)


def screentest(*arguments: str | Path, **environment: str) -> Result:
    """Run a command in this process, on a terminal 100 columns wide."""
    return CliRunner().invoke(app, [str(argument) for argument in arguments], env=environment)


def discerning(seen: Seen) -> Says:
    """Prefers the good line of a canned pair; all else is improvised."""
    return rating(1 if _good_first(seen) else 5) if judges(seen) else improvise(seen)


def perverse(seen: Seen) -> Says:
    """Prefers the bad line of a canned pair; all else is improvised."""
    return rating(5 if _good_first(seen) else 1) if judges(seen) else improvise(seen)


def rates(score: int) -> Behaviour:
    """Gives every pair the same score."""
    return lambda seen: rating(score) if judges(seen) else improvise(seen)


def rating(score: int) -> Says:
    """A verdict."""
    return Says(json.dumps({"explanation": "as anyone can see", "score": score}))


def judges(seen: Seen) -> bool:
    """Whether a verdict is asked for."""
    return seen.schema is not None and "score" in seen.schema["properties"]


def _good_first(seen: Seen) -> bool:
    pairs = [pair for language in LANGUAGES for pair in canned_pairs(language)]
    pair = next(pair for pair in pairs if pair.good in seen.prompt)
    return seen.prompt.index(pair.good) < seen.prompt.index(pair.bad)
