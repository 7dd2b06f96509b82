# SPDX-License-Identifier: Apache-2.0
"""Views as the JSON that docs/json.md documents. Times are integer nanoseconds of board time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bootscope.analysis.views import View
from bootscope.core.text import visible
from bootscope.timeline.model import Phase

if TYPE_CHECKING:
    from bootscope.analysis.compare import Comparison


def phase(p: Phase) -> dict[str, object]:
    """One phase."""
    return {
        "name": p.name,
        "start_ns": p.start_ns,
        "end_ns": p.end_ns,
        "cpu_ns": p.cpu_ns,
        "storage_ns": p.storage_ns,
        "console_ns": p.console_ns,
        "idle_ns": p.idle_ns,
        "fixed_ns": p.fixed_ns,
        "evidence": p.evidence,
    }


def show(v: View, top: int) -> dict[str, object]:
    """`bootscope show --json`."""
    tl = v.timeline
    return {
        "run_id": v.run.info.run_id,
        "boot": v.boot.info.number,
        "boots": len(v.run.boots),
        "system": v.run.info.system.name,
        "board": v.run.info.board.name,
        "build_id": v.run.info.build_id,
        "until": v.run.info.until,
        "ended": v.boot.info.ended,
        "message": v.boot.info.message,
        "total_ns": tl.total_ns,
        "phases": [phase(p) for p in tl.phases],
        "milestones": tl.milestones,
        "consumers": [
            {"phase": c.phase, "kind": c.kind, "what": c.what, "ns": c.ns} for c in v.consumers[:top]
        ],
        "silences": [
            {
                "start_ns": s.start_ns,
                "end_ns": s.end_ns,
                "before": visible(s.before),
                "after": visible(s.after),
            }
            for s in v.silences
        ],
        "disagreements": [
            {
                "phase": d.phase,
                "address_ns": d.address_ns,
                "marker_ns": d.marker_ns,
                "marker": visible(d.marker.encode()),
            }
            for d in tl.disagreements
        ],
        "pins": [{"time_ns": ns, "change": change} for ns, change in tl.pins],
        "clock": {"syncs": tl.clock_syncs, "worst_ns": tl.clock_worst_ns},
        "stream_sha256": v.boot.info.stream_sha256,
    }


def compare(a: View, b: View, c: Comparison) -> dict[str, object]:
    """`bootscope compare --json`."""
    return {
        "a": a.boot.info.boot_id,
        "b": b.boot.info.boot_id,
        "cut_at": c.cut_at or None,
        "refused": visible(c.refused.encode("utf-8", "backslashreplace")) or None,
        "total_a_ns": c.total_a_ns,
        "total_b_ns": c.total_b_ns,
        "phases": [
            {
                "name": p.name,
                "a_ns": p.a_ns,
                "b_ns": p.b_ns,
                "change_ns": p.change_ns,
                "split": p.split or None,
            }
            for p in c.phases
        ],
        "milestones": {name: {"a_ns": x, "b_ns": y} for name, (x, y) in c.milestones.items()},
        "same_build": c.same_build,
        "differences": [{"what": d.what, "a": d.a, "b": d.b} for d in c.differences],
    }
