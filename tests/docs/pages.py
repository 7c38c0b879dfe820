"""The documentation as data: pages, and what stands in them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_INLINE = re.compile(r"`([^`\n]+)`")


@dataclass(frozen=True)
class Page:
    """One Markdown file."""

    path: Path

    @property
    def text(self) -> str:
        """All of it."""
        return self.path.read_text(encoding="utf-8")

    @property
    def prose(self) -> str:
        """It without its fenced blocks."""
        return _FENCE.sub("", self.text)

    @property
    def chinese(self) -> Page:
        """Its Chinese edition."""
        return Page(self.path.with_suffix(".zh.md"))

    def blocks(self, *languages: str) -> list[str]:
        """Its fenced blocks in one of the languages."""
        return [body for language, body in _FENCE.findall(self.text) if language in languages]

    def links(self) -> list[str]:
        """Where its relative links lead."""
        return [link.partition("#")[0] for link in _LINK.findall(self.prose) if "://" not in link]

    def headings(self) -> list[str]:
        """The level of each heading, in order."""
        return [line.split(" ")[0] for line in self.prose.splitlines() if re.match(r"#+ ", line)]

    def rows(self) -> list[list[str]]:
        """The cells of each row of its tables."""
        lines = (line for line in self.prose.splitlines() if line.startswith("|"))
        return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]

    def names(self) -> set[str]:
        """Everything that stands in backticks."""
        return set(_INLINE.findall(self.prose))


ENGLISH = [
    Page(path)
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    if not path.name.endswith(".zh.md")
]
ALL = [
    *ENGLISH,
    *(page.chinese for page in ENGLISH if page.chinese.path.is_file()),
    Page(ROOT / "CHANGELOG.md"),
    Page(ROOT / "CONTRIBUTING.md"),
]


def page(name: str) -> Page:
    """A page of ``docs``."""
    return Page(ROOT / "docs" / f"{name}.md")


def name_of(page: Page) -> str:
    """What a test calls a page."""
    return page.path.relative_to(ROOT).as_posix()
