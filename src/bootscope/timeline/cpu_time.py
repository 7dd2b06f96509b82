# SPDX-License-Identifier: Apache-2.0
"""Virtual time as it would be on a board's CPU.

Virtual time is instructions times a tick. A real CPU needs more or less for them: the profile's
``cpu_scale_ppm``. Two kinds of virtual time are the same on every CPU and are not scaled: sleeps of the CPU
until a timer wakes it, and loops that wait for a clock (delays of the kernel and of boot loaders).
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from bootscope.boards.profile import UNSCALED_PPM
from bootscope.capture.record import RunInfo
from bootscope.capture.stream import Hook, Idle, Record
from bootscope.loaders.model import Hooked
from bootscope.loaders.registry import hooks

DELAYS = ("delay", *hooks(Hooked.DELAY))
"""The hooks of loops that wait for a clock."""
# After one of these the running code is in no delay, even if the end of the last one was not seen.
_OTHERS = ("switch", *hooks(Hooked.START), "kernel.image", "kernel.start")


def sees_delays(names: Mapping[int, str]) -> bool:
    """Whether a recording with these hooks (number -> name) shows loops that wait for a clock."""
    return any(name in DELAYS for name in names.values())


class CpuTime:
    """Splits virtual time, record by record, into computing time and time that is the same on any CPU."""

    def __init__(self, names: Mapping[int, str]) -> None:
        self._waits: dict[int, bool] = {}
        for number, name in names.items():
            if name in DELAYS:
                self._waits[number] = True
            elif name.removesuffix(".end") in DELAYS or name in _OTHERS:
                self._waits[number] = False
        self._waiting = False
        self._last_ns = 0
        self.computing_ns = 0
        """Virtual time in which instructions were executed, up to the last record."""
        self.steady_ns = 0
        """Virtual time that is the same on every CPU, up to the last record."""

    def feed(self, record: Record) -> None:
        """The next record of the stream."""
        passed_ns = record.time_ns - self._last_ns
        self._last_ns = record.time_ns
        if self._waiting:
            steady_ns = passed_ns
        else:
            steady_ns = min(passed_ns, record.duration_ns) if isinstance(record, Idle) else 0
        self.steady_ns += steady_ns
        self.computing_ns += passed_ns - steady_ns
        if isinstance(record, Hook):
            self._waiting = self._waits.get(record.hook, self._waiting)

    def scaled_ns(self, ppm: int) -> int:
        """The last record's time on a CPU that needs `ppm` / 1,000,000 times as long for instructions."""
        return self.steady_ns + self.computing_ns * ppm // UNSCALED_PPM


def at_cpu_speed(records: list[Record], run: RunInfo) -> list[Record]:
    """The records with their virtual times as on the CPU of the run's board.

    Sleeps keep their length. If the board scales nothing, the same list is returned.
    """
    ppm = run.board.cpu_scale_ppm.value
    if ppm == UNSCALED_PPM:
        return records
    passed = CpuTime(run.watch.hooks)
    found: list[Record] = []
    for record in records:
        passed.feed(record)
        found.append(msgspec.structs.replace(record, time_ns=passed.scaled_ns(ppm)))
    return found
