# SPDX-License-Identifier: Apache-2.0
"""Observers of boots on an emulated or a real board: they print to a terminal or a file, or nothing."""

from __future__ import annotations

import sys

from bootscope.capture.record import BootInfo
from bootscope.core.text import seconds, visible
from bootscope.hardware import measuring

COUNTING_TIMES = 1.7
"""How much longer than the boot a counting pass took, up to the first picture of `debian`."""


class Quiet(measuring.Observer):
    """Prints nothing, also for an emulated board."""

    def line(self, time_ns: int, phase: str, data: bytes) -> None: ...

    def tick(self, time_ns: int, phase: str) -> None: ...

    def counting(self, core: str) -> None: ...


class Shown(Quiet):
    """A line for each line of the first boot's console, with its time, and how each boot ends."""

    _lines = True

    def boot_begins(self, number: int, total: int) -> None:
        # The consoles of all boots are much the same; one is enough.
        self._lines = number == 1
        if total > 1:
            self.says(f"boot {number} of {total}")

    def line(self, time_ns: int, phase: str, data: bytes) -> None:
        if self._lines:
            self._print(f"{phase:>11} {seconds(time_ns):>8}  {visible(data)}")

    def says(self, text: str) -> None:
        self._print(f"--- {text}")

    def heard(self, since_ns: int, data: bytes) -> None:
        if self._lines:
            self._print(f"{seconds(since_ns):>8}  {visible(data)}")

    def boot_ended(self, info: BootInfo) -> None:
        self.says(f"boot {info.number}: {info.message}")

    def _print(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)


class ShownEmulated(Shown):
    """The same, with the host time that an emulated boot took."""

    _host_ms = 0

    def boot_ended(self, info: BootInfo) -> None:
        self._host_ms = info.host_ms
        took = seconds(info.host_ms * 1_000_000, 1)
        self.says(f"boot {info.number}: {info.message} ({took} s of host time)")

    def counting(self, core: str) -> None:
        about_s = round(self._host_ms * COUNTING_TIMES / 1000)
        self.says(f"booting it once more, to count what the caches of {core} do: about {about_s} s ...")


class LiveView(ShownEmulated):
    """The same on a terminal, with a status line below."""

    def tick(self, time_ns: int, phase: str) -> None:
        status = f"\r\x1b[K\x1b[7m {phase:>11} {seconds(time_ns)} s \x1b[0m"
        print(status, end="", file=sys.stderr, flush=True)

    def _print(self, text: str) -> None:
        super()._print(f"\r\x1b[K{text}")


def observer(as_json: bool) -> Quiet:
    """The observer for boots of the emulated board."""
    if as_json:
        return Quiet()
    return LiveView() if sys.stderr.isatty() else ShownEmulated()
