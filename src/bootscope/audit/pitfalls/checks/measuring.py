# SPDX-License-Identifier: Apache-2.0
"""Pitfalls of measuring: misleading stamps, tools that change what they measure."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from functools import partial
from itertools import pairwise

from bootscope.audit.pitfalls.checks.base import check, kernel_has, started
from bootscope.core.text import listed, seconds, size, span
from bootscope.devices import sd_card
from bootscope.inventory.bootlog import RECORDED, BootLog, LogLine, total_bytes
from bootscope.inventory.indicators import indicator_evidence
from bootscope.inventory.inventory import Inventory, Part, number
from bootscope.inventory.log_indicators import QUIET_LEVEL, loader_is_silent
from bootscope.inventory.recorded import Recorded
from bootscope.loaders.registry import BUILT
from bootscope.readers.base import END_OF_LINE, FIRST_BYTE

_MS = 1_000_000
_FEW_LINES, _BURST_NS = 10, 50 * _MS
_BIG_ENOUGH_SHIFT = 17


def _stamped_as(known: Inventory, moment: str) -> bool:
    log = known.log
    return bool(log and log.timed and log.clock != RECORDED and log.stamp == moment)


@check("grabserial-first-char", Part.LOG)
def _first_character(known: Inventory) -> str:
    return "this log stamps the first character of each line" if _stamped_as(known, FIRST_BYTE) else ""


@check("serialchrono-end-of-line", Part.LOG)
def _end_of_line(known: Inventory) -> str:
    return "this log stamps the end of each line" if _stamped_as(known, END_OF_LINE) else ""


@check("grabserial-regex", Part.LOG)
def _patterns(known: Inventory) -> str:
    return "the log is from grabserial" if known.log and known.log.tool == "grabserial" else ""


@check("usb-serial-on-target-host-port", Part.COMMAND_LINE)
def _usb_console(known: Inventory) -> str:
    return listed([word for word in known.words if re.match(r"console=tty(?:USB|ACM|GS)", word)])


@check("printk-burst", Part.LOG)
def _burst(known: Inventory) -> str | None:
    if isinstance(known, Recorded):
        late = [d for d in known.view.timeline.disagreements if d.phase == "kernel"]
        off_ns = max((d.marker_ns - d.address_ns for d in late), default=0)
        return f"by its lines the kernel would begin {span(off_ns)} late" if off_ns > _BURST_NS else ""
    log = known.log
    if not log or not log.timed:
        return None
    count, host_ns, kernel_ns = _longest_burst(known, log)
    if count < _FEW_LINES or kernel_ns - host_ns < _BURST_NS:
        return ""
    return f"{count} lines that the kernel wrote within {span(kernel_ns)} came within {span(host_ns)}"


def _longest_burst(known: Inventory, log: BootLog) -> tuple[int, int, int]:
    """The burst of kernel lines, back to back on the log's clock, that hides most of the kernel's time: how
    many lines, and how long in ns by the log's clock and by the kernel's."""
    best = (0, 0, 0)
    first: LogLine | None = None
    count = 0
    for a, b in pairwise(log.kernel_lines):
        close = b.at_ns - a.at_ns <= known.line_ns(a.bytes) * 3 // 2 + _MS
        if not close:
            first = None
            continue
        first, count = (first, count + 1) if first else (a, 2)
        host_ns, kernel_ns = b.at_ns - first.at_ns, b.kernel_ns - first.kernel_ns
        if kernel_ns - host_ns > best[2] - best[1]:
            best = (count, host_ns, kernel_ns)
    return best


@check("printk-zero-stamps", Part.LOG)
def _zeros(known: Inventory) -> str:
    if not known.log or known.log.timed:
        return ""
    count = sum(line.kernel_ns == 0 for line in known.log.lines)
    return f"{count} lines have the stamp 0.000000" if count >= _FEW_LINES // 2 else ""


@check("printk-coarse-clock", Part.LOG)
def _coarse(known: Inventory) -> str | None:
    stamps = [line.kernel_ns for line in known.log.kernel_lines if line.kernel_ns] if known.log else []
    if len(set(stamps)) < 2 * _FEW_LINES:
        return None
    step = math.gcd(*stamps)
    return f"all {len(stamps)} stamps are multiples of {span(step)}" if step >= _MS else ""


@check("initcall-debug-slows", one_of=(Part.COMMAND_LINE, Part.LOG))
def _initcall_debug(known: Inventory) -> str:
    lines = known.log.initcall_lines if known.log else ()
    if len(lines) >= _FEW_LINES:
        count = total_bytes(lines)
        told = f"{len(lines)} lines of initcalls and probes, {size(count)}"
        return f"{told}: {span(known.line_ns(count))} of serial line at {known.baud[0]} baud"
    return "initcall_debug is on the command line" if known.word("initcall_debug") is not None else ""


@check("log-buffer-overflow", one_of=(Part.LOG, Part.KERNEL))
def _overflow(known: Inventory) -> str | None:
    if dropped := known.logged(r"\*\* (\d+) printk messages dropped"):
        return f"{dropped[1]} messages were dropped"
    log = known.log
    if log and log.clock == "kernel" and log.kernel_lines and not log.has_kernel_start:
        begin = seconds(log.kernel_lines[0].kernel_ns)
        return f"the log begins at {begin} s, without the kernel's first line"
    shift = known.number("kernel", "LOG_BUF_SHIFT")
    asked = known.word("initcall_debug") is not None and known.word("log_buf_len") is None
    if asked and shift is not None and shift < _BIG_ENOUGH_SHIFT:
        return f"initcall_debug with a buffer of {1 << max(0, min(shift, 40)) >> 10} KiB"
    return "" if log or shift is not None else None


@check("bootgraph-needs", one_of=(Part.COMMAND_LINE, Part.LOG))
def _boot_graph(known: Inventory) -> str:
    log = known.log
    bare = [line for line in log.lines if _RETURNED.match(line.text)] if log else []
    if bare and all(line.kernel_ns < 0 for line in bare):
        return f"{len(bare)} initcall lines without the kernel's stamp"
    if known.word("initcall_debug") is None:
        return ""
    unstamped = known.symbol("kernel", "PRINTK_TIME") == "n" and known.word("printk.time") is None
    lacking = ["CONFIG_PRINTK_TIME"] if unstamped else []
    lacking += ["CONFIG_KALLSYMS"] if known.symbol("kernel", "KALLSYMS") == "n" else []
    return f"initcall_debug without {' and '.join(lacking)}" if lacking else ""


_RETURNED = re.compile(r"initcall \S{1,200}.{0,200} returned ")


@check("bootgraph-names", Part.LOG)
def _macro_names(known: Inventory) -> str:
    if not known.log or known.log.clock == RECORDED:
        return ""
    found = re.findall(r"^initcall (\w{1,200}_driver_init)\+", known.log.text, re.MULTILINE)
    return listed(list(dict.fromkeys(found)), 3)


_TRACERS = ("strace", "ltrace", "perf", "gdbserver", "valgrind")


def _init_words(known: Inventory) -> list[str]:
    """Base names of the programs that the command line makes process 1."""
    return [(known.word(name) or "").rpartition("/")[2] for name in ("init", "rdinit")]


@check("trace-not-init", one_of=(Part.COMMAND_LINE, Part.SCRIPTS))
def _traced_init(known: Inventory) -> str:
    tracers = [name for name in _init_words(known) if name in _TRACERS]
    if tracers:
        return f"{tracers[0]} is process 1"
    return started(r"\b[sl]trace\b.*(?:-p ?1\b|/sbin/init\b)")(known)


@check("ltrace-libc", Part.FILES)
def _tracer_and_libc(known: Inventory) -> str:
    tools = [path for path in known.files if re.search(r"/bin/(?:ltrace|perf)$", path)]
    other = [path for path in known.files if re.search(r"/lib/(?:ld-musl|ld(?:64)?-uClibc)", path)]
    return f"{tools[0]} with {other[0]}" if tools and other else ""


@check("valgrind-100x", one_of=(Part.COMMAND_LINE, Part.SCRIPTS))
def _valgrind(known: Inventory) -> str:
    if "valgrind" in _init_words(known):
        return "valgrind is process 1"
    return started(r"(?:^|[\s/;&|])valgrind\s")(known)


check("tracer-inflation", Part.SCRIPTS)(started(r"(?:^|[\s/;&|])(?:strace|ltrace|gdbserver)\s"))


_UNCLEAN = (
    r"EXT[234]-fs.{0,200}(?:recovery complete|orphan inodes? deleted|recovery required)|JBD2?.{0,80}recover"
    r"|FAT-fs.{0,100}not properly unmounted|recovering journal|was not cleanly unmounted"
)


@check("rw-root-fsck-jitter", one_of=(Part.COMMAND_LINE, Part.LOG))
def _unclean_root(known: Inventory) -> str:
    if found := known.logged(_UNCLEAN):
        return f"the log says: {found[0]}"
    # The card of a recording is the same at each boot, whatever the boot before wrote.
    if known.knows(Part.BOOT) or not known.filesystem.startswith("ext"):
        return ""
    writes = [word for word in known.words if word in ("rw", "ro")][-1:] == ["rw"]
    return f"{known.filesystem}, mounted rw by the command line" if writes else ""


@check("network-jitter", one_of=(Part.COMMANDS, Part.ENVIRONMENT, Part.COMMAND_LINE))
def _network(known: Inventory) -> str:
    script = known.loader
    storage = script.called(sd_card.COMMAND, "nand", "sf", "ubi", "usb")
    raw = [words for words in storage if words[1:2] == ["read"]]
    if script.network and not script.loads and not raw:
        return f"{BUILT.title} loads by {listed(script.network)}"
    found = [word for word in known.words if re.match(r"root=/dev/nfs|nfsroot=|ip=(?!off|none)", word)]
    return listed(found)


@check("bootchart-package-confusion", one_of=(Part.FILES, Part.COMMAND_LINE))
def _bootchart(known: Inventory) -> str:
    here = [path for path in known.files if path.endswith(("/bootchartd", "/systemd-bootchart"))]
    if here and known.files[here[0]] == "-> /bin/busybox" and "bootchartd" not in _init_words(known):
        return ""  # one of BusyBox's many names, unused
    return here[0] if here else ("init=.../bootchartd" if "bootchartd" in _init_words(known) else "")


check("printk-caller", Part.KERNEL)(kernel_has("PRINTK_CALLER"))
_EMULATORS = (
    r"Machine model: (linux,dummy-virt|.*QEMU.*)|Hardware name: (.*QEMU.*|linux,dummy-virt.*)|DMI: (QEMU.*)"
)


@check("uart-not-modelled", Part.LOG)
def _emulated_line(known: Inventory) -> str:
    if not known.log or known.log.clock == RECORDED:
        return ""
    found = known.log.find(_EMULATORS)
    return f"the log is from an emulator: {next(filter(None, found.groups()))}" if found else ""


@check("icount-vs-throttle", Part.EMULATOR)
def _two_clocks(known: Inventory) -> str:
    if not re.search(r"(?:^|\s)-icount\b", known.emulator):
        return ""
    limits = re.findall(r"throttling\.[\w-]+|\b(?:bps|iops)(?:_rd|_wr)?=\d+|\bcpulimit\b", known.emulator)
    return f"-icount beside {listed(limits)}" if limits else ""


check("lpj-missing", Part.LOG)(partial(indicator_evidence, "calibration"))


def console_off(known: Inventory) -> Sequence[str]:
    """By what means the console was turned off, as far as known."""
    found = ["quiet"] if known.word("quiet") is not None else []
    level = number(known.word("loglevel") or "")
    found += [f"loglevel={level}"] if level is not None and level <= QUIET_LEVEL else []
    found += ["CONFIG_PRINTK=n"] if known.symbol("kernel", "PRINTK") == "n" else []
    silent = loader_is_silent(known)
    return found + ([f"a silent {BUILT.title}"] if silent else [])
