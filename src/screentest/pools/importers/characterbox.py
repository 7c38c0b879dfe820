"""CharacterBox scene files: ``{title, scenes: [{event, time, location, description, characters, actions, plot}]}``.

How a record becomes a scene:

* ``title`` → the world and the source; ``event`` → the title; ``time``, ``location``, ``description`` → the situation.
* ``characters`` → the cast, established: ``gender``, ``description`` and ``position`` are public, ``states`` is
  private. The keys of a Chinese scene are Chinese.
* ``actions`` → the script: each is ``(action) speech``, with full-width brackets in Chinese. Quotes around the speech,
  the speaker's name before it and words for "nothing is said" are removed, with a warning.
* ``plot`` is left out: it tells how the scene ends, and nobody in a scene may know that. A ``chunk`` is left out with a
  warning: it is the book's own text. Other fields are warned about.

White space at the ends of a text and in runs is collapsed without a warning.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from screentest.pools.character import Character, Language, identifier
from screentest.pools.importers.record import (
    Format,
    Part,
    Record,
    Refused,
    find_language,
    make_scene,
    world_of,
)
from screentest.pools.importers.report import Note
from screentest.pools.importers.speech import spoken
from screentest.pools.line import Line
from screentest.pools.scene import Scene, Situation

_LABELS: dict[Language, dict[str, str]] = {
    "en": {"gender": "gender", "description": "description", "position": "position", "states": "state"},
    "zh": {"gender": "性别", "description": "描述", "position": "位置", "states": "状态"},
}
_BRACKETS: dict[Language, str] = {"en": "({}) ", "zh": "（{}）"}
_NO_BRACKETS = str.maketrans("", "", "()（）[]【】")
_PLACEHOLDERS = {"character's name", "character name", "name", "角色名", "角色名称", "角色姓名", "人物姓名", "姓名"}


def _find(data: dict[str, Any], title: str, licence: str, remarks: list[str]) -> Iterator[Record]:
    given = data.get("title")
    if isinstance(given, str) and given.strip() and given.isprintable():
        title = " ".join(given.replace("_", " ").split())
    else:
        remarks.append(f"the title is missing or no text; the file's name is used: {title}")
    remarks.extend(
        f"{key} is not a field of this format; not imported" for key in data if key not in ("title", "scenes")
    )
    for number, item in enumerate(data["scenes"]):
        yield Record(f"scenes[{number}]", partial(_scene, item, title, licence))


def _scene(item: object, title: str, licence: str, notes: list[Note]) -> Scene:
    record = Part(item, "", notes)
    record.note_unknown("id", "event", "time", "location", "description", "plot", "characters", "actions", "chunk")
    if "chunk" in record.data:
        record.warn("chunk", "is the book's own text; not imported")
    characters, actions = record.parts("characters"), record.parts("actions")
    names = _names(characters)
    event = record.text("event")
    situation = Situation(
        time=record.wanted("time"), place=record.wanted("location"), description=record.wanted("description")
    )
    everything = [event, *situation.model_dump().values(), *(part.maybe("description") for part in characters)]
    language = find_language(" ".join(everything), notes)
    cast = tuple(_character(part, name, language, title, licence) for part, name in zip(characters, names, strict=True))
    if len(cast) == 1:
        record.warn("characters", "has one character only")
    if not actions:
        record.warn("actions", "is empty: the scene has no script")
    ids: list[tuple[object, str]] = [(part.data.get("id"), name) for part, name in zip(characters, names, strict=True)]
    return make_scene(
        language=language,
        title=event,
        world=world_of(title, language),
        situation=situation,
        cast=cast,
        script=tuple(line for part in actions if (line := _action(part, ids, language))),
        source=f"{title} (CharacterBox)",
        licence=licence,
    )


def _names(characters: list[Part]) -> list[str]:
    if not characters:
        raise Refused("characters", "is empty")
    names: list[str] = []
    for part in characters:
        name = part.name("name")
        if name.casefold() in _PLACEHOLDERS:
            raise Refused(part.at("name"), f"is a placeholder that its generator did not fill in: {name}")
        if name in names:
            raise Refused(part.at("name"), f"is the name of two characters: {name}")
        names.append(name)
    return names


def _character(part: Part, name: str, language: Language, title: str, licence: str) -> Character:
    part.note_unknown("id", "name", "gender", "description", "position", "states")
    labels = _LABELS[language]
    public = {labels[key]: text for key in ("gender", "description", "position") if (text := part.wanted(key))}
    private = {labels["states"]: text} if (text := part.wanted("states")) else {}
    return Character(
        id=identifier(name, language, title),
        name=name,
        language=language,
        kind="established",
        public=public,
        private=private,
        source=title,
        licence=licence,
    )


def _action(part: Part, ids: list[tuple[object, str]], language: Language) -> Line | None:
    part.note_unknown("action_id", "character", "character_id", "action", "dialogue")
    speaker = part.name("character")
    names = [name for _, name in ids]
    if speaker not in names:
        part.warn("character", f"is not among the characters: {speaker}; the line is kept in the script")
    elif "character_id" in part.data and (part.data["character_id"], speaker) not in ids:
        part.warn("character_id", f"is not the id of {speaker}; the name is believed")
    speech, remarks = spoken(part.raw("dialogue"), speaker, [name for name in names if name != speaker])
    for remark in remarks:
        part.warn("dialogue", remark)
    action = part.wanted("action")
    if (plain := action.translate(_NO_BRACKETS).strip()) != action:
        part.warn("action", "removed the brackets in it")
    if not (plain or speech):
        part.warn("", "nothing is done or said; the line is left out")
        return None
    line = Line.parse(speaker, (_BRACKETS[language].format(plain) if plain else "") + speech)
    if line.thought:
        part.warn("dialogue", "what is in square brackets was taken as a private thought")
    return line


FORMAT = Format(
    name="characterbox",
    sign='an object with a list "scenes"',
    fits=lambda data: isinstance(data, dict) and isinstance(data.get("scenes"), list),
    fields_not_imported=("scenes[].id", "scenes[].plot", "scenes[].chunk", "scenes[].actions[].action_id"),
    find=_find,
)
