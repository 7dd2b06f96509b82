# SPDX-License-Identifier: Apache-2.0
"""An axis of time: from nanoseconds to pixels, with marks and their unit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bootscope.core.text import seconds
from bootscope.pictures.canvas import SMALL, Canvas
from bootscope.pictures.measure import width

_UNITS = ((10**9, "s"), (10**6, "ms"), (10**3, "µs"), (1, "ns"))
_ROOM = 95
"""The least distance between two marks, in pixels."""


@dataclass(frozen=True, slots=True)
class Axis:
    """Maps times from `low_ns` to `high_ns` to positions between two others, in pixels."""

    low_ns: int
    high_ns: int
    left: float
    right: float

    def x(self, at_ns: int) -> float:
        """The position of a time; times outside of the axis are at its end."""
        share = (at_ns - self.low_ns) / max(1, self.high_ns - self.low_ns)
        return self.left + min(1.0, max(0.0, share)) * (self.right - self.left)

    def marks(self) -> Iterator[tuple[float, str]]:
        """Round times with their units, as (position, words)."""
        length = max(1, self.high_ns - self.low_ns)
        most = max(1, int((self.right - self.left) / _ROOM))
        step = _step(length, most)
        largest = max(abs(self.low_ns), abs(self.high_ns))
        unit_ns, unit = next((pair for pair in _UNITS if largest >= pair[0]), _UNITS[-1])
        digits = _digits(step, unit_ns)
        for at_ns in range(-(-self.low_ns // step) * step, self.high_ns + 1, step):
            words = seconds(at_ns * (10**9 // unit_ns), max(1, digits))
            yield self.x(at_ns), f"{words if digits else words.removesuffix('.0')} {unit}"


def _step(length: int, most: int) -> int:
    power = 1
    while power * 10 * most < length:
        power *= 10
    return next(n * power for n in (1, 2, 5, 10) if n * power * most >= length)


def _digits(step: int, unit_ns: int) -> int:
    """How many decimals distinguish one mark from the next."""
    digits = 0
    while step % unit_ns and digits < 9:
        step, digits = step * 10, digits + 1
    return digits


def draw(canvas: Canvas, axis: Axis, top: float, bottom: float, taken: Sequence[float] = ()) -> None:
    """Marks of the axis above `top`, and their lines down to `bottom`; `taken` are positions where another
    line would cross the words."""
    reached = float("-inf")
    for x, words in axis.marks():
        canvas.line(x, top, x, bottom, "line")
        free = all(abs(x - other) > width(words, SMALL) / 2 + 2 for other in taken)
        if x - reached > _ROOM * 0.6 and free:
            anchor = "start" if x - axis.left < 20 else "end" if axis.right - x < 20 else "middle"
            canvas.text(x, top - 7, words, size=SMALL, fill="quiet", anchor=anchor)
            reached = x
