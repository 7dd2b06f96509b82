# SPDX-License-Identifier: Apache-2.0
"""What caches, memory and the clock of a core cost a boot, if that was counted: phases with caches off, and
what a faster memory or core, or code placed closer together, would save.

The costs overlap each other and an audit's findings: they are other views of the same boot time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from bootscope.analysis.evidence import Evidence
from bootscope.analysis.timing import core_counted, find_timing
from bootscope.analysis.uncertainty import Uncertainty, uncertainty
from bootscope.analysis.views import View
from bootscope.boards.profile import Board
from bootscope.capture import counted
from bootscope.core.text import span
from bootscope.cores.changes import changed
from bootscope.cores.counts import NONE, Count
from bootscope.cores.profile import Core
from bootscope.loaders.registry import LOADER_PHASES
from bootscope.timeline.build import timeline_of
from bootscope.timeline.core_time import Timing
from bootscope.timeline.model import Timeline

FASTER = "1.25x"
"""The factor for a faster memory and a faster clock: a quarter faster."""
SMALL = 500
"""Costs below one 500th of a boot are left out."""
_PS = 1000
_DATA = (Count.UNCACHED_LOAD, Count.UNCACHED_STORE)
_CODE = (Count.UNCACHED_FETCH,)
_LAYOUT = (Count.FETCH_L2, Count.FETCH_MEMORY, Count.WALK_CODE, Count.MISPREDICTED)
_UNPACKS = "decompress"


@dataclass(frozen=True)
class Cost:
    """A cost that was counted. `most_ns`: what it costs, or what a change can save at most. `saving_ns`: what
    `what_if` saves, by the model; None if its caches were not counted, so that only the bound is known."""

    technique: str
    what: str
    most_ns: int | None
    saving_ns: int | None
    what_if: str


@dataclass(frozen=True)
class CountedCosts:
    """The counted costs of a boot on a core; `total_ns` is the length of the boot there."""

    core: str
    total_ns: int
    costs: tuple[Cost, ...]
    uncertainty: Uncertainty


def passes(seen: View) -> str:
    """Which counts a boot has, as a text that differs when they do."""
    return ",".join(sorted(name for boot in seen.run.boots for name in counted.kept(boot.path)))


def counted_costs(seen: View) -> CountedCosts | None:
    """The costs counted for the core that a boot is looked at with, otherwise for the only one that its run
    was counted for; None if nothing was counted."""
    core = seen.core or core_counted(seen.run)
    timing = find_timing(seen.run, seen.boot, core) if core else None
    if core is None or timing is None:
        return None
    looked = _Counted(seen, core, timing)
    found = [*looked.caches_off(), *looked.faster(), *looked.layout()]
    worth = [cost for cost in found if (cost.saving_ns or cost.most_ns or 0) * SMALL > looked.now.total_ns]
    return CountedCosts(core.name, looked.now.total_ns, tuple(worth), uncertainty(looked.now, core))


class _Counted:
    """A boot with its counts, on a core as it is and with changes."""

    def __init__(self, seen: View, core: Core, timing: Timing) -> None:
        self._seen, self._core, self._timing = seen, core, timing
        self.now = self._on(timing)

    def _on(self, timing: Timing) -> Timeline:
        boot, run = self._seen.boot, self._seen.run.info
        return timeline_of(boot.info.boot_id, self._evidence.recorded, run, self._board, timing).timeline

    @property
    def _evidence(self) -> Evidence:
        return self._seen.evidence

    @property
    def _board(self) -> Board:
        return self._evidence.run.board

    def _saving_ns(self, change: str) -> int | None:
        """What a change of the core saves; None where its caches were not counted."""
        timing = find_timing(self._seen.run, self._seen.boot, changed(self._core, [change]).core)
        return self.now.total_ns - self._on(timing).total_ns if timing else None

    def caches_off(self) -> Iterator[Cost]:
        """Phases of boot loaders and of unpacking with accesses that bypass caches because these are off."""
        prices = self._timing.price
        for phase, counts in self._sums(lambda address: True):
            if phase not in (*LOADER_PHASES, _UNPACKS):
                continue
            for cache, name, kinds in (("dcache", "data", _DATA), ("icache", "code", _CODE)):
                ns = sum(counts[kind] * prices.event_ps[kind] for kind in kinds) // _PS
                times = sum(counts[kind] for kind in kinds)
                what = f"{phase}: {times:,} accesses past the {name} cache, which is off in all or part of it"
                change = f"{cache}=on-in-{phase}"
                if ns:
                    yield Cost("hw-cache-config", what, ns, self._saving_ns(change), change)

    def faster(self) -> Iterator[Cost]:
        """A memory and a core that are faster by FASTER."""
        memory_ns = sum(phase.memory_ns or 0 for phase in self.now.phases)
        issue_ns = sum(phase.issue_ns - (phase.clocked_ns or 0) for phase in self.now.phases)
        for technique, change, what, most_ns in (
            (
                "hw-memory-timing",
                "dram",
                f"memory: the core waits {span(memory_ns)} for it, caches and devices",
                memory_ns,
            ),
            ("hw-master-clock", "clock", f"clock: instructions take {span(issue_ns)}", issue_ns),
        ):
            change = f"{change}={FASTER}"
            yield Cost(technique, what, most_ns, self._saving_ns(change), change)

    def layout(self) -> Iterator[Cost]:
        """Kernel code that missed the first cache, or whose branches were mispredicted."""
        first, prices = self._board.arch.kernel.first_address, self._timing.price
        sums = [counts for _, counts in self._sums(lambda address: address >= first)]
        times = [sum(counts[kind] for counts in sums) for kind in _LAYOUT]
        ns = sum(n * prices.event_ps[kind] for n, kind in zip(times, _LAYOUT, strict=True)) // _PS
        misses, branches = times[0] + times[1], times[3]
        what = f"kernel code: {misses:,} misses in the first cache, {branches:,} mispredicted branches"
        yield Cost("kernel-branch-locality", what, ns, None, "")

    def _sums(self, wanted: Callable[[int], bool]) -> Iterator[tuple[str, list[int]]]:
        """Each phase with the sums of its counts in the blocks whose address is wanted."""
        found = self._timing.counted
        for phase, blocks in zip(found.info.phases, found.parts, strict=True):
            inside = [block.counts for block in blocks if wanted(block.address)]
            yield phase, [sum(column) for column in zip(NONE, *inside, strict=True)]
