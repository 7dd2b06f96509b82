# SPDX-License-Identifier: Apache-2.0
"""The consoles of all boots of a run, for the report's page, which shows one at a time."""

from __future__ import annotations

from collections.abc import Iterable

from bootscope.core.text import seconds
from bootscope.export.text import plain
from bootscope.timeline.trace import Trace

MOST_LINES = 20_000
"""For all boots together; a boot that would exceed it is cut, and says so."""
_LONGEST = 400


def consoles(boots: Iterable[tuple[str, Trace]]) -> list[dict[str, object]]:
    """Each boot's lines, as (seconds as text, text); `cut` is how many were left out. Texts come from boards:
    the page inserts them as text."""
    found, left = [], MOST_LINES
    for name, trace in boots:
        points = sorted((p for p in trace.points if p.kind == "line"), key=lambda p: p.at_ns)
        lines = [(seconds(p.at_ns, 6) if trace.timed else "", plain(p.name, _LONGEST)) for p in points[:left]]
        left -= len(lines)
        found.append({"name": plain(name), "lines": lines, "cut": len(points) - len(lines)})
    return found
