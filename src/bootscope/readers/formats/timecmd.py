# SPDX-License-Identifier: Apache-2.0
"""What `time` prints: the shells' own, POSIX -p, GNU time with and without -v, BusyBox, zsh, csh."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from bootscope.readers.base import Boot, Clock, Options, Reader, Reading, Source
from bootscope.readers.tally import Tally, read_one, sample
from bootscope.readers.timespan import decimal_ns, whole
from bootscope.timeline.trace import Table

NAME = "time"
_SECOND_NS = 1_000_000_000
_HOURS_MINUTES = r"(?:(\d{1,6})h ?)?(?:(\d{1,7})m ?)?(\d{1,9}(?:[.,]\d{1,9})?)s?"
_THREE = re.compile(rf"(real|user|sys)\s{{1,8}}{_HOURS_MINUTES}\s*")
_CLOCK = re.compile(r"(?:(?:(\d{1,6}):)?(\d{1,7}):)?(\d{1,9}(?:\.\d{1,9})?)")
_GNU = re.compile(
    r"(\d{1,9}\.\d\d)user (\d{1,9}\.\d\d)system ([\d:.]{1,20})elapsed (?:\?|\d{1,6})%CPU \((.{0,80})\)k"
)
_GNU_SECOND = re.compile(
    r"\d{1,18}inputs\+\d{1,18}outputs \((\d{1,18})major\+(\d{1,18})minor\)pagefaults \d{1,18}swaps"
)
_ZSH = re.compile(
    r"(.{0,200})  (\d{1,9}\.\d\d)s user (\d{1,9}\.\d\d)s system \d{1,6}% cpu ([\d:.]{1,20}) total"
)
_CSH = re.compile(r"(\d{1,9}\.\d{1,3})u (\d{1,9}\.\d{1,3})s ([\d:.]{1,20}) \d{1,6}\.\d%\s.{0,60}\dw")
_VERBOSE = re.compile(r"\t([A-Z][^:\t]{3,60}): (.{0,400})")
_EXIT = re.compile(r"Command ((?:exited with non-zero status|terminated by signal) \d{1,4})")
_RESIDENT = re.compile(r"(\d{1,18})maxresident")
_ANY = re.compile(
    rb"(?:real|user|sys)\s[\d.,hms ]{1,80}\s?$|\d+\.\d\duser \d+\.\d\dsystem "
    rb"|[^%]{0,300}s user [^%]{0,60}% cpu [\d:.]{1,20} total$"
    rb"|\t(?:Command being timed|User time|System time|Elapsed \(wall clock\) time|Maximum resident set)"
    rb"|\d+inputs\+\d+outputs |\d+\.\d+u \d+\.\d+s [\d:.]+ "
)
_COLUMNS = ("run", "command", "real ns", "user ns", "system ns", "ended")


@dataclass
class _Run:
    """One measured command."""

    ns: dict[str, int] = field(default_factory=dict)
    command: str = ""
    ended: str = ""
    figures: list[tuple[str, str | int | None]] = field(default_factory=list)


class _File:
    def __init__(self, _tally: Tally) -> None:
        self._runs: list[_Run] = []
        self._ended = ""

    def take(self, number: int, line: str) -> bool:
        if len(line) < 1000 and (self._three(line) or self._one_line(line) or self._verbose(line)):
            return True
        if ended := _EXIT.fullmatch(line.strip()):
            self._ended = ended[1]
        return bool(ended)

    def _run_for(self, key: str) -> _Run:
        """The run that a figure belongs to: the last, unless that has one already."""
        if not self._runs or key in self._runs[-1].ns:
            self._runs.append(_Run())
            self._runs[-1].ended, self._ended = self._ended, ""
        return self._runs[-1]

    def _three(self, line: str) -> bool:
        found = _THREE.fullmatch(line)
        if found:
            self._run_for(found[1]).ns[found[1]] = _ns(*found.groups()[1:])
        return bool(found)

    def _one_line(self, line: str) -> bool:
        gnu, zsh, csh = _GNU.fullmatch(line), _ZSH.fullmatch(line), _CSH.fullmatch(line)
        second = _GNU_SECOND.fullmatch(line)
        if second and self._runs:
            faults = (("major page faults", int(second[1])), ("minor page faults", int(second[2])))
            self._runs[-1].figures += faults
            return True
        if found := gnu or csh:
            self._all(found[3], found[1], found[2], "")
        elif zsh:
            self._all(zsh[4], zsh[2], zsh[3], zsh[1])
        if gnu and (resident := _RESIDENT.search(gnu[4])):
            self._runs[-1].figures.append(("most memory resident KiB", int(resident[1])))
        return bool(gnu or zsh or csh)

    def _all(self, real: str, user: str, system: str, command: str) -> None:
        run = self._run_for("real")
        run.ns = {"real": _clock_ns(real), "user": decimal_ns(user) or 0, "sys": decimal_ns(system) or 0}
        run.command = command

    def _verbose(self, line: str) -> bool:
        found = _VERBOSE.fullmatch(line)
        if not found:
            # The label of the elapsed time holds colons itself.
            head, _, value = line.partition("m:ss): ")
            if not head.startswith("\tElapsed (wall clock) time") or not self._runs:
                return False
            self._runs[-1].ns["real"] = _elapsed_ns(value.strip())
            return True
        label, value = found[1], found[2].strip()
        if label == "Command being timed":
            self._run_for("verbose").command = value.strip('"')
            self._runs[-1].ns["verbose"] = 0
        if not self._runs or "verbose" not in self._runs[-1].ns:
            return False
        kind = {"User time (seconds)": "user", "System time (seconds)": "sys"}.get(label)
        if kind:
            self._runs[-1].ns[kind] = decimal_ns(value) or 0
        elif label == "Exit status":
            self._runs[-1].ended = f"exited with {value}"
        elif label != "Command being timed":
            number = whole(value)
            self._runs[-1].figures.append((label, value if number is None else number))
        return True

    def finish(self) -> Boot:
        boot = Boot(Clock("none", "durations only", 1_000_000), facts={"tool": NAME})
        rows = tuple(
            (n, r.command or None, r.ns.get("real"), r.ns.get("user"), r.ns.get("sys"), r.ended or None)
            for n, r in enumerate(self._runs, 1)
        )
        boot.tables.append(Table("time of commands", _COLUMNS, rows))
        figures = tuple((n, *figure) for n, run in enumerate(self._runs, 1) for figure in run.figures)
        if figures:
            boot.tables.append(Table("further figures", ("run", "what", "value"), figures))
        return boot


def _ns(hours: str | None, minutes: str | None, seconds: str) -> int:
    whole_s = int(hours or 0) * 3600 + int(minutes or 0) * 60
    return whole_s * _SECOND_NS + (decimal_ns(seconds.replace(",", ".")) or 0)


def _clock_ns(text: str) -> int:
    """``h:mm:ss``, ``m:ss.ff`` or seconds, in ns; 0 for anything else."""
    found = _CLOCK.fullmatch(text)
    return _ns(*found.groups()) if found else 0


def _elapsed_ns(text: str) -> int:
    """As :func:`_clock_ns`, or ``1h 2m 3s`` as BusyBox prints it."""
    three = _THREE.fullmatch(f"real {text}")
    return _ns(*three.groups()[1:]) if three and "m" in text else _clock_ns(text)


def _sure(source: Source) -> int:
    lines = sample(source)
    fit = sum(1 for line in lines if _ANY.match(line))
    whole = {line.split()[0] for line in lines if _ANY.match(line)} >= {b"real", b"user", b"sys"}
    if any(line.startswith(b"\tCommand being timed: ") for line in lines):
        return 95
    if not fit or (fit < 3 and not any(b"elapsed" in x or b"% cpu" in x or b"w" in x for x in lines)):
        return 0
    sure = 40 + 55 * fit // len(lines)
    return min(95, sure) if fit * 2 >= len(lines) or len(lines) < 8 else 12 if whole else 5


def _read(source: Source, _options: Options) -> Reading:
    return read_one(source, NAME, "output of time", _File)


READERS = (Reader(NAME, "how long a command took", "time COMMAND", _sure, _read),)
