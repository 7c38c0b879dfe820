"""A line: one utterance of one speaker."""

from __future__ import annotations

import re

from pydantic import BaseModel, ConfigDict

_THOUGHT = re.compile(r"\[([^\[\]]*)\]|【([^【】]*)】")
_ACTION = re.compile(r"\(([^()]*)\)|（([^（）]*)）")
_SPACE = re.compile(r"\s+")


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

    speaker: str
    text: str
    thought: str = ""

    @classmethod
    def parse(cls, speaker: str, text: str) -> Line:
        """Read a written utterance such as ``[I must hide it.] (smiles) Good morning.``.

        Bracketed thoughts are set apart, white space (line breaks included) is collapsed so that a line cannot pose
        as several, and all else is kept verbatim.

        Args:
            speaker: Who says it.
            text: The utterance as a model or a script wrote it.

        Returns:
            The line; its ``text`` may be empty if only a thought was written.
        """
        thought = " ".join(filter(None, (_inside(m) for m in _THOUGHT.finditer(text))))
        spoken = _SPACE.sub(" ", _THOUGHT.sub(" ", text)).strip()
        return cls(speaker=speaker, text=spoken, thought=_SPACE.sub(" ", thought))

    @property
    def action(self) -> str:
        """What the speaker does: the bracketed parts of ``text``, without the brackets."""
        return "; ".join(filter(None, (_inside(m) for m in _ACTION.finditer(self.text))))

    @property
    def speech(self) -> str:
        """What the speaker says: ``text`` without its bracketed actions."""
        return _SPACE.sub(" ", _ACTION.sub(" ", self.text)).strip()
