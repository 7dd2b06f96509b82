# SPDX-License-Identifier: Apache-2.0
"""What the time of a boot went into, ranked: functions, sleep, storage, console, fixed costs."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from bootscope.boards.symbols import Symbols
from bootscope.timeline.model import Phase, Timeline


@dataclass(frozen=True, slots=True)
class Consumer:
    """`ns` of board time went into `what` (of kind cpu, idle, storage, console, fixed) in a phase."""

    phase: str
    kind: str
    what: str
    ns: int


KERNEL_BASE = 0xBF000000
"""Where the kernel's addresses begin on 32-bit ARM with the usual split (modules first)."""


class Namer:
    """Names code addresses by the phase in which they were seen."""

    def __init__(
        self, tables: Mapping[str, Symbols], uboot_offset: int, kernel_base: int = KERNEL_BASE
    ) -> None:
        self._tables, self._offset, self._base = tables, uboot_offset, kernel_base

    def name(self, phase: str, pc: int) -> str:
        """A function with its program, as `U-Boot udelay`, or a description of the code."""
        if phase == "spl":
            return self._look("u-boot-spl", "SPL", pc)
        if phase in ("bootloader", "load"):
            # U-Boot runs where it was linked until it moves itself to the end of memory. An address
            # from before that is no function when the move is taken off it.
            moved = self._offset and self._known("u-boot", pc - self._offset)
            return self._look("u-boot", "U-Boot", pc - self._offset if moved else pc)
        if phase == "decompress":
            return "decompressor"
        if pc >= self._base:
            return self._look("kernel", "kernel", pc)
        return "kernel, before its MMU is on" if phase == "kernel" else "user programs"

    def _known(self, table: str, pc: int) -> str | None:
        return self._tables[table].name_at(pc) if table in self._tables else None

    def _look(self, table: str, program: str, pc: int) -> str:
        name = self._known(table, pc)
        return f"{program} {name}" if name else f"{program} code without a symbol"


def phase_at(phases: tuple[Phase, ...], time_ns: int) -> Phase:
    """The phase that a time of the boot lies in."""
    at = bisect_right([phase.start_ns for phase in phases], time_ns) - 1
    return phases[max(0, at)]


def consumers(tl: Timeline, namer: Namer) -> list[Consumer]:
    """All consumers, largest first. Those of one phase add up to the phase.

    CPU time is shared out by samples of the program counter, so its parts are estimates (their sum
    is not); everything else is exact.
    """
    found = [*_cpu(tl, namer), *_storage(tl)]
    for phase in tl.phases:
        for kind, ns in (
            ("console", phase.console_ns),
            ("idle", phase.idle_ns),
            ("fixed", phase.fixed_ns),
        ):
            what = {
                "console": "waiting for the serial line",
                "idle": "CPU asleep",
                "fixed": "power-up and ROM",
            }
            found.append(Consumer(phase.name, kind, what[kind], ns))
    return sorted((c for c in found if c.ns), key=lambda c: -c.ns)


def _cpu(tl: Timeline, namer: Namer) -> list[Consumer]:
    counts: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for sample in tl.samples:
        at = phase_at(tl.phases, sample.time_ns).name
        counts[at][namer.name(at, sample.pc)] += 1
    found: list[Consumer] = []
    for phase in tl.phases:
        names = counts[phase.name] or {"code that ran too briefly to be sampled": 1}
        found += _shares(phase, names)
    return found


def _shares(phase: Phase, names: Mapping[str, int]) -> list[Consumer]:
    """Splits the CPU time of a phase by counts; the largest share takes what rounding leaves."""
    total = sum(names.values())
    ordered = sorted(names, key=lambda name: (-names[name], name))
    shares = {name: phase.cpu_ns * names[name] // total for name in ordered}
    shares[ordered[0]] += phase.cpu_ns - sum(shares.values())
    return [Consumer(phase.name, "cpu", name, ns) for name, ns in shares.items()]


def _storage(tl: Timeline) -> list[Consumer]:
    sums: dict[tuple[str, str], int] = defaultdict(int)
    for transfer in tl.transfers:
        verb = "writing" if transfer.write else "reading"
        sums[phase_at(tl.phases, transfer.start_ns).name, f"{verb} {transfer.what}"] += transfer.cost_ns
    return [Consumer(phase, "storage", what, ns) for (phase, what), ns in sums.items()]
