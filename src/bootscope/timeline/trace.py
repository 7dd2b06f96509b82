# SPDX-License-Identifier: Apache-2.0
"""A boot in one common form, whatever its source.

A recording on an emulated board and a folder of imported logs both become a :class:`Trace`. Exports,
the report and the analyses that need no emulator work on it and on nothing else.

Objects that a trace holds by the million are msgspec structs: they are made ten times as fast as frozen
dataclasses, and the garbage collector can skip them, since nothing in them refers back to them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import msgspec

from bootscope.timeline.failure import Failure

TRACK_KINDS = (
    "phase",
    "initcall",
    "probe",
    "process",
    "cpu",
    "path",
    "spent",
    "storage",
    "console",
    "wait",
    "irq",
    "service",
    "function",
    "pin",
    "other",
)


LENGTH, OR_MORE, OR_LESS, NOT_KNOWN = "length", "or more", "or less", "not known"
"""A detail of a phase whose length is a bound, and its possible values."""


class Span(msgspec.Struct, frozen=True, gc=False):
    """A stretch of time on a track, in nanoseconds of the trace's clock; ``end_ns >= start_ns``.

    `detail` is what a reader wants to know on a click: a label -> text or a number whose unit is in the label
    (`bytes`, `sector`, `cost_ns`). Spans of one track nest or follow each other; if they may overlap partly
    (waiting processes), the track has `overlaps`.
    """

    start_ns: int
    end_ns: int
    name: str
    detail: Mapping[str, str | int] = {}

    @property
    def duration_ns(self) -> int:
        """Length in nanoseconds."""
        return self.end_ns - self.start_ns


@dataclass(frozen=True, slots=True)
class Track:
    """A row of spans of one kind (one of TRACK_KINDS), sorted by start, longest first.

    `parent` is the id of the track above this one: for a process, that of the one that forked it.
    """

    ident: str
    kind: str
    title: str
    spans: tuple[Span, ...]
    overlaps: bool = False
    parent: str = ""


class Point(msgspec.Struct, frozen=True, gc=False):
    """A moment with a name: a milestone, a console line, a pin edge. `kind` is `milestone`, `line`, `pin`,
    `wake` or `mark`; `error_ns` is how far off it may be, with `error_or_more` at least that. With `earliest`
    it was then or later: its line has no stamp of its own, and follows one that has."""

    at_ns: int
    name: str
    kind: str = "mark"
    error_ns: int = 0
    earliest: bool = False
    error_or_more: bool = False


class Stack(msgspec.Struct, frozen=True, gc=False):
    """Time spent in one call path, outermost first: (`kernel`, `initcall xyz`, `do_mount`...)."""

    frames: tuple[str, ...]
    ns: int


class StackAt(msgspec.Struct, frozen=True, gc=False):
    """A stack sample: the moment, and the call path as in :class:`Stack`."""

    at_ns: int
    frames: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """Figures without a place in time (`systemd-analyze blame`, `strace -c`, callgrind's costs).

    `columns` names each column with its unit; a cell is text, a whole number, or None for empty.
    `headings` are words for people, if the names are not; `total` is the foot, if there is one.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str | int | None, ...], ...]
    headings: tuple[str, ...] = ()
    total: tuple[str | int | None, ...] = ()


@dataclass(frozen=True)
class Trace:
    """One boot on one clock. `clock` says in words what that clock is and where its zero is: nothing of the
    boot is before it. It took `total_ns`; `sampled` are the samples of its `stacks` in order of time, if
    known."""

    title: str
    clock: str
    total_ns: int
    tracks: tuple[Track, ...] = ()
    points: tuple[Point, ...] = ()
    stacks: tuple[Stack, ...] = ()
    stalls: tuple[Stack, ...] = ()
    """The same for waiting for memory alone, if a core is modelled."""
    tables: tuple[Table, ...] = ()
    notes: tuple[str, ...] = ()
    sampled: tuple[StackAt, ...] = ()
    total_or_later: bool = False
    """It took `total_ns` or longer: its end was not seen, or has no stamp of its own."""
    end_seen: bool = True
    """Whether a line, or a long silence, shows the boot's end; else `total_ns` is that of the last line."""
    failure: Failure | None = None
    bounds: tuple[str, ...] = ()
    """The `notes` that say which lines are the boot's."""
    begins_ns: int = 0
    """Before this, nothing is known: no silence and no phase."""
    other_ns: int = 0
    """Where the 0 of the trace lies on the clock of its files, if another system ran before on that."""
    running: bool = False
    """The log begins long after its boot: it shows a running system."""

    def track(self, ident: str) -> Track | None:
        """The track of that id, if there is one."""
        return next((t for t in self.tracks if t.ident == ident), None)

    def spans(self, kind: str) -> list[Span]:
        """The spans of all tracks of a kind, track by track."""
        return [span for track in self.tracks if track.kind == kind for span in track.spans]

    @property
    def timed(self) -> bool:
        """Whether anything in it has a time: a log without a clock has only an order."""
        return self.total_ns > 0 or self.other_ns > 0

    @property
    def known_total_ns(self) -> int | None:
        """How long the boot took; None if unknown, or if only a minimum is known."""
        return self.total_ns if self.timed and not self.total_or_later else None

    def took(self, seconds: Callable[[int], str]) -> str:
        """How long the boot took, for people: ``3.2 s``, ``≥ 3.2 s``, ``no clock``; `seconds` formats ns."""
        least = "≥ " if self.total_or_later else ""
        return f"{least}{seconds(self.total_ns)} s" if self.timed else "no clock"

    def known_milestones(self) -> dict[str, int]:
        """:meth:`milestones` without those whose time is only a minimum."""
        later = self.earliest()
        return {name: ns for name, ns in self.milestones().items() if name not in later}

    def earliest(self) -> list[str]:
        """The milestones whose time is only a minimum."""
        return [p.name for p in self.points if p.kind == "milestone" and p.earliest]

    def milestones(self) -> dict[str, int]:
        """Milestone -> ns, in the order in which they were reached."""
        found = sorted((p for p in self.points if p.kind == "milestone"), key=lambda p: p.at_ns)
        return {p.name: p.at_ns for p in found}
