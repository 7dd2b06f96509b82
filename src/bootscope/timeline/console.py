# SPDX-License-Identifier: Apache-2.0
"""The console: bytes to stamped lines, and markers in them that cross-check the phases."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from bootscope.devices.model import ConsoleByte, DeviceEvent
from bootscope.loaders.model import Announced, Loader
from bootscope.timeline.costs import BoardClock
from bootscope.timeline.kernel_lines import BEGINS, INIT
from bootscope.timeline.model import Disagreement, Line, Phase


def console_bytes(events: Iterable[DeviceEvent], device: str) -> list[ConsoleByte]:
    """The bytes that went through the console port."""
    return [e for e in events if isinstance(e, ConsoleByte) and e.device == device]


def by_line(found: Iterable[ConsoleByte]) -> Iterator[list[ConsoleByte]]:
    """The bytes of each line, with its LF. Every byte is in exactly one; the last may be unfinished."""
    part: list[ConsoleByte] = []
    for byte in found:
        part.append(byte)
        if byte.value == 0x0A:
            yield part
            part = []
    if part:
        yield part


def lines(found: Iterable[ConsoleByte], clock: BoardClock) -> tuple[Line, ...]:
    """Lines without their CR and LF; an unfinished last line stays as it came."""
    return tuple(
        Line(clock.before(_first(part).index), clock.after(part[-1].index), _data(part))
        for part in by_line(found)
    )


def _first(part: list[ConsoleByte]) -> ConsoleByte:
    """The first byte of a line: not the CR of a writer who ends the previous line with LF and CR."""
    words = next((byte for byte in part if byte.value not in (0x0A, 0x0D)), None)
    return words if words and part[0].value == 0x0D else part[0]


def _data(part: list[ConsoleByte]) -> bytes:
    data = bytes(byte.value for byte in part)
    return data.rstrip(b"\r\n") if data.endswith(b"\n") else data


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
    """The first line that announces each phase: phase -> (time in ns, the line as text)."""
    markers = _announced(loader)
    result: dict[str, tuple[int, str]] = {}
    for line in found:
        for marker, pattern in markers:
            if marker.phase not in result and pattern.search(line.data):
                result[marker.phase] = (line.start_ns, line.data.decode("utf-8", "replace"))
    return result


def disagreements(phases: Iterable[Phase], found: Iterable[Line], loader: Loader) -> tuple[Disagreement, ...]:
    """Markers that are further from the start of their phase than allowed."""
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
