# SPDX-License-Identifier: Apache-2.0
"""The stretches in which the console said nothing: where to look first on a chatty system."""

from __future__ import annotations

from dataclasses import dataclass

from bootscope.timeline.model import Timeline


@dataclass(frozen=True, slots=True)
class Silence:
    """Nothing was printed from `start_ns` to `end_ns`; `before` and `after` are the lines around."""

    start_ns: int
    end_ns: int
    before: bytes
    after: bytes

    @property
    def duration_ns(self) -> int:
        """Length in nanoseconds."""
        return self.end_ns - self.start_ns


def silences(tl: Timeline, top: int = 5) -> list[Silence]:
    """The longest `top` silences, longest first; the ones before the first and after the last line count."""
    found: list[Silence] = []
    end_ns, before = 0, b"(power-on)"
    for line in tl.lines:
        found.append(Silence(end_ns, line.start_ns, before, line.data))
        end_ns, before = line.end_ns, line.data or before
    found.append(Silence(end_ns, tl.total_ns, before, b"(end of the recording)"))
    return sorted(found, key=lambda s: -s.duration_ns)[:top]
