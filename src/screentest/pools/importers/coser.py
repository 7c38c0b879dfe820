"""CoSER files: ``{plots: [{conversation: [{scenario, topic, key_characters, dialogues}], …}], character_datasets}``.

A record is one conversation of one plot. How it becomes a scene:

* ``topic`` → the title; ``scenario`` → the situation's description; the file's name → the world; it and the plot's
  ``chapter`` → the source.
* The conversation's ``key_characters`` → the cast, established, and ``motivation`` (elsewhere ``thought``) → the
  motivations. A character's ``description`` in the plot (or the first other plot that has one) is public; the full
  ``profile`` of ``character_datasets`` is private, since it tells what others do not know, unless there is nothing
  else to be public; what the character lives through in this plot (``experience``, elsewhere ``summary``) is private.
* ``dialogues`` → the script, ``[thoughts]`` set apart. "Environment" speaks stage directions and is not cast. A speaker
  who is not among the key characters joins the cast if the file describes them anywhere.
* A plot's ``text`` (the book's own) and ``summary`` are left out: they tell how it ends. So are the numbers
  that number the file's own parts.

White space at the ends of a text and in runs is collapsed without a warning.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
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
from screentest.pools.line import Line
from screentest.pools.scene import Scene, Situation

_ENVIRONMENT = {"environment", "环境"}
_PLOT = (
    *("text", "summary", "prominence", "key_characters", "chapter", "conversation", "state"),
    *("i_chunk", "i_p", "book", "plot"),
)


@dataclass(frozen=True, slots=True)
class _File:
    title: str
    licence: str
    plots: list[object]
    datasets: dict[str, Any]
    appearances: dict[str, list[tuple[int, int, dict[str, Any]]]]


@dataclass(slots=True)
class _Known:
    """What the file says about one character, for one plot."""

    profile: str = ""
    description: str = ""
    experience: str = ""

    def __bool__(self) -> bool:
        return bool(self.profile or self.description)


@dataclass(slots=True)
class _Casting:
    members: dict[str, _Known] = field(default_factory=dict)
    motivations: dict[str, str] = field(default_factory=dict)


def _find(data: dict[str, Any], title: str, licence: str, remarks: list[str]) -> Iterator[Record]:
    datasets = data.get("character_datasets")
    if not isinstance(datasets, dict):
        remarks.append("character_datasets is missing or no object: no profiles but the plots' own")
    expected = ("plots", "character_datasets", "split_plot_index")
    remarks.extend(f"{key} is not a field of this format; not imported" for key in data if key not in expected)
    plots = data["plots"]
    file = _File(title, licence, plots, datasets if isinstance(datasets, dict) else {}, _appearances(plots))
    silent = 0
    for number, plot in enumerate(file.plots):
        conversations = plot.get("conversation") if isinstance(plot, dict) else None
        if isinstance(conversations, list):
            silent += not conversations
            indices = [f"plots[{number}].conversation[{place}]" for place in range(len(conversations))]
        else:
            indices = [f"plots[{number}]"]
        for place, index in enumerate(indices):
            yield Record(index, partial(_scene, file, number, place))
    if silent:
        remarks.append(f"plots without conversation: {silent}")


def _scene(file: _File, number: int, place: int, notes: list[Note]) -> Scene:
    plot = Part(file.plots[number], f"plots[{number}]", notes)
    record = Part(plot.items("conversation")[place], "", notes)
    record.note_unknown("scenario", "topic", "key_characters", "dialogues", "i_p", "i_c")
    plot.note_unknown(*_PLOT)
    if (state := plot.maybe("state")) not in ("", "finished"):
        plot.warn("state", f"is {state}, not finished")
    if "key_characters" in plot.data:
        for part in plot.parts("key_characters"):
            part.name("name")
    scenario, topic = record.text("scenario"), record.wanted("topic")
    dialogues = record.parts("dialogues")
    casting = _cast(record, file, number)
    _add_speakers(casting, dialogues, file, number)
    language = find_language(" ".join([topic, scenario, *casting.motivations.values()]), notes)
    if len(casting.members) == 1:
        record.warn("key_characters", "has one character only")
    if not dialogues:
        record.warn("dialogues", "is empty: the scene has no script")
    chapter = plot.maybe("chapter")
    return make_scene(
        language=language,
        title=topic,
        world=world_of(file.title, language),
        situation=Situation(description=scenario),
        cast=tuple(_character(name, known, language, file) for name, known in casting.members.items()),
        motivations=casting.motivations,
        script=tuple(line for part in dialogues if (line := _line(part))),
        source=f"{file.title}{', ' + chapter if chapter else ''} (CoSER)",
        licence=file.licence,
    )


def _cast(record: Part, file: _File, number: int) -> _Casting:
    casting = _Casting()
    for part in record.parts("key_characters"):
        part.note_unknown("name", "motivation", "thought", "i_p", "i_c")
        name = part.name("name")
        if name.casefold() in _ENVIRONMENT:
            part.warn("name", f"{name} is no character; not cast, and its motivation is left out")
            continue
        if name in casting.members:
            raise Refused(part.at("name"), f"is the name of two characters: {name}")
        casting.members[name] = known = _known(name, file, number, record.notes)
        if not known:
            part.warn("name", f"the file has no profile of {name}; cast with what the conversation says")
        motivation, thought = part.maybe("motivation"), part.maybe("thought")
        if motivation and thought:
            part.warn("thought", "is left out: there is a motivation too")
        if motivation or thought:
            casting.motivations[name] = motivation or thought
        else:
            part.warn("motivation", "is missing")
    if not casting.members:
        raise Refused("key_characters", "names no character")
    return casting


def _add_speakers(casting: _Casting, dialogues: list[Part], file: _File, number: int) -> None:
    strangers: set[str] = set()
    for part in dialogues:
        speaker = part.name("character")
        if speaker.casefold() in _ENVIRONMENT or speaker in casting.members or speaker in strangers:
            continue
        if known := _known(speaker, file, number, part.notes):
            part.warn(
                "character", f"{speaker} is not among the key characters; added to the cast, without a motivation"
            )
            casting.members[speaker] = known
        else:
            part.warn("character", f"{speaker} is not among the key characters and has no profile; in the script only")
            strangers.add(speaker)


def _known(name: str, file: _File, number: int, notes: list[Note]) -> _Known:
    known = _Known()
    if name in file.datasets:
        known.profile = Part(file.datasets[name], f'character_datasets["{name}"]', notes).maybe("profile")
    appearances = file.appearances.get(name, [])
    for plot, rank, item in sorted(appearances, key=lambda found: (found[0] != number, found[0])):
        part = Part(item, f"plots[{plot}].key_characters[{rank}]", notes)
        known.description = known.description or part.maybe("description")
        if plot == number:
            known.experience = part.maybe("experience") or part.maybe("summary")
    return known


def _appearances(plots: list[Any]) -> dict[str, list[tuple[int, int, dict[str, Any]]]]:
    """Name to where the plots describe that character: plot, rank and description."""
    found: dict[str, list[tuple[int, int, dict[str, Any]]]] = {}
    for number, plot in enumerate(plots):
        described = plot.get("key_characters") if isinstance(plot, dict) else None
        for rank, item in enumerate(described if isinstance(described, list) else []):
            if isinstance(item, dict) and isinstance(name := item.get("name"), str):
                found.setdefault(name.strip(), []).append((number, rank, item))
    return found


def _character(name: str, known: _Known, language: Language, file: _File) -> Character:
    public = {"description": known.description} if known.description else {}
    private: dict[str, str] = {}
    if known.profile:
        (private if public else public)["profile"] = known.profile
    if known.experience:
        private["experience"] = known.experience
    return Character(
        id=identifier(name, language, file.title),
        name=name,
        language=language,
        kind="established",
        public=_labelled(public, language),
        private=_labelled(private, language),
        source=file.title,
        licence=file.licence,
    )


def _labelled(pairs: dict[str, str], language: Language) -> dict[str, str]:
    chinese = {"description": "描述", "profile": "简介", "experience": "经历"}
    return {chinese[key]: value for key, value in pairs.items()} if language == "zh" else pairs


def _line(part: Part) -> Line | None:
    part.note_unknown("character", "message", "i_p", "i_c", "i_u")
    speaker, message = part.name("character"), part.maybe("message")
    if not message:
        part.warn("message", "is empty or missing; the line is left out")
        return None
    line = Line.parse(speaker, message)
    if not line.text:
        part.warn("message", "is a thought only: nobody else notices the line")
    if any(bracket in line.text for bracket in "[]【】"):
        part.warn("message", "has a square bracket without its partner: where a thought begins or ends is a guess")
    return line


FORMAT = Format(
    name="coser",
    sign='an object with a list "plots"',
    fits=lambda data: isinstance(data, dict) and isinstance(data.get("plots"), list),
    fields_not_imported=(
        *("plots[].text", "plots[].summary", "plots[].prominence", "plots[].i_chunk", "split_plot_index"),
        *("i_p", "i_c", "i_u"),
        *("character_datasets{}.plots", "character_datasets{}.conversations", "character_datasets{}.utterances"),
    ),
    find=_find,
)
