# SPDX-License-Identifier: Apache-2.0
"""A joined boot as a trace: all its files tell on one clock, phases and milestones by console lines."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter

import msgspec

from bootscope.core.errors import printable
from bootscope.readers import boot_begin, boot_end, early_kernel, systemd_account
from bootscope.readers.base import WHEN_LOGGED, Log
from bootscope.readers.failure import failure
from bootscope.readers.fit import Map
from bootscope.readers.hits import KERNEL_SEEN, Hit, View, find_hits
from bootscope.readers.join import File, Group, Joined, Member
from bootscope.readers.join_words import (
    after_words,
    boot_name,
    clock_words,
    failed_words,
    link_words,
    refusal_words,
    silence_words,
)
from bootscope.readers.markers import INIT_SEEN, MARKERS, Marker
from bootscope.readers.points import lines_of, milestones
from bootscope.timeline.failure import Failure
from bootscope.timeline.trace import (
    LENGTH,
    NOT_KNOWN,
    OR_LESS,
    OR_MORE,
    Point,
    Span,
    Table,
    Trace,
    Track,
)

PHASES_TRACK = "phases"
_FIRST = "lines before the first known one"
UNTIMED = "Without a time, in the order of the log"
BEFORE = "earlier"
"""The phase before the first marker: something printed, but what it was is not known."""
_AT_ONCE_NS = 10_000_000
"""An empty line may come before the first marker."""
_READ_LATER = ("kernel", "initramfs")
_COARSE_NS = 1_000_000_000
_OF_LINUX = frozenset(("kernel-entry", "kernel-done", "init", INIT_SEEN, KERNEL_SEEN))


def trace_of(
    files: Sequence[File],
    joined: Joined,
    number: int,
    extra: Iterable[Marker] = (),
    *,
    lines: bool = True,
    tracks: bool = True,
) -> Trace:
    """Boot `number` (from 0) of the joined files.

    `extra` are the user's own milestones. With `lines` every console line is a point; without, the
    trace stays small. Without `tracks` it has those of phases only, and of other points milestones.
    """
    group = joined.groups[number]
    view = View(files, group)
    own = tuple(extra)
    hits, untimed = systemd_account.applied(view, *find_hits(view, [*MARKERS, *own]))
    begin = boot_begin.begin(view, hits, untimed)
    clock = clock_words(files, group, view.shift_ns != 0, begin.other_ns)
    if begin.other_ns:
        view.count_from(begin.other_ns)
        hits = [replace(hit, at_ns=hit.at_ns - begin.other_ns) for hit in hits]
    end = _ended(view, hits, untimed, frozenset(marker.name for marker in own))
    view.total_ns = end.at_ns
    points = milestones(view, hits, tracks) + (lines_of(view, begin.first) if lines else [])
    phases = tuple(_phases(hits, view, begin, end))
    failed = end.failure
    if failed and failed.at_ns is not None:
        failed = replace(failed, phase=_phase_at(phases, failed.at_ns))
    return Trace(
        title=", ".join(boot_name(files, (m.file, m.boot)) for m in view.members),
        clock=clock,
        total_ns=end.at_ns,
        total_or_later=end.earliest,
        end_seen=end.seen,
        failure=failed,
        begins_ns=max(0, begin.at_ns - begin.other_ns),
        other_ns=begin.other_ns,
        running=begin.running,
        tracks=(*phases, *_tracks(view, tracks, begin)),
        points=tuple(_from_begin(sorted(points, key=attrgetter("at_ns")), begin)),
        stacks=tuple(s for m in view.members for s in view.boot(m).stacks),
        tables=(*_untimed(untimed), *_tables(view)),
        notes=(*_notes(files, joined, group), *begin.notes, *_silences(phases), *end.notes),
        bounds=(*begin.notes, *end.notes),
    )


def _phase_at(phases: Iterable[Track], at_ns: int) -> str:
    return next((s.name for track in phases for s in reversed(track.spans) if s.start_ns <= at_ns), "")


def _untimed(hits: list[Hit]) -> tuple[Table, ...]:
    """What came in which order, where the log tells no time."""
    rows = tuple((hit.marker.name, hit.evidence) for hit in sorted(hits, key=lambda h: h.firsts[0][1]))
    return (Table(UNTIMED, ("what", "line"), rows),) if rows else ()


@dataclass(frozen=True, slots=True)
class _End:
    """The end of a boot: at `at_ns`, then or later with `earliest`. `notes` say where the files go on;
    `failure` is what failed in it or after it. Without `seen` it is the end of the files."""

    at_ns: int
    earliest: bool = False
    notes: tuple[str, ...] = ()
    failure: Failure | None = None
    seen: bool = True


def _ended(view: View, hits: list[Hit], untimed: list[Hit], own: frozenset[str]) -> _End:
    """When the boot was through; with the files where nothing tells."""
    known = {hit.marker.name: hit for hit in hits}
    name = boot_end.told({name: hit.at_ns for name, hit in known.items()}, own)
    init = known.get("init") or known.get("kernel-done") or known.get(INIT_SEEN) or known.get("kernel-entry")
    failed = failure(view, (*hits, *untimed), known[name] if name else None)
    if failed and failed.at_ns is not None and failed.at_ns < 0:
        failed = None  # it was the system before that failed
    if failed and failed.ends:
        end_ns = view.total_ns if failed.at_ns is None else min(failed.at_ns, view.total_ns)
        words = (failed_words(end_ns, view.total_ns),) if end_ns < view.total_ns else ()
        return _End(end_ns, True, words, failed)
    if name:
        end_ns, earliest = known[name].at_ns, known[name].earliest
    elif init and (last_ns := _before_long_silence(view, *init.firsts[0])) is not None:
        end_ns, earliest = last_ns, False
    else:
        linux = not _OF_LINUX.isdisjoint(known)
        return _End(view.total_ns, linux, (), failed, not linux)
    after = (after_words(end_ns, view.total_ns, earliest=earliest),) if end_ns < view.total_ns else ()
    return _End(min(end_ns, view.total_ns), earliest, after, failed)


def _before_long_silence(view: View, member: Member, first: int) -> int | None:
    boot = view.boot(member)
    last = boot_end.last_line(boot, first)
    return None if last is None else view.map(member).at(boot.log.at_ns[last])


def console_log(files: Sequence[File], group: Group, other_ns: int) -> tuple[Log, Map]:
    """The log that tells this boot best, and the way from its stamps to the clock of its trace, which has
    this `other_ns`."""
    view = View(files, group)
    view.count_from(other_ns)
    member = view.console()
    return (view.boot(member).log, view.map(member)) if member else (Log(), Map())


def console_step_ns(files: Sequence[File], group: Group) -> int:
    """How long a step of the clock of that log is, in ns: two lines a step apart may have come at once."""
    view = View(files, group)
    member = view.console()
    return max(0, view.boot(member).clock.resolution_ns) if member else 0


def _notes(files: Sequence[File], joined: Joined, group: Group) -> tuple[str, ...]:
    mine = {(m.file, m.boot) for m in group.members}
    apart = [r for r in joined.refusals if r.a in mine or r.b in mine]
    return (*(link_words(files, x) for x in group.links), *(refusal_words(files, r) for r in apart))


def _silences(phases: Iterable[Track]) -> Iterator[str]:
    for span in (s for track in phases for s in track.spans if s.name == early_kernel.BOTH):
        yield silence_words(span.name, early_kernel.Bound.of(span.detail))


def _phases(hits: list[Hit], view: View, begin: boot_begin.Begin, end: _End) -> Iterator[Track]:
    """One phase after the other, as far as lines announce them; a marker out of order is none."""
    if begin.running:
        return
    starts: list[tuple[int, str, Hit | None]] = []
    done = next((h for h in hits if h.marker.name in ("kernel-done", INIT_SEEN)), None)
    known = {h.marker.phase: h for h in hits if h.marker.phase}
    # Kernels before 4.15, and quiet ones, do not say which program they start; those that say nothing at all
    # leave only what init says of itself.
    if done and "init" not in known:
        known["init"] = done
    if switch := next((h for h in hits if h.marker.name == "switch-root"), None):
        known = _with_initramfs(known, switch)
    for phase in _in_order(known):
        hit = known[phase]
        if (not starts or hit.at_ns >= starts[-1][0]) and hit.at_ns <= view.total_ns:
            starts.append((hit.at_ns, phase, hit))
    if not starts:
        return
    if starts[0][0] <= _AT_ONCE_NS:
        starts[0] = (0, *starts[0][1:])
    elif begin.at_ns == begin.other_ns:
        starts.insert(0, (0, BEFORE, None))
    ends = [*starts[1:], (max(end.at_ns, starts[-1][0]), "", end)]
    spans = (
        Span(
            at_ns,
            end_ns,
            _name(phase, following, known, view),
            {
                "evidence": hit.evidence if hit else _FIRST,
                **(_length(hit, next_hit) or _read_at_once(phase, hit, next_hit, view)),
            },
        )
        for (at_ns, phase, hit), (end_ns, following, next_hit) in zip(starts, ends, strict=True)
    )
    bounded = (_bounded(s, known["kernel"], view) if s.name == early_kernel.BOTH else s for s in spans)
    yield Track(PHASES_TRACK, "phase", "Phases, by console lines", tuple(bounded))


def _length(start: Hit | None, end: Hit | _End | None) -> dict[str, str]:
    """What a phase's length is said to be where one of its ends, or both, are only the earliest or the latest
    ones."""
    if start is None and end is None:
        return {}
    more = bool((end and end.earliest) or (isinstance(start, Hit) and start.latest))
    less = bool((start and start.earliest) or (isinstance(end, Hit) and end.latest))
    if not more and not less:
        return {}
    return {LENGTH: NOT_KNOWN if more and less else OR_LESS if less else OR_MORE}


def _read_at_once(phase: str, start: Hit | None, end: Hit | _End | None, view: View) -> dict[str, str]:
    """A kernel or initramfs whose lines a daemon stamped with one date was read then, and took longer."""
    if start is None or start.reckoned or not phase.startswith(_READ_LATER) or not isinstance(end, Hit):
        return {}
    clock = view.boot(start.firsts[0][0]).clock
    coarse = clock.name == "wall" and clock.stamp == WHEN_LOGGED and clock.resolution_ns >= _COARSE_NS
    return {LENGTH: OR_MORE} if coarse and end.at_ns - start.at_ns <= clock.resolution_ns else {}


def _in_order(known: Mapping[str, Hit]) -> list[str]:
    """The phases that were seen: the stages before Linux as they came, the others as they must come."""
    last = ("decompress", "kernel", "initramfs", "init", "application")
    return [*(phase for phase in known if phase not in last), *(phase for phase in last if phase in known)]


def _with_initramfs(known: Mapping[str, Hit], switch: Hit) -> dict[str, Hit]:
    """The phases, where the kernel's first program was that of an initramfs. Where nothing tells when that
    began, it is in the kernel's phase."""
    first = known.get("init")
    if first is not None and first.comes_before(switch):
        return {**known, "initramfs": first, "init": switch}
    return {**known, "init": switch} if first is not None and first.latest else dict(known)


def _name(phase: str, following: str, known: Mapping[str, Hit], view: View) -> str:
    if phase == "kernel":
        unseen = known[phase].marker.name == KERNEL_SEEN
        inside = following == "init" and known["init"].marker.name == "switch-root"
        return early_kernel.kernel_name(initramfs=inside, seen=not unseen)
    if phase != early_kernel.UNPACK:
        return phase
    member, index = known["kernel"].firsts[0] if following == "kernel" else (view.members[0], 0)
    return early_kernel.phase_name(following, view.boot(member).log, index)


def _bounded(span: Span, kernel: Hit, view: View) -> Span:
    """The silence before the kernel's first line, with what is known of it."""
    logs = [(view.boot(member), view.map(member), index) for member, index in kernel.firsts]
    found = early_kernel.bound(logs, span.start_ns, kernel.at_ns, kernel.error_ns)
    return msgspec.structs.replace(span, detail={**span.detail, **found.detail})


def _from_begin(points: list[Point], begin: boot_begin.Begin) -> list[Point]:
    """Points in order of time, without those of the system that ran before the boot."""
    return points[bisect_left(points, 0, key=attrgetter("at_ns")) :] if begin.other_ns else points


def _tracks(view: View, every: bool, begin: boot_begin.Begin) -> Iterator[Track]:
    """The tracks of all files, those of phases or `every` one; where two files use the same id, the later
    one's get the file's number. What came before the boot is left out."""
    taken = {PHASES_TRACK}
    for member in view.members:
        way = view.map(member)
        tracks = view.boot(member).tracks
        clash = any(t.ident in taken for t in tracks)
        prefix = f"{member.file + 1}." if clash else ""
        for track in (t for t in tracks if every or t.kind == "phase"):
            spans = track.spans if way == Map() else tuple(map(way.span, track.spans))
            if begin.other_ns and not (spans := tuple(_since_begin(spans))):
                continue
            title = f"{track.title} ({printable(view.files[member.file].name)})" if clash else track.title
            parent = prefix + track.parent if track.parent else ""
            yield replace(track, ident=prefix + track.ident, spans=spans, title=title, parent=parent)
        taken |= {prefix + t.ident for t in tracks}


def _since_begin(spans: Iterable[Span]) -> Iterator[Span]:
    """What spans have of the time from 0 on."""
    for span in spans:
        if span.start_ns >= 0:
            yield span
        elif span.end_ns > 0:
            yield msgspec.structs.replace(span, start_ns=0)


def _tables(view: View) -> tuple[Table, ...]:
    """All tables; those that several files have alike say which file they are of."""
    all_tables = [(member, table) for member in view.members for table in view.boot(member).tables]
    count = Counter(table.title for _, table in all_tables)
    return tuple(
        replace(table, title=f"{table.title} ({printable(view.files[member.file].name)})")
        if count[table.title] > 1
        else table
        for member, table in all_tables
    )
