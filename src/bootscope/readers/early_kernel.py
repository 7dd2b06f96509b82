# SPDX-License-Identifier: Apache-2.0
"""What a console tells of the time between the boot loader's last line and the kernel's first one.

The kernel unpacks itself, then runs without a console: its first lines come when its console driver starts.
On the line both are one silence. The kernel's stamps bound it. A line is never on the wire before the kernel
wrote it, so the kernel's clock began at the latest at the smallest (time on the wire - kernel's stamp). And
the kernel reports the port of its console before that console shows the first line (uart_report_port() and
register_console() in Linux' drivers/tty/serial/serial_core.c and kernel/printk/printk.c).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from bootscope.readers.base import END_OF_LINE, FIRST_BYTE, NO_STAMP, WHEN_LOGGED, Boot, Log
from bootscope.readers.fit import Map, least
from bootscope.timeline.trace import Point

CLOCK_BEGINS = "kernel clock begins"
UNPACK, EARLY = "decompress", "early-kernel"
BOTH = f"{UNPACK}+{EARLY}"
QUIET = "kernel and user space (not split: quiet)"
_NOT_SEEN = " (its first line not seen)"
QUIET_KERNEL = f"kernel{_NOT_SEEN}"
_MOST, _LEAST = "decompress_most_ns", "early_kernel_least_ns"
_NEVER_EARLY = (FIRST_BYTE, END_OF_LINE, WHEN_LOGGED)
_ENABLED = re.compile(r"(?<!boot)console \[(tty[A-Za-z]{1,9}\d{1,3})\] enabled")
_PLAIN_IMAGE = re.compile(
    rb"physical CPU 0x[0-9a-f]{10} \[0x|Linux version .{0,200}(?:aarch64|arm64|riscv)|SBI specification v\d"
)
_FIRST_LINES = 30
_LINES = 5_000
"""Of a log that are looked at: the clocks of host and board drift apart later."""
_QUEUE_NS = 6_000_000
"""What a loader's last bytes wait at most while it goes on: 64 bytes of a queue at 115,200 baud."""
_CLOSE_NS = 5_000_000
"""A stamp that no other agrees with by so much is a mistake."""


@dataclass(frozen=True, slots=True)
class Bound:
    """Of a silence: unpacking takes `unpack_most_ns` at most, the running kernel `kernel_least_ns` at least;
    None where nothing tells."""

    unpack_most_ns: int | None = None
    kernel_least_ns: int | None = None

    @property
    def detail(self) -> dict[str, int]:
        """As details of a span; nothing where nothing is known."""
        known = {_MOST: self.unpack_most_ns, _LEAST: self.kernel_least_ns}
        return {label: ns for label, ns in known.items() if ns is not None}

    @classmethod
    def of(cls, detail: Mapping[str, str | int]) -> Bound:
        """From the details of a span."""
        most, least_ns = detail.get(_MOST), detail.get(_LEAST)
        return cls(most, least_ns) if isinstance(most, int) and isinstance(least_ns, int) else cls()


def kernel_name(*, initramfs: bool, seen: bool) -> str:
    """The name of the kernel's phase: with an `initramfs` whose beginning no line tells; `seen`: the kernel's
    first line is there."""
    return f"kernel{'+initramfs' if initramfs else ''}{'' if seen else _NOT_SEEN}"


def phase_name(following: str, log: Log, first: int) -> str:
    """The name of what follows the boot loader's last line, when `following` is the next phase seen (empty:
    none).

    A quiet kernel shows neither its own beginning nor that of init. Where the kernel's first line is seen, it
    is line `first` of `log`.
    """
    if following == "kernel":
        return EARLY if _unpacked(log, first) else BOTH
    return QUIET_KERNEL if following == "init" else QUIET


def began(boot: Boot, first: int) -> Point | None:
    """When the kernel began by its own stamps, where its console came late: its first line, line `first` of a
    log that another clock stamped, was written before it was shown.

    None where that tells no more than the line, or where the kernel unpacks itself first: then nothing says
    how much of the silence is the kernel's.
    """
    zero = next((p for p in boot.points if p.name == CLOCK_BEGINS), None)
    if zero is None or boot.log.kernel_ns[first] != 0 or not _unpacked(boot.log, first):
        return None
    late = 0 <= zero.at_ns < boot.log.at_ns[first] - zero.error_ns
    return zero if late else None


def _unpacked(log: Log, first: int) -> bool:
    """Whether the kernel says that it is of an architecture whose image does not unpack itself.

    Documentation/arch/arm64/booting.rst and arch/riscv/boot-image-header.rst: an Image is started as it is.
    """
    lines = range(first, min(first + _FIRST_LINES, len(log)))
    return any(_PLAIN_IMAGE.search(log.raw(index)) for index in lines)


def bound(logs: Iterable[tuple[Boot, Map, int]], start_ns: int, first_ns: int, error_ns: int) -> Bound:
    """What is known of the silence from `start_ns` to the kernel's first line at `first_ns`, both off by
    `error_ns` at most.

    `logs` are boots with the way to the clock of these times, and the index of the kernel's first line.
    """
    zeros = [ns for boot, way, first in logs for ns in _clock_began(boot, way, first)]
    if not zeros or min(zeros) < start_ns:
        return Bound()
    least_ns = first_ns - min(zeros) - error_ns
    most_ns = min(zeros) - start_ns + error_ns + _QUEUE_NS
    return Bound(min(most_ns, first_ns - start_ns + error_ns), max(0, least_ns))


def _clock_began(boot: Boot, way: Map, first: int) -> list[int]:
    """Times at which the kernel's clock had begun at the latest; none where the log does not tell."""
    log, some = boot.log, slice(first, first + _LINES)
    # A first stamp other than 0 is of a clock that ran before the kernel did.
    if boot.clock.stamp not in _NEVER_EARLY or log.kernel_ns[first] != 0:
        return []
    pairs = zip(way.all(log.at_ns[some]), log.kernel_ns[some], strict=True)
    zeros = sorted([at_ns - kernel_ns for at_ns, kernel_ns in pairs if kernel_ns != NO_STAMP])
    port_ns = _port_found(boot, first)
    return [least(zeros, _CLOSE_NS), *([way.at(log.at_ns[first]) - port_ns] if port_ns > 0 else [])]


def _port_found(boot: Boot, first: int) -> int:
    """The kernel's stamp of the port that shows its first line; NO_STAMP where the log does not tell."""
    log, end = boot.log, min(len(boot.log), first + _LINES)
    for index in log.lines_with(b" enabled", first + 1, end):
        text = log.text(index)
        port = _ENABLED.search(text)
        if port and f"{port[1]} at " in log.text(index - 1):
            return log.kernel_ns[index - 1]
        if port or "bootconsole [" in text:
            break
    return NO_STAMP
