# SPDX-License-Identifier: Apache-2.0
"""A story beside our own results, in words: steps, published and own times, differences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass

from bootscope.analysis.compare import SPLIT
from bootscope.core.text import signed, span
from bootscope.published.agreement import FACTOR, TINY, TINY_OF, Verdict, judged
from bootscope.published.stories import START, Step, Story
from bootscope.published.story_results import StepResult, StoryResult

HEADINGS = ("step", "published", "saves", "here", "saves", "same sign", "where our saving comes from")
_KINDS = dict(zip(SPLIT, ("CPU", "card", "console", "idle", "ROM"), strict=True))
_LEAST = 0.1
"""A kind of time with less than this part of the largest change is omitted."""


@dataclass(frozen=True)
class ComparedStep:
    """A step beside its result; `before` is the result of the last step done before it."""

    key: str
    step: Step
    result: StepResult | None
    before: StepResult | None

    @property
    def boot_change_ns(self) -> int | None:
        """What the step changed in the boot here, in ns; below 0 for a saving; None if it was not done."""
        if not self.result or self.result.error or not self.before:
            return None
        return self.result.total_ns - self.before.total_ns

    @property
    def own_change_ns(self) -> int | None:
        """Its change here of what the published figure is of: the boot, or functions in it."""
        if not self.step.functions:
            return self.boot_change_ns
        if self.boot_change_ns is None or not self.result or not self.before:
            return None
        return functions_ns(self.step, self.result) - functions_ns(self.step, self.before)

    @property
    def same_sign(self) -> bool | None:
        """Whether it saves here as it did there; None if one of the two is unknown.

        A change below a hundredth of the boot counts as none; two of these agree.
        """
        theirs, ours = self.step.published_change_ns, self.own_change_ns
        if theirs is None or ours is None or self.before is None:
            return None
        base = self.step.published_ns
        tiny_theirs = base is not None and abs(theirs) < TINY * (base - theirs)
        tiny_ours = abs(ours) < TINY * self.before.total_ns
        return (tiny_theirs and tiny_ours) or theirs * ours > 0

    @property
    def change_agrees(self) -> bool | None:
        """Whether its change here agrees with the published one by the rule of the tables (agreement.py);
        None if one of the two is unknown."""
        compared = self._compared
        if compared is None:
            return None
        theirs, ours, least = compared
        return judged(theirs, ours, abs(theirs) < least, abs(ours) < least)[0] is Verdict.AGREES

    @property
    def changes(self) -> tuple[str, str]:
        """The published saving and our own in words, as they are compared: as parts of the boot before if
        that was published."""
        if self._compared is None:
            return "", ""
        theirs, ours, least = self._compared
        told = tuple(_saved(ns) for ns in (self.step.published_change_ns or 0, self.own_change_ns or 0))
        if least != TINY:
            return told[0], told[1]
        return f"{-100 * theirs:.1f} % ({told[0]})", f"{-100 * ours:.1f} % ({told[1]})"

    @property
    def _compared(self) -> tuple[float, float, float] | None:
        """The two changes, and below what one is nothing: as parts of the base if one was published,
        otherwise in ns."""
        theirs, ours, after = self.step.published_change_ns, self.own_change_ns, self.step.published_ns
        if theirs is None or ours is None or self.before is None:
            return None
        if after is None:
            return theirs, ours, TINY_OF["ns"]
        base = functions_ns(self.step, self.before) if self.step.functions else self.before.total_ns
        return theirs / (after - theirs), ours / base, TINY


def functions_ns(step: Step, result: StepResult) -> int:
    """The total time here of the functions that a step's published figure is of."""
    return sum(result.functions_ns[name] for name in step.functions)


@dataclass(frozen=True)
class Score:
    """A story as a whole. The ratios are how many times shorter the boot became; `published_ratio` counts
    only the steps that were done here too, and is None if no total was published."""

    compared: int
    same: int
    done: int
    steps: int
    own_ratio: float
    published_ratio: float | None

    @property
    def apart(self) -> float | None:
        """How far apart the two ratios are, as a factor of 1 or more."""
        if self.published_ratio is None:
            return None
        return max(self.own_ratio, self.published_ratio) / min(self.own_ratio, self.published_ratio)


def steps(s: Story, found: StoryResult) -> list[ComparedStep]:
    """The steps of a story with their results, in order."""
    told, before = [], found.steps.get(START)
    for key, step in s.steps.items():
        result = found.steps.get(key)
        told.append(ComparedStep(key, step, result, before))
        before = result if result and not result.error else before
    return told


def in_no_table(told: Iterable[tuple[Story, StoryResult]], in_tables: Set[str]) -> list[ComparedStep]:
    """The steps of stories that were done here and whose published figures no table has."""
    return [
        one
        for s, found in told
        for one in steps(s, found)
        if one.change_agrees is not None and not in_tables & {one.step.published, one.step.same_as}
    ]


def score(s: Story, found: StoryResult) -> Score:
    """The result of a story as a whole."""
    told, start = steps(s, found), found.steps[START]
    done = [one for one in told if one.boot_change_ns is not None]
    signs = [one.same_sign for one in done if one.same_sign is not None]
    last = start.total_ns + sum(one.boot_change_ns or 0 for one in done)
    ratio = None
    if s.first_ns:
        left = s.first_ns + sum(one.step.published_change_ns or 0 for one in done)
        ratio = s.first_ns / left if left > 0 else None
    return Score(len(signs), sum(signs), len(done), len(told), start.total_ns / last, ratio)


def summary(s: Story, found: StoryResult) -> str:
    """The result of a story, in one line."""
    whole = score(s, found)
    text = f"{whole.done} of {whole.steps} steps done here; {whole.same} of {whole.compared} signs agree"
    text += f"; {whole.own_ratio:.2f} times shorter here"
    if whole.published_ratio is not None and whole.apart is not None:
        text += f", {whole.published_ratio:.2f} times there by the same steps"
        text += f": {'within' if whole.apart <= FACTOR else 'not within'} a factor of {FACTOR}"
    return text


def cells(one: ComparedStep) -> tuple[str, ...]:
    """A step, in the order of HEADINGS."""
    step = one.step
    after, change = step.published_ns, step.published_change_ns
    published = (span(round(after)) if after is not None else "", "" if change is None else _saved(change))
    if step.left_out:
        return (step.title, *published, "", "", "", f"left out: {' '.join(step.left_out.split())}")
    if one.own_change_ns is None or not one.result:
        return (step.title, *published, "", "", "", one.result.error if one.result else "not run")
    sign = {True: "yes", False: "no", None: ""}[one.same_sign]
    return (step.title, *published, span(one.result.total_ns), _saved(one.own_change_ns), sign, split(one))


def first_cells(s: Story, found: StoryResult) -> tuple[str, ...]:
    """The first boot, in the order of HEADINGS."""
    theirs = span(round(s.first_ns)) if s.first_ns else ""
    return ("the first boot", theirs, "", span(found.steps[START].total_ns), "", "", "")


def split(one: ComparedStep) -> str:
    """Where our own change comes from, largest first: `CPU -1.012 s, card +52.0 ms`; if functions are
    compared, their time before and after, and the parts of the boot's change."""
    if not one.result or not one.before:
        return ""
    if one.step.functions:
        names = ", ".join(name.rpartition(":")[2] for name in one.step.functions)
        times = " to ".join(span(functions_ns(one.step, each)) for each in (one.before, one.result))
        return f"{names}: {times}; whole boot: {_kinds(one.before, one.result)}"
    return _kinds(one.before, one.result)


def _kinds(before: StepResult, after: StepResult) -> str:
    parts = {key: ns - before.split_ns.get(key, 0) for key, ns in after.split_ns.items()}
    most = max((abs(ns) for ns in parts.values()), default=0)
    shown = sorted(
        ((key, ns) for key, ns in parts.items() if ns and abs(ns) >= _LEAST * most),
        key=lambda item: -abs(item[1]),
    )
    return ", ".join(f"{_KINDS[key]} {signed(ns)}" for key, ns in shown)


def phases(s: Story, found: StoryResult) -> Iterator[tuple[str, ...]]:
    """The lengths of the phases after each completed step: a heading, then a row for each."""
    done = {"the first boot": found.steps[START]}
    done |= {one.step.title: one.result for one in steps(s, found) if one.result and not one.result.error}
    names = list(dict.fromkeys(name for result in done.values() for name in result.phases_ns))
    yield ("after", *names, "total")
    for title, result in done.items():
        times = (span(result.phases_ns[name]) if name in result.phases_ns else "" for name in names)
        yield (title, *times, span(result.total_ns))


def _saved(change_ns: float) -> str:
    return span(round(-change_ns)) if change_ns <= 0 else f"-{span(round(change_ns))}"
