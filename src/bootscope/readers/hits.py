# SPDX-License-Identifier: Apache-2.0
"""The lines that announce something in any log of a boot, and how well their times are known."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from bootscope.readers import early_kernel
from bootscope.readers.base import NO_STAMP, Boot
from bootscope.readers.delay import Delay, delay
from bootscope.readers.fit import Map
from bootscope.readers.join import File, Group, Member
from bootscope.readers.link import extent
from bootscope.readers.markers import ANYTHING, INIT_SEEN, LOADERS, Marker, first_line, marker_lines
from bootscope.readers.stages import stage_lines

KERNEL_SEEN = "kernel-seen"
_SEEN = Marker(KERNEL_SEEN, "kernel", (), ANYTHING)
_BOOT_NS = 120_000_000_000
_KERNELS = ("kernel-entry", "kernel-done", "init")
_LATE_NS, _READ_NS = 200_000_000, 1_000_000_000
"""A kernel's first line that a journal stamped later than this was read then, with all that there was."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A marker's line on the trace's clock; `evidence` is its text (untrusted), `error_ns` of its place."""

    marker: Marker
    at_ns: int
    error_ns: int
    evidence: str
    firsts: tuple[tuple[Member, int], ...] = ()
    """In which logs it is, and which line of theirs it is."""
    earliest: bool = False
    """Its line has no stamp of its own: it came then or later."""
    timed: bool = True
    """Whether anything tells when it came; else `at_ns` means nothing."""
    error_or_more: bool = False
    """`error_ns` is the least that it may be off by."""
    read_late: bool = False
    """Its stamp is that of the journal that read it: it came then or before."""
    reckoned: bool = False
    """systemd told when it was, in a later line."""

    @property
    def latest(self) -> bool:
        """Whether what begins there began then or before: only its own words tell of it."""
        return self.read_late or self.marker.name in (INIT_SEEN, KERNEL_SEEN)

    def comes_before(self, other: Hit) -> bool:
        """Whether its line is before another one's: by their places in one log, else by their times."""
        places = {member: index for member, index in self.firsts}
        pairs = [(places[member], index) for member, index in other.firsts if member in places]
        return all(a < b for a, b in pairs) if pairs else self.at_ns <= other.at_ns


class View:
    """A group's boots with the way from their clocks to that of the trace, which never goes below 0 except
    for what came before the boot (:meth:`count_from`)."""

    def __init__(self, files: Sequence[File], group: Group) -> None:
        self.files = files
        self.members = group.members
        extents = [(m, extent(self.boot(m))) for m in group.members]
        ends = [tuple(map(m.map.at, both)) for m, both in extents if both != (0, 0)] or [(0, 0)]
        first_ns = min(e[0] for e in ends)
        calendar = self.boot(group.members[0]).clock.name == "wall"
        self.shift_ns = first_ns if calendar else min(0, first_ns)
        self.total_ns = max(0, max(e[1] for e in ends) - self.shift_ns)
        self._delays: dict[tuple[int, int], Delay] = {}

    def count_from(self, ns: int) -> None:
        """Moves the 0 of the trace's clock to `ns` of it."""
        self.shift_ns += ns
        self.total_ns = max(0, self.total_ns - ns)

    def boot(self, member: Member) -> Boot:
        """What a member's file told of this boot."""
        return self.files[member.file].reading.boots[member.boot]

    def map(self, member: Member) -> Map:
        """From a member's clock to the trace's."""
        return member.map.then(Map(0, -self.shift_ns))

    def delay(self, member: Member) -> Delay:
        """What the times of a member's lines may be off by, on its own clock."""
        key = member.file, member.boot
        if key not in self._delays:
            self._delays[key] = delay(self.boot(member))
        return self._delays[key]

    def console(self) -> Member | None:
        """The member whose log tells the boot best: the first one with a log."""
        return next((m for m in self.members if len(self.boot(m).log)), None)


def find_hits(view: View, markers: Sequence[Marker]) -> tuple[list[Hit], list[Hit]]:
    """The beginnings of the stages before Linux, then the first line of each marker: those whose time is
    known, at least as the earliest, and those that only have a place in their log."""
    stages: list[Hit] = []
    found: dict[str, Hit] = {}
    for member in view.members:
        hits = {hit.marker.name: hit for hit in _of_markers(view, member, markers)}
        kernel = hits["kernel-entry"].firsts[0][1] if "kernel-entry" in hits else len(view.boot(member).log)
        mine = list(_of_stages(view, member, kernel))
        _start_after_loaders(view, member, hits, kernel)
        stages = mine if len(mine) > len(stages) else stages
        for name, hit in hits.items():
            found[name] = _both(found[name], hit) if name in found else hit
    found |= _read_late(view, found)
    names = {hit.marker.name for hit in stages}
    if "init" in found or "kernel-done" in found:
        found.pop(INIT_SEEN, None)
    if seen := _kernel_seen(view, found):
        found[KERNEL_SEEN] = seen
    every = [*stages, *(found[m.name] for m in (_SEEN, *markers) if m.name in found and m.name not in names)]
    return [hit for hit in every if hit.timed], [hit for hit in every if not hit.timed]


def _read_late(view: View, found: Mapping[str, Hit]) -> dict[str, Hit]:
    """The kernel's lines that a journal stamped when it read them, all within moments and long after the
    kernel's clock began: the kernel began with that clock, and the others came then or before."""
    entry = found.get("kernel-entry")
    if entry is None or not _of_journal(view, entry) or entry.at_ns < _LATE_NS:
        return {}
    late = {
        name: replace(hit, read_late=True)
        for name, hit in found.items()
        if name in _KERNELS and hit.at_ns - entry.at_ns < _READ_NS
    }
    return {**late, "kernel-entry": replace(entry, at_ns=0, read_late=False)}


def _of_journal(view: View, hit: Hit) -> bool:
    return all(
        view.files[member.file].reader == "journalctl" and view.boot(member).clock.name == "kernel"
        for member, _ in hit.firsts
    )


def _start_after_loaders(view: View, member: Member, hits: dict[str, Hit], end: int) -> None:
    """Takes what a boot loader started, where that was another boot loader, for no kernel."""
    start = hits.get("kernel-start")
    log = view.boot(member).log
    while start:
        later = [first_line(log, marker, start.firsts[0][1]) for marker in LOADERS]
        since = max((line.index for line in later if line and line.index < end), default=None)
        if since is None:
            return
        del hits["kernel-start"]
        line = first_line(log, start.marker, since)
        start = _hit(view, member, start.marker, line.index) if line else None
        if start:
            hits["kernel-start"] = start


def _kernel_seen(view: View, found: Mapping[str, Hit]) -> Hit | None:
    """The first line that a kernel stamped, of a log in which nothing else tells of the kernel's beginning.

    None where its clock had run for longer than a boot takes, or init spoke before."""
    start, init = found.get("kernel-start"), found.get(INIT_SEEN)
    if "kernel-entry" in found or (start and start.timed):
        return None
    told = [found[name] for name in ("kernel-done", "init") if name in found]
    for member in view.members:
        log = view.boot(member).log
        index = next((i for i, ns in enumerate(log.kernel_ns) if ns != NO_STAMP), None)
        if index is None or log.kernel_ns[index] > _BOOT_NS or log.own[index] == 0:
            continue
        if init is None or init.firsts[0][0] != member or index < init.firsts[0][1]:
            return _hit(view, member, _SEEN, index)
    # The kernel's own last lines.
    last = min(told, key=lambda hit: hit.firsts[0][1], default=None)
    return replace(last, marker=_SEEN) if last and not start else None


def _both(a: Hit, b: Hit) -> Hit:
    """One of two logs' lines for the same thing: the one that is known best, then the earlier one."""
    best = min(a, b, key=lambda hit: (not hit.timed, hit.earliest, hit.at_ns))
    return replace(best, firsts=(*a.firsts, *b.firsts))


def _of_markers(view: View, member: Member, markers: Iterable[Marker]) -> Iterator[Hit]:
    boot = view.boot(member)
    lines = marker_lines(boot.log, markers)
    for marker in markers:
        if line := lines.get(marker.name):
            hit = _hit(view, member, marker, line.index)
            if line.shared:
                at_ns = view.map(member).at(line.at_ns)
                hit = replace(hit, at_ns=at_ns, earliest=False, timed=True)
            own = early_kernel.began(boot, line.index) if marker.name == "kernel-entry" else None
            if own:
                at_ns = view.map(member).at(own.at_ns)
                error_ns = max(hit.error_ns, own.error_ns)
                hit = replace(hit, at_ns=at_ns, error_ns=error_ns)
            yield hit


def _of_stages(view: View, member: Member, end: int) -> Iterator[Hit]:
    """The stages in a log's lines before `end`."""
    for line in stage_lines(view.boot(member).log, end):
        yield _hit(view, member, Marker(line.name, line.name, (), ANYTHING), line.index)


def _hit(view: View, member: Member, marker: Marker, index: int) -> Hit:
    boot = view.boot(member)
    late = view.delay(member)
    since = boot.log.stamped_line(index)
    at_ns = view.map(member).at(boot.log.at_ns[index])
    timed = since >= 0 and boot.clock.name != "none"
    error_ns, firsts = member.error_ns + late.error_ns, ((member, index),)
    text = boot.log.text(index)
    return Hit(marker, at_ns, error_ns, text, firsts, since < index, timed, late.or_more)
