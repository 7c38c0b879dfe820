"""What fails, stays a fault of the conversation it happened in."""

from __future__ import annotations

import asyncio
import gc
import logging
from collections.abc import Callable
from itertools import count

import pytest

from doubles import Improviser, Troupe, Wrapped, collected, heroine, stage, troupe
from fakes.clock import run_virtually
from screentest.errors import (
    BadReply,
    CallError,
    EmptyReply,
    FilteredReply,
    InvalidReply,
    RateLimited,
    RefusedReply,
    Rejected,
    StoreError,
    TimedOut,
    TruncatedReply,
    Unavailable,
)
from screentest.llms import Gate, Gated, Reply, Request
from screentest.sim import Event, Fault, Players, Rules, SceneClosed, Spoken, group, play, record

RULES = Rules(turns=8, orders="both")


def failing_at(nth: int, error: BaseException) -> Callable[[Request], None]:
    calls = count()

    def before(_: Request) -> None:
        if next(calls) == nth:
            raise error

    return before


async def perform(players: Players, key: str = "talk", rules: Rules = RULES) -> tuple[Event, ...]:
    return await record(play(stage(), test=heroine(), models=players, seed=5, key=key, rules=rules), key)


def ending(events: tuple[Event, ...]) -> tuple[list[str], str, int]:
    """Kinds of the faults, the reason of the one closing event, and how many lines came before."""
    faults = [event.kind for event in events if isinstance(event, Fault)]
    (closed,) = [event for event in events if isinstance(event, SceneClosed)]
    assert events[-1] == closed
    assert closed.turns == sum(isinstance(event, Spoken) for event in events)
    return faults, closed.reason, closed.turns


async def test_a_failure_of_any_call_ends_the_scene_with_one_fault():
    cast = troupe()
    whole = await perform(cast.players)
    calls = len(cast.requests)
    assert calls > 20
    assert ending(whole) == ([], "turn_limit", 8)
    for nth in range(calls):
        events = await perform(troupe().wrapped(failing_at(nth, TimedOut("no answer", model="m"))))
        kinds, reason, turns = ending(events)
        assert (kinds, reason) == (["timed_out"], "fault")
        assert events[-2] == Fault(turn=turns + 1, kind="timed_out", detail="m: no answer")
        assert events[:-2] == whole[: len(events) - 2]
    assert await perform(troupe().wrapped(failing_at(calls, TimedOut("never asked")))) == whole


@pytest.mark.parametrize(
    ("error", "kind", "status"),
    [
        (RateLimited("slow down"), "rate_limited", 429),
        (Unavailable("down", status=503), "unavailable", 503),
        (Rejected("no such model", status=404), "rejected", 404),
        (TimedOut("late"), "timed_out", None),
        (EmptyReply("nothing"), "empty", None),
        (TruncatedReply("cut"), "truncated", None),
        (RefusedReply("no"), "refused", None),
        (FilteredReply("no"), "filtered", None),
        (InvalidReply("what"), "invalid", None),
    ],
)
async def test_a_fault_says_what_failed(error: CallError | BadReply, kind: str, status: int | None):
    fault = (await perform(troupe().wrapped(failing_at(3, error))))[-2]
    assert isinstance(fault, Fault)
    assert (fault.kind, fault.status, fault.detail) == (kind, status, str(error))


@pytest.mark.parametrize("purpose", ["direct", "play.scene", "play.test", "judge.dimension", "judge.pairwise"])
async def test_nonsense_is_a_fault_and_never_a_line_or_a_verdict(purpose: str):
    nonsense = "[I wonder what they want from me.]"
    kinds, reason, _ = ending(await perform(troupe(**{purpose: lambda _: nonsense}).players))
    assert (kinds, reason) == (["empty" if purpose.startswith("play.") else "invalid"], "fault")


async def test_a_failing_source_does_not_abandon_the_base_which_is_being_paid_for():
    finished: list[str] = []

    class Slow(Improviser):
        async def reply(self, request: Request) -> Reply:
            await asyncio.sleep(0.01)
            finished.append(request.key)
            return await super().reply(request)

    cast = troupe()
    players = cast.players
    slow = Players(
        director=players.director,
        scene=players.scene,
        source=Wrapped(players.source, failing_at(0, Unavailable("down"))),
        base=Slow("base"),
        judge=players.judge,
    )
    assert ending(await perform(slow))[0] == ["unavailable"]
    assert len(finished) == 1


async def test_an_error_nobody_foresaw_is_logged_and_becomes_an_internal_fault(caplog: pytest.LogCaptureFixture):
    with caplog.at_level(logging.ERROR):
        events = await perform(troupe().wrapped(failing_at(4, ZeroDivisionError("oops"))))
    assert ending(events)[:2] == (["internal"], "fault")
    assert isinstance(events[-2], Fault)
    assert events[-2].detail == "ZeroDivisionError: oops"
    assert "talk: unexpected error" in caplog.text


@pytest.mark.parametrize("fails_at", ["always", "first", "SceneClosed"])
async def test_a_watcher_that_fails_spoils_its_own_conversation_only(fails_at: str):
    """Whatever the watcher does, the events close exactly once, with at most one fault."""
    seen = count()

    def watch(event: Event) -> None:
        if fails_at in ("always", type(event).__name__) or (fails_at == "first" and next(seen) == 0):
            raise KeyError("broken watcher")

    stream = play(stage(), test=heroine(), models=troupe().players, key="talk", rules=RULES)
    events = await record(stream, "talk", watch)
    assert ending(events)[:2] == (["internal"], "fault")


async def test_what_must_stop_the_run_is_no_fault_of_a_conversation():
    with pytest.raises(StoreError):
        await perform(troupe().wrapped(failing_at(6, StoreError("disk full"))))


async def test_one_failing_conversation_does_not_affect_the_others():
    alone = [await perform(troupe().players, key=f"talk/{k}") for k in range(8)]
    gate = Gate(4, opens_at=4)
    casts: list[Players] = []
    for k in range(8):
        before = failing_at(7, ZeroDivisionError() if k == 2 else Unavailable("down")) if k in (2, 5) else None
        players = troupe().wrapped(before or (lambda _: asyncio.sleep(0)))
        gated = {part: Gated(getattr(players, part), gate) for part in Players.__dataclass_fields__}
        casts.append(Players(**gated))
    side_by_side = await group(perform(players, key=f"talk/{k}") for k, players in enumerate(casts))
    for k in range(8):
        if k in (2, 5):
            assert ending(side_by_side[k])[1] == "fault"
        else:
            assert side_by_side[k] == alone[k]


def waiting_after(calls: int, cancelled: list[str]) -> tuple[Troupe, Players]:
    """A cast of which every call after the first few waits for ever."""
    cast, numbers = troupe(), count()

    async def wait(request: Request) -> None:
        if next(numbers) >= calls:
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                cancelled.append(request.key)
                raise

    return cast, cast.wrapped(wait)


@pytest.mark.parametrize("calls", range(0, 20, 3))
def test_cancelling_stops_every_call_at_once_and_leaves_nothing_behind(calls: int):
    async def main() -> None:
        loop, cancelled = asyncio.get_running_loop(), []
        performances = [waiting_after(calls, cancelled)[1] for _ in range(6)]
        running = asyncio.ensure_future(group(perform(players, key=f"{k}") for k, players in enumerate(performances)))
        await asyncio.sleep(1)
        assert not running.done()
        began = loop.time()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert loop.time() == began
        assert {key.split("/")[0] for key in cancelled} == {str(k) for k in range(6)}
        assert asyncio.all_tasks() == {asyncio.current_task()}

    run_virtually(main())
    gc.collect()


def test_leaving_a_scene_early_closes_it():
    """Whoever stops listening to ``play`` and closes it leaves no call under way and no generator open."""

    async def main() -> None:
        cast = troupe()
        stream = play(stage(), test=heroine(), models=cast.players, key="talk", rules=RULES)
        async for event in stream:
            if isinstance(event, Spoken):
                break
        asked = len(cast.requests)
        await stream.aclose()  # pyright: ignore[reportAttributeAccessIssue]
        assert await collected(stream) == []
        assert len(cast.requests) == asked
        assert asyncio.all_tasks() == {asyncio.current_task()}

    run_virtually(main())
