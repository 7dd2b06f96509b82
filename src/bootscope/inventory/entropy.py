# SPDX-License-Identifier: Apache-2.0
"""Whether a boot waits until the kernel has gathered random numbers.

Linux waits where a program asks for them before there is a seed.
"""

from __future__ import annotations

from collections.abc import Iterator

from bootscope.analysis.clocked import GATHERS_RANDOM
from bootscope.analysis.evidence import Evidence
from bootscope.capture.stream import Sample
from bootscope.core.text import span
from bootscope.inventory.inventory import Inventory
from bootscope.inventory.recorded import Recorded

_GAP_NS = 100_000_000
"""During a wait the function is sampled some hundred times a second; longer gaps separate two waits."""
_LEAST_NS = 20_000_000


def shown(facts: Recorded) -> str | None:
    """What a recorded boot shows of it; None where the kernel's symbols are unknown."""
    evidence = facts.view.evidence
    if not evidence.names.spans(GATHERS_RANDOM):
        return None
    ns = sum(end - start for start, end in _waits(evidence))
    return f"the kernel gathers random numbers for {span(ns)}" if ns >= _LEAST_NS else ""


def _waits(evidence: Evidence) -> Iterator[tuple[int, int]]:
    """(start, end) in ns of the boot of each wait."""
    places = evidence.names.spans(GATHERS_RANDOM)
    lowest, highest = min(first for first, _ in places), max(end for _, end in places)
    times = [
        evidence.clock.before(index)
        for index, record in enumerate(evidence.records)
        if type(record) is Sample and lowest <= record.pc < highest
    ]
    start = 0
    for number, ns in enumerate(times):
        if number + 1 == len(times) or times[number + 1] - ns > _GAP_NS:
            yield times[start], ns
            start = number + 1


def logged(known: Inventory) -> str | None:
    """The same without a recording: a log does not show what waited."""
    return None
