# SPDX-License-Identifier: Apache-2.0
"""Monitors a board's console during a boot: whether the boot has ended, and whether something is wrong."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from bootscope.hardware.line_rate import looks_wrong
from bootscope.loaders.console import BANNERS, PROMPT
from bootscope.readers.markers import MARKERS, Marker, said, split_line
from bootscope.timeline.kernel_lines import PANIC

MOST_STARTS = 3
"""Starts of one boot stage: a board that gets there a third time will do so again."""
_STAGES = (*(banner.milestone for banner in BANNERS), "kernel-entry")
_PROMPT = re.compile(PROMPT)
_LONGEST_LINE = 4096
_JUDGED_BYTES = 400


@dataclass
class LineWatch:
    """Examines bytes as they arrive. `until` ends the boot; None where something other than a line does."""

    until: Marker | None
    reached: bool = False
    waiting: bool = False
    """Whether the current, unfinished line ends the boot if nothing follows: a prompt."""
    panicked: bool = False
    starts: dict[str, int] = field(default_factory=dict)
    """How often each stage began."""
    heard: int = 0
    first_ns: int | None = None
    last_ns: int = 0
    """When the first and the last byte arrived, on the monotonic clock."""
    _line: bytearray = field(default_factory=bytearray)
    _told: set[str] = field(default_factory=set)
    sample: bytes = b""
    """The first bytes that arrived."""

    def feed(self, at_ns: int, data: bytes) -> list[bytes]:
        """Takes bytes; returns the lines that ended in them."""
        if self.first_ns is None:
            self.first_ns = at_ns
        self.last_ns = at_ns
        self.heard += len(data)
        self.sample += data[: _JUDGED_BYTES - len(self.sample)]
        ended = []
        *whole, rest = data.split(b"\n")
        for part in whole:
            self._line += part
            self._look(whole=True)
            ended.append(bytes(self._line).strip(b"\r"))
            self._line.clear()
            self._told.clear()
        self._line += rest
        del self._line[_LONGEST_LINE:]
        # A login prompt is a line that does not end.
        self._look(whole=False)
        return ended

    def _look(self, *, whole: bool) -> None:
        self.waiting = False
        text = self._line.decode("utf-8", "backslashreplace")
        if not text:
            return
        words = split_line(text)[1]
        if PANIC in text:
            self.panicked = True
        if self.until and _fits(self.until, text, words):
            # Only a text that the user gave counts whatever follows it.
            self.reached |= whole or not self.until.pattern.pattern
            self.waiting = True
        for marker in MARKERS:
            if marker.name in _STAGES and marker.name not in self._told and _fits(marker, text, words):
                self._told.add(marker.name)
                if marker.name != "kernel-entry" or not words.startswith("Linux version"):
                    self.starts[marker.name] = self.starts.get(marker.name, 0) + 1

    @property
    def loops(self) -> bool:
        """Whether the board restarts repeatedly."""
        return any(count >= MOST_STARTS for count in self.starts.values())

    @property
    def restarted(self) -> bool:
        """Whether the board started more than once."""
        return any(count > 1 for count in self.starts.values())

    @property
    def at_prompt(self) -> bool:
        """Whether a boot loader waits for a command."""
        return bool(_PROMPT.match(self._line.decode("utf-8", "replace").strip("\r")))

    @property
    def garbled(self) -> bool:
        """Whether the input cannot be text: most likely the line rate is wrong."""
        return len(self.sample) >= _JUDGED_BYTES and looks_wrong(self.sample)


def _fits(marker: Marker, text: str, words: str) -> bool:
    return any(part in text for part in marker.texts) and bool(marker.pattern.search(words))


def marker_of(name: str, milestones: dict[str, str]) -> Marker | None:
    """The marker of a milestone: one of the board's own (`milestones`: name -> text), or one that every boot
    has."""
    if name in milestones:
        return said(name, milestones[name])
    return next((marker for marker in MARKERS if marker.name == name), None)
