# SPDX-License-Identifier: Apache-2.0
"""When the kernel and init began by systemd's line `Startup finished`, in a log whose calendar cannot tell.

A syslog or journal with calendar stamps holds when a daemon read the kernel's lines, seconds after they were
written. systemd's line says how long firmware, loader, kernel and user space took before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from bootscope.readers.hits import KERNEL_SEEN, Hit, View
from bootscope.readers.join import Member
from bootscope.readers.markers import ANYTHING, INIT_SEEN, KERNEL_ENTRY, Marker
from bootscope.readers.startup_line import FINISHED_TRACK

_BEFORE = ("firmware", "loader")
_INITS = ("initrd", "userspace")
_MS_NS = 1_000_000
"""systemd cuts each part to milliseconds (format_timespan() in its src/basic/time-util.c)."""
_SAID = "by systemd's line 'Startup finished'"


@dataclass(frozen=True, slots=True)
class _Account:
    """Where each part begins, in ns of the trace's clock, off by `error_ns`."""

    member: Member
    starts: Mapping[str, int]
    error_ns: int

    def hit(self, name: str, phase: str, part: str, place: int) -> Hit:
        """The begin of `part` of systemd's line, as if line `place` of the log had told it."""
        marker = Marker(name, phase, (), ANYTHING)
        return Hit(marker, self.starts[part], self.error_ns, _SAID, ((self.member, place),), reckoned=True)


def applied(view: View, timed: Sequence[Hit], untimed: Sequence[Hit]) -> tuple[list[Hit], list[Hit]]:
    """The hits with those that systemd's line tells better: unchanged where the kernel's own lines tell the
    time, or where nothing does."""
    found = {hit.marker.name: hit for hit in (*timed, *untimed)}
    account = next(_accounts(view), None)
    if account is None or _sound(found.get(KERNEL_ENTRY), account):
        return list(timed), list(untimed)
    told = {hit.marker.name: hit for hit in _told(account, found)}
    better = {*told, KERNEL_SEEN, INIT_SEEN}
    rest = [_late(hit) for hit in timed if hit.marker.name not in better]
    return [*told.values(), *rest], [hit for hit in untimed if hit.marker.name not in better]


def _sound(entry: Hit | None, account: _Account) -> bool:
    """Whether the kernel's first line has a time that it can have been written at."""
    known = entry is not None and entry.timed and not entry.earliest
    return known and entry is not None and entry.at_ns < _init_ns(account)


def _init_ns(account: _Account) -> int:
    return min(account.starts[name] for name in _INITS if name in account.starts)


def _told(account: _Account, found: Mapping[str, Hit]) -> Iterator[Hit]:
    entry, init = found.get(KERNEL_ENTRY), found.get("init")
    first = entry.firsts[0][1] if entry else 0
    for name in _BEFORE:
        if name in account.starts:
            yield account.hit(name, name, name, first)
    yield account.hit(KERNEL_ENTRY, "kernel", "kernel", first)
    part = next(name for name in _INITS if name in account.starts)
    yield account.hit("init", "init", part, init.firsts[0][1] if init else first)


def _late(hit: Hit) -> Hit:
    """The kernel's last line was read when its stamp says, and written before."""
    return replace(hit, read_late=True) if hit.marker.name == "kernel-done" else hit


def _accounts(view: View) -> Iterator[_Account]:
    """What systemd says in each log with a calendar."""
    for member in view.members:
        boot = view.boot(member)
        if boot.clock.name != "wall":
            continue
        way = view.map(member)
        for track in (track for track in boot.tracks if track.ident == FINISHED_TRACK):
            starts = {span.name: way.at(span.start_ns) for span in track.spans}
            if "kernel" in starts and not starts.keys().isdisjoint(_INITS):
                error_ns = member.error_ns + view.delay(member).error_ns + _MS_NS * len(starts)
                yield _Account(member, starts, error_ns)
