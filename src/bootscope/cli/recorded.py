# SPDX-License-Identifier: Apache-2.0
"""When recorded boots of an emulated board reached their milestone, for users and for JSON."""

from __future__ import annotations

from bootscope.analysis.timing import own_timing
from bootscope.analysis.uncertainty import brief, uncertainty
from bootscope.capture import counted
from bootscope.capture.stored import StoredBoot, StoredRun
from bootscope.core.text import seconds
from bootscope.timeline.build import timeline_of


def figures(run: StoredRun, boot: StoredBoot) -> dict[str, object]:
    """When a boot reached its milestone: exact on the emulated board; nulls if it did not."""
    ns, core = None, None
    if boot.info.complete:
        timing = own_timing(run, boot)
        core = timing.core.name if timing else None
        made = timeline_of(boot.info.boot_id, boot.records(), run.info, timing=timing)
        ns = made.timeline.milestones.get(run.info.until)
    error_ns = None if ns is None else 0
    exact = {"stream_sha256": boot.info.stream_sha256, "counts_sha256": counted.digests(boot.path)}
    return {"reached_ns": ns, "error_ns": error_ns, "core": core, **exact}


def summary(run: StoredRun) -> str:
    """Whether all boots of a run are the same, if there are several, and when the first one reached its
    milestone on its board's core, if it has one."""
    streams = len({boot.info.stream_sha256 for boot in run.boots})
    same = "identical to the nanosecond" if streams == 1 else f"{streams} different streams"
    alike = f"{len(run.boots)} boots: {same}" if len(run.boots) > 1 else ""
    return "\n".join(filter(None, (alike, _on_core(run))))


def _on_core(run: StoredRun) -> str:
    boot = run.boots[0]
    timing = own_timing(run, boot) if boot.info.complete else None
    if not timing:
        return ""
    made = timeline_of(boot.info.boot_id, boot.records(), run.info, timing=timing).timeline
    off = brief(uncertainty(made, timing.core))
    return f"on core {timing.core.name}: {run.info.until} after {seconds(made.total_ns)} s {off}"
