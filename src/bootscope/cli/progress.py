# SPDX-License-Identifier: Apache-2.0
"""Progress of long work on stderr: a live line on a terminal, plain lines elsewhere."""

from __future__ import annotations

import os
import sys
import textwrap
import time
from collections.abc import Callable

from bootscope.builder.pace import Pace
from bootscope.builder.progress import Progress
from bootscope.builder.step import OBJECTS
from bootscope.builder.workload import Workload
from bootscope.core.errors import printable
from bootscope.report.workload import announced, fitted, standing_parts

_WIDTH = 80
"""Width of lines that do not go to a terminal."""


class PlainProgress(Progress):
    """A line at the start and end of each step, and every half minute in between.

    The estimate of a build comes first, and each line gives the progress within the whole build.
    """

    _EVERY_NS = 30 * 10**9
    _PARTS_FROM = 0

    def __init__(self, now_ns: Callable[[], int] = time.monotonic_ns) -> None:
        self._now_ns = now_ns
        self._begun_ns = self._last_ns = now_ns()
        self._pace: Pace | None = None
        self._planned = False

    def expect(self, workload: Workload) -> None:
        self._pace = Pace(workload, self._now_ns()) if workload.works else None
        text = announced(workload)
        if text:
            self._say(textwrap.fill(text, self._width(), subsequent_indent="  ", break_on_hyphens=False))

    def begin(self, step: str, what: str) -> None:
        self._begun_ns = self._last_ns = self._now_ns()
        self._planned = self._pace is not None and self._pace.begin(step, self._begun_ns)
        number = ""
        if self._pace and self._planned:
            standing = self._pace.standing(self._begun_ns)
            number = f"step {standing.number} of {standing.steps}: "
        self._say(f"{number}{what} ...")

    def update(self, done: int, total: int | None, unit: str) -> None:
        now_ns = self._now_ns()
        if self._pace and self._planned and unit == OBJECTS:
            self._pace.update(done, now_ns)
        if now_ns - self._last_ns >= self._EVERY_NS:
            self._last_ns = now_ns
            self._show(done, total, unit)

    def note(self, message: str) -> None:
        self._say(f"  {message}")

    def finish(self, message: str) -> None:
        now_ns = self._now_ns()
        if self._pace and self._planned:
            self._pace.finish(now_ns)
        self._say(f"  done: {message}, {(now_ns - self._begun_ns) // 10**9} s")

    def _show(self, done: int, total: int | None, unit: str) -> None:
        self._say(f"  {self._line(done, total, unit, self._width() - 2)}")

    def _line(self, done: int, total: int | None, unit: str, width: int) -> str:
        """The progress: of the whole build if objects are counted, otherwise of this step alone."""
        if self._pace and self._planned and unit == OBJECTS:
            parts = standing_parts(self._pace.standing(self._last_ns))
            return fitted(parts[self._PARTS_FROM :], width)
        return f"{amount(done, total, unit)}, {(self._last_ns - self._begun_ns) // 10**9} s"[:width]

    def _width(self) -> int:
        return _WIDTH

    def _say(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)


class LiveProgress(PlainProgress):
    """The same, with a line that is redrawn in between."""

    _EVERY_NS = 200_000_000
    _BAR, _LEAST_BAR = 16, 6
    _PARTS_FROM = 1
    """The line above already names the step."""

    def _show(self, done: int, total: int | None, unit: str) -> None:
        width = self._width() - 2
        text = self._line(done, total, unit, width)
        cells = min(self._BAR, width - len(text) - 1)
        shown = f"{bar(self._permille(done, total), cells)} {text}" if cells >= self._LEAST_BAR else text
        print(f"\r  {shown}\x1b[K", end="", file=sys.stderr, flush=True)

    def _permille(self, done: int, total: int | None) -> int:
        if self._pace and self._planned and not total:
            return 10 * self._pace.standing(self._last_ns).percent
        return 1000 * done // total if total else 0

    def _width(self) -> int:
        # The last column stays free: some terminals wrap as soon as it is used.
        try:
            return max(20, os.get_terminal_size(sys.stderr.fileno()).columns - 1)
        except (OSError, ValueError):
            return _WIDTH - 1

    def _say(self, text: str) -> None:
        print(f"\r\x1b[K{text}", file=sys.stderr, flush=True)


def amount(done: int, total: int | None, unit: str) -> str:
    """`12 of about 140 MiB (8 %)`, or without the parts that are unknown."""
    if total and done <= total:
        return f"{done:,} of about {total:,} {unit} ({100 * done // total} %)"
    return f"{done:,} {unit}"


def bar(permille: int, width: int) -> str:
    """A bar of `width` characters."""
    filled = min(width, width * permille // 1000)
    return "█" * filled + "░" * (width - filled)


def teller(quiet: bool = False) -> Callable[[str], None]:
    """A function that reports the progress of a long search, in lines on stderr."""

    def tell(text: str) -> None:
        if not quiet:
            print(printable(text), file=sys.stderr, flush=True)

    return tell


def progress(quiet: bool = False) -> Progress:
    """The kind of progress that suits stderr."""
    if quiet:
        return Progress()
    return LiveProgress() if sys.stderr.isatty() else PlainProgress()
