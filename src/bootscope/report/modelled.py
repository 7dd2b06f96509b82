# SPDX-License-Identifier: Apache-2.0
"""CPU time on the model of a core, in words and as JSON: instructions, and waiting for memory."""

from __future__ import annotations

from bootscope.core.text import seconds
from bootscope.timeline.model import Phase, Timeline


def cpu_words(tl: Timeline) -> str:
    """The parts of CPU time on a core, over the whole boot."""
    cpu = sum(phase.cpu_ns for phase in tl.phases)
    memory = sum(phase.memory_ns or 0 for phase in tl.phases)
    return (
        f"{seconds(cpu)} s of CPU time = {seconds(cpu - memory)} s instructions + {seconds(memory)} s memory"
    )


def split_document(before: Timeline, after: Timeline) -> list[dict[str, object]]:
    """Issue and memory time of each phase, on a core as it is and with changes; in ns."""
    changed = {phase.name: phase for phase in after.phases}
    return [_split(phase, changed[phase.name]) for phase in before.phases if phase.name in changed]


def _split(before: Phase, after: Phase) -> dict[str, object]:
    return {
        "name": before.name,
        "issue_ns": before.issue_ns,
        "memory_ns": before.memory_ns,
        "predicted_issue_ns": after.issue_ns,
        "predicted_memory_ns": after.memory_ns,
    }
