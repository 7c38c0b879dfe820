"""What the exports hold, and that it adds up."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
from datasets import load_dataset

from builders.projects import records, trajectories
from exports.stories import told
from screentest.builders import exports
from screentest.builders.exports import Export, Source, graphs, guided, narrations, preferences
from screentest.builders.exports.conversations import Part, row, teacher_of
from screentest.errors import InputError
from screentest.pools import Line
from screentest.sim import Rules

Maker = Callable[[Source], Export]
MAKERS: dict[str, Maker] = {
    "trajectories": exports.trajectories,
    "guided": guided,
    "narrator": narrations,
    "preferences": preferences,
    "graphs": graphs,
}
TUNING = ("guided", "narrator", "preferences")
every_kind = pytest.mark.parametrize("kind", MAKERS)


def exported(run: Path, kind: str, directory: Path) -> list[dict[str, Any]]:
    """The rows of an export, read back."""
    source = Source.open(run)
    return records(MAKERS[kind](source).write(directory, source))


class TestTrajectories:
    def test_hold_every_line_of_everybody(self, tales: Path, tmp_path: Path) -> None:
        rows = exported(tales, "trajectories", tmp_path / "out")
        lines = Counter(
            (trajectory.conversation, spoken.line.speaker, spoken.line.text)
            for trajectory in trajectories(tales)
            for spoken in trajectory.lines
        )
        found = Counter(
            (row["conversation"], row["profile"]["name"], step["action"]["text"])
            for row in rows
            for step in row["steps"]
        )
        assert found == lines

    def test_hold_what_was_perceived_and_nobody_elses_secrets(self, tales: Path, tmp_path: Path) -> None:
        rows = exported(tales, "trajectories", tmp_path / "out")
        for record in rows:
            profile, environment = record["profile"], record["environment"]
            own = {one["value"] for one in profile["attributes"] if one["visibility"] == "private"}
            others = [one for other in environment["others"] for one in other["attributes"]]
            assert own and all(one["visibility"] == "public" for one in others)
            assert profile["under_test"] == (record["character"] in ("miriam", "shen"))
            assert not (profile["under_test"] and environment["motivation"])
        kinds = Counter(line["kind"] for row in rows for step in row["steps"] for line in step["observation"]["lines"])
        assert kinds["outcome"] > 10 and kinds["line"] > 10
        reactions = [step for row in rows for step in row["steps"] if step["cue"] == "reaction"]
        assert reactions and all(step["observation"]["influence"] for step in reactions)
        assert any(step["observation"]["beliefs"]["intention"] for row in rows for step in row["steps"])
        minutes = [[step["minutes"] for step in row["steps"]] for row in rows]
        assert all(times == sorted(times) for times in minutes)


class TestGuided:
    def test_every_answer_is_the_teachers_and_the_first_request_is_as_sent(self) -> None:
        played = told(Rules(turns=20, min_turns=18)).again
        for teacher in ("source", "base", "scene"):
            for _, steps in played.acts():
                taken = tuple(step for step in steps if step.model == teacher)
                if not taken:
                    continue
                messages = row(Part(played, taken), [step.line.text for step in taken])["messages"]
                assert [one["role"] for one in messages] == ["system", *("user", "assistant") * len(taken)]
                assert [one["content"] for one in messages[2::2]] == [step.line.text for step in taken]
                assert [messages[0]["content"], messages[1]["content"]] == [one.content for one in taken[0].prompt]

    def test_what_the_character_owes_to_another_model_is_told_and_not_learnt(self) -> None:
        played = told(Rules(turns=60, min_turns=58)).again
        steps = next(steps for character, steps in played.acts() if character is played.performance.test)
        mine = tuple(step for step in steps if step.model == "source")
        theirs = [step for step in steps if step.model == "base" and step.position < mine[-1].position]
        assert len(mine) > 1 and theirs
        messages = row(Part(played, mine), [step.line.text for step in mine])["messages"]
        asked = "\n".join(one["content"] for one in messages if one["role"] == "user")
        answers = [one["content"] for one in messages if one["role"] == "assistant"]
        for step in theirs:
            assert f"Vera: {step.line.text}" in asked
            assert step.line.text not in answers

    def test_nothing_that_was_perceived_is_told_twice(self) -> None:
        played = told(Rules(turns=20, min_turns=18)).again
        for character, steps in played.acts():
            messages = row(Part(played, tuple(steps)), [step.line.text for step in steps])["messages"]
            asked = "\n".join(one["content"] for one in messages if one["role"] == "user")
            heard = [line for step in played.steps if step.character is not character for line in [step.line]]
            before_the_last = [line for line in heard if line in played.whole.history[: steps[-1].position]]
            assert before_the_last and all(asked.count(line.text) == 1 for line in before_the_last)

    def test_a_changed_situation_is_told_once(self) -> None:
        played = told(Rules(staging="story", rounds=4, min_rounds=4)).again
        told_again = 0
        for _, steps in played.acts():
            messages = row(Part(played, tuple(steps)), [step.line.text for step in steps])["messages"]
            for before, step, request in zip(steps, steps[1:], messages[3::2], strict=False):
                changed = before.shown.situation != step.shown.situation
                assert ("## The situation" in request["content"]) == changed
                assert (step.shown.situation.description in request["content"]) == changed
                told_again += changed
        assert told_again

    def test_the_teacher_is_the_source_that_judges_preferred_most_often(self, dialogues: Path) -> None:
        assert teacher_of(Source.open(dialogues), None) == "expert"
        assert teacher_of(Source.open(dialogues), "novice") == "novice"
        with pytest.raises(InputError, match=r"--teacher: unknown model 'nobody'; models are: adept, novice, expert"):
            teacher_of(Source.open(dialogues), "nobody")

    def test_dialogues_that_failed_or_were_graded_low_are_left_out_and_counted(self, copied: Path) -> None:
        def spoil(rows: list[dict[str, Any]]) -> None:
            rows[0]["grade"] = "poor"
            rows[1]["events"][-1:-1] = [{"event": "fault", "turn": 0, "kind": "empty", "detail": "nothing"}]

        whole = guided(Source.open(copied))
        _respoken(copied, spoil)
        export = guided(Source.open(copied))
        first, second = trajectories(copied)[:2]
        assert export.left_out["in dialogues graded low"] == len(first.events[0].cast)  # pyright: ignore
        assert export.left_out["in conversations that failed"] == len(second.events[0].cast)  # pyright: ignore
        assert export.whole == whole.whole == sum(len(one.events[0].cast) for one in trajectories(copied))  # pyright: ignore
        assert {row["conversation"] for row in export.rows}.isdisjoint({first.conversation, second.conversation})


class TestPreferences:
    def test_add_up_to_the_verdicts(self, dialogues: Path, tmp_path: Path) -> None:
        rows = exported(dialogues, "preferences", tmp_path / "out")
        auditions = {
            (trajectory.conversation, audition.turn): audition
            for trajectory in trajectories(dialogues)
            for audition in trajectory.auditions
        }
        export = preferences(Source.open(dialogues))
        assert len(rows) + sum(export.left_out.values()) == len(auditions) == export.whole
        assert export.left_out["ties"] == sum(one.score == 3 for one in auditions.values()) > 0
        for pair in rows:
            audition = auditions[pair["conversation"], pair["turn"]]
            lines = (audition.source.line.text, audition.base.line.text)
            chosen, rejected = lines if audition.score < 3 else reversed(lines)
            assert pair["chosen"] == [{"role": "assistant", "content": chosen}] == [pair["chosen_message"]]
            assert pair["rejected"] == [{"role": "assistant", "content": rejected}] == [pair["rejected_message"]]
            assert [one["role"] for one in pair["prompt"]] == ["system", "user"]

    def test_the_same_line_twice_is_no_preference(self, copied: Path) -> None:
        def spoil(rows: list[dict[str, Any]]) -> None:
            audition = next(event for event in rows[0]["events"] if event["event"] == "auditioned")
            audition["base"]["line"]["text"], audition["score"] = audition["source"]["line"]["text"], 1.0

        _respoken(copied, spoil)
        assert preferences(Source.open(copied)).left_out["both lines the same"] == 1


class TestNarrations:
    def test_are_json_in_the_order_asked_for(self, tales: Path, tmp_path: Path) -> None:
        rows = exported(tales, "narrator", tmp_path / "out")
        assert {row["purpose"] for row in rows} == {"narrate.influence", "narrate.resolve"}
        for narration in rows:
            assert [one["role"] for one in narration["messages"]] == ["system", "user", "assistant"]
            answer = json.loads(narration["messages"][-1]["content"])
            expected = ["influence", "target"] if narration["purpose"] == "narrate.influence" else _RESOLVED
            assert list(answer) == expected

    def test_are_none_where_there_was_no_narrator(self, dialogues: Path) -> None:
        with pytest.raises(InputError, match="there are no narrator's logs; it had no narrator"):
            narrations(Source.open(dialogues))


_RESOLVED = ["outcome", "minutes", "changes", "environment", "concluded"]


class TestGraphs:
    def test_are_the_same_in_both_forms(self, tales: Path, tmp_path: Path) -> None:
        rows = exported(tales, "graphs", tmp_path / "out")
        assert [row["conversation"] for row in rows] == [one.conversation for one in trajectories(tales)]
        for record in rows:
            linked = nx.node_link_graph(record, edges="edges")
            drawn = nx.read_graphml(tmp_path / "out" / record["graphml"])
            assert (dict(linked.nodes(data=True)), linked.adj) == (dict(drawn.nodes(data=True)), drawn.adj)
            assert linked.is_directed() and linked.number_of_edges() > 0
            assert all({"known", "spoken", "touched", "weight"} == set(data) for *_, data in linked.edges(data=True))
            assert [data["under_test"] for _, data in linked.nodes(data=True)].count(True) == 1


class TestDirectories:
    @every_kind
    def test_say_what_they_hold(self, tales: Path, tmp_path: Path, kind: str) -> None:
        source = Source.open(tales)
        export = MAKERS[kind](source)
        export.write(tmp_path / "out", source)
        card = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
        assert f"| {export.of} | {export.whole} |" in card
        assert f"| {len(export.rows)} |" in card
        assert "> **Understudy.**" in card and "CC0-1.0" in card
        assert "**Prompts.**" not in card
        if kind in ("guided", "narrator"):
            assert f"**{export.teacher}**" in card

    @every_kind
    def test_are_loaded_by_datasets_as_they_are(self, tales: Path, tmp_path: Path, kind: str) -> None:
        rows = exported(tales, kind, tmp_path / "out")
        loaded: Any = load_dataset(str(tmp_path / "out"), split="train", cache_dir=str(tmp_path / "cache"))
        assert loaded.num_rows == len(rows)
        assert set(loaded.column_names) == set(rows[0])
        assert loaded[0]["conversation"] == rows[0]["conversation"]

    @pytest.mark.parametrize("kind", TUNING)
    def test_are_described_as_llama_factory_reads_them(self, tales: Path, tmp_path: Path, kind: str) -> None:
        """The rules of its converter for ``sharegpt``: roles alternate, and only a preference ends on the user."""
        rows = exported(tales, kind, tmp_path / "out")
        info = json.loads((tmp_path / "out" / "dataset_info.json").read_bytes())[f"screentest_{kind}"]
        tags, columns = info["tags"], info["columns"]
        assert (tmp_path / "out" / info["file_name"]).is_file() and info["formatting"] == "sharegpt"
        for record in rows:
            system, *messages = record[columns["messages"]]
            assert system[tags["role_tag"]] == tags["system_tag"] and system[tags["content_tag"]]
            turns = [tags["user_tag"], tags["assistant_tag"]] * len(messages)
            assert [one[tags["role_tag"]] for one in messages] == turns[: len(messages)]
            assert len(messages) % 2 == (1 if info.get("ranking") else 0)
            for side in ("chosen", "rejected") if info.get("ranking") else ():
                assert record[columns[side]][tags["role_tag"]] == tags["assistant_tag"]

    @every_kind
    def test_come_out_the_same_twice_and_replace_themselves(self, tales: Path, tmp_path: Path, kind: str) -> None:
        exported(tales, kind, tmp_path / "out")
        first = {file.name: file.read_bytes() for file in (tmp_path / "out").iterdir()}
        exported(tales, kind, tmp_path / "out")
        assert {file.name: file.read_bytes() for file in (tmp_path / "out").iterdir()} == first

    def test_that_hold_something_else_are_left_alone(self, tales: Path, tmp_path: Path) -> None:
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / "thesis.tex").write_text("precious", encoding="utf-8")
        with pytest.raises(InputError, match=r"will not export into it; there is something else in it: thesis\.tex"):
            exported(tales, "guided", tmp_path / "out")
        assert [file.name for file in (tmp_path / "out").iterdir()] == ["thesis.tex"]

    def test_with_nothing_to_hold_are_not_made(self, tales: Path, tmp_path: Path) -> None:
        source = Source.open(tales)
        with pytest.raises(InputError, match=r"nothing to export; 20 .*: \d+ without a line of the teacher's"):
            guided(source, "novice").write(tmp_path / "out", source)
        assert not (tmp_path / "out").exists()


class TestSources:
    def test_must_be_finished(self, copied: Path) -> None:
        (copied / "trajectories.jsonl").unlink()
        with pytest.raises(InputError, match=r"nothing to export yet; .* finish it first: `screentest resume"):
            Source.open(copied)

    def test_must_be_as_they_were_emitted(self, copied: Path) -> None:
        file = copied / "trajectories.jsonl"
        file.write_bytes(file.read_bytes().replace(b"high", b"poor"))
        with pytest.raises(InputError, match="these are not the trajectories that were emitted"):
            Source.open(copied)

    def test_must_have_what_they_were_played_from(self, copied: Path) -> None:
        profile = copied.parent / "characters" / "miriam.yaml"
        profile.write_text(profile.read_text(encoding="utf-8").replace("sixteen", "sixty"), encoding="utf-8")
        with pytest.raises(InputError, match=r"the run cannot be told again; changed since.*characters\.miriam"):
            Source.open(copied)

    def test_with_other_templates_are_told_with_a_notice(self, copied: Path, tmp_path: Path) -> None:
        file = copied / "build.identity.json"
        identity = json.loads(file.read_bytes())
        file.write_text(json.dumps({**identity, "prompts": "0123456789abcdef"}), encoding="utf-8")
        source = Source.open(copied)
        assert source.stale
        guided(source).write(tmp_path / "out", source)
        assert "> **Prompts.**" in (tmp_path / "out" / "README.md").read_text(encoding="utf-8")

    def test_must_be_runs(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="this is not a run"):
            Source.open(tmp_path)


def _respoken(run: Path, change: Callable[[list[dict[str, Any]]], object]) -> None:
    """Change the trajectories of a run, seal included."""
    from screentest.builders.emission import EMITTED
    from screentest.files import seal

    rows = records(run / "trajectories.jsonl")
    change(rows)
    (run / "trajectories.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    seal(run, "build", EMITTED)


def test_a_thought_is_nobodys_lesson() -> None:
    """Judges see no thoughts and prompts ask for none: what is learnt is what all perceive."""
    played = told(Rules(turns=14, min_turns=12)).again
    steps = next(steps for character, steps in played.acts() if any(step.line.thought for step in steps))
    messages = row(Part(played, tuple(steps)), [step.line.text for step in steps])["messages"]
    assert not any(Line.parse("-", one["content"]).thought for one in messages if one["role"] == "assistant")
