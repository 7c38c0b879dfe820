"""A provider's model that can look back on its lines."""

from __future__ import annotations

import json
import re

from builders.projects import generous
from fakes import Says, Seen


def rewrites(seen: Seen) -> Says:
    """Criticises, and rewrites every line as asked."""
    asked = seen.schema["properties"] if seen.schema else {}
    if "weaknesses" in asked:
        return Says(json.dumps({"strengths": "the voice", "weaknesses": "2 is flat", "advice": "be-concrete"}))
    if "lines" in asked:
        count = _count(seen)
        lines = [{"number": n, "line": f"(bows) This is line {n}, anew."} for n in range(count, 0, -1)]
        return Says(json.dumps({"lines": lines}))
    return generous(seen)


def _count(seen: Seen) -> int:
    found = re.search(r"for each numbered line, (\d+) in all", seen.prompt)
    assert found
    return int(found[1])
