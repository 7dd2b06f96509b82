# SPDX-License-Identifier: Apache-2.0
"""Views as the JSON that docs/json.md documents. Times are integer nanoseconds of board time."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from bootscope.analysis.uncertainty import uncertainty
from bootscope.core.text import visible

if TYPE_CHECKING:
    from bootscope.analysis.compare import Comparison
    from bootscope.analysis.gaps import Reason
    from bootscope.analysis.silences import Silence
    from bootscope.analysis.views import View


def fields(found: object, *names: str) -> dict[str, object]:
    """The attributes of a record that have the same names in the JSON."""
    return {name: getattr(found, name) for name in names}


def silences(found: Iterable[Silence]) -> list[dict[str, object]]:
    """Stretches in which the console was silent."""
    return [
        {
            **fields(s, "start_ns", "end_ns"),
            "before": visible(s.before),
            "after": visible(s.after),
            **_reason(s.reason),
        }
        for s in found
    ]


def _reason(found: Reason | None) -> dict[str, object]:
    if not found:
        return {"reason": None, "sure": None, "do": None}
    return {"reason": visible(found.words), **fields(found, "sure", "do")}


def show(v: View, top: int) -> dict[str, object]:
    """`bootscope show --json`."""
    tl, run, boot = v.timeline, v.run.info, v.boot.info
    return {
        "run_id": run.run_id,
        "boot": boot.number,
        "boots": len(v.run.boots),
        "system": run.system.name,
        "board": run.board.name,
        "core": v.core.name if v.core else None,
        "uncertainty": uncertainty(tl, v.core) if v.core else None,
        **fields(run, "build_id", "until"),
        **fields(boot, "ended", "message"),
        **fields(tl, "total_ns", "phases", "milestones"),
        "consumers": v.consumers[:top],
        "silences": silences(v.silences),
        "disagreements": [
            {**fields(d, "phase", "address_ns", "marker_ns"), "marker": visible(d.marker)}
            for d in tl.disagreements
        ],
        "pins": [{"time_ns": ns, "change": change} for ns, change in tl.pins],
        "clock": {"syncs": tl.clock_syncs, "worst_ns": tl.clock_worst_ns},
        "stream_sha256": boot.stream_sha256,
    }


def compare(a: View, b: View, c: Comparison) -> dict[str, object]:
    """`bootscope compare --json`."""
    return {
        "a": a.boot.info.boot_id,
        "b": b.boot.info.boot_id,
        "core": a.core.name if a.core else None,
        "cut_at": c.cut_at or None,
        "refused": visible(c.refused) or None,
        **fields(c, "total_a_ns", "total_b_ns"),
        "phases": [
            {**fields(p, "name", "a_ns", "b_ns", "change_ns"), "split": p.split or None} for p in c.phases
        ],
        "milestones": {name: {"a_ns": x, "b_ns": y} for name, (x, y) in c.milestones.items()},
        **fields(c, "same_build", "differences"),
    }
