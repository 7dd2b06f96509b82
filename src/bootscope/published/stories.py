# SPDX-License-Identifier: Apache-2.0
"""Stories: how a published system was taken from its first boot to its last, step by step."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from bootscope.core.errors import UserError, printable, unknown
from bootscope.core.settings import Setting, load, names_in
from bootscope.published.figures import amount, is_change, published, unit
from bootscope.published.shared_parts import problem_of_parts
from bootscope.published.tables import OtherBoard
from bootscope.system.changes import Change
from bootscope.techniques.model import Figure, figures

SCHEMA = 1
STORIES = Path(__file__).parent / "stories"
START = "start"
"""The name of the system before its first step, in the results of a story."""


class Step(Setting, frozen=True):
    """A step: changes to the system that results from the previous step.

    `techniques` (`ID`, `ID=RECIPE`) first, then `change`; `core_changes` are written as for `what-if`, and
    stay. `published`: the figure of the boot time after it, or of its saving; `same_as`: another published
    figure of the same measurement. `left_out`: why it cannot be
    done here; then nothing is built, and its published saving is not counted. `why`: why our saving is
    different. `functions`: functions whose time the published figure is, as for `record --probe`; empty: the
    whole boot.
    """

    title: str
    techniques: tuple[str, ...] = ()
    change: Change = Change()
    core_changes: tuple[str, ...] = ()
    published: str = ""
    same_as: str = ""
    left_out: str = ""
    why: str = ""
    functions: tuple[str, ...] = ()

    @property
    def figure(self) -> Figure | None:
        """The published figure, if there is one."""
        return figures()[self.published] if self.published else None

    @property
    def published_change_ns(self) -> float | None:
        """The published change by the step, negative for a saving; None where it was not published."""
        told = published(self.figure, None) if self.figure else None
        return told.change if told else None

    @property
    def published_ns(self) -> float | None:
        """The published boot time after the step; None where only the saving was published."""
        figure = self.figure
        return None if figure is None or is_change(figure) else amount(figure.value, figure.unit)


class Story(Setting, frozen=True):
    """A story. `base` is the change that makes the published first system out of `system`, after `techniques`
    that it had from the start and `parts`, names of changes in parts/ that it shares with tables; `first` the
    figure of its boot time, empty where it was not published. `until`: the last milestone to boot
    to; empty: the system's last. `differs`: what is different from the published system; `why`: the effect of
    that on the times.
    """

    schema: int
    id: str
    title: str
    differs: str
    why: str
    steps: dict[str, Step]
    system: str = "stock"
    first: str = ""
    techniques: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    base: Change = Change()
    board: OtherBoard | None = None
    until: str = ""

    @property
    def first_ns(self) -> float | None:
        """The published time of the first boot."""
        figure = figures()[self.first] if self.first else None
        return amount(figure.value, figure.unit) if figure else None

    @property
    def functions(self) -> tuple[str, ...]:
        """The functions whose times are published figures, to be watched in every boot."""
        return tuple(dict.fromkeys(name for step in self.steps.values() for name in step.functions))

    def figure_ids(self) -> list[str]:
        """The published figures, in order."""
        return [name for name in (self.first, *(step.published for step in self.steps.values())) if name]


def story_ids() -> list[str]:
    """The names of all stories."""
    return names_in(STORIES)


def story(name: str) -> Story:
    """The story of that name. Raises UserError when there is none, or its file contradicts itself."""
    if name not in story_ids():
        raise unknown("story", name, story_ids())
    path = STORIES / f"{name}.toml"
    found = load(path, Story)
    for problem in _problems(found, name):
        raise UserError(printable(f"{path}: {problem}"))
    return found


def _problems(s: Story, name: str) -> Iterator[str]:
    if (s.schema, s.id) != (SCHEMA, name):
        yield f"expected schema {SCHEMA} and id '{name}'"
    if s.first and s.first not in figures():
        yield f"first: expected a figure that there is, got '{s.first}'"
    if problem := problem_of_parts(s):
        yield problem
    if not s.steps:
        yield "steps: expected one or more"
    for key, step in s.steps.items():
        yield from _problems_of_step(key, step)


def _problems_of_step(key: str, step: Step) -> Iterator[str]:
    if key == START or not re.fullmatch(r"[a-z0-9][a-z0-9.-]*", key):
        yield f"steps.{key}: expected a plain name, and not '{START}'"
    if step.published and step.published not in figures():
        yield f"steps.{key}.published: expected a figure that there is, got '{step.published}'"
    if step.same_as and step.same_as not in figures():
        yield f"steps.{key}.same_as: expected a figure that there is, got '{step.same_as}'"
    figure = step.figure if not step.published or step.published in figures() else None
    if figure and (unit(figure) != "ns" or step.published_change_ns is None):
        yield f"steps.{key}.published: {step.published} does not say what time was saved"
    if step.functions and not step.published:
        yield f"steps.{key}.functions: expected a published figure, which is the time of them"
    does = bool(step.techniques or step.change.claims() or step.core_changes)
    if does == bool(step.left_out):
        yield f"steps.{key}: expected either something that is done, or why it is left out"
