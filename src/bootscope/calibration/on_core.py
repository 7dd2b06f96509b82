# SPDX-License-Identifier: Apache-2.0
"""An emulated boot on the model of a core, split into instructions, memory, and the rest.

Two figures of a core are fitted: the time of an instruction, and memory, all of whose costs scale together.
Everything else - branches, the second cache, walks, registers of devices, loops that wait for a clock, sleep
- takes as long as the profile says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from bootscope.capture.record import RunInfo
from bootscope.capture.stream import Record
from bootscope.core.settings import Sourced
from bootscope.cores.profile import Core, Costs
from bootscope.timeline.core_time import Timing, on_core

INSTRUCTION = "instruction_millicycles"
LATENCY = "read_ns"
"""The figure that represents all of MEMORY."""
MEMORY = (
    *(LATENCY, "stream_read_ns", "written_line_ns", "store_fill_ns"),
    *("uncached_load_ns", "uncached_store_ns", "uncached_fetch_ns"),
)


@dataclass(frozen=True)
class CoreAmounts:
    """Cumulative at each record of a boot, in ns on the core of `timing`: the time of instructions, of
    memory, and the rest of virtual time."""

    timing: Timing
    instructions_ns: Sequence[int]
    memory_ns: Sequence[int]
    rest_ns: Sequence[int]


def core_amounts(recorded: list[Record], run: RunInfo, timing: Timing) -> CoreAmounts:
    """Splits a boot's time on a core: by its difference where a figure is 0."""

    def times(*free: str) -> list[int]:
        core = with_figures(timing.core, dict.fromkeys(free, 0), "nothing")
        return [r.time_ns for r in on_core(recorded, run, Timing(core, lambda: timing.counted)).records]

    whole, others, inside = times(), times(INSTRUCTION), times(*MEMORY)
    instructions = [a - b for a, b in zip(whole, others, strict=True)]
    memory = [a - b for a, b in zip(whole, inside, strict=True)]
    rest = [a - b - c for a, b, c in zip(whole, instructions, memory, strict=True)]
    return CoreAmounts(timing, instructions, memory, rest)


def with_figures(core: Core, figures: dict[str, int], source: str) -> Core:
    """A core with other costs, all from one source."""
    sourced = {name: Sourced(value=value, source=source) for name, value in figures.items()}
    return msgspec.structs.replace(core, costs=msgspec.structs.replace(core.costs, **sourced))


def scaled_memory(costs: Costs, latency_ns: int) -> dict[str, int]:
    """All costs of memory, given the latency of a read from it."""
    before = costs.read_ns.value or 1
    return {name: round(getattr(costs, name).value * latency_ns / before) for name in MEMORY}
