"""A full disk and a directory that cannot be written: one clear line, nothing lost, and the same command goes on."""

from __future__ import annotations

import ctypes
import os
import resource
import shutil
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from builders.projects import emitted, everything, generous
from cli.terminal import failed, screentest
from fakes import FakeProvider
from runs.theatre import CONCURRENCY, KEY, Ended, Finished, Theatre, asked, copied, evaluated, states, written

PAGE = 4096
DISK_FULL = "No space left on device"
READ_ONLY = "Permission denied"

pytestmark = pytest.mark.usefixtures("key")


@pytest.fixture
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    """The key, for commands in this process."""
    monkeypatch.setenv("SENTINEL_KEY", KEY)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Finished]:
    """A small build and its evaluation, at a server that answers at once."""
    root = tmp_path_factory.mktemp("small")
    with FakeProvider.threaded(generous) as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("SENTINEL_KEY", KEY)
        theatre = Theatre(server, root, written(root, server))
        run, evaluation = root / "run", root / "eval"
        assert screentest(*building(theatre, run)).exit_code == 0
        built = asked(server)
        assert screentest(*evaluating(theatre, run, evaluation)).exit_code == 0
        yield Finished(theatre, run, evaluation, built, asked(server, built.total()))


def building(theatre: Theatre, run: Path) -> list[str]:
    """The arguments of a build."""
    return theatre.building(run)[3:]


def evaluating(theatre: Theatre, built: Path, run: Path) -> list[str]:
    """The arguments of an evaluation."""
    return theatre.evaluating(built / "benchmark", run)[3:]


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """The kernel lets no file grow beyond so many bytes (``EFBIG``)."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


_ON_A_SMALL_DISK = """
mount -t tmpfs -o "size=$1" small "$2" && cp -R "$3/." "$2" || exit 99
disk="$2" kept="$3"; shift 3
"$@"; code=$?
rm -rf "$kept" && cp -R "$disk" "$kept" && exit $code
"""


def on_a_small_disk(theatre: Theatre, command: Sequence[str], run: Path, free: int) -> Ended:
    """Run a command whose run directory is a file system of its own with so many bytes left (``ENOSPC``)."""
    unshare = shutil.which("unshare")
    if unshare is None or subprocess.run([unshare, "-rm", "true"], capture_output=True, check=False).returncode:  # noqa: S603
        pytest.skip("no file system can be mounted here")
    kept = Path(shutil.copytree(run, run.with_name(f"{run.name}.kept"))) if run.exists() else run.with_name("kept")
    kept.mkdir(exist_ok=True)
    run.mkdir(exist_ok=True)
    used = sum(-(-path.stat().st_size // PAGE) * PAGE for path in kept.rglob("*") if path.is_file())
    script = [unshare, "-rm", "sh", "-c", _ON_A_SMALL_DISK, "sh", str(used + free), str(run), str(kept)]
    ended = theatre.do([*script, *command])
    shutil.rmtree(run)
    kept.rename(run)
    return ended


_DAC_OVERRIDE, _DAC_READ_SEARCH, _CAPABILITIES_3 = 1, 2, 0x20080522


@contextmanager
def obedient() -> Iterator[None]:
    """The modes of files hold for this process even if it is root's."""
    if os.geteuid():
        yield
        return
    libc, words = ctypes.CDLL(None, use_errno=True), ctypes.c_uint32 * 6
    header, before, after = (ctypes.c_uint32 * 2)(_CAPABILITIES_3, 0), words(), words()
    assert libc.capget(header, before) == 0
    after[:] = before[:]
    after[0] &= ~(1 << _DAC_OVERRIDE | 1 << _DAC_READ_SEARCH)
    assert libc.capset(header, after) == 0
    try:
        yield
    finally:
        assert libc.capset(header, before) == 0


@contextmanager
def read_only(directory: Path) -> Iterator[None]:
    """Nothing in a directory can be written, made or removed."""
    paths = [directory, *directory.rglob("*")]
    modes = {path: path.stat().st_mode for path in paths}
    for path in paths:
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        with obedient():
            yield
    finally:
        for path, mode in modes.items():
            path.chmod(mode)


@pytest.mark.parametrize("size", [0, 10, 1000, PAGE, 20_000, 36_000, 44_000, 60_000, 90_000, 120_000])
def test_a_build_on_a_full_disk_stops_and_goes_on_where_it_was(small: Finished, tmp_path: Path, size: int) -> None:
    server, run = small.theatre.server, tmp_path / "run"
    command, before = building(small.theatre, run), len(server.requests)
    with files_of_at_most(size):
        assert str(run) in failed(screentest(*command))
    made, kept = len(server.requests) - before, states(run)["done"]
    assert 0 <= made - kept <= CONCURRENCY, "what is lost was in flight"
    assert (made > 0) == (size >= 36_000)
    assert not list(run.glob("*.jsonl")) and not (run / "benchmark").exists()
    assert screentest(*command).exit_code == 0
    assert emitted(run) == emitted(small.run)
    assert len(server.requests) - before == small.built.total() + made - kept


@pytest.mark.parametrize("size", [36_000, 44_000])
def test_an_evaluation_on_a_full_disk_stops_and_goes_on_where_it_was(
    small: Finished, tmp_path: Path, size: int
) -> None:
    server, run = small.theatre.server, small.evaluation.with_name(f"eval-{size}")
    command, before = evaluating(small.theatre, small.run, run), len(server.requests)
    with files_of_at_most(size):
        assert str(run) in failed(screentest(*command))
    made, kept = len(server.requests) - before, states(run)["done"]
    assert made > 0 and 0 <= made - kept <= CONCURRENCY
    assert screentest(*command).exit_code == 0
    assert evaluated(run) == evaluated(small.evaluation)
    assert len(server.requests) - before == small.compared.total() + made - kept


@pytest.mark.parametrize("free", [40_000, 120_000])
def test_a_build_on_a_disk_that_fills_up_loses_nothing(small: Finished, tmp_path: Path, free: int) -> None:
    theatre, run = small.theatre, tmp_path / "run"
    before = len(theatre.server.requests)
    ended = on_a_small_disk(theatre, theatre.building(run), run, free)
    assert_stopped(ended, run)
    made, kept = len(theatre.server.requests) - before, states(run)["done"]
    assert 0 <= made - kept <= CONCURRENCY
    assert screentest(*building(theatre, run)).exit_code == 0
    assert emitted(run) == emitted(small.run)
    assert len(theatre.server.requests) - before == small.built.total() + made - kept


@pytest.mark.parametrize("free", [40_000, 48_000])
def test_a_disk_that_is_full_when_files_are_emitted_leaves_whole_files_or_none(
    small: Finished, tmp_path: Path, free: int
) -> None:
    theatre, run = small.theatre, copied(small.run, tmp_path / "run")
    for file in ("trajectories.jsonl", "review.jsonl", "build.sha256"):
        (run / file).unlink()
    shutil.rmtree(run / "benchmark")
    before = len(theatre.server.requests)
    ended = on_a_small_disk(theatre, theatre.building(run), run, free)
    assert_stopped(ended, run)
    assert DISK_FULL in ended.err
    whole = emitted(small.run)
    assert emitted(run).items() <= whole.items() and not list(run.rglob("*.tmp"))
    assert screentest(*building(theatre, run)).exit_code == 0
    assert emitted(run) == whole
    assert len(theatre.server.requests) == before


def assert_stopped(ended: Ended, run: Path) -> None:
    """A command stopped with one line that names the run."""
    assert ended.code == 2, ended.err
    (said,) = (line for line in ended.err.splitlines() if line.startswith("screentest: "))
    assert str(run) in said and "Traceback" not in ended.err


def test_a_run_directory_that_cannot_be_made_is_one_line_and_no_call(small: Finished, tmp_path: Path) -> None:
    theatre, before = small.theatre, len(small.theatre.server.requests)
    (tmp_path / "letter.txt").write_text("mine")
    (tmp_path / "closed").mkdir()
    with read_only(tmp_path):
        for run in (tmp_path / "letter.txt/run", tmp_path / "letter.txt", tmp_path / "closed/run", tmp_path / "closed"):
            assert f"{run}: cannot use the run directory; " in failed(screentest(*building(theatre, run)))
            assert f"{run}: cannot use the run directory; " in failed(screentest(*evaluating(theatre, small.run, run)))
    assert [path.name for path in sorted(tmp_path.rglob("*"))] == ["closed", "letter.txt"]
    assert len(theatre.server.requests) == before


def test_a_run_that_became_read_only_is_one_line_and_no_call(small: Finished, tmp_path: Path) -> None:
    theatre, run = small.theatre, copied(small.run, tmp_path / "run")
    evaluation = copied(small.evaluation, small.evaluation.with_name("closed"))
    before, files = len(theatre.server.requests), everything(run) | everything(evaluation)
    with read_only(run), read_only(evaluation):
        for command in (
            building(theatre, run),
            [*building(theatre, small.run), "--fork", run / "fork"],
            evaluating(theatre, small.run, evaluation),
            ["resume", run],
            ["replay", run],
        ):
            assert str(tmp_path) in failed(screentest(*command)) or str(evaluation) in failed(screentest(*command))
    assert everything(run) | everything(evaluation) == files
    assert len(theatre.server.requests) == before


def test_a_killed_run_that_became_read_only_goes_on_when_it_may_be_written(finished: Finished, tmp_path: Path) -> None:
    theatre, run = finished.theatre, tmp_path / "run"
    theatre.cut(theatre.building(run), 20, signal.SIGKILL)
    files, before = everything(run), len(theatre.server.requests)
    with read_only(run):
        assert f"{run}: cannot use the run directory; {READ_ONLY}" in failed(screentest(*building(theatre, run)))
    assert everything(run) == files
    (run / "run.db-shm").unlink()
    with read_only(run):
        assert f"{run}: cannot use the run directory; {READ_ONLY}" in failed(screentest(*building(theatre, run)))
    assert len(theatre.server.requests) == before
    assert screentest(*building(theatre, run)).exit_code == 0
    assert emitted(run) == emitted(finished.run)


def test_a_project_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    project = tmp_path / "project"
    with read_only(tmp_path):
        assert f"{project / 'config.yaml'}: cannot write the file; {READ_ONLY}" in failed(screentest("init", project))
    assert not project.exists()
    with files_of_at_most(100):
        assert f"{project / 'config.yaml'}: cannot write the file; " in failed(screentest("init", project))
    shutil.rmtree(project)
    with files_of_at_most(8000):
        assert f"{project / 'pool'}: cannot write here; " in failed(screentest("init", project))
    assert not list(project.rglob("*.tmp"))
