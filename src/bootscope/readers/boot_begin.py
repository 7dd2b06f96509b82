# SPDX-License-Identifier: Apache-2.0
"""Where a boot's own lines begin: after those of the system that ran before, or after a head that is lost."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bootscope.core.text import seconds
from bootscope.readers.base import BUFFERED, Boot
from bootscope.readers.hits import Hit, View
from bootscope.readers.join import Member
from bootscope.readers.link import extent
from bootscope.readers.markers import INIT_SEEN
from bootscope.readers.startup_line import FINISHED_TRACK

_AT_ONCE_NS = 10_000_000
"""An empty line may come before the first one that is known."""
_BOOT_NS, _NO_INIT_NS = 120_000_000_000, 20_000_000_000
"""A ring buffer whose first line is later is of a system that runs; where no line tells of init, it ran for
so long before."""
_LINES = 20_000
_INITS = ("kernel-done", "init", INIT_SEEN, "switch-root", "login", "systemd-finished")
_STOPS = re.compile(
    r"\breboot: |systemd-shutdown\[|Restarting system|[Tt]he system is going down|System (?:halted|Rebooting)"
    r"|INIT: (?:Switching to runlevel: 6|Sending processes)|[Rr]equesting system reboot"
    r"|Reached target .{0,20}Shutdown"
)
"""What a system says that stops."""
SYSTEMD = b"systemd"
_SYSTEMD = re.compile(r"systemd(?:\[1\])?: ")
_BOOTS = re.compile(
    r"systemd(?:\[1\])?: (?:systemd \d|Reached target |Startup finished|Queued start job|Set hostname|"
    r"Hostname set|Detected |Mounted /|Starting Flush Journal)"
)
"""What systemd says while a system boots and not later."""
_RUNS = "this log shows a system that runs, and no boot"
_COUNTER_BEGINS_NS = frozenset(
    (1 << 32) * 10**9 // hz - 300 * 10**9 for hz in (100, 128, 200, 250, 256, 300, 1000, 1024)
)
"""What the first line of an old kernel says whose clock is jiffies: they begin 300 s before their 32 bits are
full (INITIAL_JIFFIES in include/linux/jiffies.h), at one of the usual rates (CONFIG_HZ)."""
_RECKONED = (
    "the log stamped the kernel's lines when it read them; firmware, kernel and init begin where systemd's "
    "line 'Startup finished' says"
)


@dataclass(frozen=True, slots=True)
class Begin:
    """A boot begins at `at_ns` of the files' clock; `other_ns` before it are of another system. The log shows
    no boot if it is of a `running` one. `notes` say so. The lines before line `first` of the log that tells
    the boot best are not of the boot."""

    at_ns: int = 0
    other_ns: int = 0
    running: bool = False
    notes: tuple[str, ...] = ()
    first: int = 0


def read_until(hits: Iterable[Hit]) -> int:
    """The stamp of the last of the kernel's lines that a journal read late; -1 where it did not."""
    return max((hit.at_ns for hit in hits if hit.read_late), default=-1)


def begin(view: View, hits: Sequence[Hit], untimed: Sequence[Hit]) -> Begin:
    """Where the lines of a boot begin; at 0 where what is before the first known line may be its own."""
    member = view.console()
    if member is None:
        return Begin()
    boot = view.boot(member)
    late_ns = -1 if any(hit.reckoned for hit in hits) else read_until(hits)
    if view.files[member.file].reader == "journalctl" and boot.clock.name == "kernel":
        began = any(hit.marker.name == "kernel-entry" for hit in untimed)
        late_ns = _first_stamp(boot) if began else late_ns
    if late_ns >= 0:
        words = (
            f"the journal stamped the kernel's lines when it read them, up to {seconds(late_ns)} s: "
            "they came then or before"
        )
        return Begin(late_ns, notes=(words,))
    if boot.clock.name == "kernel":
        return _of_kernel(view, member, hits)
    if any(hit.reckoned for hit in hits):
        return _reckoned(view, member, hits)
    if boot.clock.name == "wall" and _runs(boot, [*hits, *untimed]):
        return Begin(running=True, notes=(_RUNS,))
    first = min(hits, key=lambda hit: hit.at_ns, default=None)
    if first is None or first.at_ns <= _AT_ONCE_NS or not first.firsts or first.firsts[0][0] != member:
        return Begin()
    index = first.firsts[0][1]
    at_ns = _firmware_ns(view, member, index, first.at_ns)
    if not index:
        own = member.boot and _opens(view, member, at_ns)
        return Begin(at_ns, at_ns, notes=(_earlier_boots(first, at_ns),)) if own and at_ns else Begin()
    buffered = view.files[member.file].reader in BUFFERED and first.marker.name == "kernel-entry"
    if not (buffered or _stopped(boot, index)):
        return Begin()
    return Begin(at_ns, at_ns, notes=(_before(index, first, at_ns),), first=index)


def _firmware_ns(view: View, member: Member, index: int, at_ns: int) -> int:
    """When a boot began whose first line, line `index` of a log, came at `at_ns`: then, or before if systemd
    tells of firmware that ran after the line before."""
    boot, way = view.boot(member), view.map(member)
    tracks = (track for track in boot.tracks if track.ident == FINISHED_TRACK)
    begins = min((way.at(track.spans[0].start_ns) for track in tracks if track.spans), default=at_ns)
    since_ns = way.at(boot.log.at_ns[index - 1]) if index else 0
    return begins if since_ns <= begins < at_ns else at_ns


def _opens(view: View, member: Member, at_ns: int) -> bool:
    """Whether no other file saw anything of the boot before that moment."""
    others = ((m, extent(view.boot(m))) for m in view.members if m != member)
    return all(ends == (0, 0) or view.map(m).at(ends[0]) >= at_ns for m, ends in others)


def _runs(boot: Boot, hits: Sequence[Hit]) -> bool:
    """Whether all that a log with a calendar tells of a boot are lines of systemd, which speaks as long as
    the system runs; it reached no target and did not begin."""
    if not hits or any(hit.marker.name != INIT_SEEN or not _SYSTEMD.match(hit.evidence) for hit in hits):
        return False
    lines = (boot.log.text(index) for index in boot.log.lines_with(SYSTEMD))
    return not any(_BOOTS.search(line) for line in lines)


def _reckoned(view: View, member: Member, hits: Sequence[Hit]) -> Begin:
    """Of a log whose kernel's lines were read late; the lines before them are of another system."""
    log, way = view.boot(member).log, view.map(member)
    first = min(hits, key=lambda hit: hit.at_ns)
    index = first.firsts[0][1]
    heard_ns = max(0, way.at(log.at_ns[index]))
    if first.at_ns <= _AT_ONCE_NS or not index:
        return Begin(heard_ns, notes=(_RECKONED,))
    notes = (_before(index, first, first.at_ns), _RECKONED)
    return Begin(heard_ns, first.at_ns, notes=notes, first=index)


def _before(index: int, first: Hit, at_ns: int) -> str:
    return (
        f"{index:,} lines before '{first.marker.name}' are of the system that ran before, up to "
        f"{seconds(at_ns)} s of the file's clock: not part of this boot"
    )


def _earlier_boots(first: Hit, at_ns: int) -> str:
    what = f" with '{first.marker.name}'" if at_ns == first.at_ns else ""
    return (
        f"this boot begins{what} at {seconds(at_ns)} s of the file's clock; "
        "earlier boots of the file came before: not part of this boot"
    )


def _stopped(boot: Boot, index: int) -> bool:
    """Whether a system stopped in the lines before `index`."""
    return any(_STOPS.search(boot.log.text(i)) for i in range(max(0, index - _LINES), index))


def _first_stamp(boot: Boot) -> int:
    """Of the first line that has one; -1 where none has."""
    first = boot.log.own.find(1)
    return boot.log.at_ns[first] if first >= 0 else -1


def _of_kernel(view: View, member: Member, hits: Sequence[Hit]) -> Begin:
    """Of a log with the kernel's own stamps: its head may be lost."""
    names = {hit.marker.name for hit in hits}
    stamp_ns = max(0, _first_stamp(view.boot(member)))
    at_ns = view.map(member).at(stamp_ns)
    if stamp_ns in _COUNTER_BEGINS_NS and "kernel-entry" in names:
        words = f"the clock of this kernel begins at {seconds(stamp_ns)} s, 300 s before its counter is full"
        own = member == view.members[0]
        return Begin(at_ns, at_ns, notes=(words,)) if own else Begin(notes=(words,))
    if stamp_ns <= _AT_ONCE_NS or "kernel-entry" in names:
        return Begin()
    lost = f"the head of this log is lost: its first line is of {seconds(stamp_ns)} s of the kernel's clock"
    if stamp_ns > (_NO_INIT_NS if names.isdisjoint(_INITS) else _BOOT_NS):
        return Begin(at_ns, running=True, notes=(f"{lost}; it shows a system that runs, and no boot",))
    return Begin(at_ns, notes=(f"{lost}; what came before is not known",))
