# SPDX-License-Identifier: Apache-2.0
"""The console: bytes to stamped lines, and markers in them as a second opinion on the phases."""

from __future__ import annotations

import re
from collections.abc import Iterable

from bootscope.devices.model import ConsoleByte, DeviceEvent
from bootscope.loaders.model import Announced, Loader
from bootscope.timeline.costs import BoardClock
from bootscope.timeline.kernel_lines import BEGINS, INIT
from bootscope.timeline.model import Disagreement, Line, Phase


def console_bytes(events: Iterable[DeviceEvent], device: str) -> list[ConsoleByte]:
    """The bytes that went through the console port."""
    return [e for e in events if isinstance(e, ConsoleByte) and e.device == device]


def lines(found: Iterable[ConsoleByte], clock: BoardClock) -> tuple[Line, ...]:
    """Lines without their CR and LF. Every byte is in exactly one line; the last may be unfinished."""
    result: list[Line] = []
    data = bytearray()
    start_ns = end_ns = 0
    for byte in found:
        if not data:
            start_ns = clock.before(byte.index)
        data.append(byte.value)
        end_ns = clock.after(byte.index)
        if byte.value == 0x0A:
            result.append(Line(start_ns, end_ns, bytes(data).rstrip(b"\r\n")))
            data.clear()
    if data:
        result.append(Line(start_ns, end_ns, bytes(data)))
    return tuple(result)


_MS = 1_000_000
_KERNEL = (
    Announced(
        "kernel",
        BEGINS,
        0,
        50 * _MS,
        "the kernel keeps its messages until its console driver starts",
    ),
    Announced("init", INIT, 50 * _MS, 50 * _MS, "console output lags"),
)


def _announced(loader: Loader) -> list[tuple[Announced, re.Pattern[bytes]]]:
    return [(one, re.compile(one.pattern.encode())) for one in (*loader.announced, *_KERNEL)]


def marker_times(found: Iterable[Line], loader: Loader) -> dict[str, tuple[int, str]]:
    """First line that announces each phase: phase -> (time in ns, the line as text)."""
    markers = _announced(loader)
    result: dict[str, tuple[int, str]] = {}
    for line in found:
        for marker, pattern in markers:
            if marker.phase not in result and pattern.search(line.data):
                result[marker.phase] = (line.start_ns, line.data.decode("utf-8", "replace"))
    return result


def disagreements(phases: Iterable[Phase], found: Iterable[Line], loader: Loader) -> tuple[Disagreement, ...]:
    """Markers that lie further from the start of their phase than they should."""
    starts = {phase.name: phase.start_ns for phase in phases}
    seen = marker_times(found, loader)
    result: list[Disagreement] = []
    for marker, _ in _announced(loader):
        if marker.phase not in seen or marker.phase not in starts:
            continue
        at_ns, text = seen[marker.phase]
        off_ns = at_ns - starts[marker.phase]
        if not -marker.early_ns <= off_ns <= marker.late_ns:
            result.append(Disagreement(marker.phase, starts[marker.phase], at_ns, text, marker.reason))
    return tuple(result)
