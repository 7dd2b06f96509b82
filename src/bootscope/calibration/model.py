# SPDX-License-Identifier: Apache-2.0
"""When a listener would receive each console line of an emulated boot, on a board with any rates.

The rules are those of timeline/costs.py: a storage command takes its time, a byte waits for a place in the
port's queue and then for the line. Which of the waits counts depends on the rates, so the amounts that make
up a moment are computed for given rates.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass

from bootscope.boards.profile import Board
from bootscope.calibration.on_core import CoreAmounts
from bootscope.calibration.rates import Parts, Rates
from bootscope.capture.record import RunInfo
from bootscope.capture.stream import Record
from bootscope.devices.model import ConsoleByte, DeviceEvent, StorageCommand
from bootscope.timeline.build import Made
from bootscope.timeline.console import by_line, console_bytes
from bootscope.timeline.cpu_time import CpuTime, sees_delays


@dataclass(frozen=True, slots=True)
class HeardLine:
    """A console line without its end (untrusted), and when its first and last byte had arrived over the
    line."""

    data: bytes
    first: Parts
    last: Parts


@dataclass(frozen=True, slots=True)
class _Step:
    """The CPU's work since the previous step, and the event that it led to."""

    cpu_ns: int
    steady_ns: int
    event: ConsoleByte | StorageCommand
    memory_ns: int = 0


@dataclass(frozen=True, slots=True)
class _Text:
    """A line: it has bytes `first` to `last` of the console; written at `at_ns` of board time."""

    data: bytes
    at_ns: int
    first: int
    last: int


class EmulatedBoot:
    """An emulated boot for calibration: `recorded` is its stream, `made` the input of a timeline on the board
    that is calibrated; `core` its amounts on a core's model, if that is fitted."""

    def __init__(self, recorded: Sequence[Record], made: Made, core: CoreAmounts | None = None) -> None:
        self.core = core
        self._board: Board = made.run.board
        self._phases = made.timeline.phases
        self._steps = _steps_on(core, made.events) if core else _steps(recorded, made.events, made.run)
        found = console_bytes(made.events, self._board.console)
        self._texts = _texts(found, made)
        self.byte_ns = Counter(byte.byte_ns for byte in found).most_common(1)[0][0] if found else 0
        """The time of a byte on the emulator's line, for most bytes; 0 when there are none."""
        self.sees_delays = sees_delays(made.run.watch.hooks)
        """Whether loops that wait for a clock are recorded, which otherwise count as work of the CPU."""

    def lines(self, rates: Rates) -> list[HeardLine]:
        """The console's lines, as a listener would receive them on a board with these rates."""
        moments = _Board(self._board, rates).run(self._steps)
        return [HeardLine(t.data, moments[t.first], moments[t.last]) for t in self._texts]

    def phase_between(self, first: int, last: int) -> str:
        """The phase at the middle of the time between two lines."""
        middle_ns = (self._texts[first].at_ns + self._texts[last].at_ns) // 2
        at = bisect_right([phase.start_ns for phase in self._phases], middle_ns) - 1
        return self._phases[max(0, at)].name


def _steps(recorded: Sequence[Record], events: Sequence[DeviceEvent], run: RunInfo) -> list[_Step]:
    passed, at = CpuTime(run.watch.hooks), 0
    cpu_ns = steady_ns = 0
    found: list[_Step] = []
    for event in events:
        if not isinstance(event, ConsoleByte | StorageCommand):
            continue
        for index in range(at, event.index + 1):
            passed.feed(recorded[index])
        at = event.index + 1
        found.append(_Step(passed.computing_ns - cpu_ns, passed.steady_ns - steady_ns, event))
        cpu_ns, steady_ns = passed.computing_ns, passed.steady_ns
    return found


def _steps_on(core: CoreAmounts, events: Sequence[DeviceEvent]) -> list[_Step]:
    """The same on the model of a core."""
    before = (0, 0, 0)
    found: list[_Step] = []
    for event in events:
        if isinstance(event, ConsoleByte | StorageCommand):
            at = event.index
            now = (core.instructions_ns[at], core.rest_ns[at], core.memory_ns[at])
            cpu_ns, rest_ns, memory_ns = (b - a for a, b in zip(before, now, strict=True))
            found.append(_Step(cpu_ns, rest_ns, event, memory_ns))
            before = now
    return found


def _texts(found: Sequence[ConsoleByte], made: Made) -> list[_Text]:
    result: list[_Text] = []
    first = 0
    for part in by_line(found):
        data, behind = bytes(byte.value for byte in part).strip(b"\r\n"), first + len(part)
        result.append(_Text(data, made.clock.before(part[0].index), first, behind - 1))
        first = behind
    return result


_Moment = tuple[float, Parts]


class _Board:
    """Walks through a boot; keeps the amounts that make up each time."""

    def __init__(self, board: Board, rates: Rates) -> None:
        self._board, self._rates = board, rates
        self._now: _Moment = (0.0, Parts(0, 0, 0, 0, 0))
        self._queues: dict[str, deque[_Moment]] = {}

    def run(self, steps: Sequence[_Step]) -> list[Parts]:
        """When each byte of the console had arrived over the line."""
        heard: list[Parts] = []
        for step in steps:
            event = step.event
            if isinstance(event, StorageCommand):
                self._passed(step, 1, event.size_bytes)
                continue
            self._passed(step, 0, 0)
            parts = self._put(event)
            if event.device == self._board.console:
                heard.append(parts)
        return heard

    def _passed(self, step: _Step, commands: int, size_bytes: int) -> None:
        at, (cpu_ns, number, total_bytes, line_ns, steady_ns, memory_ns) = self._now
        rates = self._rates
        at += step.cpu_ns * rates.cpu + step.steady_ns + step.memory_ns * rates.memory
        at += commands * rates.command_ns + size_bytes * rates.byte_ns
        self._now = (
            at,
            Parts(
                cpu_ns + step.cpu_ns,
                number + commands,
                total_bytes + size_bytes,
                line_ns,
                steady_ns + step.steady_ns,
                memory_ns + step.memory_ns,
            ),
        )

    def _put(self, byte: ConsoleByte) -> Parts:
        queue = self._queues.get(byte.device)
        if queue is None:
            depth = self._board.console_called(byte.device).fifo_bytes.value
            queue = self._queues[byte.device] = deque(maxlen=depth)
        if len(queue) == queue.maxlen and queue[0][0] > self._now[0]:
            self._now = queue[0]
        at, parts = queue[-1] if queue and queue[-1][0] > self._now[0] else self._now
        parts = parts._replace(line_ns=parts.line_ns + byte.byte_ns)
        queue.append((at + byte.byte_ns * self._rates.line, parts))
        return parts
