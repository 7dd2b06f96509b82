# SPDX-License-Identifier: Apache-2.0
"""Runs of one product, board and branch as a series of figures: by run, by commit, or by day.

A point is a run, all runs of a commit (the label `commit`) or all runs of a day; its figure is the median
of theirs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from bootscope.core.errors import UserError, unknown
from bootscope.history.segments import Segment, exact_segments, shown_segments
from bootscope.runs.listing import Figure, Listed
from bootscope.statistics.describe import median

RUN, COMMIT, DAY = "run", "commit", "day"
BY = (RUN, COMMIT, DAY)


class Line(NamedTuple):
    """What the runs of a series have in common; empty for what is unknown."""

    product: str
    board: str
    branch: str

    @property
    def words(self) -> str:
        """In words; labels may contain any character."""
        named = [self.product, f"on {self.board}" if self.board else ""]
        return " ".join([*filter(None, named), *([f"({self.branch})"] if self.branch else [])])


@dataclass(frozen=True)
class Point:
    """A figure of a series, in ns: the median of its runs' medians, and the lowest and highest of their
    boots.

    `name` is the run's id, the commit or the day; `subject` is the first line of the commit's message, if a
    tree has it; `phases` are the medians of their lengths.
    """

    name: str
    at: datetime
    run_ids: tuple[str, ...]
    ns: int
    low_ns: int
    high_ns: int
    boots: int
    exact: bool
    phases: Mapping[str, int]
    subject: str = ""


@dataclass(frozen=True)
class Change:
    """Where the level changes: `point` is the first of the new one, `before` the last of the old one. `p`
    as in :class:`Segment`. `phases` are how much each phase changed, the largest first."""

    point: Point
    before: Point
    old_ns: int
    new_ns: int
    p: float | None
    phases: tuple[tuple[str, int], ...]

    @property
    def ns(self) -> int:
        """The change in ns: above 0 if slower."""
        return self.new_ns - self.old_ns


@dataclass(frozen=True)
class Series:
    """The history of `about`, oldest first. `others` are the lines of further runs that match the request;
    `left_out`: how many runs of this line have no point, by reason."""

    line: Line
    about: str
    by: str
    points: tuple[Point, ...]
    segments: tuple[Segment, ...]
    exact: bool
    others: tuple[Line, ...] = ()
    left_out: Mapping[str, int] | None = None

    @property
    def changes(self) -> tuple[Change, ...]:
        """The changes between its segments, oldest first."""
        pairs = zip(self.segments, self.segments[1:], strict=False)
        return tuple(self._change(old, new) for old, new in pairs)

    def _change(self, old: Segment, new: Segment) -> Change:
        before, after = (_phases(self.points[s.first : s.last + 1]) for s in (old, new))
        moved = {name: after.get(name, 0) - before.get(name, 0) for name in {**before, **after}}
        ranked = sorted(
            (item for item in moved.items() if item[1]), key=lambda item: (-abs(item[1]), item[0])
        )
        first, last = self.points[new.first], self.points[old.last]
        return Change(first, last, old.median_ns, new.median_ns, new.p, tuple(ranked))


def line_of(each: Listed) -> Line:
    """The series that a run belongs to."""
    labels = each.labels
    return Line(labels.get("product") or each.run.system, each.run.board, labels.get("branch", ""))


def series(
    found: Sequence[Listed], about: str | None, by: str | None, order: Mapping[str, str] | None = None
) -> Series:
    """The history of a milestone or a phase (`phase kernel`), by default of what the newest run was for.

    `found` are the requested runs, oldest first; the series is that of the newest one with a figure. `by` is
    one of BY; by default `commit` if most runs have that label. `order` are the commits of a tree, oldest
    first, with their subjects: then only those are points. Raises UserError if there are no such runs, or
    none of them has the milestone or phase.
    """
    told = [each for each in found if each.figure]
    if not told:
        raise UserError("no run with a figure fits", hint="bootscope list shows the runs and their labels")
    line = line_of(told[-1])
    runs = [each for each in told if line_of(each) == line]
    about = about or _usual(runs[-1])
    with_it = [each for each in runs if about in _known(each.figure)]
    if not with_it:
        names = sorted({name for each in runs for name in _known(each.figure)})
        raise unknown("milestone or phase of these runs", about, names)
    labelled = [each for each in with_it if each.labels.get(COMMIT)]
    by = by or (COMMIT if order or 2 * len(labelled) > len(with_it) else RUN)
    used = labelled if by == COMMIT else with_it
    groups, unknown_commits = _groups(used, by, order)
    points = tuple(_point(name, group, about, subject) for name, subject, group in groups)
    if not points:
        raise UserError(
            "none of these runs has a label commit", hint="record --label commit=$(git rev-parse HEAD)"
        )
    exact = all(point.exact for point in points)
    step_ns = max(each.figure.step_ns for each in used if each.figure)
    values = [point.ns for point in points]
    segments = exact_segments(values) if exact else shown_segments(values, step_ns)
    others = tuple(dict.fromkeys(other for each in reversed(told) if (other := line_of(each)) != line))
    left_out = {
        "without a label commit": len(with_it) - len(used),
        "of commits that are not in the tree": unknown_commits,
        f"without {about}": len(runs) - len(with_it),
    }
    kept = {why: count for why, count in left_out.items() if count}
    return Series(line, about, by, points, segments, exact, others, kept)


def _usual(newest: Listed) -> str:
    assert newest.figure
    return newest.figure.what


def _known(figure: Figure | None) -> dict[str, tuple[int, int, int]]:
    """Name of a milestone or phase -> median, lowest, highest."""
    if figure is None:
        return {}
    phases = {f"phase {name}": values for name, values in figure.phases.items()}
    return {**phases, **figure.milestones}


Group = tuple[str, str, list[Listed]]


def _groups(used: Iterable[Listed], by: str, order: Mapping[str, str] | None) -> tuple[list[Group], int]:
    """The runs of each point with its name and subject, in order; and how many runs belong to no point."""
    found: dict[str, list[Listed]] = {}
    for each in used:
        day = _moment(each).date().isoformat()
        name = {RUN: each.run.run_id, COMMIT: each.labels.get(COMMIT, ""), DAY: day}[by]
        found.setdefault(name, []).append(each)
    if by != COMMIT or order is None:
        return [(name, "", group) for name, group in found.items()], 0
    whole: dict[str, list[Listed]] = {}
    for name, group in found.items():
        # Commits may be abbreviated to any length.
        fitting = [commit for commit in order if commit.startswith(name)] if len(name) >= 4 else []
        if len(fitting) == 1:
            whole.setdefault(fitting[0], []).extend(group)
    placed = [(commit, subject, whole[commit]) for commit, subject in order.items() if commit in whole]
    lost = sum(map(len, found.values())) - sum(len(group) for _, _, group in placed)
    return placed, lost


def _point(name: str, group: Sequence[Listed], about: str, subject: str) -> Point:
    figures = [each.figure for each in group if each.figure]
    known = [_known(figure)[about] for figure in figures]
    return Point(
        name,
        _moment(group[0]),
        tuple(each.run.run_id for each in group),
        median([values[0] for values in known]),
        min(values[1] for values in known),
        max(values[2] for values in known),
        sum(figure.boots for figure in figures),
        all(figure.exact for figure in figures),
        {n: median([f.phases[n][0] for f in figures if n in f.phases]) for n in figures[-1].phases},
        subject,
    )


def _phases(points: Sequence[Point]) -> dict[str, int]:
    names = dict.fromkeys(name for point in points for name in point.phases)
    return {name: median([p.phases[name] for p in points if name in p.phases]) for name in names}


def _moment(each: Listed) -> datetime:
    """When a run was made; the earliest possible date if it cannot be read."""
    try:
        return datetime.fromisoformat(each.run.created).astimezone()
    except (ValueError, OverflowError):
        return datetime.fromtimestamp(0).astimezone()
