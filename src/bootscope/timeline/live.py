# SPDX-License-Identifier: Apache-2.0
"""What is known of a boot while it runs: phase, board time, milestones, console lines."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from bootscope.boards.changed import waits_for_devices
from bootscope.capture.record import FIRST_FRAME, FIRST_LIGHT, MILESTONE_TEXT, RunInfo
from bootscope.capture.stream import Decoder, Frame, Hook, Io, Light, Read, Record, Text
from bootscope.devices.model import ConsoleByte, DeviceEvent, MemoryDecoder
from bootscope.loaders.model import LOAD
from bootscope.timeline.build import decoders_of
from bootscope.timeline.costs import CostModel
from bootscope.timeline.cpu_time import CpuTime
from bootscope.timeline.phases import reads_kernel

MAX_LINE_BYTES = 4096
_LAST_LINES = 3
"""A boot loader that gives up prints why, that it resets, and perhaps how."""


class Live:
    """Follows a stream as it grows. `on_line` gets (board time in ns, phase, bytes of the line)."""

    def __init__(self, run: RunInfo, on_line: Callable[[int, str, bytes], None]) -> None:
        self._run, self._on_line = run, on_line
        self._decoder = Decoder()
        self._devices = decoders_of(run)
        self._memories = {n: d for n, d in self._devices.items() if isinstance(d, MemoryDecoder)}
        self._costs = CostModel(run.board)
        self._waits_in_clock = waits_for_devices(run.board)
        self._line = bytearray()
        self._line_ns = 0
        self._virtual_ns = 0
        self._cpu, self._cpu_ppm = CpuTime(run.watch.hooks), run.board.cpu_scale_ppm.value
        loader = run.board.boot_loader
        self._phase_of_hook = {stage.hook: stage.phase for stage in loader.stages if stage.hook}
        self._milestone_of = {stage.phase: stage.milestone for stage in loader.stages if stage.milestone}
        self._before_load = loader.phases[1 : loader.phases.index(LOAD)] if LOAD in loader.phases else ()
        self.phase = loader.phases[0]
        self.starts: dict[str, int] = {self.phase: 0}
        """Phases reached so far -> board time in ns, in order."""
        self.milestones: dict[str, int] = {}
        """Milestones reached so far -> board time in ns, in order."""
        self.panicked = False
        self.last: Record | None = None
        self.last_lines: deque[bytes] = deque(maxlen=_LAST_LINES)
        """The last console lines, without empty ones."""

    @property
    def now_ns(self) -> int:
        """Board time of the last record."""
        return self._virtual_ns + self._costs.added_ns

    def feed(self, data: bytes) -> None:
        """New committed bytes of the stream."""
        for record in self._decoder.feed(data):
            self._cpu.feed(record)
            self.last, self._virtual_ns = record, self._cpu.scaled_ns(self._cpu_ppm)
            if isinstance(record, Io | Read):
                self._device(record)
            elif isinstance(record, Hook):
                name = self._run.watch.hooks.get(record.hook, "")
                self._enter(self._phase_of_hook.get(name, self.phase), self.now_ns)
                self.panicked = self.panicked or name == "kernel.panic"
                if name.startswith(MILESTONE_TEXT):
                    self.milestones.setdefault(name.removeprefix(MILESTONE_TEXT), self.now_ns)
            elif isinstance(record, Text):
                name = self._run.watch.texts.get(record.text, "")
                if name.startswith(MILESTONE_TEXT):
                    self.milestones.setdefault(name.removeprefix(MILESTONE_TEXT), self.now_ns)
            elif isinstance(record, Frame) and record.whole and record.number == 0:
                self.milestones.setdefault(FIRST_FRAME, self.now_ns)
            elif isinstance(record, Light):
                self.milestones.setdefault(FIRST_LIGHT, self.now_ns)

    def _enter(self, phase: str, at_ns: int) -> None:
        """Enters the next phase. The first one after power-on begins with the CPU, not where it is seen."""
        self.phase = phase
        if phase not in self.starts:
            board = self._run.board
            at_ns = board.power_on_ns.value if phase == board.boot_loader.phases[1] else at_ns
            self.starts[phase] = at_ns
            if milestone := self._milestone_of.get(phase):
                self.milestones.setdefault(milestone, at_ns)

    def _event(self, record: Io | Read) -> DeviceEvent | None:
        if isinstance(record, Read):
            memory = self._memories.get(record.device)
            return memory.read(0, record.offset, record.size_bytes, record.accesses) if memory else None
        decoder = self._devices.get(record.device)
        return decoder.store(0, record.offset, record.value) if decoder else None

    def _device(self, record: Io | Read) -> None:
        event = self._event(record)
        if event is None:
            return
        before_ns = self.now_ns
        if not self._waits_in_clock:
            self._costs.add(event, self._virtual_ns)
        if self.phase in self._before_load and reads_kernel(event, self._run):
            self._enter(LOAD, before_ns)
        if isinstance(event, ConsoleByte) and event.device == self._run.board.console:
            self._byte(event.value)

    def _byte(self, value: int) -> None:
        if not self._line or (value != 0x0A and not self._line.strip(b"\r")):
            self._line_ns = self.now_ns
        self._line.append(value)
        if value == 0x0A or len(self._line) >= MAX_LINE_BYTES:
            self.flush()

    def flush(self) -> None:
        """Hands out the current line, even if unfinished."""
        if self._line:
            line = bytes(self._line).rstrip(b"\r\n")
            if line.strip():
                self.last_lines.append(line.strip())
            self._on_line(self._line_ns, self.phase, line)
            self._line.clear()
