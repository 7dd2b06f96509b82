# SPDX-License-Identifier: Apache-2.0
"""All culprits of a boot, the most expensive first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain

from bootscope.analysis.hook_coverage import missing
from bootscope.audit.culprits import calls, console, failed, processes, storage, units
from bootscope.audit.culprits.logged import printed, spans
from bootscope.audit.culprits.model import Culprit
from bootscope.audit.culprits.recorded import SMALL, RecordedBoot
from bootscope.audit.culprits.silent import REPLAY, silences
from bootscope.inventory.inventory import Inventory
from bootscope.inventory.recorded import Recorded
from bootscope.loaders.model import Hooked
from bootscope.loaders.registry import BUILT, LOADER_PHASES
from bootscope.timeline.trace import Trace

_OF_RECORDINGS: tuple[Callable[[RecordedBoot], Iterator[Culprit]], ...] = (
    calls.find, console.find, storage.find, processes.find, calls.sleeps,
)  # fmt: skip


def culprits(known: Inventory, trace: Trace | None = None) -> list[Culprit]:
    """The culprits of the boot in `known`; `trace` is what logs beside the console tell of it, on one clock.

    In a recording of an emulated board each nanosecond belongs to at most one of them. A log gives only
    bounds.
    """
    if isinstance(known, Recorded):
        boot = RecordedBoot(known.view.evidence, known.view.ground)
        found = [culprit for find in _OF_RECORDINGS for culprit in find(boot)]
        return _ranked([*found, *_unseen(known, boot)], known.view.timeline.total_ns)
    messages = list(printed(known))
    # The wait for the line when the console appears is part of the messages' culprit.
    timed = [*spans(trace), *units.of_trace(trace)] if trace else []
    log = known.log if known.log and not known.log.running else None
    waits = units.of_log(log) if log and not any(map(_is_unit, timed)) else {}
    # A unit's own row covers all gaps within it.
    told = (*(REPLAY if messages else ()), *waits)
    quiet = silences(log, told) if log else ()
    found = [*timed, *chain.from_iterable(waits.values()), *messages, *quiet]
    # A journal's clock does not start at zero with the boot.
    ends, starts = [c.end_ns for c in found], [c.start_ns for c in found]
    fails = failed.find(known.log) if known.log else ()
    return [*fails, *_ranked(found, max(ends, default=0) - min(starts, default=0))]


def _is_unit(found: Culprit) -> bool:
    return found.what.startswith("unit ")


_UNSEEN = {
    LOADER_PHASES: BUILT.main.hook(Hooked.DELAY),
    ("kernel",): "initcall",
    ("init", "application"): "switch",
}
"""Phases, and the hook without which a recording does not show what runs in them."""


def _unseen(facts: Recorded, boot: RecordedBoot) -> Iterator[Culprit]:
    """Silences of the console in phases that the recording cannot explain: only the CPU's part of them."""
    lacking = {
        phase for phases, hook in _UNSEEN.items() if missing(boot.evidence, [hook]) for phase in phases
    }
    for found in silences(facts.log) if facts.log and lacking else ():
        within = {
            p.name
            for p in boot.evidence.timeline.phases
            if p.start_ns < found.end_ns and found.start_ns < p.end_ns
        }
        if within <= lacking:
            yield boot.without_devices(found)


def _ranked(found: Iterable[Culprit], total_ns: int) -> list[Culprit]:
    """Those that are worth a look, the most expensive first."""
    return sorted((c for c in found if c.cost_ns * SMALL > total_ns), key=lambda c: (-c.cost_ns, c.start_ns))
