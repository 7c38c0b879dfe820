"""The game at the terminal: what is piped in or typed, what is shown, and how it ends."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import DEVNULL, PIPE

import pytest
from typer.testing import CliRunner, Result

from builders.projects import project, served
from cli.terminal import COMMAND, failed
from doubles import resolves, stage
from fakes import Behaviour, Fails, FakeProvider, Says, Seen
from game.house import dumped, either, on, storied
from runs.theatre import settle
from screentest.builders.game import Part, began, open_game, take_seat
from screentest.cli.app import app
from screentest.pools import Pool
from screentest.sim import Session, locked

needs_posix = pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")


def play(*arguments: object, typed: str = "", **environment: str) -> Result:
    """A session with what is typed piped in."""
    return CliRunner().invoke(app, ["play", *map(str, arguments)], input=typed, env=environment)


@contextmanager
def mill(
    directory: Path, behaviour: Behaviour = storied, *, latency: float = 0.0
) -> Iterator[tuple[FakeProvider, Path]]:
    """A project whose only scene is the mill, at a server that narrates; the server and the configuration's file."""
    with FakeProvider.threaded(behaviour, latency=latency) as server:
        yield server, project(directory, scenes=(stage(),), models=served(server, "gpt"))


def beginning(config: Path, run: Path, *more: object) -> tuple[object, ...]:
    """What begins a game of Ada in the mill."""
    return ("mill", "--as", "Ada", "--config", config, "--run", run, *more)


def test_a_session_offline_without_a_key(tmp_path: Path) -> None:
    typed = "(trims the wick) Good evening.\n/who\n\n(sits) Speak up.\n/why\n"
    result = play("en-lantern-room", "--as", "maud", "--run", tmp_path, typed=typed)
    assert result.exit_code == 0, result.output
    assert "Understudy" in result.stderr and f"`screentest play --run {tmp_path}` goes on" in result.stderr
    assert "Maud: (trims the wick) Good evening." in result.stdout
    assert "Behind the scenes" in result.stdout
    assert result.stdout.count("It is your turn.") + result.stdout.count("You can react.") >= 3
    assert Part.read(tmp_path / "game.json").lines == ("(trims the wick) Good evening.", "(sits) Speak up.")


def test_a_session_in_chinese(tmp_path: Path) -> None:
    result = play("zh-inn-wugui", "--as", "段寒", "--run", tmp_path, typed="（按刀）谁？\n／pass\n/quit\n（笑）不\n")
    assert result.exit_code == 0, result.output
    assert Part.read(tmp_path / "game.json").lines == ("（按刀）谁？", "（静观其变）")
    assert "段寒: （按刀）谁？" in result.stdout


def test_a_game_goes_on_by_its_directory_alone(tmp_path: Path) -> None:
    with mill(tmp_path) as (server, config):
        run = tmp_path / "game"
        first = play(*beginning(config, run, "--rounds", 5, "--seed", 9), typed="(waits) First.\n(waits) Second.\n")
        assert first.exit_code == 0, first.output
        made = len(server.requests)
        second = play("--run", run, typed="/quit\n")
        assert (second.exit_code, len(server.requests)) == (0, made), second.output
        assert "lines so far; the latest:" in second.stdout
        assert first.stdout.splitlines()[-1] == second.stdout.splitlines()[-1]
        assert second.stdout.count("Ada: (waits) Second.") == 1
        same = play(*beginning(config, run, "--rounds", 5, "--seed", 9), typed="/quit\n")
        assert same.exit_code == 0, same.output
        kept = began(run)
        assert kept and (kept[0], kept[1], kept[2].seed, kept[2].build.rounds) == ("mill", "Ada", 9, 5)


def test_rewinding_saving_and_loading(tmp_path: Path) -> None:
    with mill(tmp_path) as (_, config):
        run = tmp_path / "game"
        typed = "(a) One.\n/save one\n(b) Two.\n/rewind\n(c) Three.\n/load one\n"
        typed += f"/load nothing\n/rewind x\n/rewind 9\n/rewind {'9' * 5000}\n/ save\n/\n"
        result = play(*beginning(config, run), typed=typed)
        assert result.exit_code == 0, result.output
        part = Part.read(run / "game.json")
        assert part.lines == ("(a) One.",)
        assert part.saves == {"one": ("(a) One.",), "last": ("(a) One.", "(c) Three.")}
        for told in (
            "Saved as one",
            "/load last takes that back",
            "Took back your last line: (b) Two.",
            "nothing is saved as 'nothing'",
            "'x' is no number",
        ):
            assert told in result.stderr
        assert "Back at one, with 1 line of yours, the last of them: (a) One." in result.stderr
        assert "cannot take back 9 lines; you have given 1" in result.stderr


@pytest.mark.parametrize("typed", ["(   )", "（　）", "()", "[]", "( ) [ ]", "[", "(", "[He lies.]", "[He lies.] ()"])
def test_a_line_with_nothing_in_it_is_refused(tmp_path: Path, typed: str) -> None:
    with mill(tmp_path) as (_, config):
        result = play(*beginning(config, tmp_path / "game"), typed=f"{typed}\n")
    assert "nobody would notice that" in result.stderr
    assert Part.read(tmp_path / "game/game.json").lines == ()


def test_rounds_may_only_be_raised(tmp_path: Path) -> None:
    with mill(tmp_path) as (_, config):
        run = tmp_path / "game"
        assert play(*beginning(config, run, "--rounds", 4)).exit_code == 0
        said = failed(play("--run", run, "--rounds", 2))
        assert "rules.rounds: 4 → 2; rounds may only be raised; undo the change" in said
        assert play("--run", run, "--rounds", 5).exit_code == 0
        assert "--turns: a story has no turns" in failed(play("--run", run, "--turns", 9))


def test_what_changes_about_the_place_is_told_again_after_a_rewind(tmp_path: Path) -> None:
    def burns(seen: Seen) -> Says | None:
        fire = stage().situation.model_copy(update={"description": "The mill burns."}).model_dump()
        return (
            Says(resolves("Fire.", environment=fire))
            if seen.schema and "outcome" in seen.schema["properties"]
            else None
        )

    with mill(tmp_path, either(burns)) as (_, config):
        result = play(*beginning(config, tmp_path / "game"), typed="(a) One.\n/rewind\n(b) Two.\n")
    assert result.exit_code == 0, result.output
    assert result.stdout.count("The mill burns.") == 2


def test_what_one_can_look_at(tmp_path: Path) -> None:
    with mill(tmp_path) as (_, config):
        typed = "/me\n/who\n/who ben\n/memories\n/help\n/whi\n(a) One.\n/memories\n/memories cyn\n/why ben\n/why zoe\n"
        result = play(*beginning(config, tmp_path / "game"), typed=typed)
    assert result.exit_code == 0, result.output
    for shown in (
        "secret-of-Ada",
        "motive-of-Ada",
        "Ben's trade",
        "nearness",
        "nothing yet",
        "/rewind [N]",
        "did, imp",
    ):
        assert shown in result.stdout, shown
    assert "there is no /whi; did you mean why" in result.stderr
    assert "there is nobody called 'zoe'" in result.stderr


def test_nothing_of_the_others_is_shown_unless_one_looks_behind_the_scenes(tmp_path: Path) -> None:
    with mill(tmp_path) as (_, config):
        typed = "/me\n/who\n/who ben\n" + "(goes) On.\n" * 9 + "/who\n/memories\n"
        blind = play(*beginning(config, tmp_path / "game", "--rounds", 9), typed=typed)
        assert blind.exit_code == 0, blind.output
        shown = blind.output
        for name in ("Ben", "Cyn"):
            for canary in ("thought-of", "secret-of", "motive-of", "script-of", "script-thought-of"):
                assert f"{canary}-{name}" not in shown
        behind = play("--run", tmp_path / "game", typed="/why\n")
        assert "thought-of-" in behind.stdout and "Behind the scenes" in behind.stdout


def test_a_dialogue(tmp_path: Path) -> None:
    with mill(tmp_path) as (_, config):
        run = tmp_path / "game"
        result = play(*beginning(config, run, "--staging", "dialogue", "--turns", 9), typed="Well, then.\n" * 9)
        assert result.exit_code == 0, result.output
        assert "You have the word." in result.stdout and "— the scene reached its turn limit" in result.stdout
        assert "nobody waits for a line now" in result.stderr
        again = play("--run", run, typed="/memories\n")
        assert again.exit_code == 0 and "The scene is over" in again.stdout
        assert "characters have no memory in this scene" in again.stderr


def test_hostile_text_is_shown_as_text(tmp_path: Path) -> None:
    def hostile(seen: Seen) -> Says | None:
        return Says("(grins) [/] {{7*7}} \x1b[31mRED\x1b]0;owned\x07") if seen.schema is None else None

    with mill(tmp_path, either(hostile)) as (_, config):
        result = play(*beginning(config, tmp_path / "game"), typed="(a) One.\n/why\n/memories\n/memories ben\n")
    assert result.exit_code == 0, result.output
    assert "\x1b" not in result.output and "\x07" not in result.output
    assert "{{7*7}}" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("en-lantern-rom", "--as", "Maud"), "there is no scene 'en-lantern-rom'; did you mean en-lantern-room"),
        (
            ("en-lantern-room", "--as", "Mauf"),
            "--as: there is no 'Mauf' in en-lantern-room; its cast is Maud, Alderton, Davy, Ines; did you mean Maud?",
        ),
        (("en-lantern-room", "--as", "Zoe"), "no 'Zoe' in en-lantern-room; its cast is Maud, Alderton, Davy, Ines"),
        (("en-lantern-room", "--staging", "opera"), "--staging: there is no 'opera'; there are: dialogue, story"),
        (("en-lantern-room", "--as", "Maud", "--turns", 9), "--turns: a story has no turns; it is played in rounds"),
        (
            ("en-lantern-room", "--as", "Maud", "--staging", "dialogue", "--rounds", 9),
            "--rounds: a dialogue has no rounds; it is played line by line; give --turns N instead",
        ),
        (("en-lantern-room",), "--as: whom do you play?; its cast is Maud, Alderton, Davy, Ines"),
        ((), "no game to go on with; `screentest play SCENE --as NAME` begins one"),
    ],
)
def test_what_is_not_there_is_said_in_one_line(tmp_path: Path, arguments: tuple[object, ...], said: str) -> None:
    run = tmp_path / "game"
    told = failed(play(*arguments, "--run", run))
    assert said in told and told.count("Alderton") <= 1
    assert not run.exists()


def test_a_key_without_a_configuration_is_no_licence_to_spend(tmp_path: Path) -> None:
    result = play("en-lantern-room", "--as", "Maud", "--run", tmp_path / "game", OPENAI_API_KEY="sk-x")
    assert "no configuration given" in failed(result)


def test_another_game_is_not_played_over_one_that_is_there(tmp_path: Path) -> None:
    assert play("en-lantern-room", "--as", "Maud", "--run", tmp_path, typed="(a) One.\n").exit_code == 0
    before = (tmp_path / "game.json").read_bytes()
    for other in (("en-goat-court", "--as", "Hob"), ("en-lantern-room", "--as", "Davy")):
        said = failed(play(*other, "--run", tmp_path))
        assert "another game is here" in said and "goes on with Maud in en-lantern-room" in said
    said = failed(play("--seed", 99, "--run", tmp_path))
    assert "this game began with other settings; seed: 0 → 99; undo the change" in said
    assert (tmp_path / "game.json").read_bytes() == before


def test_another_runs_directory_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "build.identity.json").write_text("{}")
    assert "will not play in it" in failed(play("en-lantern-room", "--as", "Maud", "--run", tmp_path))
    assert [file.name for file in tmp_path.iterdir()] == ["build.identity.json"]


@pytest.mark.parametrize("damage", ["", "{", '{"version": 2}', '{"lines": "one"}', '{"lines": [], "more": 1}'])
def test_damaged_lines_are_said_in_one_line_and_left_alone(tmp_path: Path, damage: str) -> None:
    assert play("en-lantern-room", "--as", "Maud", "--run", tmp_path).exit_code == 0
    file = tmp_path / "game.json"
    file.write_text(damage)
    assert f"{file}: the person's lines cannot be read" in failed(play("--run", tmp_path))
    assert file.read_text() == damage


def test_two_cannot_play_in_one_directory(tmp_path: Path) -> None:
    assert play("en-lantern-room", "--as", "Maud", "--run", tmp_path).exit_code == 0
    with locked(tmp_path):
        assert "is working on this run" in failed(play("--run", tmp_path), code=5)


def test_a_call_that_failed_can_be_made_again(tmp_path: Path) -> None:
    with mill(tmp_path) as (server, config):
        run, said = tmp_path / "game", "(a) One.\n"
        server.behaviour = lambda seen: Fails(500) if "(a) One." in seen.prompt else storied(seen)
        broken = play(*beginning(config, run), typed=said + "/again\n")
        assert "the scene was cut short: unavailable" in failed(broken, code=4)
        assert broken.stdout.count("fault at turn") == 2 and "/again makes the call again" in broken.stderr
        server.behaviour = storied
        mended = play("--run", run, typed="/again\n")
        assert mended.exit_code == 0, mended.output
        assert "fault" not in mended.stdout and "no call failed" in mended.stderr
        assert Part.read(run / "game.json").lines == ("(a) One.",)


def test_a_reply_that_cannot_be_used_is_kept_and_another_line_gets_round_it(tmp_path: Path) -> None:
    def refuses(seen: Seen) -> Says | None:
        return Says("nonsense") if seen.schema and "(a) One." in seen.prompt else None

    with mill(tmp_path, either(refuses)) as (server, config):
        result = play(*beginning(config, tmp_path / "game"), typed="(a) One.\n/again\n/rewind\n(b) Two.\n")
        assert result.exit_code == 0, result.output
        assert "/rewind and do something else" in result.stderr
        assert "no call failed that could be made again" in result.stderr
        made = len(server.requests)
        assert play("--run", tmp_path / "game", typed="").exit_code == 0
        assert len(server.requests) == made


def test_a_budget_ends_the_session_and_keeps_the_game(tmp_path: Path) -> None:
    with FakeProvider.threaded(storied) as server:
        price = {"input": 1000.0, "output": 1000.0}
        config = project(tmp_path, scenes=(stage(),), models=served(server, "gpt", price=price))
        run = tmp_path / "game"
        poor = play(*beginning(config, run, "--max-usd", 0.01), typed="(a) One.\n(b) Two.\n")
        failed(poor, code=3)
        assert Part.read(run / "game.json").lines == ("(a) One.",)
        rich = play("--run", run, typed="(b) Two.\n")
        assert rich.exit_code == 0 and "Spent in this session" in rich.stderr


@needs_posix
def test_a_game_that_is_killed_again_and_again_is_the_same_game(tmp_path: Path) -> None:
    typed = [f"(step {number}) On." for number in range(8)]
    with mill(tmp_path, latency=0.02) as (server, config):
        once, often = tmp_path / "once", tmp_path / "often"
        done = play(*beginning(config, once, "--rounds", 9), typed="\n".join(typed))
        assert done.exit_code == 0, done.output
        made = len(server.requests)
        kills = 0
        for moment in (3, 9, 9, 9, 9, None):
            left = typed[len(Part.read(often / "game.json").lines) :]
            kills += _killed(server, moment, left, beginning(config, often, "--rounds", 9))
        assert kills >= 3
        lost = len(server.requests) - 2 * made
        assert 0 <= lost <= 3 * kills, "asked again is what was in flight: a round's three beliefs at most"
        assert asyncio.run(events(often)) == asyncio.run(events(once))


def _killed(server: FakeProvider, moment: int | None, lines: list[str], arguments: tuple[object, ...]) -> bool:
    """Play, and kill the process when it has asked ``moment`` times; tells whether it did not end before."""
    before, killed = len(server.requests), False
    with subprocess.Popen(  # noqa: S603
        [*COMMAND, "play", *map(str, arguments)], stdin=PIPE, stdout=DEVNULL, stderr=DEVNULL, text=True
    ) as process:
        assert process.stdin
        process.stdin.write("\n".join(lines) + "\n")
        process.stdin.close()
        while process.poll() is None and not killed:
            if moment and len(server.requests) >= before + moment:
                process.send_signal(signal.SIGKILL)
                killed = True
            time.sleep(0.002)
        assert process.wait(20) == (-signal.SIGKILL if killed else 0)
    settle(server)
    return killed


async def events(run: Path) -> list[dict[str, object]]:
    """All events of a game, from its journal alone."""
    kept = began(run)
    assert kept
    scene, name, config = kept
    seat = take_seat(Pool.open(config.pool.path or run), scene, name)
    async with open_game(run, config, seat, session=Session(replay=True)) as game:
        await on(game)
        return dumped(game.events)


@needs_posix
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("latency", [0.0, 1.5], ids=["waiting for the person", "waiting for a model"])
def test_an_interruption_says_how_to_go_on(tmp_path: Path, how: signal.Signals, latency: float) -> None:
    with mill(tmp_path, latency=latency) as (_, config):
        run = tmp_path / "game"
        command = [*COMMAND, "play", *map(str, beginning(config, run))]
        process = subprocess.Popen(command, stdin=PIPE, stdout=PIPE, stderr=PIPE, text=True)  # noqa: S603
        assert process.stdin and process.stdout
        process.stdin.write("(a) One.\n" if latency else "")
        process.stdin.flush()
        while "It is your turn." not in process.stdout.readline():
            pass
        time.sleep(0.4)
        process.send_signal(how)
        _, err = process.communicate(timeout=20)
    assert process.returncode == 75, err
    assert "Traceback" not in err
    said = err.splitlines()[-1]
    assert said == f"screentest: interrupted; everything is kept. `screentest play --run {run}` goes on."


@needs_posix
@pytest.mark.parametrize(("key", "code"), [(b"\x04", 0), (b"\x03", 75), (b"/quit\n", 0)], ids=["^D", "^C", "/quit"])
def test_a_terminal(tmp_path: Path, key: bytes, code: int) -> None:
    import pty

    command = [*COMMAND, "play", "en-lantern-room", "--as", "Maud", "--run", str(tmp_path / "game")]
    ours, theirs = pty.openpty()
    environment = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    environment["TERM"] = "dumb"
    process = subprocess.Popen(  # noqa: S603
        command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment, start_new_session=True
    )
    os.close(theirs)
    try:
        shown = _until(ours, b"Maud> ")
        os.write(ours, "(lifts the lamp) Ça va?\n".encode())
        shown += _until(ours, b"Maud> ")
        assert "Alderton" in shown.decode()
        if key == b"\x03":
            process.send_signal(signal.SIGINT)
        else:
            os.write(ours, key)
        assert process.wait(20) == code
    finally:
        process.kill()
        os.close(ours)
    assert shown.decode().count("Maud: (lifts the lamp)") == 0, "what was just typed is on the screen already"
    assert Part.read(tmp_path / "game/game.json").lines == ("(lifts the lamp) Ça va?",)
    again = play("--run", tmp_path / "game")
    assert again.stdout.count("Maud: (lifts the lamp) Ça va?") == 1


def _until(terminal: int, mark: bytes) -> bytes:
    shown, end = b"", time.monotonic() + 20
    while not shown.rstrip(b" ").endswith(mark.rstrip()):
        assert time.monotonic() < end, shown
        shown += os.read(terminal, 4096)
    return shown
