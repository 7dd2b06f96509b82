# SPDX-License-Identifier: Apache-2.0
"""systemd's line `Startup finished in 4.2s (firmware) + 857ms (kernel) + 1min 2s (userspace) = 1min 7s`: what
`systemd-analyze` and a boot's own log say (pretty_boot_time(), manager_notify_finished() in its source)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from bootscope.readers.base import Boot, Log
from bootscope.readers.systemd_units import PHASES, SOFT_REBOOT, phase_track
from bootscope.readers.timespan import LONGEST_NS, span_ns
from bootscope.timeline.kernel_lines import FINISHED as LINE
from bootscope.timeline.trace import Track

FINISHED = "Startup finished in "
FINISHED_TRACK = "systemd-finished"
"""The ident of the track of the phases that the line tells."""
_SAID = re.compile(rf"{LINE}(?=([^\n]{{1,400}}))")
# After a soft reboot systemd counts them, from version 260 on.
_NAME = re.compile(rf"({'|'.join(PHASES)})(?: #\d{{1,9}})?\)")


def finished(text: str) -> dict[str, int]:
    """The parts of the line and how long each took, in ns, in their order; empty where it is another."""
    found: dict[str, int] = {}
    for part in text.removeprefix(FINISHED).partition("=")[0].split(" + "):
        span, _, name = part.strip().rstrip(".").partition(" (")
        took_ns, match = span_ns(span), _NAME.fullmatch(name)
        if took_ns is None or not match:
            return {}
        found[match[1]] = took_ns
    return found


def bounds(parts: dict[str, int]) -> list[tuple[str, int, int]]:
    """The phases (name, start and end in ns), with the kernel's start at 0: firmware and loader lie before
    it. Without a kernel (a container, a soft reboot) 0 is where the first of them begins."""
    at_ns = -parts.get("firmware", 0) - parts.get("loader", 0) if "kernel" in parts else 0
    found = []
    for name in PHASES:
        if name in parts and (name in ("kernel", "initrd", SOFT_REBOOT, "userspace") or "kernel" in parts):
            found.append((name, at_ns, at_ns + parts[name]))
            at_ns += parts[name]
    return found


def phases(boot: Boot) -> Iterator[Track]:
    """systemd's own phases of a boot, from the line in its log: firmware and loader lie before the kernel.

    On the kernel's clock the kernel begins at 0; on another, user space ends when the line came. None where
    nothing tells when that was. What a host would have had to hear before its first line is left out.
    """
    found = next(_lines(boot.log), None)
    if found is None:
        return
    index, parts = found
    shift_ns = 0
    if boot.clock.name != "kernel" or "kernel" not in parts:
        if boot.log.stamped_line(index) != index:
            return
        shift_ns = boot.log.at_ns[index] - bounds(parts)[-1][2]
    first_ns = boot.log.at_ns[0] if boot.clock.name == "host" else -LONGEST_NS
    placed = [(name, start + shift_ns, end + shift_ns) for name, start, end in bounds(parts)]
    if heard := [phase for phase in placed if phase[1] >= first_ns]:
        yield phase_track(heard, FINISHED_TRACK)


def _lines(log: Log) -> Iterator[tuple[int, dict[str, int]]]:
    for index in log.lines_with(FINISHED.encode()):
        said = _SAID.search(log.text(index))
        parts = finished(said[1]) if said else {}
        if parts:
            yield index, parts
