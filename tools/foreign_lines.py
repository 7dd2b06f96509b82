# SPDX-License-Identifier: Apache-2.0
"""Reads a boot log with plain regular expressions: a second opinion next to bootscope's readers.

Nothing here uses bootscope. It only knows lines that programs print about themselves, and three kinds of
time stamps (the kernel's seconds, a syslog date, a date of dmesg -T), so it is wrong where a log is unusual;
foreign_logs.toml then has the right value, entered by hand, and the reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime

ESCAPES = re.compile(rb"\x1b\[[0-9;?]{0,20}[A-Za-z]|\x1b[=>()][0AB]?|\x00|\x07")
KERNEL_STAMP = re.compile(r"\[ {0,6}(\d{1,7})\.(\d{6})(?:@\d)?\]")
SYSLOG_STAMP = re.compile(r"([A-Z][a-z]{2}) ([ \d]\d) (\d\d):(\d\d):(\d\d) ")
DATE_STAMP = re.compile(r"\[[A-Z][a-z]{2} ([A-Z][a-z]{2}) ([ \d]\d) (\d\d):(\d\d):(\d\d) (\d{4})\]")
MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
NEAR = 60
"""A stamp is at most this far from the start of its line."""

STAGES = {
    "rom": r"^RomBOOT|^F0: [0-9A-F]{4} ",
    "rpi-eeprom": r"^RPi: BOOT",
    "rpi-firmware": r"MESS:\d\d:\d\d:\d\d",
    "amlogic-bl1": r"^\W{0,8}[A-Z0-9]{2,6}:(?:BL\d?:[0-9a-f]{6};|[A-Z];SVN:)",
    "boot0": r"HELLO! S?BOOT0",
    "ddr-init": r"DDR [Vv]ersion V?\d|^DDR V?[0-9a-f.]{4,10} ",
    "miniloader": r"^Boot1 (?:Release|version)",
    "preloader": r"^(?:Preloader Start|\[PLFM\]|preloader_v)",
    "ipl": r"^IPL g?[0-9a-f]{7,8}$",
    "bootbase": r"free bootbase",
    "tegraboot": r"\[TegraBoot\] \(version",
    "hss": r"\] HSS_|PolarFire\(R\) SoC Hart Software Services",
    "xbl": r"^Format: Log Type",
    "fsbl": r"First Stage Boot Loader",
    "plm": r"Platform Loader and Manager",
    "coreboot": r"coreboot-\S+ .{0,80}(?:bootblock|verstage|romstage) starting",
    "slim-bootloader": r"Slim Bootloader STAGE1A",
    "at91bootstrap": r"^AT91Bootstrap \d",
    "bl1": r"NOTICE: +(?:BL1: v|Booting Trusted)",
    "bl2": r"NOTICE: +BL2: v",
    "bl31": r"NOTICE: +BL3-?1: ?v",
    "op-tee": r"OP-TEE version",
    "opensbi": r"^OpenSBI v\d",
    "tpl": r"^U-Boot TPL \d",
    "spl": r"^U-Boot SPL \d",
    "u-boot": r"^U-Boot (?:\d|\S+ \([A-Z][a-z]{2} )|^U-boot\(",
    "barebox": r"^barebox \d",
    "cfe": r"^CFE version",
    "lk": r"^.{0,20}welcome to lk",
    "depthcharge": r"^Starting depthcharge on",
    "tegra-bootloader": r"^\[bootloader\] \(built on",
    "grub": r"Welcome to GRUB|GNU GRUB",
    "efi-stub": r"EFI stub: ",
}
"""A stage's name here -> the start of its output."""
EARLY = tuple(STAGES)[: tuple(STAGES).index("op-tee")]
LATE = ("u-boot", "barebox", "cfe", "lk", "depthcharge", "tegra-bootloader", "grub", "efi-stub")
KERNEL = re.compile(r"Booting Linux on |Linux version \d+\.\d+\S* \(")
INIT = re.compile(r"Run /\S{1,300} as init process")
SPEAKS = re.compile(
    r"^INIT: version \d|init started: BusyBox|systemd\[1\]: systemd \d|\bprocd: - (?:early|init) -"
)
"""The first output of programs of init: init runs, but its start is unknown."""
FREED = re.compile(r"Freeing (?:unused kernel|init) (?:image |memory)")
SWITCHED = re.compile(r"Switching root|Switched root|switch_root")
LOGIN = re.compile(r"(?:^|[ \w.-])login: ?(?:$|\[| )(?!root on)")
READY = re.compile(r"Please press Enter to activate this console")
FINISHED = re.compile(r"systemd\[1\]: Startup finished in ")
TARGET = re.compile(r"Reached target .{0,4}(?:Multi-User System|Graphical Interface|multi-user|graphical)")
PARTS = re.compile(r"systemd\[1\]: Startup finished in (.{1,300}) = ")
PART = re.compile(r"(?:(\d+)min ?)?(?:(\d+(?:\.\d+)?)(ms|s))? \((firmware|loader|kernel|initrd|userspace)\)")
"""systemd's times for the parts of the boot; a minute without a unit after it is exact."""
DAYS_NS = 120_000_000_000
MOST_LATE_LINES = 400


@dataclass(slots=True)
class Line:
    """A line's number from 1, its stamp in ns if it has one, and its words."""

    number: int
    at_ns: int | None
    words: str


@dataclass(slots=True)
class Plain:
    """The facts of a log from plain expressions; times of the first boot, `>=N` for a lower bound."""

    boots: int = 1
    stages: list[str] = field(default_factory=list)
    kernel: str = "unknown"
    init: str = "unknown"
    end: str = "unknown"
    lines: dict[str, str] = field(default_factory=dict)


def lines_of(raw: bytes) -> list[Line]:
    """The lines of a log with their stamps: a kernel's unchanged, dates relative to the first one."""
    text = ESCAPES.sub(b"", raw).decode("utf-8", "replace").replace("\r", "\n")
    rows = [row for row in text.split("\n") if row.strip()]
    date = next((f for f in (_syslog, _dated) if sum(f(r) is not None for r in rows) > len(rows) / 2), None)
    if date is None:
        return [Line(i, _kernel(row), row.strip()) for i, row in enumerate(rows, 1)]
    stamps = [date(row) for row in rows]
    first = next(at for at in stamps if at is not None)
    return [
        Line(i, None if at is None else at - first, row.strip())
        for i, (at, row) in enumerate(zip(stamps, rows, strict=True), 1)
    ]


def _kernel(row: str) -> int | None:
    found = KERNEL_STAMP.search(row[:NEAR])
    return int(found[1]) * 1_000_000_000 + int(found[2]) * 1000 if found else None


def _syslog(row: str) -> int | None:
    found = SYSLOG_STAMP.match(row)
    return _date_ns(found, "2000") if found else None


def _dated(row: str) -> int | None:
    found = DATE_STAMP.match(row)
    return _date_ns(found, found[6]) if found else None


def _date_ns(found: re.Match[str], year: str) -> int | None:
    if found[1] not in MONTHS:
        return None
    day = datetime(int(year), MONTHS.index(found[1]) + 1, int(found[2]))
    seconds = int(found[3]) * 3600 + int(found[4]) * 60 + int(found[5])
    return ((day - datetime(1970, 1, 1)).days * 86400 + seconds) * 1_000_000_000


def read(raw: bytes) -> Plain:
    """The facts of a log from plain expressions."""
    lines = lines_of(raw)
    starts = [0, *_new_boots(lines)]
    first = lines[: starts[1]] if len(starts) > 1 else lines
    found = Plain(boots=len(starts))
    kernel = next((i for i, line in enumerate(first) if KERNEL.search(line.words)), None)
    found.stages = [name for _, name in _stages(first[: kernel if kernel is not None else len(first)])]
    if kernel is None and not any("Starting kernel ..." in line.words for line in first):
        return found
    found.stages.append("kernel")
    if kernel is not None:
        found.kernel = _time(first, kernel)
        found.lines["kernel"] = first[kernel].words
    _user_space(first, kernel or 0, found)
    _by_systemd(first, kernel or 0, found)
    return found


def _by_systemd(lines: list[Line], kernel: int, found: Plain) -> None:
    """For a log with dates: its kernel's lines have the time at which syslog or journald read them. Where
    that is after the start of user space in systemd's own account, the account determines when kernel and
    init began, and what was before."""
    line = next((line for line in lines[kernel:] if PARTS.search(line.words)), None)
    if line is None or line.at_ns is None or not _has_date(line.words):
        return
    parts = _parts(line.words)
    before_ns = sum(parts.get(name, 0) for name in ("firmware", "loader"))
    kernel_ns = line.at_ns - sum(parts.values()) + before_ns
    if "kernel" not in parts or (lines[kernel].at_ns or 0) < kernel_ns + parts["kernel"]:
        return
    zero_ns = min(0, kernel_ns - before_ns)
    found.kernel = str(kernel_ns - zero_ns)
    found.init = str(kernel_ns - zero_ns + parts["kernel"])
    found.end = str(line.at_ns - zero_ns)
    found.stages = [*(name for name in ("firmware", "loader") if name in parts), *found.stages]


def _parts(words: str) -> dict[str, int]:
    said = PARTS.search(words)
    assert said is not None
    scale = {"ms": 1_000_000, "s": 1_000_000_000}
    return {
        name: int(minutes or 0) * 60_000_000_000 + round(float(number or 0) * scale.get(unit, 0))
        for minutes, number, unit, name in PART.findall(said[1])
    }


def _has_date(words: str) -> bool:
    return bool(SYSLOG_STAMP.match(words))


def _user_space(lines: list[Line], kernel: int, found: Plain) -> None:
    init = _first(lines, INIT, kernel)
    init = _first(lines, FREED, kernel) if init is None else init
    switched = _first(lines, SWITCHED, kernel)
    found.stages += ["initramfs"] if switched is not None else []
    end = _end(lines, init or kernel)
    if init is not None or switched is not None or _first(lines, SPEAKS, kernel) is not None:
        found.stages.append("init")
    for name, index in (("init", init), ("end", end)):
        if index is not None:
            setattr(found, name, _time(lines, index))
            found.lines[name] = lines[index].words


def _first(lines: list[Line], what: re.Pattern[str], since: int) -> int | None:
    return next((i for i in range(since, len(lines)) if what.search(lines[i].words)), None)


def _end(lines: list[Line], since: int) -> int | None:
    """The last of login prompt, console and systemd's end; else the default target; else the line before a
    long silence."""
    ends = [i for w in (LOGIN, READY, FINISHED) if (i := _first(lines, w, since)) is not None]
    if ends:
        return max(ends)
    target = _first(lines, TARGET, since)
    return target if target is not None else _silence(lines, since)


def _silence(lines: list[Line], since: int) -> int | None:
    before: Line | None = None
    for line in lines[since:]:
        if line.at_ns is not None:
            if before is not None and before.at_ns is not None and line.at_ns - before.at_ns > DAYS_NS:
                return before.number - 1
            before = line
    return None


def _time(lines: list[Line], index: int) -> str:
    """A line's time; `>=N` for one without a stamp after lines with stamps; else unknown."""
    if (at_ns := lines[index].at_ns) is not None and not _follows_prompt(lines[index]):
        return str(at_ns)
    before = next((x.at_ns for x in reversed(lines[:index]) if x.at_ns is not None), None)
    return "unknown" if before is None else f">={before}"


def _follows_prompt(line: Line) -> bool:
    """A kernel's line is on the row of a prompt: the stamp is not the prompt's."""
    found = KERNEL_STAMP.search(line.words)
    return bool(found and "login:" in line.words[: found.start()])


def _stages(lines: list[Line]) -> Iterator[tuple[int, str]]:
    """The stages' first lines; consecutive lines of one stage count once."""
    last = ""
    for i, line in enumerate(lines):
        for name, pattern in STAGES.items():
            if re.search(pattern, line.words) and name != last:
                yield i, name
                last = name
                break


def _new_boots(lines: list[Line]) -> list[int]:
    """Where another boot begins: an early stage or a kernel, after a boot's kernel or loader."""
    starts: list[int] = []
    late = kernel = False
    counted = dict(_stages(lines))
    for i, line in enumerate(lines):
        name = counted.get(i, "")
        again = (name in EARLY or name == "spl") and late
        again |= kernel and (name == "u-boot" or "Booting Linux on" in line.words or _at_zero(line))
        if again:
            starts.append(i)
            late = kernel = False
        late |= name in LATE
        if line.at_ns is not None and line.at_ns > 0:
            kernel = True
            late = True
    return starts


def _at_zero(line: Line) -> bool:
    return bool(line.at_ns == 0 and KERNEL.search(line.words))
