"""What a person is shown: what their character perceives, and nothing else."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from doubles import placed, resolves, stage
from fakes import FakeProvider, Says, Seen
from game.house import LINES, either, on, player, seat, storied, table, through
from screentest.errors import InputError
from screentest.sim import EnvironmentChanged, Event, Outcome, SpeakerChosen, Spoken, StateChanged


@pytest.fixture
async def server() -> AsyncIterator[FakeProvider]:
    async with FakeProvider(storied) as provider:
        yield provider


def text(events: list[Event]) -> str:
    """All that stands in some events."""
    return "\n".join(event.model_dump_json() for event in events)


async def test_nobodys_thoughts_secrets_or_beliefs_are_noticed(tmp_path: Path, server: FakeProvider) -> None:
    async with table(tmp_path, server, rounds=9) as game:
        noticed = text(await through(game, *LINES, *LINES))
        happened = text(game.events)
    for canary in ("thought-of-Ben", "thought-of-Cyn"):
        assert canary in happened and canary not in noticed
    for canary in ("secret-of", "motive-of", "script-", "beliefs_updated", "recalled", "influenced", "importance"):
        assert canary not in noticed
    assert "beliefs_updated" in happened


async def test_all_that_is_noticed_stands_in_the_characters_view(tmp_path: Path, server: FakeProvider) -> None:
    async with table(tmp_path, server, rounds=9) as game:
        noticed = await through(game, *LINES, *LINES)
        told = [_text(event) for event in noticed if isinstance(event, Spoken | Outcome)]
        assert told == [line.text for line in game.view.history]


def _text(event: Spoken | Outcome) -> str:
    return event.line.text if isinstance(event, Spoken) else event.text


async def test_who_is_away_notices_nothing_until_they_are_back(tmp_path: Path, server: FakeProvider) -> None:
    """Ada's first deed takes her out of the mill, her second one back; the mill burns meanwhile."""
    ids = {member.name: member.id for member in stage().cast}
    burnt = {"time": "Dusk", "place": "The mill", "description": "It is burning."}

    def narrate(seen: Seen) -> Says | None:
        if not (seen.schema and "outcome" in seen.schema["properties"]):
            return None
        deed = seen.prompt.rsplit("# The deed", 1)[1]
        if LINES[0] in deed:
            return Says(resolves("She is gone.", placed(ids["Ada"], "the yard", present=False)))
        if LINES[1] in deed:
            return Says(resolves("She is back.", placed(ids["Ada"], "the door")))
        if "Ben: " in deed:
            return Says(resolves("outcome-of-Ben", environment=burnt))
        return None

    def unaffected(seen: Seen) -> Says | None:
        if seen.schema and "target" in seen.schema["properties"]:
            return Says(json.dumps({"influence": "none", "target": None}))
        return None

    server.behaviour = either(narrate, either(unaffected))
    async with table(tmp_path, server, rounds=9) as game:
        away = await through(game, LINES[0])
        assert game.view.standings["Ada"].present is False
        assert [event.line.speaker for event in away if isinstance(event, Spoken)] == ["Ada"]
        assert "outcome-of-Ben" in text(game.events) and "outcome-of-Ben" not in text(away)
        assert "burning" in text(game.events) and "burning" not in text(away)
        assert [event.speaker for event in away if isinstance(event, SpeakerChosen)] == ["Ada", "Ben", "Cyn", "Ada"]
        with pytest.raises(InputError, match="heard no line"):
            game.why()
        game.say(LINES[1])
        back = await on(game)
        assert [event.character for event in back if isinstance(event, StateChanged)] == ["Ada"]
        assert next(event.situation.time for event in back if isinstance(event, EnvironmentChanged)) == "Dusk"
        assert [event.line.speaker for event in back if isinstance(event, Spoken)] == ["Ada", "Ben", "Cyn"]
        assert game.why().spoken.line.speaker == "Cyn"


async def test_why_tells_what_led_to_a_line(tmp_path: Path, server: FakeProvider) -> None:
    async with table(tmp_path, server, seat("Cyn"), rounds=30) as game:
        noticed = await through(game, *(f"(step {number}) On." for number in range(24)))
        last = next(event for event in reversed(noticed) if isinstance(event, Spoken) and event.model == "gpt")
        found = game.why()
        assert found.spoken.line.text == last.line.text
        assert found.spoken.line.thought == f"thought-of-{last.line.speaker}"
        seen = next(one for one in reversed(server.requests) if one.schema is None and player(one) == last.line.speaker)
        assert found.beliefs and found.beliefs.intention in seen.prompt
        assert found.recollections
        assert all(one.memory.text in seen.prompt for one in found.recollections)
        for name in ("Ada", "Ben"):
            assert game.why(name).spoken.line.speaker == name
        reactions = [game.why(name) for name in ("Ada", "Ben") if game.why(name).spoken.cue == "reaction"]
        assert all(one.reacting_to and one.influence for one in reactions)


async def test_a_reaction_has_a_deed_and_an_influence_as_its_reason(tmp_path: Path, server: FakeProvider) -> None:
    async with table(tmp_path, server) as game:
        await on(game)
        game.say(LINES[0])
        async for event in game.advance():
            if isinstance(event, Spoken) and event.cue == "reaction":
                break
        found = game.why()
        assert (found.spoken.cue, found.reacting_to) == ("reaction", "Ada")
        assert found.influence in server.requests[-1].prompt
        assert found.beliefs is None


async def test_people_are_found_by_name_or_by_how_it_begins(tmp_path: Path, server: FakeProvider) -> None:
    async with table(tmp_path, server, seat("Ada", stage("Ada", "Ben Ash", "Ben Oak"))) as game:
        assert game.character("ben a").name == "Ben Ash"
        assert game.character("BEN OAK").name == "Ben Oak"
        for unclear in ("Ben", "Dora", ""):
            with pytest.raises(InputError, match="there is nobody called"):
                game.character(unclear)
        assert set(game.nearness()) == {"Ben Ash", "Ben Oak"}


async def test_a_persons_thoughts_and_secrets_reach_no_prompt(tmp_path: Path, server: FakeProvider) -> None:
    async with table(tmp_path, server, rounds=9) as game:
        await through(game, *(f"[my-thought {line}] {line}" for line in (*LINES, *LINES)))
        assert "my-thought" in text(game.events)
    prompts = "\n".join(seen.prompt for seen in server.requests)
    assert LINES[-1] in prompts
    assert "my-thought" not in prompts and "secret-of-Ada" not in prompts
    assert "secret-of-Ben" in prompts
