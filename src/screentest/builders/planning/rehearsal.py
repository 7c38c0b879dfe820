"""A rehearsal: plays scenes with stand-ins that say nothing, to count the calls and weigh the prompts of the real ones.

The conversation loop, the agents, the judge and the filter are the real ones, and so are the prompts; only the replies
are blank text of the length that is assumed.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import orjson

from screentest.agents import TestCharacter
from screentest.agents.memory import EndpointEmbedder
from screentest.builders.item import Item
from screentest.builders.planning.assumptions import Assumptions
from screentest.judges import DialogueFilter, Dimension, Order, Pair, PairwiseJudge
from screentest.llms import Reply, Request
from screentest.llms.ladder import plain_schema
from screentest.llms.limits import estimate
from screentest.llms.vectors import written
from screentest.pools import Beliefs, Character, Scene
from screentest.randomness import Place, generator
from screentest.sim import Auditioned, Players, Rules, State, play, view

_ORDERS: tuple[Order, Order] = ("challenger_first", "reference_first")
_ENGLISH = "and so it goes on from here to the end of the line "
_WIDTH = 4
_CHINESE = "话就这样一句一句地说下去直到把该说的都说完了"


class Part(NamedTuple):
    """What calls are made in: the role, and what the call is for."""

    role: str
    purpose: str


@dataclass(slots=True)
class Tape:
    """What was counted.

    Attributes:
        calls: Calls per part.
        waits: Those of them that wait for each other: of the minds that think at once after a round, one counts.
        input: Prompt tokens per part, schemas included.
        longest: The longest prompt per part, in tokens.
        auditions: Test lines per conversation.
    """

    calls: Counter[Part] = field(default_factory=Counter[Part])
    waits: Counter[Part] = field(default_factory=Counter[Part])
    input: Counter[Part] = field(default_factory=Counter[Part])
    longest: dict[Part, int] = field(default_factory=lambda: defaultdict[Part, int](int))
    auditions: list[int] = field(default_factory=list[int])
    _rounds: set[str] = field(default_factory=set[str])

    def take(self, role: str, request: Request) -> None:
        """Count one request."""
        part = Part(role, request.purpose)
        tokens = estimate(request.messages)
        if request.schema is not None:
            tokens += len(orjson.dumps(plain_schema(request.schema))) // 4
        self.calls[part] += 1
        self.waits[part] += self._waits(request)
        self.input[part] += tokens
        self.longest[part] = max(self.longest[part], tokens)

    def _waits(self, request: Request) -> bool:
        if not request.purpose.startswith("mind."):
            return True
        after, _, _ = request.key.partition("/after/")
        fresh = after not in self._rounds
        self._rounds.add(after)
        return fresh


@dataclass(frozen=True, slots=True, kw_only=True)
class Manner:
    """How a scene is rehearsed.

    Attributes:
        turns: After how many lines the director ends it, if it may.
        test_share: The test character's share of the lines; the director keeps to it as far as the rules allow.
        reacts: The share of deeds that touch someone.
        output: Tokens of a reply, by purpose.
    """

    turns: int
    test_share: float
    reacts: float
    output: Mapping[str, int]

    @classmethod
    def expected(cls, assumed: Assumptions, rules: Rules, *, turns: float | None, test_share: float) -> Manner:
        """As scenes are expected to go.

        Args:
            assumed: The table of defaults.
            rules: How scenes are played.
            turns: Lines of a scene, if measured.
            test_share: The test character's share of them.
        """
        lines = round(assumed.turns * rules.turns if turns is None else turns)
        return cls(
            turns=max(1, min(lines, rules.turns)), test_share=test_share, reacts=assumed.reacts, output=assumed.output
        )

    @classmethod
    def worst(cls, assumed: Assumptions, rules: Rules) -> Manner:
        """All turns, long replies, every deed answered, and the test character speaks whenever it may."""
        output = {name: round(size * assumed.reply_length["worst"]) for name, size in assumed.output.items()}
        return cls(turns=rules.turns, test_share=1.0, reacts=1.0, output=output)


async def rehearse(
    scene: Scene,
    test: Character,
    *,
    dimensions: tuple[Dimension, ...],
    rules: Rules,
    embedded: bool,
    manner: Manner,
    tape: Tape,
) -> None:
    """Rehearse one conversation of a build, filter included, and count it on ``tape``.

    Args:
        scene: Where it is played.
        test: The test character.
        dimensions: What lines are judged on.
        rules: How it is played.
        embedded: Whether a model embeds memories.
        manner: How it goes.
        tape: Where it is counted.
    """

    def player(role: str) -> _StandIn:
        return _StandIn(role, test.name, manner, tape)

    models = Players(
        director=player("director"),
        scene=player("scene"),
        source=player("sources"),
        base=player("base"),
        judge=player("judge"),
        narrator=player("narrator"),
    )
    state, auditions, key = State(scene=scene, test=test), 0, f"rehearsal/{scene.id}/{test.id}"
    embedder = EndpointEmbedder(player("embedder")) if embedded else None
    stream = play(scene, test=test, models=models, key=key, rules=rules, dimensions=dimensions, embedder=embedder)
    async for event in stream:
        state.apply(event)
        auditions += isinstance(event, Auditioned)
    await DialogueFilter(player("filter")).grade(view(state, "filter"), place=Place(0, key))
    tape.auditions.append(auditions)


async def rehearse_item(item: Item, dimension: Dimension, *, manner: Manner, tape: Tape) -> None:
    """Rehearse one item of an evaluation: the base's line, one tested model's, and both verdicts on them."""
    state, place = item.state(), Place(0, f"rehearsal/{item.id}")
    assert state.test is not None, "an item has a test character"  # noqa: S101
    lines = [
        await TestCharacter(_StandIn(role, item.character.name, manner, tape)).speak(
            view(state, state.test), dimension, cue=item.cue, place=place / role
        )
        for role in ("tested", "base")
    ]
    judge = PairwiseJudge(_StandIn("judge", item.character.name, manner, tape))
    for order in _ORDERS:
        await judge.compare(view(state, "judge"), Pair(*lines), dimension, order=order, place=place)


@dataclass(frozen=True, slots=True)
class _StandIn:
    name: str
    test: str
    manner: Manner
    tape: Tape

    async def reply(self, request: Request) -> Reply:
        self.tape.take(self.name, request)
        blank = _blank(request.language, self.manner.output[request.purpose])
        return Reply(text=self._answer(request, blank), finish="stop", model=self.name)

    def _answer(self, request: Request, blank: str) -> str:
        facts: Any = request.facts
        match request.purpose:
            case "direct":
                told = self._direct(facts["view"].history, facts["speakers"], facts["may_end"])
                return _json(reason=blank, **told)
            case "judge.dimension":
                return _json(reason=blank, dimension=facts["dimensions"][0].id)
            case "judge.pairwise":
                return _json(explanation=blank, score=1)
            case "filter":
                return _json(reason=blank, grade="high")
            case "narrate.influence":
                draw, people = generator(request.seed, request.key), list(facts["people"])
                target = draw.choice(people) if draw.random() < self.manner.reacts else None
                return _json(influence=blank, target=target)
            case "narrate.resolve":
                return _json(outcome=blank, minutes=1, changes=[], environment=None, concluded=False)
            case "mind.believe":
                part = _blank(request.language, self.manner.output[request.purpose] // len(Beliefs.model_fields))
                return _json(**dict.fromkeys(Beliefs.model_fields, part))
            case "mind.weigh":
                numbers = range(1, len(facts["memories"]) + 1)
                return _json(ratings=[{"memory": number, "importance": 1} for number in numbers])
            case "mind.reflect":
                return _json(reflection=blank, importance=1)
            case "embed":
                return written(np.eye(len(request.messages), _WIDTH, dtype=np.float32) + 1)
            case _:
                return blank

    def _direct(self, history: Sequence[Any], speakers: Sequence[str], may_end: bool) -> dict[str, Any]:
        if may_end and len(history) >= self.manner.turns:
            return {"speaker": speakers[0], "end": True}
        spoken = [line.speaker for line in history]
        due = spoken.count(self.test) < self.manner.test_share * (len(spoken) + 1)
        others = [name for name in speakers if name != self.test] or list(speakers)
        longest_silent = min(
            others, key=lambda name: max((i for i, said in enumerate(spoken) if said == name), default=-1)
        )
        speaker = self.test if due and self.test in speakers else longest_silent
        return {"speaker": speaker, "end": False} if may_end else {"speaker": speaker}


def _blank(language: str, tokens: int) -> str:
    """Text of about so many tokens."""
    text, size = (_CHINESE, tokens) if language == "zh" else (_ENGLISH, 4 * tokens)
    return (text * (size // len(text) + 1))[: max(2, size)].strip() + "."


def _json(**fields: object) -> str:
    return orjson.dumps(fields).decode()
