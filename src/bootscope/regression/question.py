# SPDX-License-Identifier: Apache-2.0
"""What a bisection looks for: which figure of a boot, how much counts, and whether the ends differ so
much."""

from __future__ import annotations

from dataclasses import dataclass

from bootscope.analysis.samples import MILESTONE, PHASE, Quantity
from bootscope.core.errors import UserError
from bootscope.core.text import seconds, span
from bootscope.regression.find import GONE
from bootscope.system.load import LoadedSystem


@dataclass(frozen=True)
class Question:
    """A boot of `loaded` to `until`; measured is the length of `phase`, or the time of `until` if that is
    empty. `by_ns`: how much slower counts; None: any amount. `every`: find all that cost or save at least
    that much.
    """

    loaded: LoadedSystem
    until: str
    phase: str = ""
    by_ns: int | None = None
    every: bool = False

    @property
    def quantity(self) -> Quantity:
        """The quantity that is measured."""
        return Quantity(PHASE, self.phase) if self.phase else Quantity(MILESTONE, self.until)


@dataclass(frozen=True)
class End:
    """One of the two inputs that are compared first: `option` as the user gave it, its `name`, its figure in
    ns (None: not built, GONE: its boot breaks), and `why` it has none. `other`: what to give instead, for the
    hint."""

    option: str
    name: str
    ns: int | None
    why: str
    other: str = "one"


def check_ends(question: Question, good: End, bad: End) -> None:
    """Raises UserError if good and bad do not differ as asked, or one of them does not build."""
    for end in (good, bad):
        if end.ns is None:
            raise UserError(
                f"{end.option} {end.name} does not build: {end.why}", hint=f"{end.other} that builds"
            )
    if good.ns == GONE:
        raise UserError(
            f"{good.option} {good.name} does not boot: {good.why}", hint=f"{good.other} that does"
        )
    if bad.ns == GONE:
        if question.every:
            raise UserError(
                f"{bad.option} {bad.name} does not boot, and --all compares times", hint="without --all"
            )
        return
    _check_apart(question, good, bad)


def _check_apart(question: Question, good: End, bad: End) -> None:
    assert good.ns is not None and bad.ns is not None
    least = question.by_ns if question.by_ns is not None else 1
    apart = abs(bad.ns - good.ns) if question.every else bad.ns - good.ns
    if apart < least:
        words = f"{bad.name} has {seconds(bad.ns, 6)} s, {good.name} {seconds(good.ns, 6)} s"
        raise UserError(f"not slower by {span(least)}: {words}", hint=f"--by MS, --phase P, {_others(bad)}")


def _others(end: End) -> str:
    return "other commits" if end.other == "one" else "another pair"
