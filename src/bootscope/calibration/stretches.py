# SPDX-License-Identifier: Apache-2.0
"""Stretches between console lines that the emulated boot and the real ones have in common."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from bootscope.calibration.model import HeardLine
from bootscope.calibration.observe import RealBoot
from bootscope.calibration.rates import Parts, Rates
from bootscope.calibration.robust import Row
from bootscope.readers.base import END_OF_LINE, PREVIOUS_NEWLINE
from bootscope.readers.markers import split_line
from bootscope.readers.match import increasing
from bootscope.statistics.describe import deviation_of

_ESCAPE = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|[\x00-\x08\x0b-\x1f\x7f]")
_NUMBER = re.compile(r"\b(?:[0-9a-fA-F]{2}:){2,}[0-9a-fA-F]{2}\b|\b(?:0x)?[0-9a-fA-F]*[0-9][0-9a-fA-F]*")
_LEAST_LETTERS = 4
_LONGEST = 2_000
_LEAST_NS = 2_000_000
_LEAST_ERRORS = 4
"""The least length of a stretch, and the same as a multiple of a stamp's error."""
_LEAST_NOISE_NS = 1_000.0
_UNIFORM = math.sqrt(1 / 12)
_MEDIAN_TO_MEAN = 1.2533
"""Ratio of the error of a median to that of a mean."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """From line `first` to line `last` of the emulated boot; `took_ns` is the median of `boots` real boots,
    and its standard error is `noise_ns`."""

    first: int
    last: int
    took_ns: int
    noise_ns: float
    boots: int


@dataclass(frozen=True)
class Heard:
    """A real boot with its lines matched to the emulated one: emulated line -> time in ns."""

    boot: RealBoot
    at_ns: Mapping[int, int]


def key_of(text: str) -> str:
    """The words of a line: without the kernel's stamp, escapes, and what differs between boots (numbers);
    empty for a line that is too short to be told from others."""
    words = split_line(_ESCAPE.sub("", text[:_LONGEST]))[1]
    key = " ".join(_NUMBER.sub("#", words).split())
    return key if sum(c.isalpha() for c in key) >= _LEAST_LETTERS else ""


def matched(a: Sequence[str], b: Sequence[str]) -> list[tuple[int, int]]:
    """Index pairs of lines that are the same in both, given their keys, in order.

    Lines that occur more than once are told apart by their number, if both have as many of them.
    """
    places: dict[str, list[int]] = defaultdict(list)
    for place, key in enumerate(b):
        if key:
            places[key].append(place)
    count, seen = Counter(a), Counter[str]()
    pairs: list[tuple[int, int]] = []
    for place, key in enumerate(a):
        if key and len(places.get(key, ())) == count[key]:
            pairs.append((place, places[key][seen[key]]))
            seen[key] += 1
    return [pairs[n] for n in increasing([other for _, other in pairs])]


def heard(boots: Sequence[RealBoot], lines: Sequence[HeardLine]) -> list[Heard]:
    """Matches the lines of each boot with those of the emulated one."""
    emulated = [key_of(line.data.decode("utf-8", "backslashreplace")) for line in lines]
    found = []
    for boot in boots:
        pairs = matched(emulated, [key_of(text) for _, text in boot.lines])
        found.append(Heard(boot, {mine: boot.lines[theirs][0] for mine, theirs in pairs}))
    return found


def stamped(lines: Sequence[HeardLine], place: int, stamp: str) -> Parts:
    """The moment of a line that this kind of stamp refers to."""
    if stamp == END_OF_LINE:
        return lines[place].last
    if stamp == PREVIOUS_NEWLINE and place:
        return lines[place - 1].last
    return lines[place].first


def stretches(found: Sequence[Heard], lines: Sequence[HeardLine], before: Rates) -> list[Stretch]:
    """Consecutive stretches that are long enough to say something.

    Where lines come so close that their stamps say little, several form one stretch. The model determines the
    expected length of a stretch before anything is fitted, so noise has no influence on the choice.
    """
    stamp = found[0].boot.stamp
    error_ns = max(h.boot.stamp_error_ns for h in found)
    least_ns = max(_LEAST_NS, _LEAST_ERRORS * error_ns)
    often = [p for p in range(len(lines)) if 2 * sum(p in h.at_ns for h in found) > len(found)]
    result: list[Stretch] = []
    first = often[0] if often else 0
    for place in often[1:]:
        length = stamped(lines, place, stamp).since(stamped(lines, first, stamp)).at(before)
        lengths = [h.at_ns[place] - h.at_ns[first] for h in found if place in h.at_ns and first in h.at_ns]
        # What the model expects to take next to no time may take long on the board.
        if not lengths or (length < least_ns and median(lengths) < 2 * least_ns):
            continue
        # The error of the median: from the differences between boots, and from both stamps.
        noise_ns = math.hypot(deviation(lengths), error_ns * _UNIFORM * math.sqrt(2), _LEAST_NOISE_NS)
        result.append(Stretch(first, place, round(median(lengths)), noise_ns, len(lengths)))
        first = place
    return result


def deviation(values: Sequence[int]) -> float:
    """The standard error of the median of values, from their differences; 0 for a single one."""
    return deviation_of(values) * _MEDIAN_TO_MEAN / math.sqrt(len(values))


def parts_of(stretch: Stretch, lines: Sequence[HeardLine], stamp: str) -> Parts:
    """The amounts of a stretch."""
    return stamped(lines, stretch.last, stamp).since(stamped(lines, stretch.first, stamp))


def row_of(stretch: Stretch, parts: Parts, *, on_core: bool = False) -> Row:
    """A stretch as an equation; `on_core`: waits for memory have a rate of their own."""
    amounts = (
        float(parts.cpu_ns),
        float(parts.commands),
        float(parts.size_bytes),
        float(parts.line_ns),
        float(stretch.last - stretch.first),
        *((float(parts.memory_ns),) if on_core else ()),
    )
    took = float(stretch.took_ns)
    return Row(amounts, took - parts.steady_ns, took, stretch.noise_ns)
