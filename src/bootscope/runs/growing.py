# SPDX-License-Identifier: Apache-2.0
"""A boot while it is recorded: what its growing files contain so far. Nothing is written."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from bootscope.capture.measured import TAP, MeasuredInfo, read_measured
from bootscope.capture.record import RUN, STREAM, RunInfo, read_json
from bootscope.capture.store import Store
from bootscope.capture.stored import BOARD, MeasuredRun
from bootscope.capture.tail import Tail
from bootscope.core.errors import UserError
from bootscope.core.text import visible
from bootscope.importing.files import of_boot
from bootscope.timeline.live import Live

_MOST_TEXT = 400
_REST = 4
"""Reading a capture again may take at most one part in so many of the time."""


@dataclass(frozen=True, slots=True)
class Line:
    """A console line, safe to show; `at_ns` counts from the boot's zero."""

    at_ns: int
    phase: str
    text: str


@dataclass(frozen=True)
class SoFar:
    """What is known of a boot: its lines, milestone -> ns, phases with start and end in ns, and the present
    moment by its own clock, in ns. `clock` says what time 0 is, in words."""

    lines: tuple[Line, ...] = ()
    milestones: tuple[tuple[str, int], ...] = ()
    phases: tuple[tuple[str, int, int], ...] = ()
    now_ns: int = 0
    clock: str = ""


class Growing(Protocol):
    """A boot in progress."""

    def look(self, *, last: bool = False) -> SoFar:
        """What is known by now; the `last` look reads everything, however soon it follows the one before.

        Raises UserError when its files cannot be read.
        """


def growing(store: Store, run_id: str, number: int) -> Growing:
    """A boot of a run that is being recorded. Raises UserError when the run's description cannot be read."""
    run = store.runs / run_id
    folder = run / "boots" / f"{number:03}"
    if store.kind(run_id) == BOARD:
        return Measured(read_measured(run), folder)
    return Emulated(read_json(run / RUN, RunInfo), folder)


class Emulated:
    """A boot of an emulated board, followed by its stream."""

    def __init__(self, info: RunInfo, folder: Path) -> None:
        self._lines: list[Line] = []
        self._tail = Tail(folder / STREAM)
        self._live = Live(info, self._line)

    def _line(self, at_ns: int, phase: str, data: bytes) -> None:
        self._lines.append(Line(at_ns, phase, visible(data, _MOST_TEXT)))

    def look(self, *, last: bool = False) -> SoFar:
        self._live.feed(self._tail.new())
        live, begins = self._live, list(self._live.starts.items())
        ends = [*(ns for _, ns in begins[1:]), live.now_ns]
        return SoFar(
            tuple(self._lines),
            tuple((visible(name, 80), ns) for name, ns in live.milestones.items()),
            tuple((name, ns, max(ns, end)) for (name, ns), end in zip(begins, ends, strict=True)),
            live.now_ns,
            "board time since power on",
        )


class Measured:
    """A boot of a real board; its capture is read anew whenever it has grown."""

    def __init__(self, info: MeasuredInfo, folder: Path) -> None:
        self._run = MeasuredRun(info, folder.parent.parent, ())
        self._folder = folder
        self._seen, self._not_before_s = -1, 0.0
        self._found = SoFar()

    def look(self, *, last: bool = False) -> SoFar:
        begun_s = time.monotonic()
        size = _size(self._folder / TAP)
        if size != self._seen and (last or begun_s >= self._not_before_s):
            self._found, self._seen = self._understood(), size
            now_s = time.monotonic()
            self._not_before_s = now_s + (_REST - 1) * (now_s - begun_s)
        return self._found

    def _understood(self) -> SoFar:
        trace = of_boot(self._run, int(self._folder.name)).trace(1)
        phases = [(visible(s.name, 80), s.start_ns, s.end_ns) for s in trace.spans("phase")]
        points = sorted((p for p in trace.points if p.kind == "line"), key=lambda p: p.at_ns)
        lines, at = [], 0
        for point in points:
            while at + 1 < len(phases) and phases[at + 1][1] <= point.at_ns:
                at += 1
            inside = bool(phases) and phases[at][1] <= point.at_ns
            lines.append(Line(point.at_ns, phases[at][0] if inside else "", visible(point.name, _MOST_TEXT)))
        return SoFar(
            tuple(lines),
            tuple((visible(name, 80), ns) for name, ns in trace.known_milestones().items()),
            tuple(phases),
            max((line.at_ns for line in lines), default=0),
            visible(trace.clock, 200),
        )


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError as error:
        raise UserError(f"the capture {path.name} is not there") from error
