"""Reading one record: every value is checked where it is picked up, and the record knows its place in the file."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter, ValidationError

from screentest.pools.character import Language, identifier
from screentest.pools.importers.report import Note
from screentest.pools.line import Name
from screentest.pools.scene import Scene

_NAME: TypeAdapter[str] = TypeAdapter(Name)
_SPACE = re.compile(r"\s+")
_MIXED = 0.2
_CHINESE = 0.3


class Refused(Exception):
    """This record cannot become a scene."""

    def __init__(self, field: str, reason: str) -> None:
        self.note = Note.at(field, reason)
        super().__init__(reason)


@dataclass(frozen=True, slots=True)
class Record:
    """A record of a file, found but not read yet.

    Attributes:
        index: Its place in the file.
        read: Makes the scene, adding to the notes it is given; raises :class:`Refused`, or pydantic's
            ``ValidationError`` for values that no scene may have.
    """

    index: str
    read: Callable[[list[Note]], Scene]


@dataclass(frozen=True, slots=True)
class Format:
    """A file format.

    Attributes:
        name: What ``--format`` calls it.
        sign: What a file of this format has at its top level, in words.
        fits: Whether a parsed file has that.
        fields_not_imported: What such a file may hold and no scene does.
        find: Finds the records of a parsed file. Given the file, the title to use if it has none, the licence, and a
            list that notes about the file as a whole are added to.
    """

    name: str
    sign: str
    fits: Callable[[object], bool]
    fields_not_imported: tuple[str, ...]
    find: Callable[[dict[str, Any], str, str, list[str]], Iterator[Record]]


class Part:
    """A JSON object in a record.

    Args:
        data: The value found; refused unless it is an object.
        place: Its path in the record; empty for the record itself.
        notes: The record's notes.
    """

    def __init__(self, data: object, place: str, notes: list[Note]) -> None:
        if not isinstance(data, dict):
            raise Refused(place, f"must be an object, is {kind(data)}")
        self.data: dict[str, Any] = data
        self.place, self.notes = place, notes

    def at(self, key: str) -> str:
        """The path of a field in the record."""
        return f"{self.place}.{key}" if self.place else key

    def warn(self, key: str, reason: str) -> None:
        """Note something about a field."""
        self.notes.append(Note.at(self.at(key), reason))

    def text(self, key: str) -> str:
        """A text that must be there, white space collapsed."""
        if key not in self.data:
            raise Refused(self.at(key), "is missing")
        text = self.maybe(key)
        if not text:
            raise Refused(self.at(key), "is empty")
        return text

    def name(self, key: str) -> str:
        """A text that must be there and be fit to call somebody by."""
        name = self.text(key)
        try:
            return _NAME.validate_python(name)
        except ValidationError as error:
            raise Refused(self.at(key), "is no name: too long, or has control characters in it") from error

    def wanted(self, key: str) -> str:
        """A text that should be there: warned about and ``""`` if it is missing, null or blank."""
        text = self.maybe(key)
        if not text:
            self.warn(key, "is empty" if key in self.data else "is missing")
        return text

    def maybe(self, key: str) -> str:
        """A text that may be there: ``""`` if it is missing, null or blank."""
        return _SPACE.sub(" ", self.raw(key)).strip()

    def raw(self, key: str) -> str:
        """A text as it was written, line breaks included: ``""`` if it is missing or null."""
        value = self.data.get(key)
        if value is None:
            return ""
        if not isinstance(value, str):
            raise Refused(self.at(key), f"must be text, is {kind(value)}")
        return checked(value, self.at(key))

    def items(self, key: str) -> list[Any]:
        """A list that must be there."""
        if key not in self.data:
            raise Refused(self.at(key), "is missing")
        value = self.data[key]
        if not isinstance(value, list):
            raise Refused(self.at(key), f"must be a list, is {kind(value)}")
        return value

    def parts(self, key: str) -> list[Part]:
        """A list of objects that must be there."""
        return [Part(item, f"{self.at(key)}[{number}]", self.notes) for number, item in enumerate(self.items(key))]

    def note_unknown(self, *known: str) -> None:
        """Note every field that the format does not have."""
        for key in self.data:
            if key not in known:
                self.warn(key, "is not a field of this format; not imported")


def kind(value: object) -> str:
    """What a JSON value is, in words."""
    names = {dict: "an object", list: "a list", str: "text", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")


def checked(text: str, place: str) -> str:
    """The text, refused if it cannot be encoded."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise Refused(place, "holds half a surrogate pair, which is no character") from error
    return text


def find_language(text: str, notes: list[Note]) -> Language:
    """The language of a record's text, by its letters.

    Chinese characters carry more than letters do, so 3 of 10 make a text Chinese. Other languages in Latin letters
    cannot be told from English this way.

    Raises:
        Refused: The text has no letters, or mostly letters of another script.
    """
    han = sum("\u3400" <= letter <= "\u9fff" for letter in text)
    latin = sum(letter.isalpha() and letter < "\u0250" for letter in text)
    other = sum(letter.isalpha() for letter in text) - han - latin
    total = han + latin + other
    if not total:
        raise Refused("", "has no text to tell its language from")
    if other / total > _MIXED:
        raise Refused("", "is neither in English nor in Chinese: other letters than theirs were found")
    share = han / total
    language: Language = "zh" if share >= _CHINESE else "en"
    if _MIXED < share < 1 - _MIXED:
        notes.append(Note.at("", f"mixes languages ({share:.0%} Chinese characters); taken as {language}"))
    return language


def make_scene(**fields: Any) -> Scene:
    """A scene whose id is made from its content, so that the same content has the same id wherever it came from."""
    draft = Scene(id="draft", **fields)
    content = draft.model_dump_json(exclude={"id", "source", "licence"})
    digest = hashlib.sha256(content.encode()).hexdigest()
    return draft.model_copy(update={"id": identifier(draft.title, digest)})


def world_of(title: str, language: Language) -> str:
    """The world of a work, named but not described: no file of these formats says more."""
    return f"《{title}》的世界。" if language == "zh" else f"The world of {title}."
