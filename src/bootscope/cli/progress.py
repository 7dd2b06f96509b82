# SPDX-License-Identifier: Apache-2.0
"""Progress of long work on stderr: a live line on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time

from bootscope.build.progress import Progress, Silent


class PlainProgress:
    """A line at the start and end of each step, and one every half minute in between."""

    _EVERY_S = 30.0

    def __init__(self) -> None:
        self._begun = self._last = time.monotonic()

    def begin(self, step: str, what: str) -> None:
        self._begun = self._last = time.monotonic()
        self._say(f"{what} ...")

    def update(self, done: int, total: int | None, unit: str) -> None:
        if time.monotonic() - self._last >= self._EVERY_S:
            self._last = time.monotonic()
            self._say(f"  {amount(done, total, unit)}, {self._last - self._begun:.0f} s")

    def note(self, message: str) -> None:
        self._say(f"  {message}")

    def finish(self, message: str) -> None:
        self._say(f"  done: {message}, {time.monotonic() - self._begun:.0f} s")

    def _say(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)


class LiveProgress(PlainProgress):
    """The same, with a line that is drawn over in between."""

    _EVERY_S = 0.2

    def update(self, done: int, total: int | None, unit: str) -> None:
        now = time.monotonic()
        if now - self._last >= self._EVERY_S:
            self._last = now
            line = f"  {bar(done, total)} {amount(done, total, unit)}, {now - self._begun:.0f} s"
            print(f"\r{line}\x1b[K", end="", file=sys.stderr, flush=True)

    def _say(self, text: str) -> None:
        print(f"\r\x1b[K{text}", file=sys.stderr, flush=True)


def amount(done: int, total: int | None, unit: str) -> str:
    """`1,204 of about 2,310 objects (52 %)`, or without what is not known."""
    if total and done <= total:
        return f"{done:,} of about {total:,} {unit} ({100 * done // total} %)"
    return f"{done:,} {unit}"


def bar(done: int, total: int | None, width: int = 24) -> str:
    """A bar of `width` characters, empty when the total is not known."""
    filled = min(width, width * done // total) if total else 0
    return "█" * filled + "░" * (width - filled)


def progress(quiet: bool = False) -> Progress:
    """The progress that fits where stderr goes."""
    if quiet:
        return Silent()
    return LiveProgress() if sys.stderr.isatty() else PlainProgress()
