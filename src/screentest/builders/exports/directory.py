"""An export directory: the rows of one kind, what LLaMA-Factory must know of them, and a card."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import orjson
import yaml

from screentest import __version__
from screentest.builders.card import licence_tag, markdown, size
from screentest.builders.exports.performance import Source
from screentest.errors import InputError
from screentest.files import replace_file

Kind = Literal["trajectories", "guided", "reflective", "narrator", "preferences", "graphs"]

_CARD, _INFO = "README.md", "dataset_info.json"
_TAGS = {
    "role_tag": "role",
    "content_tag": "content",
    "user_tag": "user",
    "assistant_tag": "assistant",
    "system_tag": "system",
}
_FACTORY: dict[Kind, dict[str, Any]] = {
    **{kind: {"columns": {"messages": "messages"}} for kind in ("guided", "reflective", "narrator")},
    "preferences": {
        "ranking": True,
        "columns": {"messages": "prompt", "chosen": "chosen_message", "rejected": "rejected_message"},
    },
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Export:
    """What was made of a run, ready to be written.

    Attributes:
        kind: What it is.
        rows: Its records, in order.
        of: What there was to make records of: ``auditions``, ``characters in conversations``, …
        left_out: Why and how often something of that became no record; with the rows it adds up to the whole.
        teacher: The model whose lines it holds; empty if it holds everybody's.
        setback: The first failure, in words, if making records failed.
        files: Further files, by their path in the directory.
    """

    kind: Kind
    rows: Sequence[Mapping[str, Any]]
    of: str
    left_out: Mapping[str, int] = field(default_factory=dict[str, int])
    teacher: str = ""
    setback: str = ""
    files: Mapping[str, bytes] = field(default_factory=dict[str, bytes])

    @property
    def whole(self) -> int:
        """How much there was to make records of."""
        return len(self.rows) + sum(self.left_out.values())

    @property
    def understudy(self) -> bool:
        """Whether a stand-in model took part."""
        return any(row["understudy"] for row in self.rows)

    def write(self, directory: Path, source: Source) -> Path:
        """Write it; the card comes last, so that a directory that has one is whole.

        Args:
            directory: Where to; made if need be. An earlier export of the same kind in it is replaced.
            source: The run it was made of.

        Returns:
            The file with the records.

        Raises:
            InputError: It has no records, there is something else in the directory, or that cannot be written.
        """
        if not self.rows:
            rest = "; ".join(f"{count} {why}" for why, count in self.left_out.items() if count)
            why = f"{self.whole} {self.of}{f': {rest}' if rest else ''}"
            raise InputError("there is nothing to export", where=str(source.run), why=why)
        data = b"".join(orjson.dumps(row) + b"\n" for row in self.rows)
        files = {f"{self.kind}.jsonl": data, **self.files}
        if factory := _FACTORY.get(self.kind):
            entry = {"file_name": f"{self.kind}.jsonl", "formatting": "sharegpt", **factory, "tags": _TAGS}
            info = {f"screentest_{self.kind}": entry}
            files[_INFO] = orjson.dumps(info, option=orjson.OPT_INDENT_2) + b"\n"
        try:
            _make_room(directory, [*files, _CARD])
            for name, content in files.items():
                replace_file(directory / name, content)
            digest = hashlib.sha256(data).hexdigest()
            replace_file(directory / _CARD, self._card(source, digest).encode())
        except OSError as error:
            why = error.strerror or str(error)
            raise InputError("cannot write the export", where=str(directory), why=why) from None
        return directory / f"{self.kind}.jsonl"

    def _card(self, source: Source, digest: str) -> str:
        licences = sorted({row["licence"] for row in self.rows})
        name = f"{source.config.name}-{self.kind}"
        header = {
            # `datasets` caches by this name and the directory's: it must tell one export from another.
            "configs": [
                {
                    "config_name": f"{name}-{digest[:12]}",
                    "data_files": [{"split": "train", "path": f"{self.kind}.jsonl"}],
                }
            ],
            "language": sorted({row["language"] for row in self.rows}),
            "license": licence_tag(licences),
            "pretty_name": name,
            "size_categories": [size(len(self.rows))],
            "tags": ["role-play", "screentest", self.kind],
            "task_categories": ["text-generation"],
        }
        return markdown(
            "screentest.builders.exports",
            "export.md.j2",
            header=yaml.safe_dump(header, allow_unicode=True, sort_keys=False),
            export=self,
            name=name,
            digest=digest,
            stale=source.stale,
            licences=licences,
            sources=sorted({row[part] for row in self.rows for part in ("scene_source", "character_source")} - {""}),
            version=__version__,
        )


def _make_room(directory: Path, names: Sequence[str]) -> None:
    """Take an earlier export of the same kind away, card first, unless something else is there."""
    directory.mkdir(parents=True, exist_ok=True)
    ours = {part for name in names for part in (name, f".{name}.tmp")}
    if strangers := sorted(file.name for file in directory.iterdir() if file.name not in ours):
        why = f"there is something else in it: {', '.join(strangers[:3])}{', …' if len(strangers) > 3 else ''}"
        raise InputError("will not export into it", where=str(directory), why=why, hint="name a new directory")
    (directory / _CARD).unlink(missing_ok=True)
