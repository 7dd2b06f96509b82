# SPDX-License-Identifier: Apache-2.0
"""Indicators without a recording, from a log or a configuration, and predictions from a log alone.

A function returns the evidence in words, an empty string where there is none, None where that is unknown.
Predictions are (ns saved, assumptions).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from bootscope.core.text import size, span
from bootscope.inventory.bootlog import RECORDED, BootLog, LogLine, total_bytes
from bootscope.inventory.inventory import Inventory, Part, number
from bootscope.loaders import console
from bootscope.loaders.registry import BUILT
from bootscope.readers.base import BUFFERED

Prediction = tuple[int, tuple[str, ...]]

_SETTINGS = BUILT.settings
_DELAY = _SETTINGS.delay_variable
QUIET_LEVEL = 4
"""With `quiet`, only messages with a lower level are printed, unless the kernel was configured otherwise."""
COMPRESSIONS = ("GZIP", "LZMA", "XZ", "LZO", "LZ4", "ZSTD", "BZIP2")
_CALIBRATION = r"Calibrating delay loop\.\.\. "
_INITS = ("/sbin/init", "/init", "/etc/inittab", "/bin/init", "/linuxrc", "/lib/systemd/systemd")
_ON_LINE = "every byte goes over the serial line, and the boot waits for it"


def kernel_console(known: Inventory) -> str | None:
    """Kernel messages that go to a serial console."""
    if known.word("quiet") is not None or known.symbol("kernel", "PRINTK") == "n":
        return ""
    if not known.log or not known.log.kernel_lines:
        return None
    if not serial_console(known):
        # Nothing shows that the kernel waited for a line.
        return None
    return _lines_words(known, hidden_by_quiet(known.log))


_CONSOLE = r"(?<!boot)console \[(?!tty\d|hvc|netcon|ttynull|efi|vga)\w+\] enabled"
CONSOLE = re.compile(_CONSOLE)
"""A kernel console that is a serial line."""
_VIRTUAL = (
    r"^Hypervisor detected: |^Booting paravirtualized kernel on (?!bare)|^DMI: (?:QEMU|VMware|innotek|Xen)"
    r"|Machine model: linux,dummy-virt"
)
"""Messages of kernels in a virtual machine (Linux arch/x86/kernel/cpu/hypervisor.c, paravirt.c)."""
_LEAST_LEVEL = 5
"""A console that only shows levels below this one is already quiet."""


def serial_console(known: Inventory) -> bool:
    """Whether the log shows that the kernel's messages went over a serial line while it started: by the
    command line, by the console that the kernel found, or because the log was taken at such a line. A
    virtual machine's console has no rate."""
    level = number(known.word("loglevel") or "")
    if known.word("quiet") is not None or (level is not None and level < _LEAST_LEVEL):
        return False
    log = known.log
    if log and log.clock != RECORDED and known.logged(_VIRTUAL):
        return False
    told = re.search(r"(?<!\S)console=tty(?!null|printk)[A-Za-z]", known.command_line)
    return bool(told or known.logged(_CONSOLE) or (log and _heard(log)))


def _heard(log: BootLog) -> bool:
    """Whether a log was taken at a serial line: another computer stamped it, or it has loaders' lines."""
    return log.clock == RECORDED or (
        log.tool not in BUFFERED and (log.clock != "kernel" or bool(log.loader_lines))
    )


def loader_is_silent(known: Inventory) -> bool:
    """Whether the boot loader is known to print nothing."""
    return _SETTINGS.silent_variable in known.environment and known.on(BUILT.tree, _SETTINGS.silent)


def loader_console(known: Inventory) -> str | None:
    """What the boot loaders print."""
    if loader_is_silent(known):
        return ""
    if not known.log or not known.log.loader_lines:
        return None
    loaders, linux = _lines_words(known, known.log.loader_lines), kernel_console(known)
    return f"{loaders}; it silences Linux too: {linux}" if linux else loaders


def _lines_words(known: Inventory, lines: Sequence[LogLine]) -> str:
    if not lines:
        return ""
    count, baud = total_bytes(lines), known.baud[0]
    assumed = " (assumed)" if known.rate_assumed else ""
    return (
        f"{len(lines)} lines, {size(count)} of console: {span(known.line_ns(count))} at {baud} baud{assumed}"
    )


def hidden_by_quiet(log: BootLog) -> list[LogLine]:
    """The kernel's lines that `quiet` would leave out: by their level, or all where levels are unknown."""
    return [line for line in log.kernel_lines if line.level < 0 or line.level >= QUIET_LEVEL]


def countdown(known: Inventory) -> str | None:
    """Whether the boot loader counts down, and for how long."""
    found = countdown_ns(known)
    if found is None:
        return None
    return f"{BUILT.title} waits {span(found[0])} for a key ({found[1]})" if found[0] else ""


def countdown_ns(known: Inventory) -> tuple[int, str] | None:
    """How long the boot loader waits for a key, and the source of that."""
    log = known.log
    if log and (at := log.index(console.COUNTDOWN)) >= 0:
        gap = log.gap_ns(at) if log.timed else None
        if gap is not None:
            return gap, "from its line to the next one in the log"
        told = countdown_s(log.lines[at].text)
        if told is not None:
            return told * 1_000_000_000, "the number in the log"
    if known.on(BUILT.tree, _SETTINGS.first_boots):
        return 0, f"{BUILT.first.phrase} starts Linux by itself"
    for text, why in (
        (known.environment.get(_DELAY, ""), f"{_DELAY} in its environment"),
        (known.symbol(BUILT.tree, _SETTINGS.delay) or "", f"CONFIG_{_SETTINGS.delay}"),
    ):
        told = number(text)
        if told is not None:
            return max(0, told) * 1_000_000_000, f"{why} is {told}"
    return None


def countdown_s(line: str) -> int | None:
    """The number of seconds at the start of a countdown's line."""
    found = re.search(console.COUNTDOWN_SECONDS, line)
    return int(found[1]) if found else None


def calibration(known: Inventory) -> str | None:
    """Whether the delay loop is calibrated."""
    if known.word("lpj") is not None:
        return ""
    if not known.log or not known.log.has_kernel_start:
        return None
    if known.log.index(_CALIBRATION) < 0:
        return ""
    gap_ns = _calibration_ns(known)
    told = f": {span(gap_ns)} to the next line" if gap_ns is not None else ""
    return f"the delay loop is calibrated{told}"


def _calibration_ns(known: Inventory) -> int | None:
    """The time from the line of the calibration to the next."""
    return known.log.gap_ns(known.log.index(_CALIBRATION)) if known.log else None


def compressed(known: Inventory) -> str | None:
    """Whether the kernel unpacks itself."""
    for name in COMPRESSIONS:
        if known.on("kernel", f"KERNEL_{name}"):
            return f"the kernel is compressed (CONFIG_KERNEL_{name})"
    if known.logged(r"^Uncompressing Linux"):
        return "the kernel reports unpacking"
    return "" if known.knows(Part.KERNEL) and "kernel" not in known.partial else None


def init(known: Inventory) -> str | None:
    """Whether there is an init with things to start."""
    if started := known.logged(r"Run (\S+) as init process"):
        return f"the kernel starts {started[1]}"
    if here := next((path for path in _INITS if path in known.files), ""):
        return f"there is {here}"
    return "" if known.knows(Part.FILES) else None


def loader(known: Inventory) -> str | None:
    """Whether there is a boot loader that takes time."""
    log = known.log
    if log and log.timed:
        start, end = log.index(f"^(?:{console.BOOT_LOADER})"), log.index(r"^Starting kernel")
        if 0 <= start < end:
            length_ns = log.lines[end].at_ns - log.lines[start].at_ns
            return f"from {BUILT.title}'s first line to the kernel's start: {span(length_ns)}"
    if known.knows(Part.LOADER) or known.knows(Part.ENVIRONMENT):
        return f"there is a {BUILT.title}"
    if log and log.loader_lines:
        return "the log shows a boot loader"
    return None


_DEFERRED = r"(?:(\S.{0,80}): )?(?:deferred probe (?:timeout|pending)|probe deferral timeout)"


def deferred_timeout(known: Inventory) -> str | None:
    """Whether the kernel gave up waiting for a dependency of a driver."""
    if known.word("deferred_probe_timeout") is not None:
        return ""
    if not known.log or not known.log.has_kernel_start:
        return None
    found = known.logged(_DEFERRED)
    return f"the kernel gives up waiting for what {found[1] or 'a driver'} needs" if found else ""


def usb_disk(known: Inventory) -> str | None:
    """Whether a disk is connected by USB."""
    if not known.log or not known.log.has_kernel_start:
        return None
    found = known.logged(r"(usb-storage \S{1,40}): USB Mass Storage device detected")
    return f"{found[1]} is a disk" if found else ""


# ---- predictions ----


def _quiet(known: Inventory) -> Prediction | None:
    if not known.log or not known.log.kernel_lines or not kernel_console(known):
        return None
    hidden = hidden_by_quiet(known.log)
    no_levels = all(line.level < 0 for line in known.log.kernel_lines)
    assumptions = (
        f"{len(hidden)} lines of the kernel, {size(total_bytes(hidden))}, are not printed",
        f"the console runs at {known.baud[0]} baud: {known.baud[1]}",
        _ON_LINE,
        *(["the log has no levels: all kernel lines are assumed hidden"] if no_levels else []),
    )
    return known.line_ns(total_bytes(hidden)), assumptions


def _no_countdown(known: Inventory) -> Prediction | None:
    found = countdown_ns(known)
    if not found or not found[0]:
        return None
    return found[0], (f"{BUILT.title} does nothing else while it waits ({found[1]})",)


def _calibration(known: Inventory) -> Prediction | None:
    gap_ns = _calibration_ns(known)
    if gap_ns is None:
        return None
    return gap_ns, ("the calibration takes all the time to the next line: it may be less",)


def _loader_console(known: Inventory) -> Prediction | None:
    if not known.log or not loader_console(known):
        return None
    # It also removes the console from the kernel's command line.
    count = total_bytes(known.log.loader_lines) + total_bytes(known.log.kernel_lines)
    rate = f"the console runs at {known.baud[0]} baud: {known.baud[1]}"
    return known.line_ns(count), (rate, _ON_LINE, "Linux prints nothing either")


PREDICTED: dict[str, Callable[[Inventory], Prediction | None]] = {
    "quiet": _quiet,
    "bootdelay=0": _no_countdown,
    "calibration": _calibration,
    "loader-console": _loader_console,
}
"""Changes of `what-if` that a log allows to predict; for recipes without one, their indicator's effect."""
