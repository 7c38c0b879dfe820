"""Job mode: progress for programs, numbers that add up, and no secret in anything that is left behind."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from builders.projects import generous, served
from cli.terminal import failed, screentest
from fakes import Fails, FakeProvider
from runs.theatre import KEY, LABELS, Theatre, edited, states, written

PRICE = {"input": 3.0, "output": 15.0}


def _told(err: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in err.splitlines()]


def test_every_line_is_json_and_the_numbers_reconcile(tmp_path: Path) -> None:
    with FakeProvider.threaded(generous, latency=0.03) as server:
        models = served(server, *LABELS, key_env="SENTINEL_KEY", price=PRICE)
        theatre = Theatre(server, tmp_path, written(tmp_path, server, models=models, build={"scenes": 3}))
        run = tmp_path / "run"
        told = _told(theatre.done([*theatre.building(run, "--json-progress"), "--concurrency", "2"]).err)
        made = len(server.requests)
        begin, *progress, end = told
        here = {"event": "begin", "stage": "build", "run": str(run)}
        assert begin == {**here, "stored": 0, "interrupted": 0, "to_do": None}
        assert end["event"] == "end" and end["stage"] == "build" and end["run"] == str(run)
        assert end["calls"] == {"reused": 0, "repeated": 0, "new": made}
        assert progress, "at least the last state is told"
        for record in progress:
            assert record["event"] == "progress" and record["stage"] == "build"
            assert {"items", "cells", "conversations", "calls", "tokens", "usd", "seconds"} <= record.keys()
            calls = record["calls"]
            assert calls["finished"] + calls["in_flight"] <= made and calls["in_flight"] <= 2
        last = progress[-1]
        assert last["calls"] == {
            "finished": made,
            "in_flight": 0,
            "failed": {},
            "retries": 0,
            "reused": 0,
            "repeated": 0,
        }
        assert last["tokens"]["input"] == sum((len(seen.prompt) + 3) // 4 for seen in server.requests)
        cost = (last["tokens"]["input"] * PRICE["input"] + last["tokens"]["output"] * PRICE["output"]) / 1e6
        assert last["usd"] == {"known": pytest.approx(cost, abs=1e-6), "unknown": 0}
        assert last["cells"] == {"closed": 1, "all": 1} and last["conversations"]["playing"] == 0

        evaluation = ("eval", run, "--config", theatre.config, "--run", run, "--json-progress")
        first = _told(screentest(*evaluation, SENTINEL_KEY=KEY).stderr)
        compared = len(server.requests) - made
        assert first[-2]["comparisons"]["done"] == first[-2]["comparisons"]["all"] == compared // 4
        assert first[-1]["calls"] == {"reused": 0, "repeated": 0, "new": compared}
        again = _told(screentest("resume", run, "--json-progress", SENTINEL_KEY=KEY).stderr)
        ends = {record["stage"]: record["calls"] for record in again if record["event"] == "end"}
        assert ends == {
            "build": {"reused": made, "repeated": 0, "new": 0},
            "eval": {"reused": compared, "repeated": 0, "new": 0},
        }
        begins = {record["stage"]: record["stored"] for record in again if record["event"] == "begin"}
        assert begins == {"build": made, "eval": compared}
        assert {record["to_do"] for record in again if record["event"] == "begin"} == {0}
        assert len(server.requests) == made + compared


def _leaks(text: bytes) -> list[str]:
    raw = KEY.encode()
    forms = {
        "raw": raw,
        "base64": base64.b64encode(raw).rstrip(b"="),
        "quoted": quote(KEY, safe="").encode(),
        "json": json.dumps(KEY)[1:-1].replace("/", "\\/").encode(),
        "bearer": base64.b64encode(f":{KEY}".encode()).rstrip(b"="),
        "hex": raw.hex().encode(),
        "half": raw[: len(raw) // 2],
    }
    return [name for name, form in forms.items() if form in text]


def test_no_key_is_left_anywhere_even_by_a_server_that_quotes_it(tmp_path: Path) -> None:
    def tattling(seen: Any) -> Any:
        if seen.body["model"] == "bob":
            return Fails(400, f"bad key {KEY} in {seen.headers['authorization']}")
        return generous(seen)

    with FakeProvider.threaded(tattling) as server:
        file = written(tmp_path, server, build={"max_failures": 1})
        edited(file, lambda data: data["roles"].update(sources=["alice", "bob"]))
        run = tmp_path / "run"
        shown = []
        for command in (("--verbose", "build", file, "--run", run), ("--verbose", "build", file, "--run", run)):
            result = screentest(*command, SENTINEL_KEY=KEY)
            assert result.exit_code == 0, result.output
            shown.append(result.output)
        assert any(seen.headers["authorization"] == f"Bearer {KEY}" for seen in server.requests)
        shown.append(screentest("eval", run, "--config", file, "--run", run, SENTINEL_KEY=KEY).output)
        shown.append(screentest("ledger", run, SENTINEL_KEY=KEY).output)
        assert states(run)["failed"] > 0
    assert not _leaks("\n".join(shown).encode())
    for path in sorted(tmp_path.rglob("*")):
        if path.is_file():
            assert not _leaks(path.read_bytes()), path


def test_a_missing_key_is_one_line_that_names_its_variable(tmp_path: Path) -> None:
    with FakeProvider.threaded(generous) as server:
        file = written(tmp_path, server)
        assert "SENTINEL_KEY is not set" in failed(screentest("build", file, "--run", tmp_path / "run"))
