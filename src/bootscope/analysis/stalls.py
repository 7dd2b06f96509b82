# SPDX-License-Identifier: Apache-2.0
"""Where a core waits for memory, as call paths: the flame graph of stalls.

The time waited for memory between two samples of the stack, as counted, belongs to the second one. A phase's
paths add up to its waiting exactly. What each function alone waits for is counted by instruction, without
samples: `show --view memory`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from bootscope.analysis.evidence import Evidence
from bootscope.analysis.functions import Stacks
from bootscope.analysis.memory_rows import memory_of_functions, shared
from bootscope.timeline.trace import Stack

_Paths = dict[tuple[str, ...], int]


def stalls(evidence: Evidence, stacks: Stacks) -> tuple[Stack, ...]:
    """Phase > who > initcall, probe or command > functions, with ns of waiting for memory; empty if no core
    is modelled."""
    if evidence.memory_ns is None:
        return ()
    return tuple(_all(evidence, stacks))


def _all(evidence: Evidence, stacks: Stacks) -> Iterator[Stack]:
    paths = _paths(evidence, stacks)
    flat = memory_of_functions(evidence)
    for phase in evidence.timeline.phases:
        weights = paths.get(phase.name)
        if not weights or not sum(weights.values()):
            # The stack was not sampled here: the functions alone.
            weights = {(phase.name, name): ns for name, ns in flat[phase.name].items()}
        for frames, ns in shared(phase.memory_ns or 0, weights).items():
            if ns:
                yield Stack(frames, ns)


def _paths(evidence: Evidence, stacks: Stacks) -> dict[str, _Paths]:
    """Phase -> path -> the time waited before its samples, each since the previous sample."""
    found: dict[str, _Paths] = defaultdict(lambda: defaultdict(int))
    waited, ends = evidence.memory_ns, [end for end, _ in evidence.phase_ends()]
    assert waited is not None
    last, at = 0, 0
    for sample in stacks.sampled:
        index = evidence.index_at(sample.at_ns)
        while at < len(ends) and index >= ends[at]:
            # What a phase waited after its last sample is divided among its samples.
            last = max(last, waited[min(ends[at], len(waited) - 1)])
            at += 1
        found[sample.frames[0]][sample.frames] += max(0, waited[index] - last)
        last = max(last, waited[index])
    return found
