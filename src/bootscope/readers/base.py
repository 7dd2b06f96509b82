# SPDX-License-Identifier: Apache-2.0
"""What every reader gets and gives.

A reader never guesses in silence: what it repaired, what it did not understand and what it cannot know
are part of what it returns. It raises :class:`FormatError` only when told to read a file as a format
that the file is not.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial

from bootscope.core.errors import UserError
from bootscope.readers.places import Places
from bootscope.timeline.trace import Point, Stack, Table, Track

# Which moment of a line its stamp is.
FIRST_BYTE, END_OF_LINE, PREVIOUS_NEWLINE, WHEN_LOGGED, UNKNOWN = (
    "first byte",
    "end of line",
    "previous newline",
    "when logged",
    "unknown",
)
STAMPS = (FIRST_BYTE, END_OF_LINE, PREVIOUS_NEWLINE, WHEN_LOGGED, UNKNOWN)


_LOOKED_AT = 65536
_PIECES = 32


@dataclass(frozen=True, slots=True)
class Source:
    """A file to read: its name as given, and all its bytes, already unpacked when it was compressed.

    `members` holds the files of an archive (tar, zip: bootchart.tgz, sigrok .sr) by name; `data` is
    then the archive itself.
    """

    name: str
    data: bytes
    members: Mapping[str, bytes] = field(default_factory=dict)

    @property
    def head(self) -> bytes:
        """The first 64 KiB, enough to recognise a format by."""
        return self.data[:_LOOKED_AT]

    @property
    def sample(self) -> bytes:
        """At most 64 KiB of whole lines from all over the file, in their order, to tell by what most of it
        is; all of a small file, and the head of one that has no line feeds."""
        if len(self.data) <= _LOOKED_AT:
            return self.data
        size = _LOOKED_AT // _PIECES
        places = (len(self.data) * piece // _PIECES for piece in range(_PIECES))
        return b"".join(_whole_lines(self.data, at, at + size) for at in places) or self.head


def _whole_lines(data: bytes, start: int, end: int) -> bytes:
    """The lines that begin and end within a part of `data`."""
    first = data.find(b"\n", start, end) + 1 if start else 0
    return data[first : data.rfind(b"\n", first, end) + 1] if first or not start else b""


@dataclass(frozen=True, slots=True)
class Options:
    """What the user said where a file cannot say it.

    `stamp`: one of STAMPS, or None to take the reader's own finding. `values` holds further answers
    by name, e.g. ``{"cntfrq_hz": "24000000"}`` for counters of firmware.
    """

    stamp: str | None = None
    values: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Clock:
    """The clock of a boot's stamps.

    `name`: `host` (a computer beside the board), `wall` (calendar time), `kernel` (printk and
    CLOCK_MONOTONIC), `counter` (a counter of the chip), `sample` (a logic analyser), `none` (no
    stamps: durations only). `zero` says in words what happened at 0; for a kernel clock that was not
    begun anew by a tool it holds the words `the kernel's clock`. `counter_id` names the hardware
    counter where it is known, so that two files on one counter can be joined (`arm-generic`).
    `at_power`: 0 is when power came on, to within `resolution_ns`.
    """

    name: str
    zero: str
    resolution_ns: int
    stamp: str = WHEN_LOGGED
    counter_id: str = ""
    at_power: bool = False
    delay_known: bool = False
    """`resolution_ns` holds how late the computer that stamped a console's line saw it."""

    @property
    def delay_unmeasured(self) -> bool:
        """Whether a computer beside the board stamped what it heard, and nothing tells how late."""
        return self.name in ("host", "wall") and self.stamp != WHEN_LOGGED and not self.delay_known


KERNEL = Clock("kernel", "when the kernel's clock began", 1_000)
BUFFERED = ("dmesg", "journalctl", "syslog", "logread", "logcat")
"""Readers of logs that a program took from the kernel's buffer: they are none of a line."""
NO_STAMP = -1
"""In `Log.kernel_ns`: the line has no kernel stamp."""


class Log:
    """Stamped lines, kept in columns so that a million of them fit: `at_ns[i]` belongs to `text(i)`.

    A line without a stamp of its own has the stamp of the line before and is counted by the reader.
    """

    def __init__(self) -> None:
        self.at_ns = array("q")
        self.level = array("b")
        """Kernel log level 0 to 7, or -1 where the file does not tell."""
        self.kernel_ns = array("q")
        """The kernel's own stamp in a log stamped by another clock too; else NO_STAMP. In a log on the
        kernel's clock that is `at_ns` of the lines with a stamp of their own."""
        self.own = bytearray()
        """1 where the line has a stamp of its own; 0 where it has that of a line before it, or of the first
        stamped line after it where there is none before."""
        self._blob: bytes | bytearray = bytearray()
        self._starts = array("q")
        self._ends = array("q")
        self._places: Places | None = None

    @classmethod
    def of_columns(
        cls,
        blob: bytes,
        starts: array[int],
        ends: array[int],
        at_ns: array[int],
        level: array[int],
        kernel_ns: array[int],
        own: bytearray,
        places: Places | None = None,
    ) -> Log:
        """A log whose line `i` is ``blob[starts[i]:ends[i]]``: takes the columns, copies no text.

        `places` are those of texts in `blob` that lines will be looked for by; others take a search each.
        """
        log = cls()
        log._places = places
        log._blob, log._starts, log._ends = blob, starts, ends
        log.at_ns, log.level, log.kernel_ns, log.own = at_ns, level, kernel_ns, own
        return log

    def columns(
        self,
    ) -> tuple[bytes | bytearray, array[int], array[int], array[int], array[int], array[int], bytearray]:
        """What :meth:`of_columns` takes."""
        return self._blob, self._starts, self._ends, self.at_ns, self.level, self.kernel_ns, self.own

    def add(self, at_ns: int, text: str, level: int = -1, kernel_ns: int = NO_STAMP) -> None:
        """Appends a line."""
        if not isinstance(self._blob, bytearray):
            self._blob = bytearray(self._blob)
        self._starts.append(len(self._blob))
        self._blob += text.encode("utf-8", "backslashreplace")
        self._ends.append(len(self._blob))
        self.at_ns.append(at_ns)
        self.level.append(level)
        self.kernel_ns.append(kernel_ns)
        self.own.append(1)

    def text(self, index: int) -> str:
        """The text of a line without its stamp. Untrusted: escape before showing."""
        return self.raw(index).decode("utf-8", "backslashreplace")

    def raw(self, index: int) -> bytes:
        """The bytes of a line without its stamp."""
        return bytes(self._blob[self._starts[index] : self._ends[index]])

    def stamped_line(self, index: int) -> int:
        """The line whose stamp line `index` has: itself, or the last one before that has its own, so that it
        came then or later; -1 where there is none, so that nothing tells when it came."""
        return self.own.rfind(1, 0, index + 1)

    def lines_with(self, part: bytes, since: int = 0, until: int | None = None) -> Iterator[int]:
        """The indexes since <= i < until of the lines that hold `part` (not empty), in order; quick in a
        million lines too."""
        until = len(self) if until is None else min(until, len(self))
        if since >= until:
            return
        # Only this log's stretch: the logs of all boots in a file share one text.
        end = self._ends[until - 1]
        known = self._places.seeker(part) if self._places else None
        seek = known or partial(self._blob.find, part)
        at = seek(self._starts[since], end)
        while at >= 0:
            index = bisect_right(self._starts, at) - 1
            inside = at + len(part) <= self._ends[index]
            if inside:
                yield index
            at = seek(self._ends[index] if inside else at + 1, end)

    def __len__(self) -> int:
        return len(self.at_ns)

    def __iter__(self) -> Iterator[tuple[int, str]]:
        for index, at_ns in enumerate(self.at_ns):
            yield at_ns, self.text(index)


@dataclass(frozen=True, slots=True)
class Repair:
    """Something that was wrong in the file and what was made of it, e.g. `clock went back`."""

    what: str
    count: int
    first_line: int


@dataclass(frozen=True, slots=True)
class Miss:
    """A line that was not understood: its number from 1, and its text, untrusted."""

    line: int
    text: str


@dataclass
class Boot:
    """One boot found in a file, on the file's own clock (times in ns; need not start at 0)."""

    clock: Clock
    log: Log = field(default_factory=Log)
    tracks: list[Track] = field(default_factory=list)
    points: list[Point] = field(default_factory=list)
    stacks: list[Stack] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    facts: dict[str, str] = field(default_factory=dict)
    """What the file says about the machine: `machine`, `kernel`, `command line`, `tool`..."""


@dataclass
class Reading:
    """What a file gave.

    ``lines_understood + len(missed) + lines_empty == lines_total``; for binary formats a line is a
    record.
    """

    boots: list[Boot]
    lines_total: int = 0
    lines_understood: int = 0
    lines_empty: int = 0
    missed: list[Miss] = field(default_factory=list)
    repairs: list[Repair] = field(default_factory=list)
    questions: list[str] = field(default_factory=list)
    """What the file cannot tell and an option could, as a sentence naming the option."""


WHOLE_FILE_SURE = 15
"""The most that a look at a whole file says of its format (:class:`Reader`)."""


@dataclass(frozen=True)
class Reader:
    """A format: how it is called, recognised and read.

    `sure(source)` is 0 (not this) to 100 (cannot be anything else), looks at content first, and must
    be quick (the head). `by_whole_file` may look at the whole file; it is asked where no format is surer than
    ``WHOLE_FILE_SURE``, the most that it can say. `read` may take the whole file.
    """

    name: str
    title: str
    made_by: str
    """The command whose output this is, as a person would type it."""
    sure: Callable[[Source], int]
    read: Callable[[Source, Options], Reading]
    by_whole_file: Callable[[Source], int] | None = None


class FormatError(UserError):
    """A file that was to be read as a format it is not; names the first line that does not fit."""

    def __init__(self, source: str, reader: str, line: int, why: str) -> None:
        super().__init__(
            f"{source} cannot be read as {reader}: line {line}: {why}",
            hint="leave out --format to detect the format",
        )
