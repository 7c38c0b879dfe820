"""No key is left anywhere: not by any command, not by a server that repeats it, not in a traceback, not at DEBUG."""

from __future__ import annotations

import base64
import logging
import os
import random
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from typer.testing import Result

from builders.projects import generous, served
from cli.terminal import failed, screentest
from fakes import Behaviour, Fails, FakeProvider, Hangs, Says, Seen
from fakes.behaviours import Answer
from runs.theatre import KEY, Theatre, edited, states, written
from screentest.cli.console import set_up_logging
from screentest.llms import Pace
from screentest.llms.redaction import HIDDEN, Redaction
from screentest.sim import Session

CLAUDE_KEY = "sk-ant-Sentinel_5d0e/b7+c4?Zz9~q"
VARIABLES = {"SENTINEL_KEY": KEY, "SENTINEL_CLAUDE": CLAUDE_KEY}
ON_OPENAI, ON_ANTHROPIC = ("director", "scene", "base", "other"), ("alice", "bob", "judge")
PACE = Pace(quiet=0.02, first_poll=0.01, longest_poll=0.02, settle=0.02)


def _base64_forms(data: bytes) -> Iterator[str]:
    """What of its base64 does not depend on what stands around it, for every position it can stand at."""
    for before in range(3):
        low, high = (base64.b64encode(byte * before + data + byte * 3).decode() for byte in (b"\x00", b"\xff"))
        same = "".join(a if a == b else " " for a, b in zip(low, high, strict=True))
        yield max(same.split(), key=len)


def forms(key: str) -> dict[str, bytes]:
    """Every way in which a key could be left behind."""
    data = key.encode()
    made = {"raw": key, "escaped": key.replace("/", "\\/"), "quoted": quote(key), "quoted whole": quote(key, safe="")}
    made |= {"lower quoted": _lower(quote(key, safe="")), "hex": data.hex(), "HEX": data.hex().upper()}
    for number, form in enumerate(_base64_forms(data)):
        made |= {f"base64 {number}": form, f"urlsafe base64 {number}": form.replace("+", "-").replace("/", "_")}
    return {name: form.encode() for name, form in made.items()}


def _lower(quoted: str) -> str:
    head, *rest = quoted.split("%")
    return head + "".join(f"%{part[:2].lower()}{part[2:]}" for part in rest)


FORMS = [(name, form) for key in VARIABLES.values() for name, form in forms(key).items()]


def leaks(content: bytes | str) -> list[str]:
    """The forms of a key that are in ``content``."""
    data = content.encode() if isinstance(content, str) else content
    return [name for name, form in FORMS if form in data]


def leaking_files(root: Path) -> dict[str, list[str]]:
    """The files that hold a key, their names included."""
    files = [path for path in root.rglob("*") if path.is_file()]
    found = {str(path): leaks(path.read_bytes()) + leaks(str(path)) for path in files}
    return {name: forms for name, forms in found.items() if forms}


def sent(seen: Seen) -> str:
    """The key that came with a request."""
    return seen.headers.get("x-api-key") or seen.headers["authorization"].removeprefix("Bearer ")


def echo(seen: Seen) -> str:
    """The key in every form, and in basic authentication."""
    key = sent(seen)
    basic = [base64.b64encode(f"{user}:{key}".encode()).decode() for user in ("", "m", "me")]
    return " ".join([*(form.decode() for form in forms(key).values()), *basic])


def told(seen: Seen) -> dict[str, str]:
    """Headers that repeat the key."""
    return {"x-echo": f"Bearer {sent(seen)}", "x-request-id": sent(seen), "request-id": sent(seen)}


def parrot(seen: Seen) -> Says:
    """Puts the key into whatever is said and thought, and into the headers."""
    said = generous(seen)
    text = said.text or ""
    quoted = echo(seen).replace("\\", "\\\\")
    texts = [text.replace(f'"{name}": "', f'"{name}": "{quoted} ', 1) for name in ("explanation", "reason")]
    changed = next((other for other in texts if other != text), text if seen.schema else f"{text} {quoted}")
    return Says(changed, reasoning=f"I know {quoted}.", headers=told(seen))


def refusing(seen: Seen) -> Answer:
    """Refuses now and then, and quotes the key; ``bob`` always."""
    status = random.Random(seen.generator.random()).choice((400, 403, 429, 500, *(200,) * 60))
    if seen.body["model"].endswith("bob"):
        status = 401
    if status == 200:
        return parrot(seen)
    return Fails(status, f"bad key: {echo(seen)}", "invalid_request_error", {"retry-after": "0", **told(seen)})


def hanging(seen: Seen) -> Answer:
    """Never answers some requests."""
    return Hangs() if random.Random(seen.generator.random()).random() < 0.02 else parrot(seen)


def project_at(server: FakeProvider, root: Path, **fields: Any) -> Path:
    """A project whose models are at both kinds of provider, each with a key of its own."""
    models = served(server, *ON_OPENAI, key_env="SENTINEL_KEY", **fields)
    at = {"provider": "anthropic", "base_url": server.anthropic_url, "key_env": "SENTINEL_CLAUDE"}
    for label, spec in served(server, *ON_ANTHROPIC, **fields).items():
        models[label] = {**spec, **at, "model": f"claude-sonnet-4-6-{label}"}
    file = written(root, server, models=models, build={"max_failures": 1})
    edited(file, lambda data: data["roles"].update(sources=["alice", "bob"], tested=["alice", "bob"]))
    edited(file, lambda data: data["evaluate"].update(max_failures=1))
    return file


@dataclass
class Witness:
    """Runs commands with everything logged, and keeps whatever they show.

    Attributes:
        shown: What they printed and logged, their tracebacks included.
    """

    shown: list[str] = field(default_factory=list[str])

    def run(self, *command: str | Path) -> Result:
        """Run a command, which must not end in a traceback."""
        result = screentest(*command, **VARIABLES)
        assert result.exception is None or isinstance(result.exception, SystemExit), result.output
        self.shown += [result.stdout, result.stderr]
        return result

    def crash(self, *command: str | Path) -> None:
        """Run a command that must end in a traceback."""
        result = screentest(*command, **VARIABLES)
        assert result.exception is not None and not isinstance(result.exception, SystemExit), result.output
        self.shown += [result.stdout, result.stderr, "".join(traceback.format_exception(result.exception))]

    def leaking_lines(self) -> list[str]:
        """The lines that show a key."""
        return [line for text in self.shown for line in text.splitlines() if leaks(line)]


@pytest.fixture
def witness(monkeypatch: pytest.MonkeyPatch) -> Iterator[Witness]:
    """Every logger there is, at DEBUG; batches in a hurry."""

    def everything(verbose: bool) -> None:
        del verbose
        set_up_logging(True)
        logging.getLogger().setLevel(logging.DEBUG)
        logging.getLogger("screentest").setLevel(logging.DEBUG)

    monkeypatch.setattr("screentest.cli.app.set_up_logging", everything)
    monkeypatch.setattr("screentest.cli.app.Session", partial(Session, pace=PACE))
    yield Witness()


@pytest.mark.parametrize("behaviour", [parrot, refusing, hanging])
def test_no_command_leaves_a_key_anywhere(tmp_path: Path, behaviour: Behaviour, witness: Witness) -> None:
    run, sound, evaluation, batched = (tmp_path / name for name in ("run", "sound", "eval", "batched"))
    with FakeProvider.threaded(parrot) as server:
        file = project_at(server, tmp_path, timeout=0.4 if behaviour is hanging else 20.0)
        witness.run("build", file, "--run", sound)
        server.behaviour = behaviour
        if behaviour is hanging:
            server.batches.result = lambda _, seen: parrot(seen)
        build = ("--verbose", "build", file, "--run", run)
        on = ("eval", sound / "benchmark", "--config", file)
        for command in (
            ("doctor", file),
            ("doctor", file, "--json"),
            ("plan", file, "--json"),
            ("simulate", "--config", file, "--show", "all"),
            (*build, "--json-progress"),
            (*build, "--retry-failed"),
            (*on, "--run", evaluation),
            (*on, "--run", evaluation, "--rejudge", "base"),
            (*on, "--run", batched, "--batch"),
            ("plan", file, "--run", sound, "--benchmark", sound / "benchmark"),
            ("resume", run, "--json-progress"),
            ("resume", evaluation),
            ("replay", run),
            ("replay", evaluation, "--out", tmp_path / "again"),
            *((name, directory) for name in ("verify", "ledger") for directory in (run, evaluation, batched)),
            ("diff", evaluation, batched),
        ):
            witness.run(*command)
        handed = [seen for batch in server.batches.handed for seen in batch.requests.values()]
    assert {sent(seen) for seen in server.requests} == set(VARIABLES.values()) and handed
    assert any(HIDDEN in text for text in witness.shown), "it was taken out of what was shown"
    assert HIDDEN.encode() in (sound / "benchmark/data/test.jsonl").read_bytes(), "and of what is published"
    assert any("DEBUG" in text and "anthropic" in text for text in witness.shown), "everything is logged"
    if behaviour is not parrot:
        assert states(run)["failed"]
    assert not witness.leaking_lines()
    assert not leaking_files(tmp_path)


def test_a_batch_that_is_refused_with_the_key_quoted_leaves_none(tmp_path: Path, witness: Witness) -> None:
    run, single, whole = tmp_path / "run", tmp_path / "single", tmp_path / "whole"
    with FakeProvider.threaded(generous) as server:
        file = project_at(server, tmp_path)
        witness.run("build", file, "--run", run)
        on = ("eval", run / "benchmark", "--config", file, "--batch", "--run")
        server.batches.result = lambda _, seen: Fails(400, f"bad key: {echo(seen)}")
        witness.run(*on, single)

        def refused(method: str, target: str, headers: dict[str, str], content: bytes) -> Fails:
            return Fails(401, f"{method} {target}: {echo(Seen('openai', headers, {}))}", "", {"x-echo": str(headers)})

        server.batches.answer = refused
        witness.run(*on, whole)
    for directory in (single, whole):
        assert HIDDEN.encode() in (directory / "evaluations.jsonl").read_bytes()
    assert not witness.leaking_lines()
    assert not leaking_files(tmp_path)


def test_a_run_that_is_killed_leaves_no_key_in_its_write_ahead_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SENTINEL_CLAUDE", CLAUDE_KEY)
    with FakeProvider.threaded(parrot, latency=0.01) as server:
        theatre = Theatre(server, tmp_path, project_at(server, tmp_path), parrot)
        ended, _ = theatre.cut(theatre.building(tmp_path / "run"), 40, signal.SIGKILL)
    assert (tmp_path / "run/run.db-wal").stat().st_size > 0
    assert HIDDEN.encode() in (tmp_path / "run/run.db-wal").read_bytes()
    assert not leaks(ended.out + ended.err)
    assert not leaking_files(tmp_path)


_CRASHES = """
import screentest.llms.served as served
def read(self, answer, rung, latency):
    client, key = self._wire._client, self._wire._client.api_key
    raise ZeroDivisionError("nobody foresaw this")
served.ServedModel.read = read
from screentest.cli import main
main()
"""


def _in_a_process(script: str, *command: object) -> tuple[int, str]:
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-X", "dev", "-c", script, *map(str, command)],
        env={**os.environ, **VARIABLES, "OPENAI_LOG": "debug", "ANTHROPIC_LOG": "debug"},
        capture_output=True,
        check=False,
        text=True,
        timeout=60,
    )
    return done.returncode, done.stdout + done.stderr


def test_a_traceback_shows_no_key_although_its_frames_hold_one(tmp_path: Path, witness: Witness) -> None:
    with FakeProvider.threaded(parrot) as server:
        file = project_at(server, tmp_path)
        code, shown = _in_a_process(_CRASHES, "--verbose", "simulate", "--config", file)
        assert code == 1 and shown.rstrip().endswith("ZeroDivisionError: nobody foresaw this")
        assert "HTTP Response" in shown, "the SDKs log all they can"
        assert not leaks(shown)
        witness.run("build", file, "--run", tmp_path / "run")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("screentest.llms.served.ServedModel.read", _unforeseen)
            witness.run("build", file, "--run", tmp_path / "again")
            witness.crash("simulate", "--config", file)
            witness.run("doctor", file)
            witness.run("eval", tmp_path / "run/benchmark", "--config", file, "--run", tmp_path / "eval")
    for emitted in ("eval/evaluations.jsonl", "again/trajectories.jsonl"):
        assert "ZeroDivisionError" in (tmp_path / emitted).read_text()
    assert sum("Traceback" in text for text in witness.shown) >= 3
    assert not witness.leaking_lines()
    assert not leaking_files(tmp_path)


def _unforeseen(*_: object) -> None:
    raise ZeroDivisionError("nobody foresaw this")


_MISPLACED: dict[str, Callable[[str, str], dict[str, Any]]] = {
    "user name": lambda key, host: {"base_url": f"http://{quote(key, safe='')}@{host}/v1"},
    "password": lambda key, host: {"base_url": f"http://me:{quote(key, safe='')}@{host}/v1"},
    "query": lambda key, host: {"base_url": f"http://{host}/v1?key={quote(key, safe='')}"},
    "fragment": lambda key, host: {"base_url": f"http://{host}/v1#{key}"},
    "path": lambda key, host: {"base_url": f"http://{host}/{key}/v1"},
    "name": lambda key, host: {"model": key},
    "variable": lambda key, host: {"key_env": key},
    "extra": lambda key, host: {"extra": {"user": {"id": key}}},
    "extra secret": lambda key, host: {"extra": {"api_key": key}},
}


@pytest.mark.parametrize("place", _MISPLACED)
def test_a_key_in_the_configuration_is_refused_in_one_line_that_does_not_show_it(tmp_path: Path, place: str) -> None:
    with FakeProvider.threaded(generous) as server:
        file = project_at(server, tmp_path)
        host = server.openai_url.removeprefix("http://").removesuffix("/v1")
        edited(file, lambda data: data["models"]["base"].update(_MISPLACED[place](KEY, host)))
        commands = (("build", file, "--run", tmp_path / "run"), ("simulate", "--config", file))
        for command in commands:
            line = failed(screentest(*command, **VARIABLES))
            assert "models.base" in line and "environment" in line
            assert not leaks(line)
        result = screentest("doctor", file, **VARIABLES)
        assert result.exit_code == 2 and not leaks(result.output)
        assert not server.requests or {seen.body["model"] for seen in server.requests}.isdisjoint({"base", KEY})
    file.unlink()
    assert not leaking_files(tmp_path)


@pytest.mark.parametrize("spoilt", [f"{KEY}\nsecond", f"{KEY}é", f"{KEY}\x07"])
def test_a_key_that_no_header_can_hold_is_one_line_that_does_not_show_it(tmp_path: Path, spoilt: str) -> None:
    with FakeProvider.threaded(generous) as server:
        file = project_at(server, tmp_path)
        result = screentest("build", file, "--run", tmp_path / "run", **{**VARIABLES, "SENTINEL_KEY": spoilt})
        line = failed(result)
        assert "SENTINEL_KEY" in line and "cannot be sent" in line
        assert not leaks(result.output) and not server.requests
    assert not leaking_files(tmp_path)


def _strings(value: Any) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, part in value.items():
            yield name
            yield from _strings(part)
    elif isinstance(value, list):
        for part in value:
            yield from _strings(part)


@pytest.mark.parametrize("key", VARIABLES.values())
def test_redaction_takes_out_every_form_and_leaves_the_rest(key: str) -> None:
    redaction = Redaction(key)
    for name, form in forms(key).items():
        clean = redaction.text(f"before {form.decode()} after")
        assert clean == f"before {HIDDEN} after", name
    for width in range(7):
        padded = base64.b64encode(b"u" * width + key.encode() + b"p" * (7 - width)).decode()
        assert not leaks(redaction.text(padded)), width
    nested = {"a": [key, 1, None, {f"x{key}": f"{key}{key}"}], "b": "Mark it, and sail."}
    clean = redaction.data(nested)
    assert not any(leaks(text) for text in _strings(clean))
    assert clean["b"] == nested["b"] and clean["a"][1:3] == [1, None]


@pytest.mark.parametrize("key", [None, "", "EMPTY", "ollama"])
def test_a_placeholder_for_a_key_may_be_said(key: str | None) -> None:
    said = "The ollama is EMPTY, and so is the harbour."
    assert Redaction(key).data({"text": said}) == {"text": said}
