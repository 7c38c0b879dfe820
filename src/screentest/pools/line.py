"""A line: one utterance of one speaker."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

_THOUGHT = re.compile(r"\[([^\[\]]*)\]|【([^【】]*)】")
_UNCLOSED = re.compile(r"[\[【](.*)\Z", re.DOTALL)
_ACTION = re.compile(r"\(([^()]*)\)|（([^（）]*)）")
_SPACE = re.compile(r"\s+")

_CONTROL = r"\x00-\x1f\x7f\x85\u2028\u2029"
_NAME = rf"^[^\s{_CONTROL}](?:[^{_CONTROL}]*[^\s{_CONTROL}])?$"

Name = Annotated[str, Field(min_length=1, max_length=120, pattern=_NAME)]
"""What a speaker is called: on one line, without white space around it."""

OneLine = Annotated[str, AfterValidator(lambda text: _SPACE.sub(" ", text).strip())]
"""Text whose white space, line breaks included, is collapsed, so that one utterance cannot pose as several."""


def _said(text: str) -> str:
    if not text:
        raise ValueError("there is nothing in it")
    return text


Words = Annotated[OneLine, AfterValidator(_said)]
"""The same, of a text that says something: white space is nothing."""


def _inside(match: re.Match[str]) -> str:
    return (match[1] or match[2] or "").strip()


class Line(BaseModel):
    """One utterance.

    Attributes:
        speaker: The name of who says it.
        text: What everyone present perceives, verbatim: ``(action)`` and speech, in the order given.
        thought: What only the speaker knows; never shown to anyone else.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    speaker: Name
    text: OneLine
    thought: OneLine = ""

    @classmethod
    def parse(cls, speaker: str, text: str) -> Line:
        """Read a written utterance such as ``[I must hide it.] (smiles) Good morning.``.

        Bracketed thoughts are set apart; one whose bracket is never closed is taken to go on to the end, and the
        bracket stays to tell of it. All else is kept verbatim but for white space.

        Args:
            speaker: Who says it.
            text: The utterance as a model or a script wrote it.

        Returns:
            The line; its ``text`` may be empty if only a thought was written.
        """
        thoughts: list[str] = []
        while match := _THOUGHT.search(text):  # the innermost first, so that a thought within a thought stays one
            thoughts.append(_inside(match))
            text = f"{text[: match.start()]} {text[match.end() :]}"
        if unclosed := _UNCLOSED.search(text):
            thoughts.append(unclosed[1].strip())
            text = text[: unclosed.start() + 1]
        return cls(speaker=speaker, text=text, thought=" ".join(filter(None, thoughts)))

    def perceived_by(self, name: str | None) -> Line | None:
        """The line as the character of this name perceives it, or an onlooker (``None``).

        A thought is its thinker's own: a line that is nothing else happens for nobody else.
        """
        if not self.thought or self.speaker == name:
            return self
        return self.model_copy(update={"thought": ""}) if self.text else None

    @property
    def action(self) -> str:
        """What the speaker does: the bracketed parts of ``text``, without the brackets."""
        return "; ".join(filter(None, (_inside(m) for m in _ACTION.finditer(self.text))))

    @property
    def speech(self) -> str:
        """What the speaker says: ``text`` without its bracketed actions."""
        return _SPACE.sub(" ", _ACTION.sub(" ", self.text)).strip()
