"""The configuration: what it takes, what it fills in, and how it says no."""

from __future__ import annotations

from pathlib import Path

import pytest

from screentest.builders import Config, load_config, understudies
from screentest.errors import InputError

_MODELS = "models: {ada: {provider: understudy}, bob: {provider: understudy, skill: expert}}\n"

_CAST_LIST = """
name: harbour-bench
seed: 7
models:
  gpt:    {provider: openai,    model: gpt-4.1, rpm: 500, tpm: 800000, price: {input: 2.0, cached: 0.5, output: 8.0}}
  qwen:   {provider: openai,    model: Qwen3-235B-A22B, base_url: http://localhost:8000/v1, key_env: VLLM_KEY}
  sonnet: {provider: anthropic, model: claude-4-sonnet, thinking: 4000}
roles:
  director: qwen
  scene: qwen
  sources: [sonnet, qwen]
  base: gpt
  judge: gpt
pool: {path: pool/, languages: [en, zh]}
characters: [characters/*.yaml]
build: {quota: 10, turns: 20, staging: dialogue}
evaluate: {models: [sonnet, qwen], orders: both}
"""


def _load(directory: Path, text: str) -> Config:
    path = directory / "config.yaml"
    path.write_text(text, encoding="utf-8")
    return load_config(path)


def test_the_documented_cast_list_loads_as_it_is(tmp_path: Path) -> None:
    config = _load(tmp_path, _CAST_LIST)
    assert config.roles.sources == ("sonnet", "qwen")
    assert config.roles.tested == ("sonnet", "qwen")
    assert config.roles.judge == "gpt"
    assert config.build.quota == 10
    assert not config.offline and not config.rehearsal


def test_roles_left_out_go_to_the_first_model_and_sources_and_tested_to_all(tmp_path: Path) -> None:
    roles = _load(tmp_path, _MODELS).roles
    single = (roles.director, roles.narrator, roles.scene, roles.base, roles.judge, roles.filter, roles.checker)
    assert set(single) == {"ada"}
    assert roles.sources == roles.tested == ("ada", "bob")


def test_a_section_whose_lines_are_all_commented_out_keeps_its_defaults(tmp_path: Path) -> None:
    text = "build:\n  # quota: 2\nroles:\nevaluate:\npool:\ncharacters:\n"
    assert _load(tmp_path, _MODELS + text) == _load(tmp_path, _MODELS)


def test_paths_are_relative_to_the_file_wherever_the_command_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project, elsewhere = tmp_path / "project", tmp_path / "elsewhere"
    project.mkdir()
    elsewhere.mkdir()
    (project / "config.yaml").write_text(
        _MODELS + "pool: {path: ../pool}\ncharacters: [cast/*.yaml]\ndimensions: mine.yaml\n"
    )
    monkeypatch.chdir(elsewhere)
    config = load_config(Path("../project/config.yaml"))
    assert config.pool.path is not None and config.pool.path.resolve() == (tmp_path / "pool").resolve()
    assert config.characters == (str(project.resolve() / "cast/*.yaml"),)
    assert config.dimensions == project.resolve() / "mine.yaml"


def test_without_a_file_there_are_three_understudies_on_the_starter_pool() -> None:
    config = understudies()
    assert config.offline and config.rehearsal
    assert config.pool.path is None
    assert set(config.roles.tested) == {"novice", "adept", "expert"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (_MODELS + "seeds: 3", ("seeds", "unknown field", "did you mean 'seed'?")),
        (_MODELS + "build: {qouta: 3}", ("build.qouta", "unknown field", "did you mean 'quota'?")),
        (_MODELS + "roles: {bas: ada}", ("roles.bas", "did you mean 'base'?")),
        (_MODELS + "roles: {base: adda}", ("roles.base", "unknown model 'adda'", "did you mean 'ada'?")),
        (_MODELS + "roles: {base: zzz}", ("roles.base", "unknown model 'zzz'", "models are: ada, bob")),
        (_MODELS + "roles: {sources: ada}", ("roles.sources", "must be a list", "found 'ada'")),
        (_MODELS + "roles: [ada]", ("roles", "must be a map of fields")),
        (
            _MODELS + "roles: {tested: [ada]}\nevaluate: {models: [bob]}",
            ("roles.tested and evaluate.models name different models",),
        ),
        (_MODELS + "evaluate: {models: [zzz]}", ("roles.tested", "unknown model 'zzz'")),
        (_MODELS + "build: {quota: ten}", ("build.quota", "must be a whole number", "found 'ten'")),
        (_MODELS + "build: {quota: 0}", ("build.quota", "must be greater than or equal to 1", "found 0")),
        (_MODELS + "pool: {languages: [en, fr]}", ("pool.languages.1", "must be 'en' or 'zh'", "found 'fr'")),
        (_MODELS + "licence: no", ("licence", "must be text", "found False")),
        (_MODELS + "name: my bench", ("name", "letters, digits", "found 'my bench'")),
        ("models: {g: {provider: opnai, model: m}}", ("models.g.provider", "'openai'", "found 'opnai'")),
        ("models: {g: {provider: openai, modle: m}}", ("models.g.modle", "did you mean 'model'?")),
        ("models: {g: {provider: openai}}", ("models.g", "'model' is missing")),
        ("models: {g: gpt-4.1}", ("models.g", "must be a map of fields")),
        (
            "models: {g: {provider: openai, model: m, price: {inptu: 1, input: 1, output: 1}}}",
            ("models.g.price.inptu", "did you mean 'input'?"),
        ),
        ("models: {}", ("models", "must not be empty", "name a model")),
        ("models:", ("models", "it is missing", "name a model")),
        ("name: x", ("models", "it is missing", "name a model")),
        ("", ("not a map of fields", "name a model")),
        ("- ada", ("not a map of fields", "name a model")),
        ("models: {g: [", ("config.yaml:1", "not YAML")),
        ("models: {a: {provider: understudy}, a: {provider: understudy}}", ("'a' is given twice",)),
    ],
)
def test_what_is_wrong_is_said_in_one_line(tmp_path: Path, text: str, said: tuple[str, ...]) -> None:
    with pytest.raises(InputError) as caught:
        _load(tmp_path, text)
    line = str(caught.value)
    assert line.startswith(str(tmp_path / "config.yaml"))
    assert "\n" not in line and "pydantic" not in line and "Input should" not in line
    for part in said:
        assert part in line


def test_a_missing_file_is_one_line_with_the_way_to_get_one(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nope\.yaml: cannot read.*No such file.*screentest init"):
        load_config(tmp_path / "nope.yaml")


@pytest.mark.parametrize(
    "entry",
    [
        "{provider: openai, model: m, key_env: sk-live-5ecret}",
        "{provider: openai, model: m, api_key: sk-live-5ecret}",
        "{provider: openai, model: m, base_url: 'https://me:sk-live-5ecret@host/v1'}",
        "{provider: openai, model: m, base_url: 'https://host/v1?key=sk-live-5ecret'}",
        "sk-live-5ecret",
    ],
)
def test_a_key_put_in_the_wrong_place_is_refused_but_never_repeated(tmp_path: Path, entry: str) -> None:
    with pytest.raises(InputError) as caught:
        _load(tmp_path, f"models: {{g: {entry}}}")
    assert "models.g" in str(caught.value)
    assert "5ecret" not in str(caught.value)
    assert caught.value.__cause__ is None
