"""Importing other people's files: what becomes of each record, and what is said about it."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from screentest.errors import InputError
from screentest.pools import Pool, Scene
from screentest.pools.importers import ImportReport, RecordReport, detect_format, import_files
from screentest.pools.importers.speech import spoken

DATA = Path(__file__).parent / "data"
SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
CHARACTERBOX, CHINESE, COSER = DATA / "characterbox.json", DATA / "characterbox_zh.json", DATA / "Glass_Harbour.json"


def run(*paths: Path, **options: Any) -> tuple[list[Scene], ImportReport]:
    importing = import_files(paths, **options)
    return list(importing), importing.report


def notes(record: RecordReport) -> dict[str, str]:
    return {note.field: note.reason for note in record.notes}


def by_index(report: ImportReport) -> dict[str, RecordReport]:
    return {record.index: record for record in report.records}


def test_each_characterbox_record_is_taken_warned_about_or_refused() -> None:
    scenes, report = run(CHARACTERBOX)
    assert [record.outcome for record in report.records] == ["taken", "warned", "warned", *["refused"] * 5]
    assert (report.taken, report.warned, report.refused) == (1, 2, 5)
    assert [scene.id for scene in scenes] == [record.scene_id for record in report.records[:3]]


def test_a_clean_characterbox_record_becomes_a_scene() -> None:
    scene = run(CHARACTERBOX, licence="MIT")[0][0]
    assert (scene.title, scene.language, scene.licence) == ("The lamp is lit", "en", "MIT")
    assert scene.world == "The world of The Lighthouse."
    assert scene.source == "The Lighthouse (CharacterBox)"
    assert (scene.situation.time, scene.situation.place) == ("Dusk", "The lamp room")
    ada = scene.cast[0]
    assert ada.kind == "established"
    assert ada.public == {"gender": "Female", "description": "The senior keeper.", "position": "At the lamp"}
    assert ada.private == {"state": "Calm"}
    assert [line.text for line in scene.script] == ["(Strikes a match) Hold the glass, Tom.", "(Reaches up) It's hot!"]


def test_the_known_faults_of_characterbox_are_told_with_their_fields() -> None:
    scenes, report = run(CHARACTERBOX)
    alone, landing = by_index(report)["scenes[1]"], by_index(report)["scenes[2]"]
    assert notes(alone) == {
        "characters[0].gender": "is missing",
        "characters": "has one character only",
        "actions[0].dialogue": "no speech (the file says 'None')",
    }
    assert set(notes(landing)) == {
        *("chunk", "mood", "actions[0].dialogue", "actions[1].dialogue", "actions[1].character_id"),
        "actions[2].character",
    }
    assert [(line.speaker, line.text) for line in scenes[2].script] == [
        ("Ada Finch", "(Waves) You're late, Tom."),
        ("Tom Reed", "(Jumps ashore) The tide was late."),
        ("The boatman", "(Unloads the oil) Sign here."),
    ]
    assert scenes[1].script[0].text == "(Listens)"


def test_refusals_name_field_and_reason() -> None:
    records = by_index(run(CHARACTERBOX)[1])
    refused = {index: record.notes[0] for index, record in records.items() if record.outcome == "refused"}
    assert (refused["scenes[3]"].field, refused["scenes[3]"].reason) == (
        "characters[1].name",
        "is the name of two characters: Tom",
    )
    assert (refused["scenes[4]"].field, refused["scenes[4]"].reason) == ("characters", "must be a list, is text")
    assert refused["scenes[5]"].reason == f"has the same content as scenes[0] of {CHARACTERBOX}"
    assert "placeholder" in refused["scenes[6]"].reason
    assert (refused["scenes[7]"].field, refused["scenes[7]"].reason) == ("event", "must be text, is a number")


@pytest.mark.parametrize("path", [CHARACTERBOX, COSER])
def test_book_text_and_endings_reach_no_scene(path: Path) -> None:
    assert "SECRET" in path.read_text(encoding="utf-8")
    for scene in run(path)[0]:
        assert "SECRET" not in scene.model_dump_json()


def test_a_chinese_scene_is_chinese_throughout() -> None:
    scene = run(CHINESE)[0][0]
    assert (scene.language, scene.world) == ("zh", "《灯塔》的世界。")
    assert list(scene.cast[0].public) == ["性别", "描述", "位置"]
    assert [line.text for line in scene.script] == ["（划亮火柴）扶好玻璃罩，阿海。", "（伸手去扶）"]
    assert scene.script[0].action == "划亮火柴"


def test_coser_conversations_become_scenes() -> None:
    scenes, report = run(COSER)
    assert [(record.index, record.outcome) for record in report.records] == [
        ("plots[0].conversation[0]", "taken"),
        ("plots[0].conversation[1]", "warned"),
        ("plots[2]", "refused"),
        ("plots[3].conversation[0]", "warned"),
        ("plots[3].conversation[1]", "refused"),
        ("plots[3].conversation[2]", "refused"),
    ]
    assert report.files[0].notes == ("plots without conversation: 1",)
    office = scenes[0]
    assert (office.title, office.source) == ("The wrong chart", "Glass Harbour, Chapter 1 (CoSER)")
    assert office.situation.description == "In the pilot's office, rain beats on the window."
    assert office.motivations == {"Ines": "She wants the truth.", "Paulo": "He wants to leave before dark."}
    ines, paulo = office.cast
    assert ines.public == {"description": "A harbour pilot."}
    assert ines.private["profile"].startswith("Ines has piloted")
    assert ines.private["experience"] == "She learns that the chart is wrong."
    assert (paulo.public, paulo.private) == ({"description": "A smuggler."}, {"experience": "He hides the true chart."})
    assert [line.speaker for line in office.script] == ["Environment", "Ines", "Paulo"]
    assert (office.script[1].text, office.script[1].thought) == (
        "(taps the chart) There is no reef here.",
        "He is lying.",
    )


def test_the_known_faults_of_coser_are_told_with_their_fields() -> None:
    scenes, report = run(COSER)
    records = by_index(report)
    quay = notes(records["plots[0].conversation[1]"])
    assert set(quay) == {
        *("key_characters[1].name", "key_characters[2].name"),
        *("dialogues[1].character", "dialogues[2].character", "dialogues[3].message"),
    }
    assert "added to the cast" in quay["dialogues[1].character"]
    assert "in the script only" in quay["dialogues[2].character"]
    assert [member.name for member in scenes[1].cast] == ["Ines", "Marta", "Paulo"]
    assert [line.speaker for line in scenes[1].script] == ["Ines", "Paulo", "The crowd"]
    assert notes(records["plots[3].conversation[0]"]) == {
        "plots[3].state": "is truncated, not finished",
        "key_characters": "has one character only",
    }
    assert notes(records["plots[2]"]) == {"plots[2].conversation": "must be a list, is text"}
    assert records["plots[3].conversation[1]"].notes[0].reason == "names no character"
    assert notes(records["plots[3].conversation[2]"])["dialogues"] == "is missing"


def test_the_same_file_twice_gives_each_scene_once() -> None:
    once, _ = run(COSER)
    twice, report = run(COSER, COSER)
    assert [scene.id for scene in twice] == [scene.id for scene in once]
    assert (report.files[1].taken, report.files[1].warned, report.files[1].refused) == (0, 0, 6)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"{", "this is not JSON"),
        (b"\xff\xfe\xfa", "this is not JSON"),
        (b"[" * 200_000, "this is not JSON"),
        (b"1" * 5_000, "this is not JSON"),
        (b'{"acts": []}', 'looked for an object with a list "scenes" (characterbox), or an object with a list "plots"'),
        (b"[]", "looked for"),
        (b'{"scenes": {}}', "looked for"),
    ],
)
def test_a_file_that_cannot_be_read_is_one_refusal_and_stops_no_other(
    tmp_path: Path, content: bytes, reason: str
) -> None:
    bad = tmp_path / "bad.json"
    bad.write_bytes(content)
    scenes, report = run(bad, CHINESE)
    assert len(scenes) == 1
    assert (report.taken, report.warned, report.refused) == (0, 1, 1)
    assert (report.records[0].index, report.files[0].format) == ("", None)
    assert reason in report.records[0].notes[0].reason


def test_input_errors_come_before_anything_is_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no such file"):
        import_files([CHARACTERBOX, tmp_path / "none.json"])
    with pytest.raises(InputError, match="no format 'cosr'; did you mean coser"):
        import_files([COSER], format="cosr")
    with pytest.raises(InputError, match=r"looked for .*scenes.*characterbox.*plots.*coser"):
        detect_format({"acts": []})


def test_a_forced_format_that_does_not_fit_refuses_the_file() -> None:
    scenes, report = run(COSER, format="characterbox")
    assert (scenes, report.refused) == ([], 1)
    assert "this is not characterbox" in report.records[0].notes[0].reason


def test_the_report_as_json_has_counts_records_and_files() -> None:
    report = run(CHARACTERBOX)[1]
    data = json.loads(report.to_json())
    assert (data["taken"], data["warned"], data["refused"]) == (1, 2, 5)
    assert data["records"][4] == {
        "file": str(CHARACTERBOX),
        "index": "scenes[4]",
        "outcome": "refused",
        "scene_id": None,
        "notes": [{"field": "characters", "reason": "must be a list, is text"}],
    }
    assert "scenes[].plot" in data["files"][0]["fields_not_imported"]
    assert ImportReport.model_validate(data) == report


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("Здравствуй, как дела?", "neither in English nor in Chinese"),
        ("こんにちは、げんきですか", "neither in English nor in Chinese"),
        ("12 34", "has no text"),
    ],
)
def test_other_languages_are_refused(tmp_path: Path, text: str, outcome: str) -> None:
    data = {"plots": [{"conversation": [{"scenario": text, "key_characters": [{"name": "A"}], "dialogues": []}]}]}
    path = tmp_path / "other.json"
    path.write_text(json.dumps(data), encoding="utf-8")
    scenes, report = run(path)
    assert scenes == []
    assert outcome in report.records[0].notes[0].reason


@pytest.mark.parametrize("name", ["Ada\x07Finch", "A" * 500, "\ud800", "   ", None, 7, ["Ada"], {"first": "Ada"}])
@pytest.mark.parametrize("path", [CHARACTERBOX, COSER])
def test_a_name_that_is_none_refuses_the_record(tmp_path: Path, path: Path, name: object) -> None:
    data = json.loads(path.read_text(encoding="utf-8"))
    if path is CHARACTERBOX:
        data["scenes"][0]["characters"][0]["name"] = name
        index, field = "scenes[0]", "characters[0].name"
    else:
        data["plots"][0]["conversation"][0]["dialogues"][1]["character"] = name
        index, field = "plots[0].conversation[0]", "dialogues[1].character"
    target = tmp_path / "file.json"
    target.write_text(json.dumps(data), encoding="utf-8")
    record = by_index(run(target)[1])[index]
    assert (record.outcome, record.notes[0].field) == ("refused", field)


@pytest.mark.parametrize(
    ("dialogue", "name", "speech", "remarks"),
    [
        ("Come in.", "Bilbo Baggins", "Come in.", 0),
        ("Bilbo: 'It's late.'", "Bilbo Baggins", "It's late.", 2),
        ("Bilbo Baggins: It's late.", "Bilbo Baggins", "It's late.", 1),
        ("Bilbo says, 'It's late.'", "Bilbo Baggins", "It's late.", 2),
        ("Frodo: 'It's late.'", "Bilbo Baggins", "Frodo: 'It's late.'", 1),
        ("'Stop!' he cried. 'It's late.'", "Bilbo Baggins", "'Stop!' he cried. 'It's late.'", 1),
        ("Frodo, my dear, sit.", "Bilbo Baggins", "Frodo, my dear, sit.", 0),
        ("Bilbo tells a long story.", "Bilbo Baggins", "Bilbo tells a long story.", 1),
        ("NULL", "Bilbo Baggins", "", 1),
        ("  ", "Bilbo Baggins", "", 1),
        ("None, he remains silent.", "Bilbo Baggins", "", 1),
        ("None of us can go.", "Bilbo Baggins", "None of us can go.", 0),
        ("刘备道：“走吧。”", "刘备", "走吧。", 2),
        ("飞大呼曰：‘谁敢？’", "张飞", "谁敢？", 2),
        ("关公答曰：多谢厚礼。", "关羽", "多谢厚礼。", 1),
        ("曹操道：“走吧。”", "刘备", "曹操道：“走吧。”", 1),
        ("周瑜道：“妙计。”他笑了。", "周瑜", "周瑜道：“妙计。”他笑了。", 1),
        ("「陛下请。」", "魏征", "陛下请。", 1),
        ("无对话，仅描述动作。", "天子", "", 1),
        ("无妨，走吧。", "天子", "无妨，走吧。", 0),
    ],
)
def test_what_is_spoken(dialogue: str, name: str, speech: str, remarks: int) -> None:
    found, told = spoken(dialogue, name, ["Frodo", "曹操"])
    assert (found, len(told)) == (speech, remarks), told


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.just("\ud800"),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6) | st.just("name"), inner, max_size=3)
    ),
    max_leaves=6,
)


def places(node: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    children = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    return [path, *(found for key, child in children for found in places(child, (*path, key)))]


def put(data: Any, path: tuple[Any, ...], value: Any) -> Any:
    if not path:
        return value
    data = copy.deepcopy(data)
    node = data
    for key in path[:-1]:
        node = node[key]
    node[path[-1]] = value
    return data


def expected_indices(data: Any) -> list[str]:
    if isinstance(data, dict) and isinstance(data.get("scenes"), list):
        return [f"scenes[{number}]" for number in range(len(data["scenes"]))]
    if not isinstance(data, dict) or not isinstance(data.get("plots"), list):
        return [""]
    indices: list[str] = []
    for number, plot in enumerate(data["plots"]):
        talks = plot.get("conversation") if isinstance(plot, dict) else None
        if isinstance(talks, list):
            indices += [f"plots[{number}].conversation[{place}]" for place in range(len(talks))]
        else:
            indices.append(f"plots[{number}]")
    return indices


@pytest.mark.parametrize("path", [CHARACTERBOX, CHINESE, COSER])
@settings(max_examples=80, deadline=None)
@given(data=st.data())
def test_whatever_a_file_holds_every_record_is_accounted_for(
    path: Path, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    original = json.loads(path.read_text(encoding="utf-8"))
    mutated = original
    for _ in range(data.draw(st.integers(1, 3))):
        mutated = put(mutated, data.draw(st.sampled_from(places(mutated))), data.draw(JSON))
    target = tmp_path_factory.mktemp("mutated") / "file.json"
    target.write_text(json.dumps(mutated), encoding="utf-8")
    scenes, report = run(target)
    assert [record.index for record in report.records] == expected_indices(mutated)
    assert report.taken + report.warned + report.refused == len(report.records)
    assert len(scenes) == report.taken + report.warned
    for record in report.records:
        assert bool(record.notes) == (record.outcome != "taken")
        assert (record.scene_id is None) == (record.outcome == "refused")
    assert ImportReport.model_validate_json(report.to_json()) == report
    Pool.write(target.parent / "pool", name="mutated", scenes=scenes, licence="", source="")


shared = pytest.mark.skipif(not SHARED.is_dir(), reason="the shared data files are not here")


@shared
@pytest.mark.parametrize("path", sorted(SHARED.glob("characterbox/*.json")), ids=lambda path: path.stem)
def test_real_characterbox_files(path: Path) -> None:
    raw = json.loads(path.read_text(encoding="utf-8"))["scenes"]
    scenes, report = run(path)
    assert report.taken + report.warned + report.refused == len(raw)
    unfilled = [f"scenes[{i}]" for i, item in enumerate(raw) if item["characters"][0]["name"] == "Character's Name"]
    assert [record.index for record in report.records if record.outcome == "refused"] == unfilled
    assert {scene.language for scene in scenes} == {"zh" if path.stem > "z" else "en"}
    for item, record in zip(raw, report.records, strict=True):
        if record.outcome == "refused":
            continue
        told = notes(record)
        assert ("characters" in told) == (len(item["characters"]) == 1)
        assert [f"characters[{i}].gender" in told for i in range(len(item["characters"]))] == [
            not member.get("gender") for member in item["characters"]
        ]
        for place, action in enumerate(item["actions"]):
            if action["dialogue"] in ("None", "无") or action["dialogue"][0] in "“‘「'\"":
                assert f"actions[{place}].dialogue" in told
    for scene, record in zip(scenes, [record for record in report.records if record.scene_id], strict=True):
        if record.outcome == "taken":
            actions = raw[int(record.index[len("scenes[") : -1])]["actions"]
            form = "（{action}）{dialogue}" if scene.language == "zh" else "({action}) {dialogue}"
            assert [line.text for line in scene.script] == [form.format(**action) for action in actions]


@shared
def test_real_coser_file() -> None:
    path = SHARED / "coser" / "King_Lear.json"
    raw = json.loads(path.read_text(encoding="utf-8"))
    talks = [talk for plot in raw["plots"] for talk in plot["conversation"]]
    scenes, report = run(path)
    assert len(scenes) == len(talks) == report.taken + report.warned
    assert report.refused == 0
    empty = sum(not plot["conversation"] for plot in raw["plots"])
    assert report.files[0].notes == (f"plots without conversation: {empty}",)
    for talk, scene, record in zip(talks, scenes, report.records, strict=True):
        people = {member["name"] for member in talk["key_characters"]}
        speakers = {line["character"] for line in talk["dialogues"]}
        assert {member.name for member in scene.cast} == (people | speakers) - {"Environment"}
        assert (record.outcome == "warned") == bool(speakers - people - {"Environment"} or "Environment" in people)
        assert len(scene.script) == len(talk["dialogues"])
        assert set(scene.motivations) == people - {"Environment"}


@shared
def test_real_files_make_a_pool(tmp_path: Path) -> None:
    importing = import_files(sorted(SHARED.rglob("*.json")))
    pool = Pool.write(tmp_path / "pool", name="real", scenes=importing, licence="", source="shared data")
    report = importing.report
    assert len(pool) == report.taken + report.warned
    assert list(pool.ids()) == [record.scene_id for record in report.records if record.scene_id]
    assert pool.manifest.languages == ("en", "zh")
