"""The terminal: two consoles, safe text, and how a run starts and ends."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import signal
import sys
from collections.abc import Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import orjson
import typer
from rich.console import Console
from rich.text import Text

from screentest.builders import Config, load_config, understudies
from screentest.errors import InputError, ScreentestError
from screentest.pools.reading import nearest

T = TypeVar("T")
Word = TypeVar("Word", bound=str)

_PLAIN_WIDTH = 120

out = Console(highlight=False, markup=False, emoji=False)
err = Console(stderr=True, highlight=False, markup=False, emoji=False)
for _console in (out, err):
    if not _console.is_terminal and "COLUMNS" not in os.environ:
        _console.width = _PLAIN_WIDTH

INTERRUPTED = 75
KEPT = "interrupted; every finished call is kept. Run the same command again to go on."
UNDERSTUDY = (
    "Understudy: offline stand-in models take part. Good for trying things out; says nothing about real models."
)

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]")
_LOG_LINE = "%(levelname)s run=%(run)s %(name)s: %(message)s"
_KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY")


def clean(text: str, style: str = "") -> Text:
    """Text from outside, safe to print: never markup, without control characters."""
    return Text(_CONTROL.sub("�", text), style=style)


class _Style:
    as_json = False


def speak_json(wanted: bool) -> None:
    """From now on say everything on standard error as JSON, one object a line; or again as text."""
    _Style.as_json = wanted
    for handler in logging.getLogger().handlers:
        if _run_name in handler.filters:
            handler.setFormatter(_JsonFormatter() if wanted else _LineFormatter(_LOG_LINE))


def indented(text: Text, columns: int) -> None:
    """Print text to the right of so many columns, wrapped, without blanks at the ends of its lines."""
    for line in text.wrap(out, max(1, out.width - columns)):
        line.rstrip()
        out.print(Text(" " * columns).append_text(line), soft_wrap=True)


def tell(record: Mapping[str, object]) -> None:
    """One JSON object on standard error."""
    print(orjson.dumps(record).decode(), file=sys.stderr, flush=True)


def note(text: str, style: str = "") -> None:
    """Say something beside the result, on standard error."""
    if _Style.as_json:
        tell({"event": "note", "text": text})
    else:
        err.print(clean(text, style), soft_wrap=True)


def fail(error: ScreentestError) -> typer.Exit:
    """Say in one line what went wrong; returns what to raise."""
    message = " ".join(str(error).split())
    if _Style.as_json:
        tell({"event": "error", "kind": error.kind, "message": message, "exit_code": error.exit_code})
    else:
        note(f"screentest: {message}", "red")
    return typer.Exit(error.exit_code)


def configuration(path: os.PathLike[str] | None, seed: int | None, environment: Mapping[str, str]) -> Config:
    """The configuration to use: the file given, or the understudies when there is neither a file nor a key.

    Raises:
        InputError: There is a key but no file, so that it would be guesswork what to pay for.
    """
    if path is not None:
        config = load_config(Path(path))
    elif present := [key for key in _KEYS if environment.get(key)]:
        raise InputError(
            "no configuration given",
            why=f"{present[0]} is set, so real models could be meant",
            hint="`screentest init DIR` writes one; `screentest demo` runs offline",
        )
    else:
        config = understudies()
        note("No configuration and no API key: using the understudies, and the starter pool unless another is named.")
    return config if seed is None else config.model_copy(update={"seed": seed})


def one_of(known: Sequence[Word], value: str | None, flag: str) -> Word | None:
    """The word that was given to a flag, if any was.

    Raises:
        InputError: It is none of those known.
    """
    if value is None or value in known:
        return next((word for word in known if word == value), None)
    raise InputError(f"there is no {value!r}", where=flag, hint=nearest(value, known))


def run(job: Coroutine[Any, Any, T], interrupted: str = KEPT) -> T:
    """Run a job to its end, turning errors and interruptions into one line and an exit code.

    Ctrl-C and SIGTERM cancel the job, which closes its connections; the exit code is then 75.

    Args:
        job: The job.
        interrupted: What to say of an interruption.
    """

    async def interruptible() -> T:
        task = asyncio.ensure_future(job)
        loop = asyncio.get_running_loop()
        if sys.platform != "win32":
            for name in (signal.SIGINT, signal.SIGTERM):
                loop.add_signal_handler(name, task.cancel)
        return await task

    try:
        return asyncio.run(interruptible())
    except (KeyboardInterrupt, asyncio.CancelledError):
        note(f"screentest: {interrupted}", "yellow")
        raise typer.Exit(INTERRUPTED) from None
    except ScreentestError as error:
        raise fail(error) from None


class _Handler(logging.StreamHandler[Any]):
    """Writes to whatever standard error is at the time, so that a live display can make room."""

    @property
    def stream(self) -> Any:
        return sys.stderr

    @stream.setter
    def stream(self, value: Any) -> None:
        pass


class _LineFormatter(logging.Formatter):
    """One line a record, without control characters: what a provider says is text from outside."""

    def format(self, record: logging.LogRecord) -> str:
        return _CONTROL.sub("�", " ⏎ ".join(super().format(record).splitlines()))


class _JsonFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        told = {"event": "log", "level": record.levelname, "run": _run_name.run, "logger": record.name}
        return orjson.dumps({**told, "message": super().format(record)}).decode()


class _RunName(logging.Filter):
    """Tells every log record which run it belongs to."""

    run = "-"

    def filter(self, record: logging.LogRecord) -> bool:
        record.run = self.run
        return True


_run_name = _RunName()


def log_run(directory: Path) -> None:
    """Name the run in every log record from now on."""
    _run_name.run = directory.name


def set_up_logging(verbose: bool) -> None:
    """Log to standard error: warnings only, or everything of ours with ``--verbose``."""
    handler = _Handler()
    handler.setFormatter(_LineFormatter(_LOG_LINE))
    handler.addFilter(_run_name)
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.getLogger("screentest").setLevel(logging.INFO if verbose else logging.WARNING)
