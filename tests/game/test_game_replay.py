"""Going on, rewinding, loading: a game is its lines and the journal, and no call is ever made twice."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from builders.projects import load_with, served
from fakes import FakeProvider
from game.house import LINES, dumped, on, seat, starter_seat, storied, table, through
from screentest.builders.game import LAST, Game, Part, open_game
from screentest.errors import InputError
from screentest.sim import BeliefsUpdated, Event, ImportanceRated, Outcome, Recalled, SceneClosed, Spoken


@pytest.fixture
async def server() -> AsyncIterator[FakeProvider]:
    async with FakeProvider(storied) as provider:
        yield provider


async def finished(directory: Path, server: FakeProvider) -> list[Event]:
    """All events of a game whose lines never run out, played at once."""
    async with table(directory, server, rounds=3) as game:
        await on(game)
        for number in range(40):
            if game.closed:
                return game.events
            game.say(f"(step {number}) On.")
            await on(game)
    raise AssertionError("the story does not end")


async def test_a_story_with_a_person_runs_to_its_end(tmp_path: Path, server: FakeProvider) -> None:
    events = await finished(tmp_path, server)
    assert events[-1] == SceneClosed(reason="turn_limit", turns=sum(isinstance(event, Spoken) for event in events))
    mine = [event for event in events if isinstance(event, Spoken) and event.line.speaker == "Ada"]
    assert {event.model for event in mine} == {"person"} and {event.cue for event in mine} == {"act", "reaction"}
    assert [event.line.text for event in mine] == [f"(step {number}) On." for number in range(len(mine))]
    assert {event.model for event in events if isinstance(event, Spoken)} == {"person", "gpt"}
    assert "Ada" not in {event.character for event in events if isinstance(event, BeliefsUpdated)}


async def test_a_finished_game_comes_back_without_a_call(tmp_path: Path, server: FakeProvider) -> None:
    events = await finished(tmp_path, server)
    made = len(server.requests)
    async with table(tmp_path, server, rounds=3) as game:
        await on(game)
        assert dumped(game.events) == dumped(events)
    assert len(server.requests) == made


async def test_a_game_left_after_every_line_is_the_same_game(tmp_path: Path, server: FakeProvider) -> None:
    events = await finished(tmp_path / "once", server)
    made, number, again = len(server.requests), 0, list[Event]()
    while not isinstance(again and again[-1], SceneClosed):
        async with table(tmp_path / "often", server, rounds=3) as game:
            await on(game)
            again = game.events
            if game.cue:
                game.say(f"(step {number}) On.")
                number += 1
    assert dumped(again) == dumped(events)
    assert len(server.requests) == 2 * made


async def test_a_game_left_at_every_event_is_the_same_game(tmp_path: Path, server: FakeProvider) -> None:
    events = await finished(tmp_path / "once", server)
    made, number, again = len(server.requests), 0, list[Event]()
    for stop in range(1, len(events) + 1):
        async with table(tmp_path / "often", server, rounds=3) as game:
            while len(game.events) < stop:
                async for _ in game.advance():
                    if len(game.events) >= stop:
                        break
                if game.cue:
                    game.say(f"(step {number}) On.")
                    number += 1
            again = game.events
    assert dumped(again) == dumped(events)
    assert len(server.requests) == 2 * made


async def test_memories_beliefs_and_story_time_are_there_again(tmp_path: Path, server: FakeProvider) -> None:
    async with table(tmp_path, server, rounds=9) as game:
        await through(game, *LINES, *LINES)
        assert any(isinstance(event, BeliefsUpdated) for event in game.events)
        before = game.view, game.memories(), game.memories("Ben"), game.why(), game.nearness()
    async with table(tmp_path, server, rounds=9) as game:
        await on(game)
        assert (game.view, game.memories(), game.memories("Ben"), game.why(), game.nearness()) == before


async def test_the_same_line_after_a_rewind_brings_the_same_replies_and_no_call(
    tmp_path: Path, server: FakeProvider
) -> None:
    async with table(tmp_path, server) as game:
        await through(game, *LINES)
        events, made = dumped(game.events), len(server.requests)
        await game.rewind(3)
        assert game.part.lines == LINES[:1]
        await through(game, *LINES[1:])
        assert dumped(game.events) == events
        assert len(server.requests) == made


async def test_another_line_after_a_rewind_changes_only_what_follows(tmp_path: Path, server: FakeProvider) -> None:
    async with table(tmp_path, server) as game:
        await through(game, *LINES[:2])
        early = dumped(game.events)
        await through_more(game, *LINES[2:])
        late, made = dumped(game.events), len(server.requests)
        await game.rewind(2)
        await on(game)
        assert dumped(game.events) == early
        assert len(server.requests) == made
        await through_more(game, "(throws the cup) Never.", LINES[3])
        other = dumped(game.events)
        assert other[: len(early)] == early and other[len(early) :] != late[len(early) :]
        assert len(server.requests) > made


async def through_more(game: Game, *lines: str) -> None:
    for line in lines:
        game.say(line)
        await on(game)


async def test_generators_are_rewound_too(tmp_path: Path, server: FakeProvider) -> None:
    """Nothing that was drawn on the way to a line that was taken back bears on what follows."""
    async with table(tmp_path / "straight", server) as game:
        await through(game, LINES[0], "(throws the cup) Never.", LINES[3])
        straight = dumped(game.events)
    async with table(tmp_path / "bent", server) as game:
        await through(game, *LINES)
        await game.rewind(3)
        await through(game, "(throws the cup) Never.", LINES[3])
        assert dumped(game.events) == straight


async def test_saves_are_branches_of_one_journal(tmp_path: Path, server: FakeProvider) -> None:
    async with table(tmp_path, server) as game:
        await through(game, *LINES[:2])
        game.save("before the fire")
        early = dumped(game.events)
        await through_more(game, *LINES[2:])
        late, made = dumped(game.events), len(server.requests)
        await game.load("before the fire")
        await on(game)
        assert dumped(game.events) == early
        await game.load(LAST)
        await on(game)
        assert dumped(game.events) == late
        assert len(server.requests) == made
    async with table(tmp_path, server) as game:
        assert set(game.part.saves) == {"before the fire", LAST}


async def test_what_cannot_be_taken_back_or_loaded_is_said_and_changes_nothing(
    tmp_path: Path, server: FakeProvider
) -> None:
    async with table(tmp_path, server) as game:
        await through(game, LINES[0])
        game.save("inn")
        before = game.part
        with pytest.raises(InputError, match="you have given 1"):
            await game.rewind(2)
        with pytest.raises(InputError, match="did you mean inn"):
            await game.load("in")
        with pytest.raises(InputError, match="no name"):
            game.save(" ".join(["x" * 61]))
        assert game.part == before == Part.read(tmp_path / "game.json")
        assert game.cue


async def test_lines_that_nobody_could_perceive_are_not_taken(tmp_path: Path, server: FakeProvider) -> None:
    async with table(tmp_path, server) as game:
        await on(game)
        for nothing in ("", "   ", "[I wonder.]", "\x00\x1b"):
            with pytest.raises(InputError, match="nobody would notice"):
                game.say(nothing)
        with pytest.raises(InputError, match="too long"):
            game.say("a" * 2001)
        assert game.part.lines == ()
        game.say("[I wonder.]  (looks\x07 up)\n Well? \ud800")
        await on(game)
        mine = next(event.line for event in game.events if isinstance(event, Spoken) and event.model == "person")
        assert (mine.thought, mine.text) == ("I wonder.", "(looks up) Well? ?")


async def test_a_line_is_kept_before_anything_follows_from_it(tmp_path: Path, server: FakeProvider) -> None:
    async with table(tmp_path, server) as game:
        await on(game)
        game.say(LINES[0])
        assert Part.read(tmp_path / "game.json").lines == LINES[:1]
        with pytest.raises(InputError, match="nobody waits"):
            game.say(LINES[1])


async def test_a_dialogue_with_a_person(tmp_path: Path, server: FakeProvider) -> None:
    async with table(tmp_path / "once", server, staging="dialogue", turns=10) as game:
        await through(game, *LINES[:2])
        assert game.cue and game.cue.kind == "line"
        events, made = dumped(game.events), len(server.requests)
        assert not any(isinstance(event, Outcome | Recalled) for event in game.events)
        with pytest.raises(InputError, match="no memory in this scene"):
            game.memories()
    async with table(tmp_path / "once", server, staging="dialogue", turns=10) as game:
        await on(game)
        assert dumped(game.events) == events
        await game.rewind()
        await through(game, LINES[1])
        assert dumped(game.events) == events
    assert len(server.requests) == made


async def test_a_chinese_scene(tmp_path: Path, server: FakeProvider) -> None:
    async with table(tmp_path, server, starter_seat("zh-inn-wugui", "段寒")) as game:
        await on(game)
        game.say("（按住刀柄）谁在外面？")
        await on(game)
        game.wait()
        await on(game)
        mine = [event.line for event in game.events if isinstance(event, Spoken) and event.model == "person"]
        assert [(line.action, line.speech) for line in mine] == [("按住刀柄", "谁在外面？"), ("静观其变", "")]


async def test_a_story_may_be_made_longer(tmp_path: Path, server: FakeProvider) -> None:
    async with table(tmp_path, server, rounds=1) as game:
        while not game.closed:
            await on(game)
            if game.cue:
                game.say(LINES[0])
        short, made = dumped(game.events), len(server.requests)
    async with table(tmp_path, server, rounds=2) as game:
        await on(game)
        assert dumped(game.events)[: len(short) - 1] == short[:-1]
        assert game.cue and not game.closed
        minds = [event for event in game.events if isinstance(event, BeliefsUpdated)]
    assert minds and len(server.requests) == made + len(minds), "only what comes between the rounds is new"
    with pytest.raises(InputError, match="began with other settings"):
        async with table(tmp_path, server, rounds=1):
            pass


async def test_vectors_and_judged_memories_are_paid_once_too(tmp_path: Path, server: FakeProvider) -> None:
    models = {**served(server, "gpt"), "near": {"provider": "embeddings", "model": "e5", "base_url": server.openai_url}}
    memory = {"embedder": "near", "importance": "judged", "window": 4}
    config = load_with(models=models, memory=memory, build={"staging": "story", "rounds": 9})
    async with open_game(tmp_path, config, seat()) as game:
        await through(game, *LINES, *LINES)
        events, why, made = dumped(game.events), game.why(), len(server.requests)
    assert any(seen.protocol == "embeddings" for seen in server.requests)
    assert any(isinstance(event, Recalled) for event in game.events)
    assert "Ada" in {event.character for event in game.events if isinstance(event, ImportanceRated)}
    async with open_game(tmp_path, config, seat()) as game:
        await on(game)
        assert (dumped(game.events), game.why()) == (events, why)
        await game.rewind(2)
        await through(game, *LINES[-2:])
        assert dumped(game.events) == events
    assert len(server.requests) == made
