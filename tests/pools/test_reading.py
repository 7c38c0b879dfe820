"""Users' character files: what they may hold, and what is said when they hold something else."""

from __future__ import annotations

from pathlib import Path

import pytest

from screentest.errors import InputError
from screentest.pools import load_character, load_characters

MIRIAM = """\
name: Miriam Vale
language: en
kind: synthesized
public:  {age: 41, tea: yes, born: 1984-01-02, height: 1.70, code: 007}
private:
  secret: |
    She burnt the letter.
  speech: short, dry sentences
"""


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_every_value_is_the_text_that_was_written(tmp_path: Path) -> None:
    miriam = load_character(write(tmp_path / "miriam.yaml", MIRIAM))
    assert (miriam.name, miriam.language, miriam.kind) == ("Miriam Vale", "en", "synthesized")
    assert miriam.public == {"age": "41", "tea": "yes", "born": "1984-01-02", "height": "1.70", "code": "007"}
    assert miriam.private == {"secret": "She burnt the letter.\n", "speech": "short, dry sentences"}
    assert miriam.id.startswith("miriam-vale-")


def test_chinese_characters_are_read(tmp_path: Path) -> None:
    text = "name: 林黛玉\nlanguage: zh\nkind: established\npublic: {年龄: 15}\nid: daiyu\nsource: 红楼梦\n"
    daiyu = load_character(write(tmp_path / "daiyu.yaml", text))
    assert (daiyu.id, daiyu.public, daiyu.source) == ("daiyu", {"年龄": "15"}, "红楼梦")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- a\n", "this is not a character; it is not a map of fields; a character file has: name"),
        ("", "this is not a character"),
        ("name: [\n", r"c\.yaml:2: this is not YAML"),
        (
            "name: !!python/object/apply:os.getcwd []\nlanguage: en\nkind: synthesized\n",
            "name must be text; it is a list",
        ),
        (MIRIAM.replace("kind: synthesized\n", ""), "the field kind is not usable; Field required"),
        (
            MIRIAM.replace("kind: synthesized", "kind: robot"),
            "the field kind is not usable; Input should be 'established'",
        ),
        (MIRIAM.replace("language: en", "language: fr"), "the field language is not usable"),
        (MIRIAM.replace("private:", "privat:"), "the field privat is not known.*did you mean private"),
        (MIRIAM.replace("age: 41", "age: [41]"), r"the field public\.age must be text; it is a list"),
        (MIRIAM.replace("age: 41", "age: {years: 41}"), r"the field public\.age must be text; it is a map"),
        (MIRIAM.replace("age: 41", "age: "), r"the field public\.age has no value"),
        (MIRIAM.replace("age: 41", "age: null"), r"the field public\.age has no value"),
        (MIRIAM.replace("age: 41", "age: 41, age: 42"), r"c\.yaml:4: this is not YAML; the key 'age' is given twice"),
        (MIRIAM.replace("name: Miriam Vale", "name: {first: Miriam}"), "the field name must be text; it is a map"),
        ("name: A\nlanguage: en\nkind: synthesized\npublic: none\n", "the field public must be a map"),
        (MIRIAM + "id: ../../etc\n", "the field id is not usable"),
        ("[" * 5_000, "this is not YAML"),
    ],
)
def test_every_mistake_is_one_clear_line(tmp_path: Path, text: str, message: str) -> None:
    path = write(tmp_path / "c.yaml", text)
    with pytest.raises(InputError, match=message) as caught:
        load_character(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot read the character file; No such file"):
        load_character(tmp_path / "none.yaml")
    (tmp_path / "latin.yaml").write_bytes("name: Zoë".encode("latin-1"))
    with pytest.raises(InputError, match="this is not YAML"):
        load_character(tmp_path / "latin.yaml")


def test_patterns_are_read_in_order_and_each_file_once(tmp_path: Path) -> None:
    for name in ("b", "a", "c"):
        write(tmp_path / "cast" / f"{name}.yaml", MIRIAM.replace("Miriam", name.upper()))
    write(tmp_path / "cast" / "odd[1].yaml", MIRIAM.replace("Miriam", "Odd"))
    found = load_characters(["cast/c.yaml", "cast/?.yaml", "cast/odd[1].yaml", str(tmp_path / "cast" / "b*")], tmp_path)
    assert [character.name for character in found] == ["C Vale", "A Vale", "B Vale", "Odd Vale"]


@pytest.mark.parametrize("pattern", ["cast/*.yaml", "none.yaml", "", "."])
def test_a_pattern_that_matches_nothing(tmp_path: Path, pattern: str) -> None:
    with pytest.raises(InputError, match="no character file matches; looked for"):
        load_characters([pattern], tmp_path)


def test_two_files_for_one_character(tmp_path: Path) -> None:
    write(tmp_path / "a.yaml", MIRIAM)
    write(tmp_path / "b.yaml", MIRIAM)
    with pytest.raises(InputError, match=r"b\.yaml: the id miriam-vale-\w+ is taken; .*a\.yaml has it already"):
        load_characters(["*.yaml"], tmp_path)
