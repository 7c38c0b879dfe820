"""Taking a key out of what a server says, before anybody reads it.

A model is never told a key, so that a server which repeats one (in an error, in a reply, in a header) can be believed
in all but that. What a reply holds goes into prompts for other providers, into the store and into published files.
"""

from __future__ import annotations

import base64
import json
import logging
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

if TYPE_CHECKING:
    import httpx2

log = logging.getLogger(__name__)

HIDDEN = "***"
SHORTEST = 8
"""A shorter key is no secret but a word to please a local server (``EMPTY``), which a character may well say."""

_HEX = re.compile("%[0-9A-F]{2}")
_URLSAFE = str.maketrans("+/", "-_")


class Redaction:
    """Replaces one key, as it is or encoded, by three asterisks.

    Known are its JSON (twice over, too), percent, hexadecimal and base64 encodings, the last one also in the midst of
    other text, as in basic authentication.

    Args:
        key: The key; ``None`` where there is none.
    """

    def __init__(self, key: str | None) -> None:
        self._forms = _forms(key) if key and len(key) >= SHORTEST else ()
        self._told = False

    def text(self, text: str) -> str:
        """``text`` without the key."""
        for form in self._forms:
            if form in text:
                text = text.replace(form, HIDDEN)
                self._tell()
        return text

    def data(self, value: Any) -> Any:
        """JSON data without the key, neither in its texts nor in its names."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {self.text(name): self.data(part) for name, part in value.items()}
        if isinstance(value, list):
            return [self.data(part) for part in value]
        return value

    async def headers(self, response: httpx2.Response) -> None:
        """Take the key out of a response's headers, which an SDK may log."""
        for name, value in response.headers.items():
            if (clean := self.text(value)) != value:
                response.headers[name] = clean

    def _tell(self) -> None:
        if not self._told:
            self._told = True
            log.warning("a server repeats the key in what it answers; it is shown as %s", HIDDEN)


def _forms(key: str) -> tuple[str, ...]:
    data, escaped = key.encode(), json.dumps(key)[1:-1]
    slashes = [escaped.replace("/", f"{backslashes}/") for backslashes in ("\\", "\\\\")]
    percent = [quote(key, safe=safe) for safe in ("", "/")]
    lower = [_HEX.sub(lambda found: found[0].lower(), quoted) for quoted in percent]
    cores = [_core(data, offset) for offset in range(3)]
    urlsafe = [core.translate(_URLSAFE) for core in cores]
    return tuple(
        dict.fromkeys(
            (key, escaped, *slashes, *percent, *lower, data.hex(), data.hex().upper(), *cores, *urlsafe),
        )
    )


def _core(data: bytes, offset: int) -> str:
    """What is the same in the base64 of every text that holds ``data`` after ``offset`` bytes, modulo three."""
    encoded = base64.b64encode(bytes(offset) + data).decode()
    first = (0, 2, 3)[offset]
    return encoded[first : (offset + len(data)) * 8 // 6]
