"""Pools: what is written is what is read, and a pool that is not sound says where and why."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from screentest.errors import InputError
from screentest.pools import Character, Language, Line, Pool, Scene, Situation

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
NAMES = st.text(st.characters(categories=["L", "Nd"]), min_size=1, max_size=20)
PAIRS = st.dictionaries(TEXT, TEXT, max_size=3)
LANGUAGES: st.SearchStrategy[Language] = st.sampled_from(["en", "zh"])


def character(name: str, id: str = "") -> Character:
    return Character.model_validate(
        {"name": name, "language": "en", "kind": "synthesized", "private": {"secret": "a map"}}
        | ({"id": id} if id else {})
    )


def scene(id: str, title: str = "Title", language: str = "en") -> Scene:
    return Scene.model_validate(
        {"id": id, "title": title, "language": language, "cast": [character("Ada"), character("Tom")]}
    )


@st.composite
def scenes(draw: st.DrawFn) -> list[Scene]:
    found: list[Scene] = []
    for number in range(draw(st.integers(0, 5))):
        names = draw(st.lists(NAMES, min_size=1, max_size=3, unique=True))
        profiles = [(draw(PAIRS), draw(PAIRS)) for _ in names]
        cast = tuple(
            Character(
                id=f"member-{place}",
                name=name,
                language=draw(LANGUAGES),
                kind="established",
                public=public,
                private={key: value for key, value in private.items() if key not in public},
            )
            for place, (name, (public, private)) in enumerate(zip(names, profiles, strict=True))
        )
        found.append(
            Scene(
                id=f"scene-{number}",
                language=draw(LANGUAGES),
                title=draw(TEXT),
                world=draw(TEXT),
                situation=Situation(time=draw(TEXT), place=draw(TEXT), description=draw(TEXT)),
                cast=cast,
                motivations={names[0]: draw(TEXT)},
                script=tuple(Line(speaker=draw(NAMES), text=draw(TEXT), thought=draw(TEXT)) for _ in range(2)),
                source=draw(TEXT),
                licence=draw(TEXT),
            )
        )
    return found


def write(path: Path, *ids: str, replace: bool = False) -> Pool:
    return Pool.write(
        path,
        name="test",
        scenes=map(scene, ids),
        characters=[character("Miriam")],
        licence="MIT",
        source="me",
        replace=replace,
    )


@settings(max_examples=50, deadline=None)
@given(scenes=scenes())
def test_what_is_written_is_what_is_read(tmp_path_factory: pytest.TempPathFactory, scenes: list[Scene]) -> None:
    path = tmp_path_factory.mktemp("pool") / "pool"
    pool = Pool.write(path, name="n", scenes=iter(scenes), characters=[character("Miriam")], licence="l", source="s")
    reopened = Pool.open(path)
    assert list(reopened) == list(pool) == scenes
    assert [reopened[id_] for id_ in reversed(reopened.ids())] == scenes[::-1]
    assert [reopened.cast_names(one.id) for one in scenes] == [tuple(who.name for who in one.cast) for one in scenes]
    assert (len(pool), pool.digest) == (len(scenes), reopened.digest)
    for language in ("en", "zh"):
        assert reopened.ids(language) == tuple(one.id for one in scenes if one.language == language)
    assert reopened.characters == (character("Miriam"),)


def test_the_manifest_describes_the_pool(tmp_path: Path) -> None:
    pool = Pool.write(tmp_path / "p", name="n", scenes=[scene("b", language="zh"), scene("a")], licence="l", source="s")
    manifest = json.loads((tmp_path / "p" / "manifest.json").read_text(encoding="utf-8"))
    assert manifest == {
        "schema_version": 1,
        "name": "n",
        "licence": "l",
        "source": "s",
        "languages": ["en", "zh"],
    }
    assert pool.ids() == ("b", "a")
    assert "a" in pool
    assert "c" not in pool


def test_the_digest_changes_with_scenes_and_with_characters(tmp_path: Path) -> None:
    one, same, other = write(tmp_path / "1", "a"), write(tmp_path / "2", "a"), write(tmp_path / "3", "b")
    bare = Pool.write(tmp_path / "4", name="test", scenes=[scene("a")], licence="MIT", source="me")
    assert one.digest == same.digest
    assert len({one.digest, other.digest, bare.digest}) == 3


def test_a_scene_that_is_not_there_suggests_one_that_is(tmp_path: Path) -> None:
    pool = write(tmp_path / "p", "storm-on-deck", "calm-sea")
    with pytest.raises(InputError, match="no scene 'storm-on-dec'; did you mean storm-on-deck"):
        pool["storm-on-dec"]
    with pytest.raises(InputError, match="no scene 'xyz'; there are: storm-on-deck, calm-sea"):
        pool["xyz"]


def test_an_interrupted_write_leaves_nothing(tmp_path: Path) -> None:
    def failing() -> Iterator[Scene]:
        yield scene("a")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Pool.write(tmp_path / "p", name="n", scenes=failing(), licence="", source="")
    assert list(tmp_path.iterdir()) == []

    old = write(tmp_path / "p", "old")
    with pytest.raises(KeyboardInterrupt):
        Pool.write(tmp_path / "p", name="n", scenes=failing(), licence="", source="", replace=True)
    assert [path.name for path in tmp_path.iterdir()] == ["p"]
    assert Pool.open(tmp_path / "p").digest == old.digest


def test_nothing_but_a_pool_is_replaced_and_only_when_asked(tmp_path: Path) -> None:
    target = tmp_path / "p"
    target.mkdir()
    write(target, "first")
    with pytest.raises(InputError, match="there is a pool already"):
        write(target, "second")
    assert write(target, "second", replace=True).ids() == ("second",)
    (target / "notes.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(InputError, match=r"other things than a pool: notes\.txt"):
        write(target, "third", replace=True)
    assert (target / "notes.txt").read_text(encoding="utf-8") == "mine"
    file = tmp_path / "file"
    file.write_text("mine", encoding="utf-8")
    with pytest.raises(InputError, match="it is a file"):
        write(file, "a", replace=True)
    with pytest.raises(InputError, match="cannot write here"):
        write(file / "below", "a")


def test_a_pool_can_be_rewritten_from_itself(tmp_path: Path) -> None:
    pool = write(tmp_path / "p", "a", "b", "c")
    kept = (one for one in pool if one.id != "b")
    again = Pool.write(tmp_path / "p", name="n", scenes=kept, licence="", source="", replace=True)
    assert again.ids() == ("a", "c")


def test_ids_are_unique(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the id a is given twice; number 3 repeats it"):
        write(tmp_path / "p", "a", "b", "a")
    with pytest.raises(InputError, match="the id m is given twice"):
        Pool.write(
            tmp_path / "p",
            name="n",
            scenes=[],
            characters=[character("M", "m"), character("N", "m")],
            licence="",
            source="",
        )
    assert list(tmp_path.iterdir()) == []


def _edit(file: str, change: Callable[[str], str]) -> Callable[[Path], None]:
    def apply(path: Path) -> None:
        text = (path / file).read_text(encoding="utf-8")
        (path / file).write_text(change(text), encoding="utf-8")

    return apply


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (_edit("scenes.jsonl", lambda text: text + "{\n"), r"scenes\.jsonl:3: not a scene; Invalid JSON"),
        (_edit("scenes.jsonl", lambda text: text[: len(text) - 40]), r"scenes\.jsonl:2: not a scene; Invalid JSON"),
        (
            _edit("scenes.jsonl", lambda text: text.replace('"name":"Tom"', '"name":7', 1)),
            r"scenes\.jsonl:1: not a scene: field cast\.1\.name; Input should be a valid string; correct the line",
        ),
        (_edit("scenes.jsonl", lambda text: text + text), r"scenes\.jsonl:3: the id a is given twice; line 1 has it"),
        (_edit("characters.jsonl", lambda _: "[]\n"), r"characters\.jsonl:1: not a character"),
        (lambda path: (path / "scenes.jsonl").unlink(), r"scenes\.jsonl: cannot read the pool; No such file"),
        (lambda path: (path / "manifest.json").unlink(), r"manifest\.json: this is not a pool; No such file"),
        (_edit("manifest.json", lambda _: "{"), r"manifest\.json: the manifest is not usable; Invalid JSON"),
        (
            _edit("manifest.json", lambda text: text.replace('"name"', '"nome"')),
            r"manifest\.json: the manifest is not usable: field name; Field required",
        ),
        (
            _edit("manifest.json", lambda text: text.replace('"schema_version": 1', '"schema_version": 2, "new": 1')),
            "too new; its schema_version is 2.*upgrade",
        ),
    ],
)
def test_a_damaged_pool_says_where_and_why(tmp_path: Path, damage: Callable[[Path], None], message: str) -> None:
    write(tmp_path / "p", "a", "b")
    damage(tmp_path / "p")
    with pytest.raises(InputError, match=message) as caught:
        Pool.open(tmp_path / "p")
    assert "\n" not in str(caught.value)


def test_a_pool_may_be_edited_by_hand(tmp_path: Path) -> None:
    written = write(tmp_path / "p", "a", "b")
    _edit("scenes.jsonl", lambda text: text.replace("Ada", "Eve"))(tmp_path / "p")
    edited = Pool.open(tmp_path / "p")
    assert "Eve" in edited.cast_names("a")
    assert edited.digest != written.digest


def test_a_file_that_vanishes_after_opening_is_an_input_error(tmp_path: Path) -> None:
    pool = write(tmp_path / "p", "a")
    (tmp_path / "p" / "scenes.jsonl").unlink()
    with pytest.raises(InputError, match="cannot read the pool"):
        pool["a"]
    with pytest.raises(InputError, match="cannot read the pool"):
        list(pool)


def test_iterating_does_not_read_ahead(tmp_path: Path) -> None:
    pool = write(tmp_path / "p", *(f"s{number}" for number in range(2_000)))
    file = tmp_path / "p" / "scenes.jsonl"
    stream = iter(pool)
    assert next(stream).id == "s0"
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    with pytest.raises(InputError, match=r"scenes\.jsonl:\d+: not a scene"):
        list(stream)
