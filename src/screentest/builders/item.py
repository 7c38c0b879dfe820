"""An item: one test utterance of a benchmark, with all that is needed to ask for it again."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from screentest.agents import Cue
from screentest.judges import Dimension, Verdict
from screentest.pools import (
    Attribute,
    Beliefs,
    Character,
    Language,
    Line,
    Reminder,
    Scene,
    Situation,
    Standing,
)
from screentest.sim import Auditioned, Candidate, State, view


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class TestProfile(_Record):
    """The test character, with its full profile."""

    __test__ = False

    id: str
    name: str
    kind: Literal["established", "synthesized"]
    attributes: tuple[Attribute, ...]


class CastProfile(_Record):
    """A scene character, as far as others know it."""

    name: str
    attributes: tuple[Attribute, ...]


class ItemScene(_Record):
    """The part of a scene that the test character may see (``B``)."""

    id: str
    title: str
    world: str
    time: str
    place: str
    description: str


class PlacedStanding(Standing):
    """Where and how a character is, and who it is."""

    name: str


class Provenance(_Record):
    """Where an item comes from.

    Attributes:
        source_model: The label of the source model.
        base_model: The label of the base model.
        judge_model: The label of the judge.
        emphasis: The dimension emphasised when the line was played.
        scene_source: The work the scene comes from.
        character_source: The work the test character comes from.
        understudy: Whether a stand-in model took part, so that the item is good for trying things out only.
    """

    source_model: str
    base_model: str
    judge_model: str
    emphasis: str
    scene_source: str
    character_source: str
    understudy: bool


class Item(_Record):
    """One test utterance ``(H, u, d)`` (FURINA §5.1). Every field has one shape in every item.

    Attributes:
        id: ``<conversation>/<turn>``.
        conversation: The conversation it comes from; items of one conversation are not independent.
        turn: The turn, from 1.
        language: ``en`` or ``zh``.
        character: The test character.
        scene: What it knows of the scene.
        cast: What it knows of the others.
        history: The lines before, as the test character perceived them; in scenes with memory, the latest of them.
        standings: Where and how everyone is whom something moved, as the test character last saw it.
        reminders: What came to its mind.
        beliefs: What it believed, wanted and meant to do; none if it had formed none.
        cue: What kind of line is asked for.
        dimension: The id of the dimension to judge on.
        strategy: ``S(d)`` of that dimension, part of the prompt.
        kept: The line that won, and entered the history.
        beaten: The line that lost.
        reason: Why the judge assigned this dimension.
        verdicts: The judge's verdicts; the challenger is the kept line.
        score: Their mean, 1 (kept line much better) or 2 (somewhat better).
        provenance: Where it comes from.
        licence: Its licence.
    """

    id: str
    conversation: str
    turn: int
    language: Language
    character: TestProfile
    scene: ItemScene
    cast: tuple[CastProfile, ...]
    history: tuple[Line, ...]
    standings: tuple[PlacedStanding, ...] = ()
    reminders: tuple[Reminder, ...] = ()
    beliefs: tuple[Beliefs, ...] = Field(default=(), max_length=1)
    cue: Cue = Cue()
    dimension: str
    strategy: str
    kept: Candidate
    beaten: Candidate
    reason: str
    verdicts: tuple[Verdict, ...]
    score: float
    provenance: Provenance
    licence: str

    @classmethod
    def of(
        cls,
        audition: Auditioned,
        *,
        conversation: str,
        state: State,
        dimension: Dimension,
        understudy: bool,
        licence: str,
    ) -> Item:
        """The item of one audition.

        Args:
            audition: The audition; the source won it.
            conversation: The conversation's key.
            state: The scene as it stood before the audition.
            dimension: The dimension the judge assigned.
            understudy: Whether a stand-in model took part.
            licence: The benchmark's licence; empty to keep those of scene and test character.
        """
        scene, test = state.scene, state.test
        assert test is not None, "only a test character is auditioned"  # noqa: S101
        seen = view(state, test)
        return cls(
            id=f"{conversation}/{audition.turn:02d}",
            conversation=conversation,
            turn=audition.turn,
            language=scene.language,
            character=TestProfile(id=test.id, name=test.name, kind=test.kind, attributes=test.attributes),
            scene=ItemScene(
                id=scene.id,
                title=scene.title,
                world=scene.world,
                time=seen.situation.time,
                place=seen.situation.place,
                description=seen.situation.description,
            ),
            cast=tuple(
                CastProfile(
                    name=member.name,
                    attributes=tuple(part for part in member.attributes if part.visibility == "public"),
                )
                for member in scene.cast
            ),
            history=seen.history,
            standings=tuple(PlacedStanding(name=name, **one.model_dump()) for name, one in seen.standings.items()),
            reminders=seen.reminders,
            beliefs=(seen.beliefs,) if seen.beliefs else (),
            cue=audition.cue,
            dimension=dimension.id,
            strategy=dimension.strategy,
            kept=audition.source,
            beaten=audition.base,
            reason=audition.reason,
            verdicts=audition.verdicts,
            score=audition.score,
            provenance=Provenance(
                source_model=audition.source.model,
                base_model=audition.base.model,
                judge_model=audition.verdicts[0].judge,
                emphasis=audition.emphasis,
                scene_source=scene.source,
                character_source=test.source,
                understudy=understudy,
            ),
            licence=licence or " AND ".join(dict.fromkeys(part.licence or "unknown" for part in (scene, test))),
        )

    def state(self) -> State:
        """The scene as it stood when the line was spoken, as far as the test character knew it."""
        test = Character(
            id=self.character.id,
            name=self.character.name,
            language=self.language,
            kind=self.character.kind,
            public=_pairs(self.character.attributes, "public"),
            private=_pairs(self.character.attributes, "private"),
        )
        scene = Scene(
            id=self.scene.id,
            language=self.language,
            title=self.scene.title,
            world=self.scene.world,
            situation=Situation(time=self.scene.time, place=self.scene.place, description=self.scene.description),
            cast=tuple(
                Character.model_validate(
                    {
                        "name": member.name,
                        "language": self.language,
                        "kind": "synthesized",
                        "public": _pairs(member.attributes, "public"),
                    }
                )
                for member in self.cast
            ),
        )
        return State(
            scene=scene,
            test=test,
            history=list(self.history),
            standings={
                one.name: Standing(position=one.position, state=one.state, present=one.present)
                for one in self.standings
            },
            reminders={test.name: self.reminders},
            beliefs={test.name: self.beliefs[0]} if self.beliefs else {},
            influences={test.name: self.cue.influence} if self.cue.influence else {},
        )


def _pairs(attributes: tuple[Attribute, ...], visibility: str) -> dict[str, str]:
    return {part.key: part.value for part in attributes if part.visibility == visibility}
