# SPDX-License-Identifier: Apache-2.0
"""What logs time by themselves: initcalls, probes, units of systemd."""

from __future__ import annotations

from collections.abc import Iterator

from bootscope.analysis.trace_rows import self_times
from bootscope.audit.culprits.calls import DRIVER
from bootscope.audit.culprits.model import Culprit, Cure
from bootscope.timeline.trace import Trace

_UNIT = Cure("does the application need it? defer or remove it", ("systemd-long-units",))
_CALL = Cure("remove it or defer it", DRIVER)
_KINDS = {
    "initcall": ("kernel: initcall", "--view initcalls", _CALL),
    "probe": ("kernel: probe of", "--view initcalls", _CALL),
    "service": ("unit", "--view processes", _UNIT),
}


def find(trace: Trace) -> Iterator[Culprit]:
    """Each span by its own time; the boot waited that long at most, since others may have run beside it."""
    for track in trace.tracks:
        # A device's unit starts when the kernel has found it: nothing of systemd's takes that time.
        if track.kind in _KINDS and not track.title.endswith(".device"):
            word, view, cure = _KINDS[track.kind]
            unit = track.kind == "service"
            for span, own_ns in self_times(track):
                yield Culprit(
                    kind="spans",
                    what=f"{word} {track.title if unit else span.name}",
                    where=span.name if unit else track.title,
                    cost_ns=own_ns,
                    start_ns=span.start_ns,
                    end_ns=span.end_ns,
                    seen_in=view,
                    cure=cure,
                    at_most=True,
                )
