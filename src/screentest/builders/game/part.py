"""A part: what a person has said and done in a game, which is all of the game that is not in the journal."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from screentest.errors import InputError
from screentest.files import replace_file
from screentest.pools import Line
from screentest.pools.reading import nearest

LAST = "last"
"""Under which name a part is kept when it is rewound or another one takes its place."""

_LONGEST = 2_000
_BRACKETS = "()（）[]【】"
_LONGEST_NAME = 60


class Part(BaseModel):
    """A person's lines in a game, in order, and those that were kept under a name.

    Attributes:
        version: Of this format.
        lines: What the person wrote.
        saves: Name to lines.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    version: Literal[1] = 1
    lines: tuple[str, ...] = ()
    saves: dict[str, tuple[str, ...]] = Field(default_factory=dict)

    @classmethod
    def read(cls, file: Path) -> Part:
        """What :meth:`write` wrote; empty if there is no such file.

        Raises:
            InputError: The file is damaged, or of another version.
        """
        try:
            return cls.model_validate_json(file.read_bytes()) if file.is_file() else cls()
        except ValidationError as error:
            first = error.errors()[0]
            why = ": ".join(filter(None, (".".join(map(str, first["loc"])), first["msg"])))
            hint = "mend it, or remove it to begin the scene anew; what models replied is kept elsewhere"
            raise InputError("the person's lines cannot be read", where=str(file), why=why, hint=hint) from None

    def write(self, file: Path) -> None:
        """Write it whole, or not at all."""
        replace_file(file, self.model_dump_json(indent=1).encode() + b"\n")

    def with_line(self, text: str) -> Self:
        """With one more line."""
        return self.model_copy(update={"lines": (*self.lines, text)})

    def rewound(self, count: int) -> Self:
        """Without the last ``count`` lines; all of them are kept as :data:`LAST`.

        Raises:
            InputError: There are not that many.
        """
        if not 1 <= count <= len(self.lines):
            raise InputError(f"cannot take back {count} lines", why=f"you have given {len(self.lines)}")
        return self._replaced(self.lines[:-count])

    def saved(self, name: str) -> Self:
        """With the lines so far kept under a name.

        Raises:
            InputError: That is no name.
        """
        if not name or len(name) > _LONGEST_NAME or not name.isprintable():
            raise InputError("that is no name to save under", hint=f"write 1 to {_LONGEST_NAME} printable characters")
        return self.model_copy(update={"saves": {**self.saves, name: self.lines}})

    def loaded(self, name: str) -> Self:
        """With the lines that were kept under a name; those so far are kept as :data:`LAST`.

        Raises:
            InputError: Nothing was.
        """
        if name not in self.saves:
            hint = nearest(name, self.saves)
            raise InputError(f"nothing is saved as {name!r}" if name else "which one?", hint=hint)
        return self._replaced(self.saves[name])

    def _replaced(self, lines: tuple[str, ...]) -> Self:
        return self.model_copy(update={"lines": lines, "saves": {**self.saves, LAST: self.lines}})


def written(speaker: str, text: str) -> str:
    """What a person wrote, as it is kept: on one line, without control characters.

    Raises:
        InputError: Nobody could perceive it, or it is too long.
    """
    known = text.encode("utf-8", "replace").decode()
    kept = " ".join("".join(char if char.isprintable() or not char.isascii() else " " for char in known).split())
    if len(kept) > _LONGEST:
        raise InputError("that is too long", why=f"it has {len(kept)} characters, of {_LONGEST} at most")
    perceived = Line.parse(speaker, kept).text
    if not any(char.isprintable() and not char.isspace() and char not in _BRACKETS for char in perceived):
        raise InputError("nobody would notice that", hint="write an (action) or words; /pass does nothing")
    return kept
