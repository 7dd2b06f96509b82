# SPDX-License-Identifier: Apache-2.0
"""What a boot wrote, line by line, with the stamps of a recording, a host's tool or the kernel itself."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from bootscope.loaders import console
from bootscope.readers.base import FIRST_BYTE, NO_STAMP
from bootscope.readers.markers import split_line
from bootscope.timeline.failure import Failure
from bootscope.timeline.kernel_lines import BEGINS, FREED, INIT

RECORDED = "board"
"""The clock of a recording: board time, exact, known to be that of a line's first byte."""
_COARSE_NS = 100_000_000
"""A clock with longer steps than this can only measure lengths in such steps."""
_PREFIX_BYTES = 15
"""The length of `[    0.000000] ` before a line, for logs that lack it."""
_INITCALL = re.compile(r"^(?:calling |initcall |probe of |entering initcall level)")


@dataclass(frozen=True, slots=True)
class LogLine:
    """A line: `at_ns` on the boot's clock and `kernel_ns` by the kernel's own stamp (-1 where there is none),
    `level` 0 to 7 (-1: unknown), the text without stamps, and its length in bytes on a console."""

    at_ns: int
    kernel_ns: int
    level: int
    text: str
    bytes: int


@dataclass(frozen=True)
class BootLog:
    """The lines of one boot. `clock` is RECORDED or one of readers.base.Clock; `stamp` is the moment of a
    line that it measures; `boots` is the number of boots in the files; `tool` is the reader's name. Steps of
    the clock are `resolution_ns` long. The boot was complete after `ends` lines, where that is known.
    `failure` is what failed in it; with `running` the log shows a running system, not a boot. If its clock is
    the kernel's, the boot began at `begins_ns` of that.
    """

    lines: Sequence[LogLine]
    clock: str
    stamp: str = FIRST_BYTE
    boots: int = 1
    tool: str = ""
    resolution_ns: int = 1
    ends: int | None = None
    failure: Failure | None = None
    running: bool = False
    begins_ns: int = 0

    @cached_property
    def text(self) -> str:
        """All texts, a line each, without stamps: for regular expressions over the whole log."""
        return "\n".join(line.text for line in self.lines)

    def find(self, pattern: str | re.Pattern[str]) -> re.Match[str] | None:
        """The first match of a pattern; in a text, `^` and `$` match at the ends of lines."""
        if pattern not in self._found:
            wanted = re.compile(pattern, re.MULTILINE) if isinstance(pattern, str) else pattern
            self._found[pattern] = wanted.search(self.text)
        return self._found[pattern]

    def index(self, pattern: str) -> int:
        """The index of the first line with a match; -1 where there is none."""
        if pattern not in self._indexes:
            compiled = re.compile(pattern)
            found = (i for i, line in enumerate(self.lines) if compiled.search(line.text))
            self._indexes[pattern] = next(found, -1)
        return self._indexes[pattern]

    # An audit repeats the same expressions many times, on logs with hundreds of thousands of lines.
    @cached_property
    def _found(self) -> dict[str | re.Pattern[str], re.Match[str] | None]:
        return {}

    @cached_property
    def _indexes(self) -> dict[str, int]:
        return {}

    @property
    def own(self) -> Sequence[LogLine]:
        """The lines until the end of the boot."""
        return self.lines if self.ends is None else self.lines[: self.ends]

    def steps(self) -> Iterator[tuple[int, int, int]]:
        """(index, index of the boot's next line with a stamp, upper limit of the ns between them), where a
        clock gives it: lines of programs without a stamp may be between two of the kernel's. For a clock that
        counts seconds, a step of one may be almost nothing."""
        own, before = self.own, -1
        coarse_ns = self.resolution_ns if self.timed and self.resolution_ns >= _COARSE_NS else 0
        for index, line in enumerate(own):
            if self.timed:
                gap_ns = self.gap_ns(index - 1)
                slack_ns = 0 if line.kernel_ns >= 0 else coarse_ns
                if gap_ns is not None and gap_ns > slack_ns:
                    yield index - 1, index, gap_ns + slack_ns
            elif line.kernel_ns >= 0:
                # The clock stands still until the kernel has found its time source.
                if before >= 0 and line.kernel_ns > own[before].kernel_ns:
                    yield before, index, line.kernel_ns - own[before].kernel_ns
                before = index

    @property
    def timed(self) -> bool:
        """Whether the lines have stamps of a clock other than the kernel's own."""
        return self.clock not in ("none", "kernel")

    def since_begin_ns(self, line: LogLine) -> int:
        """When a line came, in ns from the boot's beginning; -1 where it has no stamp."""
        if self.timed:
            return line.at_ns
        return line.kernel_ns - self.begins_ns if line.kernel_ns >= 0 else NO_STAMP

    def gap_ns(self, index: int) -> int | None:
        """From a line to the next, by the kernel's clock or else by the log's; None where neither gives it.

        The kernel's own stamps have priority: messages from before its console exists reach the line later,
        all at once, so that the log's clock does not show when they were written.
        """
        if not 0 <= index < len(self.lines) - 1:
            return None
        a, b = self.lines[index], self.lines[index + 1]
        stamped = min(a.kernel_ns, b.kernel_ns) >= 0
        # The clock stands still until the kernel has found its time source.
        if stamped and b.kernel_ns > a.kernel_ns:
            return b.kernel_ns - a.kernel_ns
        # A clock cannot measure less than its own step.
        if self.timed and b.at_ns - a.at_ns >= self.resolution_ns:
            return b.at_ns - a.at_ns
        return 0 if stamped else None

    @cached_property
    def kernel_lines(self) -> tuple[LogLine, ...]:
        """The kernel's lines, identified by their stamps; without stamps, those from its first line to where
        it starts the first program."""
        stamped = tuple(line for line in self.lines if line.kernel_ns >= 0)
        if stamped or not self.has_kernel_start:
            return stamped
        start, end = self.index(BEGINS), max(self.index(f"^{INIT}"), self.index(f"^{FREED}"))
        return tuple(self.lines[start : end + 1 if end >= start else len(self.lines)])

    @cached_property
    def loader_lines(self) -> tuple[LogLine, ...]:
        """The lines before the kernel's, where the log reaches back that far."""
        if self.index(f"^(?:{console.LOADERS})") < 0:
            return ()
        end = self.index(f"^{console.HANDOVER}") + 1
        if not end:
            # A loader that does not announce the kernel, such as a first stage that starts Linux.
            first = self.kernel_lines[:1]
            end = next((i for i, line in enumerate(self.lines) if line in first), len(self.lines))
        return tuple(self.lines[:end])

    @property
    def initcall_lines(self) -> tuple[LogLine, ...]:
        """The lines that `initcall_debug` adds."""
        return tuple(line for line in self.kernel_lines if _INITCALL.match(line.text))

    @property
    def has_kernel_start(self) -> bool:
        """Whether the kernel's first line is in the log."""
        return self.index(BEGINS) >= 0

    @property
    def command_line(self) -> str | None:
        """The command line that the kernel reports."""
        found = self.find(r"Kernel command line: ?(.*)$")
        return found[1].strip() if found else None


def total_bytes(lines: Iterable[LogLine]) -> int:
    """The length of lines on a console, with line ends."""
    return sum(line.bytes for line in lines)


def log_line(at_ns: int, raw: str, kernel_ns: int = NO_STAMP, level: int = -1) -> LogLine:
    """A line of a log; `raw` may begin with the kernel's stamp."""
    found_ns, text = split_line(raw)
    size = len(raw.encode("utf-8", "replace")) + 2
    if found_ns < 0 <= kernel_ns:
        found_ns, size = kernel_ns, size + _PREFIX_BYTES
    return LogLine(at_ns, found_ns, level, text, size)
