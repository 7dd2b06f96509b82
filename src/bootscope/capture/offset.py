# SPDX-License-Identifier: Apache-2.0
"""The offset between another computer's monotonic clock and ours, from questions and answers.

A question is sent at `asked_ns`, answered at `there_ns` of the other clock, and the answer arrives at
`heard_ns`. However long the two ways took, the answer was given between our two moments: what must be added
to the other clock is between ``asked - there`` and ``heard - there``. The error is half a round trip to
either side of the middle, so the shortest round trip is the most accurate.

The clocks also drift apart. So the best of the first few questions and the best of the last few are used, and
the result is the middle of the range that either allows: the error includes how far the clocks drifted
meanwhile.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

_FEW_NS = 300_000_000
"""Questions this close to each other are a few."""
_CRYSTALS_PPM = 100
"""The possible drift between the clocks of two computers if it was not measured: 50 ppm each."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A question and its answer: `asked_ns` and `heard_ns` on our clock, `there_ns` on the other one."""

    asked_ns: int
    there_ns: int
    heard_ns: int

    @property
    def trip_ns(self) -> int:
        """The round trip."""
        return self.heard_ns - self.asked_ns


@dataclass(frozen=True, slots=True)
class Offset:
    """What must be added to a moment of the other clock, in ns, and its possible error.

    `trips` is the number of round trips, the shortest of `shortest_ns`; the clocks drifted by `moved_ns`
    between the first and the last.
    """

    offset_ns: int
    error_ns: int
    trips: int
    shortest_ns: int
    moved_ns: int


def offset_of(answers: Sequence[Answer], last_there_ns: int = 0) -> Offset | None:
    """The offset of the other clock from ours, up to its moment `last_there_ns`; None without answers.

    The error ignores the drift during one question: 100 ns in a millisecond.
    """
    if not answers:
        return None
    first_ns, last_ns = answers[0].asked_ns, answers[-1].asked_ns
    first = min((a for a in answers if a.asked_ns <= first_ns + _FEW_NS), key=lambda a: a.trip_ns)
    last = min((a for a in answers if a.asked_ns >= last_ns - _FEW_NS), key=lambda a: a.trip_ns)
    low_ns = min(a.asked_ns - a.there_ns for a in (first, last))
    high_ns = max(a.heard_ns - a.there_ns for a in (first, last))
    # From the best of a few to the others, and to the time after the last.
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
