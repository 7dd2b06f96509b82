# SPDX-License-Identifier: Apache-2.0
"""From moments seen on two clocks to the line that leads from one clock to the other.

A console line is stamped when it arrives, which is never before it was written and often later: it waits
in a queue. When the kernel's console starts late, most lines may come in one burst. A regression through
the middle would be wrong by the mean delay; so where stamps can only be late the line is laid under the
points. Slopes are taken from the edges of their lower convex hull (as is done for the skew of network
clocks from delays in one direction), and that slope wins on which moments lie over the longest time:
those of a burst lie on a line too, but on a short one. A slope of one is given up only for a better one.

All arithmetic is in integers: nanoseconds, and drift in 1e-12.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from bootscope.timeline.trace import Span

TRILLION = 10**12
LATE, EITHER, EARLY = 1, 0, -1
"""What the second clock's stamps of a moment may be, against the truth."""

Pair = tuple[int, int]

_DRIFT_MIN_PAIRS = 12
_DRIFT_MIN_SPAN_NS = 500_000_000
# How near to the line a moment must be to count: a busy host sees lines late by more than a quiet one.
_CLOSE_NS = (2_000_000, 5_000_000, 15_000_000, 50_000_000)
_FEW = 5
_CRYSTAL_PPT = 2_000_000_000
_MAX_PAIRS = 5_000
_MAX_SLOPES = 150
_MAX_TRIES = 24
_BINS = 64
_REFINEMENTS = 2


@dataclass(frozen=True, slots=True)
class Map:
    """Leads from one clock to another: `from_ns` is `to_ns` there, and a second lasts
    1 + drift_ppt / 1e12 seconds there."""

    from_ns: int = 0
    to_ns: int = 0
    drift_ppt: int = 0

    def at(self, ns: int) -> int:
        """A time of the first clock on the second."""
        run_ns = ns - self.from_ns
        if not self.drift_ppt:
            return self.to_ns + run_ns
        return self.to_ns + run_ns + run_ns * self.drift_ppt // TRILLION

    def all(self, times: Sequence[int]) -> Sequence[int]:
        """:meth:`at` for each of many times."""
        if self.drift_ppt:
            return [self.at(ns) for ns in times]
        shift_ns = self.to_ns - self.from_ns
        return [ns + shift_ns for ns in times] if shift_ns else times

    def span(self, span: Span) -> Span:
        """A span of the first clock on the second."""
        return Span(self.at(span.start_ns), self.at(span.end_ns), span.name, span.detail)

    def inverse(self) -> Map:
        """From the second clock to the first."""
        drift = TRILLION * TRILLION // (TRILLION + self.drift_ppt) - TRILLION
        return Map(self.to_ns, self.from_ns, drift)

    def then(self, after: Map) -> Map:
        """This, and `after` it."""
        drift = self.drift_ppt + after.drift_ppt + self.drift_ppt * after.drift_ppt // TRILLION
        return Map(self.from_ns, after.at(self.to_ns), drift)


@dataclass(frozen=True, slots=True)
class Fit:
    """A map with what it rests on: `used` of `matched` moments lie within `error_ns` or little more of
    it; the others came late (or early). `credible`: these are enough."""

    map: Map
    error_ns: int
    used: int
    matched: int
    credible: bool


def fit(pairs: Sequence[Pair], side: int, resolution_ns: int) -> Fit:
    """The map from the first clock to the second, of pairs in order of the first.

    `side` says whether the second's stamps may be LATE, EARLY or EITHER. `error_ns` holds for 95 percent
    of the moments used and includes `resolution_ns`, that of both stamps.
    """
    thinned = pairs[:: len(pairs) // _MAX_PAIRS + 1]
    x0, y0 = thinned[0]
    points = [(x - x0, y - y0) if side != EARLY else (x0 - x, y0 - y) for x, y in thinned]
    if side == EARLY:
        points.reverse()
    for close_ns in _CLOSE_NS:
        best = _fitted(points, side, max(close_ns, 2 * resolution_ns))
        credible = _credible(best, len(points))
        if credible:
            break
    offset_ns = best.offset_ns if side != EARLY else -best.offset_ns
    error_ns = best.error_ns + resolution_ns
    return Fit(Map(x0, y0 + offset_ns, best.drift_ppt), error_ns, len(best.used), len(thinned), credible)


def _credible(found: _Try, matched: int) -> bool:
    """Whether the moments at a line are enough: a tenth of all, or a few over an eighth of the time.

    Two crystals never differ by much. An emulator's clock may, but a console that never catches up looks
    the same; there a third of all must lie at the line.
    """
    used = len(found.used)
    if abs(found.drift_ppt) > _CRYSTAL_PPT:
        return used >= _FEW and used * 3 >= matched
    return used >= _FEW and (used * 10 >= matched or found.bins * 8 >= _BINS)


def _fitted(points: Sequence[Pair], side: int, close_ns: int) -> _Try:
    best = _best(points, side, close_ns)
    for _ in range(_REFINEMENTS):
        best = _refined(points, best, side, close_ns)
    return best


@dataclass(frozen=True, slots=True)
class _Try:
    """A line: the points that lie at it, how far 95 percent and how far half of them are, and how
    much time they cover."""

    offset_ns: int
    drift_ppt: int
    error_ns: int
    half_ns: int
    used: list[Pair]
    bins: int


def _best(points: Sequence[Pair], side: int, close_ns: int) -> _Try:
    """The line over the longest time; that without drift unless another is clearly better."""
    best = _with_slope(points, 0, side, close_ns)
    for drift in _drifts(points, side):
        tried = _with_slope(points, drift, side, close_ns)
        if tried.bins > best.bins + best.bins // 4 + 1:
            best = tried
    return best


def _refined(points: Sequence[Pair], best: _Try, side: int, close_ns: int) -> _Try:
    """The same line with the small drift that its own points show, if they show one."""
    own = best.used
    if len(own) < _DRIFT_MIN_PAIRS or own[-1][0] - own[0][0] < _DRIFT_MIN_SPAN_NS:
        return best
    drift = _median_slope(own) if side == EITHER else _hull_slope(own)
    tried = _with_slope(points, drift, side, close_ns)
    # Any noise has some slope; a drift must move the ends by more than the noise.
    moved_ns = abs(drift - best.drift_ppt) * (own[-1][0] - own[0][0]) // TRILLION
    return tried if moved_ns > 2 * tried.half_ns and tried.bins >= best.bins else best


def _with_slope(points: Sequence[Pair], drift_ppt: int, side: int, close_ns: int) -> _Try:
    """The best offset for a drift, and how well the two fit."""
    rest = [y - x - x * drift_ppt // TRILLION for x, y in points]
    ordered = sorted(rest)
    offset_ns = ordered[len(rest) // 2] if side == EITHER else least(ordered, close_ns)
    if side == EITHER:
        close_ns = max(close_ns, 3 * sorted(abs(r - offset_ns) for r in rest)[len(rest) // 2])
    used = [point for point, r in zip(points, rest, strict=True) if abs(r - offset_ns) <= close_ns]
    off = sorted(abs(r - offset_ns) for r in rest if abs(r - offset_ns) <= close_ns)
    first, last = min(y for _, y in points), max(y for _, y in points)
    bins = {(y - first) * _BINS // (last - first + 1) for _, y in used}
    return _Try(offset_ns, drift_ppt, off[(len(off) * 95 - 1) // 100], off[len(off) // 2], used, len(bins))


def least(ordered: Sequence[int], close_ns: int) -> int:
    """The smallest of sorted figures that is not alone: a single early one is a mistake."""
    company = max(1, len(ordered) // 50)
    for index in range(len(ordered) - company):
        if ordered[index + company] - ordered[index] <= close_ns:
            return ordered[index]
    return ordered[len(ordered) // 2]


def _drifts(points: Sequence[Pair], side: int) -> list[int]:
    """Drifts worth trying, in 1e-12; none for too few points or too short a time."""
    if len(points) < _DRIFT_MIN_PAIRS or points[-1][0] - points[0][0] < _DRIFT_MIN_SPAN_NS:
        return []
    if side == EITHER:
        return [_median_slope(points)]
    hull = _lower_hull(points)
    # A second look without the outermost points: one of them may be a mistake.
    vertices = set(hull)
    inner = _lower_hull([point for point in points if point not in vertices])
    edges = [*pairwise(hull), *pairwise(inner)]
    edges.sort(key=lambda edge: edge[0][1] - edge[1][1])
    return [_drift(a, b) for a, b in edges[:_MAX_TRIES]]


def _drift(a: Pair, b: Pair) -> int:
    run_x, run_y = b[0] - a[0], b[1] - a[1]
    if run_x <= 0:
        return 0
    # An emulator's clock may differ from the host's by large factors; these bounds keep the sums sane.
    return max(-TRILLION * 99 // 100, min(TRILLION * 100, (run_y - run_x) * TRILLION // run_x))


def _median_slope(points: Sequence[Pair]) -> int:
    some = points[:: len(points) // _MAX_SLOPES + 1]
    # Points that lie near each other tell of their noise only.
    far_ns = (some[-1][0] - some[0][0]) // 4
    slopes = sorted(_drift(a, b) for i, a in enumerate(some) for b in some[i + 1 :] if b[0] - a[0] > far_ns)
    return slopes[len(slopes) // 2] if slopes else 0


def _lower_hull(points: Sequence[Pair]) -> list[Pair]:
    """The points, sorted by x, that no line between two others passes below."""
    hull: list[Pair] = []
    for x, y in points:
        while len(hull) > 1:
            (ax, ay), (bx, by) = hull[-2:]
            if (bx - ax) * (y - ay) - (by - ay) * (x - ax) > 0:
                break
            hull.pop()
        hull.append((x, y))
    return hull


def _hull_slope(points: Sequence[Pair]) -> int:
    """The drift of the hull's edge over the mean of all x: the line nearest to all points from below."""
    mean = sum(x for x, _ in points) // len(points)
    for a, b in pairwise(_lower_hull(points)):
        if a[0] <= mean <= b[0] and b[0] > a[0]:
            return _drift(a, b)
    return 0
