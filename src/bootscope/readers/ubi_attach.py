# SPDX-License-Identifier: Apache-2.0
"""What UBI prints when it attaches a flash device: from when to when, and by a fastmap or by a scan of all
erase blocks. Its time grows with the device where it scans, and is part of the boot where the root is on it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from bootscope.readers.layout import track
from bootscope.readers.lines import decode
from bootscope.timeline.trace import Point, Span, Track

NOTED = rb"ubi\d{1,3}: attach|ubi\d{1,3}: scanning |UBI: attach"
"""Beginnings of its lines, with the number of the UBI device; before Linux 3.19 that came at the end."""
_BEGINS = re.compile(rb"(?:(ubi\d{1,3})|UBI): attaching mtd(\d{1,4})(?: to (ubi\d{1,3}))?\s")
_HOW = re.compile(rb"(ubi\d{1,3}): (attached by fastmap|scanning is finished)\s")
_ENDS = re.compile(rb"(?:(ubi\d{1,3})|UBI): attached mtd(\d{1,4})[^\n]{0,400}?(?: to (ubi\d{1,3}))?\s*\n")
_WORDS = {b"attached by fastmap": "fastmap", b"scanning is finished": "scan of all blocks"}
_MOST = 100


@dataclass
class UbiAttach:
    """Collects lines, by the time at which they were printed, in ns."""

    _open: dict[str, tuple[int, str]] = field(default_factory=dict)
    _how: dict[str, str] = field(default_factory=dict)
    _spans: list[Span] = field(default_factory=list)

    @property
    def takers(self) -> Mapping[int, Callable[[bytes, int, int], bool]]:
        """By the first byte of a line's words: what takes that line, given the text, where they begin and
        when it came; False for one that tells nothing of attaching."""
        return {b"u"[0]: self._take, b"U"[0]: self._take}

    def _take(self, blob: bytes, offset: int, at_ns: int) -> bool:
        if begins := _BEGINS.match(blob, offset):
            device = decode(begins[1] or begins[3] or b"ubi")
            if len(self._open) < _MOST:
                self._open[device] = (at_ns, f"mtd{decode(begins[2])}")
                self._how.pop(device, None)
            return True
        if how := _HOW.match(blob, offset):
            if len(self._how) < _MOST:
                self._how[decode(how[1])] = _WORDS[how[2]]
            return True
        ends = _ENDS.match(blob, offset)
        if ends:
            device = decode(ends[1] or ends[3] or b"ubi")
            start_ns, mtd = self._open.pop(device, (at_ns, ""))
            if mtd and len(self._spans) < _MOST:
                by = self._how.get(device)
                detail = {"by": by} if by else {}
                self._spans.append(Span(min(start_ns, at_ns), at_ns, f"{device}: attach {mtd}", detail))
        return bool(ends)

    def tracks(self) -> list[Track]:
        """One track of all devices; none where nothing was attached."""
        return [track("ubi-attach", "other", "UBI attaches flash", self._spans)] if self._spans else []

    def open(self) -> list[Point]:
        """Devices whose end is not in the log."""
        return [
            Point(at_ns, f"{device} attaches {mtd}: no end in the log", "mark")
            for device, (at_ns, mtd) in self._open.items()
        ]
