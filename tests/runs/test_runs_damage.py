"""A store cut at any byte: all that it still holds is used, or it is refused in one line and left as it is."""

from __future__ import annotations

import shutil
import signal
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from builders.projects import emitted, everything
from cli.terminal import failed, screentest
from fakes.models import said
from runs.theatre import KEY, Finished, asked, copied, states
from screentest.errors import InputError
from screentest.llms.journal import Call
from screentest.sim import Store, fork, ledger, standing

PAGE = 4096
LOG_FRAME = 24 + PAGE


def cuts(size: int, *, border: int = PAGE, head: int = 0) -> list[int]:
    """About sixty offsets of a file: its beginning, its end, borders of pages and what is around them."""
    early = {0, 1, 15, 16, 17, 31, 32, 33, 99, 100, 101, 511, 512, size - 1, size - 2}
    borders = [head + border * n for n in range((size - head) // border + 1)]
    around = {at + off for at in borders[:: max(1, len(borders) // 12)] for off in (-1, 0, 1)}
    spread = {size * n // 17 for n in range(17)}
    return sorted(at for at in early | around | spread if 0 <= at < size)


def calls(file: Path) -> dict[bytes, str]:
    """Digest to text of the calls that have a reply, read from a copy."""
    with closing(sqlite3.connect(file)) as connection:
        return dict(connection.execute("SELECT digest, text FROM calls WHERE state = 'done'"))


def opened(file: Path) -> dict[bytes, str] | str:
    """The calls in a store, opened as a run opens it; or why it is refused, having been left as it was."""
    before = file.read_bytes(), _log(file)
    try:
        Store(file).close()
    except InputError as refused:
        assert (file.read_bytes(), _log(file)) == before
        assert refused.exit_code == 2 and "\n" not in str(refused)
        assert str(refused).startswith(f"{file}: the run's store is damaged; ")
        return refused.why
    return calls(file)


def _log(file: Path) -> bytes | None:
    log = file.with_name(f"{file.name}-wal")
    return log.read_bytes() if log.is_file() else None


@dataclass(frozen=True)
class Live:
    """The files of a store that nobody closed.

    Attributes:
        main: The database.
        log: Its write-ahead log.
        commits: How long the log was when a call was on disk, and which.
    """

    main: bytes
    log: bytes
    commits: Sequence[tuple[int, bytes]]

    def left(self, directory: Path, *, main: int | None = None, log: int | None = None) -> Path:
        """A run directory with these files, cut to so many bytes; the run has frozen its settings."""
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir()
        (directory / "build.identity.json").write_text("{}")
        (directory / "run.db").write_bytes(self.main[:main])
        (directory / "run.db-wal").write_bytes(self.log[:log])
        return directory / "run.db"

    def committed(self, log: int) -> set[bytes]:
        """The calls that were on disk when the log was so long."""
        return {digest for length, digest in self.commits if length <= log}

    @property
    def all(self) -> set[bytes]:
        """All calls."""
        return self.committed(len(self.log))


async def live(directory: Path, number: int, letters: int, *, checkpoint: str = "") -> Live:
    """Keep so many replies, one after another, and copy the files while the store is open."""
    file, log, commits = directory / "run.db", directory / "run.db-wal", list[tuple[int, bytes]]()
    store = Store(file)
    for n in range(number):
        digest = n.to_bytes(32, "big")
        await store.finish(Call(digest, f"a/{n}", "test", "m"), said(f"{n:04d} " * (letters // 5)))
        commits.append((log.stat().st_size, digest))
    if checkpoint:
        with closing(sqlite3.connect(file)) as other:
            assert other.execute(f"PRAGMA wal_checkpoint({checkpoint})").fetchone()[0] == 0
    found = Live(file.read_bytes(), log.read_bytes(), commits)
    store.close()
    return found


def test_a_file_cut_anywhere_is_refused_and_left_as_it_is(finished: Finished, tmp_path: Path) -> None:
    whole = (finished.run / "run.db").read_bytes()
    file = tmp_path / "run.db"
    (tmp_path / "build.identity.json").write_text("{}")
    assert len(cuts(len(whole))) > 50
    for size in cuts(len(whole)):
        file.write_bytes(whole[:size])
        assert isinstance(opened(file), str), f"cut to {size} bytes"
        for use in (standing, ledger):
            with pytest.raises(InputError, match="damaged"):
                use(file)
        with pytest.raises(InputError, match="cannot be copied"):
            fork(tmp_path, tmp_path / "fork")
        assert file.read_bytes() == whole[:size]
        assert {path.name for path in tmp_path.iterdir()} == {"run.db", "build.identity.json"}
    file.write_bytes(whole)
    assert opened(file) == calls(finished.run / "run.db")


async def test_a_log_cut_anywhere_keeps_what_was_committed_before(tmp_path: Path) -> None:
    files = await live(tmp_path, 40, 400)
    cut_to = cuts(len(files.log), border=LOG_FRAME, head=32)
    assert len(cut_to) > 50
    kept: list[int] = []
    for size in cut_to:
        found = opened(files.left(tmp_path / "cut", log=size))
        if isinstance(found, str):
            assert found == "its tables are not there, but the run has begun"
            assert not files.committed(size), "what holds no call anyway may be refused"
        else:
            assert found.keys() == files.committed(size)
            kept.append(len(found))
    assert min(kept) <= 2 and max(kept) == 39 and len(set(kept)) > 15


async def test_what_is_cut_off_the_file_comes_back_from_the_log_if_it_is_there(tmp_path: Path) -> None:
    files = await live(tmp_path, 60, 2000, checkpoint="PASSIVE")
    assert len(files.main) > 20 * PAGE, "all of it was copied into the file, and the log is still there"
    for size in cuts(len(files.main)):
        found = opened(files.left(tmp_path / "cut", main=size))
        if isinstance(found, str):
            assert size < 100, f"{found} (cut to {size} bytes)"
        else:
            assert size >= 100 and found.keys() == files.all


async def test_a_log_cut_behind_what_was_copied_into_the_file_is_refused_or_nothing_is_missing(tmp_path: Path) -> None:
    files = await live(tmp_path, 60, 2000, checkpoint="PASSIVE")
    refused = 0
    for size in cuts(len(files.log), border=LOG_FRAME, head=32):
        found = opened(files.left(tmp_path / "cut", log=size))
        refused += isinstance(found, str)
        assert isinstance(found, str) or files.committed(size) <= found.keys(), f"log cut to {size} bytes"
    assert refused > 30


async def test_a_store_that_is_emptied_or_gone_is_not_begun_anew(tmp_path: Path) -> None:
    file = (await live(tmp_path, 3, 100)).left(tmp_path / "run", main=0)
    assert opened(file) == "it is empty, but run.db-wal beside it is not"
    (tmp_path / "run/build.identity.json").unlink()
    assert opened(file) == "it is empty, but run.db-wal beside it is not"
    (tmp_path / "run/run.db-wal").unlink()
    assert opened(file) == {}, "a run that was killed before it had begun"
    file.unlink()
    (tmp_path / "run/eval.identity.json").write_text("{}")
    with pytest.raises(InputError, match="it is not there, but the run has begun"):
        Store(file)
    assert not file.exists()


@pytest.fixture
def _key(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("SENTINEL_KEY", KEY)
    yield


@pytest.mark.usefixtures("_key")
@pytest.mark.parametrize("share", [0.0, 0.001, 0.5])
def test_every_command_says_in_one_line_that_the_store_is_damaged(
    finished: Finished, tmp_path: Path, share: float
) -> None:
    theatre, run = finished.theatre, copied(finished.run, finished.run.parent / f"damaged-{share}")
    evaluation = copied(finished.evaluation, finished.run.parent / f"damaged-eval-{share}")
    for directory in (run, evaluation):
        file = directory / "run.db"
        file.write_bytes(file.read_bytes()[: int(file.stat().st_size * share)])
    before, made = everything(evaluation) | everything(run), len(theatre.server.requests)
    for command in (
        ("build", theatre.config, "--run", run),
        ("build", theatre.config, "--run", run, "--fork", tmp_path / "fork"),
        ("eval", finished.run / "benchmark", "--config", theatre.config, "--run", evaluation),
        ("resume", run),
        ("replay", run),
        ("replay", run, "--out", tmp_path / "again"),
        ("ledger", run),
    ):
        place = evaluation if command[0] == "eval" else run
        assert failed(screentest(*command)).startswith(f"screentest: {place / 'run.db'}: "), command
    after = everything(evaluation) | everything(run)
    assert after.keys() - before.keys() <= {".lock"} and before.items() <= after.items()
    assert not (tmp_path / "fork").exists() and not (tmp_path / "again").exists()
    assert screentest("verify", run).exit_code == 2
    assert (run / "run.db").read_bytes() == before["run.db"]
    assert len(theatre.server.requests) == made


@pytest.mark.usefixtures("_key")
def test_a_killed_build_whose_log_was_cut_goes_on_with_what_is_left(finished: Finished, tmp_path: Path) -> None:
    theatre, run = finished.theatre, tmp_path / "run"
    ended, _ = theatre.cut(theatre.building(run), finished.built.total() * 2 // 3, signal.SIGKILL)
    assert ended.code == -signal.SIGKILL
    log = run / "run.db-wal"
    log.write_bytes(log.read_bytes()[: log.stat().st_size // 2])
    kept, before = states(copied(run, tmp_path / "look"))["done"], len(theatre.server.requests)
    assert kept > 10
    assert screentest("build", theatre.config, "--run", run).exit_code == 0
    assert emitted(run) == emitted(finished.run)
    assert asked(theatre.server, before).total() == finished.built.total() - kept
