# SPDX-License-Identifier: Apache-2.0
"""What a build has to do and how far it is, in words no more exact than the figures are."""

from __future__ import annotations

from bootscope.builder.pace import Standing
from bootscope.builder.workload import Basis, Bound, Workload

_MINUTE_NS = 60 * 10**9
_BOUNDS = {Bound.ABOUT: "about", Bound.AT_MOST: "at most", Bound.AT_LEAST: "at least"}


def estimated(time_ns: int, bound: Bound = Bound.ABOUT) -> str:
    """A time that is only estimated: `about 14 min`, `at most 1 h 10 min`, `less than a minute`.

    Empty if there is no estimate.
    """
    if bound == Bound.UNKNOWN:
        return ""
    if time_ns < _MINUTE_NS:
        return "" if bound == Bound.AT_LEAST else "less than a minute"
    # Rounded in the direction that keeps the bound true.
    extra_ns = {Bound.AT_MOST: _MINUTE_NS - 1, Bound.AT_LEAST: 0}.get(bound, _MINUTE_NS // 2)
    minutes = (time_ns + extra_ns) // _MINUTE_NS
    if minutes < 60:
        return f"{_BOUNDS[bound]} {minutes} min"
    # An estimate of hours is not accurate to the minute.
    extra = {Bound.AT_MOST: 9, Bound.AT_LEAST: 0}.get(bound, 5)
    hours, rest = divmod(minutes + extra, 60)
    tens = rest // 10 * 10
    return f"{_BOUNDS[bound]} {hours} h {tens} min" if tens else f"{_BOUNDS[bound]} {hours} h"


def passed(time_ns: int) -> str:
    """An elapsed time: `9:05`, `1:02:05`."""
    minutes, seconds = divmod(time_ns // 10**9, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"


def announced(workload: Workload) -> str:
    """What will be built and about how long it takes, in a sentence; empty if it takes no noticeable time."""
    if not workload.programs:
        return f"will fetch {listed(workload.fetched)}" if workload.fetched else ""
    objects = f"about {workload.units:,} objects" if workload.units else ""
    amounts = ", ".join(filter(None, [objects, estimated(workload.time_ns, workload.bound)]))
    cores = f"{workload.cores} {'core' if workload.cores == 1 else 'cores'}"
    first = f" (first fetches {listed(workload.fetched)})" if workload.fetched else ""
    said = f"will build {listed(workload.programs)}{first}{': ' if amounts else ''}{amounts} on {cores}"
    return "; ".join([said, *_reasons(workload)])


def _reasons(workload: Workload) -> list[str]:
    """The sources of the figures, if not this computer alone."""
    elsewhere, unknown = workload.with_basis(Basis.ELSEWHERE), workload.with_basis(Basis.UNKNOWN)
    found = []
    if elsewhere:
        first = f"{listed(elsewhere)} for the first time"
        what = "a first build here" if elsewhere == workload.programs else first
        found.append(f"{what}: the figures are from the reference system on another computer")
    if unknown:
        found.append(f"the time for {listed(unknown)} is unknown")
    if workload.continued:
        verb = "continues" if len(workload.continued) == 1 else "continue"
        found.append(f"{listed(workload.continued)} {verb} an earlier build and may take much less")
    return found


def listed(names: tuple[str, ...]) -> str:
    """`boot loader, BusyBox and the kernel`."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def standing_parts(standing: Standing) -> list[tuple[int, str]]:
    """The progress of a build, in parts from left to right, each with a priority (0: most important).

    The first is the step, the others are of the whole.
    """
    left = estimated(standing.left_ns, standing.bound)
    units = f"{standing.units:,} of about {standing.all_units:,} objects" if standing.all_units else ""
    parts = [
        (3, f"step {standing.number} of {standing.steps}"),
        (2, units),
        (1, f"{standing.percent} %"),
        (4, passed(standing.elapsed_ns)),
        (0, f"{left} left" if left else ""),
    ]
    return [(rank, text) for rank, text in parts if text]


def fitted(parts: list[tuple[int, str]], width: int) -> str:
    """Parts joined by commas in at most `width` characters; the least important are dropped first."""
    kept = list(parts)
    while len(kept) > 1 and len(", ".join(text for _, text in kept)) > width:
        kept.remove(max(kept))
    return ", ".join(text for _, text in kept)[:width]
