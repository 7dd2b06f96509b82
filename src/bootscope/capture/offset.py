# SPDX-License-Identifier: Apache-2.0
"""Another computer's monotonic clock beside ours: how far they are apart, from questions and answers.

A question goes out at `asked_ns`, is answered there at `there_ns` of the other clock, and the answer is heard
at `heard_ns`. Whatever the ways there and back took, the answer was given between the two moments of ours:
what is to be added to the other clock lies between ``asked - there`` and ``heard - there``. That is half a
round trip to each side of its middle, so that the shortest round trip knows best.

The clocks drift apart, too. So the best of the first few questions and the best of the last few count, and
what is taken is the middle of all that either allows: how far the clocks moved meanwhile is in the error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

_FEW_NS = 300_000_000
"""Questions so near each other are a few."""
_CRYSTALS_PPM = 100
"""By how much the clocks of two computers may differ where it was not measured: 50 ppm each."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A question and its answer: `asked_ns` and `heard_ns` on our clock, `there_ns` on the other one."""

    asked_ns: int
    there_ns: int
    heard_ns: int

    @property
    def trip_ns(self) -> int:
        """There and back."""
        return self.heard_ns - self.asked_ns


@dataclass(frozen=True, slots=True)
class Offset:
    """What is to be added to a moment of the other clock, in ns, and by how much that may be wrong.

    `trips` were made, the shortest of `shortest_ns`; the clocks moved by `moved_ns` against each other
    between the first and the last.
    """

    offset_ns: int
    error_ns: int
    trips: int
    shortest_ns: int
    moved_ns: int


def offset_of(answers: Sequence[Answer], last_there_ns: int = 0) -> Offset | None:
    """How far the other clock is from ours, up to its moment `last_there_ns`; None without any answer.

    The error leaves out what the clocks drift while one question is under way: 100 ns of a millisecond.
    """
    if not answers:
        return None
    first_ns, last_ns = answers[0].asked_ns, answers[-1].asked_ns
    first = min((a for a in answers if a.asked_ns <= first_ns + _FEW_NS), key=lambda a: a.trip_ns)
    last = min((a for a in answers if a.asked_ns >= last_ns - _FEW_NS), key=lambda a: a.trip_ns)
    low_ns = min(a.asked_ns - a.there_ns for a in (first, last))
    high_ns = max(a.heard_ns - a.there_ns for a in (first, last))
    # From the best of a few to the others, and to what came after the last.
    beyond_ns = min(_FEW_NS, last_ns - first_ns) + max(0, last_there_ns - last.there_ns)
    return Offset(
        offset_ns=(low_ns + high_ns) // 2,
        error_ns=(high_ns - low_ns + 1) // 2 + beyond_ns * _CRYSTALS_PPM // 1_000_000,
        trips=len(answers),
        shortest_ns=min(a.trip_ns for a in answers),
        moved_ns=_middle_ns(last) - _middle_ns(first),
    )


def _middle_ns(answer: Answer) -> int:
    return (answer.asked_ns + answer.heard_ns) // 2 - answer.there_ns
