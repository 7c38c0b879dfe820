"""The card of a benchmark: its ``README.md``, in English and Chinese, with the header that ``datasets`` reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import yaml
from jinja2 import Environment, PackageLoader, StrictUndefined

from screentest.builders.item import Item
from screentest.builders.manifest import Manifest

_KNOWN_LICENCES = {"cc0-1.0", "mit", "apache-2.0", "cc-by-4.0", "cc-by-sa-4.0", "cc-by-nc-4.0", "cc-by-nc-sa-4.0"}


_ENTITIES = {character: f"&#{ord(character)};" for character in "\\`*_{}[]<>#|!~$:@"}


def markdown(package: str, template: str, **context: object) -> str:
    """Fill in a template of a card; its ``cell`` filter escapes what goes into a table.

    Args:
        package: The package whose ``templates/`` hold it.
        template: Its file's name.
        context: Its variables, all of them.
    """
    environment = Environment(
        loader=PackageLoader(package, "templates"),
        undefined=StrictUndefined,
        autoescape=False,  # noqa: S701 - Markdown; the `cell` filter escapes what goes into it
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["cell"] = cell
    return environment.get_template(template).render(context)


def card(manifest: Manifest, items: Sequence[Item]) -> str:
    """The text of ``README.md``.

    Args:
        manifest: What the benchmark says about itself.
        items: Its items.

    Returns:
        Markdown with a YAML header.
    """
    licences = sorted({item.licence for item in items})
    # `datasets` caches by this name and the directory's: it must tell one benchmark from another.
    name = f"{manifest.name}-{manifest.content_hash[:12]}"
    header = {
        "configs": [
            {
                "config_name": name,
                "data_files": [{"split": "test", "path": "data/test.jsonl"}],
            }
        ],
        "language": list(manifest.languages),
        "license": licence_tag(licences),
        "pretty_name": manifest.name,
        "size_categories": [size(len(items))],
        "tags": ["role-play", "benchmark", "pairwise", "screentest"],
        "task_categories": ["text-generation"],
    }
    characters = {(item.language, item.character.kind, item.character.name): None for item in items}
    return markdown(
        "screentest.builders",
        "card.md.j2",
        header=yaml.safe_dump(header, allow_unicode=True, sort_keys=False),
        manifest=manifest,
        items=items,
        licences=licences,
        per_dimension=Counter((item.language, item.dimension) for item in items),
        per_character=Counter((item.language, item.character.kind, item.character.name) for item in items),
        characters=list(characters),
        per_source=Counter(item.provenance.source_model for item in items),
        conversations=len({item.conversation for item in items}),
        shortfalls=[cell for cell in manifest.report.cells if cell.shortfall],
        sources=sorted(
            {source for item in items for source in (item.provenance.scene_source, item.provenance.character_source)}
            - {""}
        ),
    )


def licence_tag(licences: Sequence[str]) -> str:
    """The licence as the header of a card names it: one that is known there, or ``other``."""
    return licences[0].lower() if len(licences) == 1 and licences[0].lower() in _KNOWN_LICENCES else "other"


def size(items: int) -> str:
    """The size of a data set, in the classes that the header of a card knows."""
    for limit, name in ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K")):
        if items < limit:
            return name
    return "100K<n<1M"


def cell(value: object) -> str:
    """Text from outside, for a Markdown table or list: on one line, with nothing that could be markup or a link."""
    return "".join(_ENTITIES.get(character, character) for character in " ".join(str(value).split()))
