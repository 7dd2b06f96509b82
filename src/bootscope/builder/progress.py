# SPDX-License-Identifier: Apache-2.0
"""How long work reports its progress. The work knows only this class."""

from __future__ import annotations

from bootscope.builder.workload import Workload


class Progress:
    """An observer of steps; this one prints nothing. Calls for different steps never interleave."""

    def expect(self, workload: Workload) -> None:
        """All work to do from now on. Some of its steps may turn out to be done already."""

    def begin(self, step: str, what: str) -> None:
        """A step starts that will take a while."""

    def update(self, done: int, total: int | None, unit: str) -> None:
        """`done` of `total` units are done; `total` is None when unknown."""

    def note(self, message: str) -> None:
        """Something worth a line."""

    def finish(self, message: str) -> None:
        """The step has ended."""
