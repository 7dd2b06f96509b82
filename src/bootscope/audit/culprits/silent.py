# SPDX-License-Identifier: Apache-2.0
"""Silences of a log, with the reason if one is known: gaps of one reason are one culprit."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import msgspec

from bootscope.analysis.gaps import LIKELY, Reason, as_reason, reason, span_reason
from bootscope.audit.culprits.model import Culprit, Cure
from bootscope.audit.culprits.starting import Starting
from bootscope.audit.culprits.units import LONG_UNITS
from bootscope.core.text import cut, span
from bootscope.inventory.bootlog import BootLog, LogLine
from bootscope.loaders import console
from bootscope.loaders.registry import BUILT
from bootscope.timeline.kernel_lines import BEGINS, FREED, INIT, INIT_SPEAKS

_LONGEST, _MOST = 50, 200
"""Characters shown of a line; silences that are examined, since a log may have a million lines."""
_LOOK_KERNEL = Cure("add initcall_debug to the command line: it shows what runs there")
_LOOK_PROGRAMS = Cure("bootscope-agent on the board shows what runs there (bootscope help agent)")
_LOOK_EARLY = Cure("no initcall runs there yet: initcall_debug cannot show it")
_LOOK_BUILT = Cure(BUILT.cures.look, BUILT.cures.trim)
_LOOK_COREBOOT = Cure(console.LOOK_COREBOOT)
_LOOK_LOADER = Cure("that boot loader's own log level, if it has one")
_INITCALLS = (
    r"^(?:devtmpfs: initialized|(?:smp: )?Brought up \d|SMP: Total of \d"
    r"|NET: Registered .*(?:NETLINK|family 16))"
)
"""Lines after which initcalls run (Linux init/main.c: do_basic_setup comes after smp_init)."""
_WAITS = ("start-job", "job-timeout", "wait-online", "udev-settle", "kernel-dhcp")
"""Kinds for which a single line is enough, anywhere in a gap."""
_UNITS, _NAMED = "units", 3
"""A kind whose gaps are one culprit, and how many of them are named."""
_BLAME = "systemd-analyze blame and critical-chain show which unit waits for which; import reads both"
_MODULES = r"^kmodloader: {} .*/etc/modules\.d"
_AT_WORK = (
    (r"^init: - preinit -", r"^procd: - early -", "failsafe"),
    (_MODULES.format("loading"), _MODULES.format("done loading"), "modules"),
    (r"procd: - init -|^INIT: Entering runlevel|^Starting syslogd", "", "init-scripts"),
)
"""Without systemd: a line after which a program is at work, the line that ends this, and the kind of gap."""
REPLAY = ("console-replay", "console-replayed")
"""Kinds of gaps in which the kernel's messages are sent over the line."""


@dataclass(frozen=True, slots=True)
class _Gap:
    """A stretch without a stamped line, beginning at line `first` and ending at line `last`."""

    first: int
    last: int
    ns: int
    why: Reason | None

    @property
    def key(self) -> str:
        """A key that gaps of one reason share; empty if no reason is known."""
        return f"{self.why.kind} {self.why.same if self.why.kind != _UNITS else ''}" if self.why else ""


def silences(log: BootLog, leave_out: Sequence[str] = ()) -> Iterator[Culprit]:
    """The longest steps of the boot from one line to the next, by the kernel's own stamps if it has them;
    without those of a kind in `leave_out`, and those in which nothing waits."""
    groups: dict[str, list[_Gap]] = {}
    for gap in _gaps(log):
        if not gap.why or not (gap.why.idle or gap.why.kind in leave_out):
            groups.setdefault(gap.key or f"#{gap.first}", []).append(gap)
    for found in groups.values():
        yield _culprit(log, found, _look(log, found[0].first))


def _look(log: BootLog, first: int) -> Cure:
    """How to see more of a gap after line `first`, by what runs there."""
    kernel = log.index(f"{BEGINS}|^{console.HANDOVER}")
    if kernel > first and log.lines[first].kernel_ns < 0:
        if log.index(f"^(?:{console.BUILT_SPEAKS})") >= 0:
            return _LOOK_BUILT
        return _LOOK_COREBOOT if log.index(f"^(?:{console.COREBOOT_SPEAKS})") >= 0 else _LOOK_LOADER
    if 0 <= log.index(f"{INIT}|^{FREED}") <= first or 0 <= log.index(f"^(?:{INIT_SPEAKS})") <= first:
        return _LOOK_PROGRAMS
    return _LOOK_EARLY if log.index(_INITCALLS) > first else _LOOK_KERNEL


def _gaps(log: BootLog) -> Iterator[_Gap]:
    # What initcall_debug reports of an initcall is listed with the initcall.
    steps = (s for s in log.steps() if not log.lines[s[0]].text.startswith("calling "))
    units = Starting(log.own)
    run, speaks = log.index(f"^{INIT}"), log.index(r"^systemd\[1\]: ")
    at_work = [(log.index(begins), log.index(ends) if ends else -1, kind) for begins, ends, kind in _AT_WORK]
    for ns, first, last in heapq.nlargest(_MOST, ((ns, first, last) for first, last, ns in steps)):
        why = _reason(log.lines, units, (first, last), ns)
        if not why and 0 <= run < first and last == speaks:
            # Drivers may print messages while init is read from the root.
            why = reason(log.lines[run].text, log.lines[last].text, ns)
        if not why and speaks < 0:
            there = (kind for a, b, kind in at_work if 0 <= a <= first and (b < 0 or last <= b))
            why = next((as_reason(kind) for kind in there), None)
        yield _Gap(first, last, ns, why)


def _reason(lines: Sequence[LogLine], units: Starting, place: tuple[int, int], gap_ns: int) -> Reason | None:
    """The reason for a step, by the lines around it, or else by what systemd was starting. If it contains
    lines without a stamp, it is unknown in which part the time went: then the reason is only likely."""
    first, last = place
    said = [i for i in range(max(0, first - 3), last) if lines[i].text.strip()] or [first]
    said = [i for i in said if i >= first] or said[-1:]
    *inner, end = (
        reason(lines[a].text, lines[b].text, gap_ns) for a, b in zip(said, [*said[1:], last], strict=True)
    )
    if not inner:
        return end or _units(units.during(first, last))
    found = [r for r in (*inner, end) if r]
    waited = next((r for r in found if r.kind in _WAITS), None) or _units(units.during(first, last))
    # The reason that most lines give; the last line with a stamp is only one of them.
    often = Counter(r.kind for r in found).most_common(1)
    best = waited or next((r for r in found if r.kind == often[0][0]), None)
    best = best or reason(lines[first].text, lines[last].text, gap_ns)
    return msgspec.structs.replace(best, sure=LIKELY) if best else None


def _units(names: Sequence[str]) -> Reason | None:
    if not names:
        return None
    known = [why for name in names if (why := span_reason(name))]
    do = known[0].do if known else _BLAME
    techniques = (*dict.fromkeys(name for why in known for name in why.techniques), LONG_UNITS)
    same = ", ".join(names[:2])
    return Reason(_UNITS, "systemd starts units", LIKELY, do, techniques, "its own lines", same=same)


def _units_where(found: Sequence[_Gap]) -> str:
    """Which units were starting in gaps, those of the longest gaps first."""
    spent: Counter[str] = Counter()
    for gap in found:
        spent[gap.why.same if gap.why else ""] += gap.ns
    longest = "; ".join(f"{span(ns)}: {names}" for names, ns in spent.most_common(_NAMED))
    return f"{longest}{' ...' if len(spent) > _NAMED else ''}"


def _culprit(log: BootLog, found: Sequence[_Gap], look: Cure) -> Culprit:
    """Gaps of one reason, the longest first."""
    longest, why = found[0], found[0].why
    places = [_start_ns(log, gap) for gap in found]
    ends = [start + gap.ns for start, gap in zip(places, found, strict=True)]
    times = f"{len(found)} times, the longest {span(longest.ns)} " if len(found) > 1 else ""
    where = times + _where(log, longest)
    if why and why.kind == _UNITS:
        where = _units_where(found)
    return Culprit(
        kind="silences",
        what=_words(why) if why else "no console output",
        where=where,
        cost_ns=sum(gap.ns for gap in found),
        start_ns=min(places),
        end_ns=max(ends),
        cure=Cure(why.do.partition("; ")[0], why.techniques) if why else look,
        seen_in="--view silences",
        at_most=True,
    )


def _words(why: Reason) -> str:
    return f"{LIKELY}: {why.what}" if why.kind == _UNITS else why.words


def _start_ns(log: BootLog, gap: _Gap) -> int:
    return max(0, log.since_begin_ns(log.lines[gap.first]))


def _where(log: BootLog, gap: _Gap) -> str:
    # The line before the gap may be empty: an earlier one is named then.
    said: Iterable[LogLine] = reversed(log.lines[max(0, gap.first - 3) : gap.first + 1])
    before = next((line for line in said if line.text.strip()), log.lines[gap.first])
    between = sum(bool(line.text.strip()) for line in log.lines[gap.first + 1 : gap.last])
    more = f", {between} line{'s' if between > 1 else ''} without a stamp between" if between else ""
    then = next(
        (line for line in log.lines[gap.last : gap.last + 3] if line.text.strip()), log.lines[gap.last]
    )
    return f"after '{_shown(before.text)}', before '{_shown(then.text)}'{more}"


def _shown(text: str) -> str:
    """The beginning of a line, without overwritten text."""
    return cut(text.partition("\b")[0].strip(), _LONGEST)
