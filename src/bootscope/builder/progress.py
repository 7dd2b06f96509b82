# SPDX-License-Identifier: Apache-2.0
"""How long work tells that it is going on. The work knows only this protocol."""

from __future__ import annotations

from typing import Protocol

from bootscope.builder.workload import Workload


class Progress(Protocol):
    """An observer of steps. Calls for different steps never interleave."""

    def expect(self, workload: Workload) -> None:
        """All that is to do from now on. Some of its steps may turn out to be done already."""

    def begin(self, step: str, what: str) -> None:
        """A step begins that will take a while."""

    def update(self, done: int, total: int | None, unit: str) -> None:
        """So much is done; `total` is None when nobody knows."""

    def note(self, message: str) -> None:
        """Something worth a line."""

    def finish(self, message: str) -> None:
        """The step has ended."""


class Silent:
    """For tests and --json."""

    def expect(self, workload: Workload) -> None: ...

    def begin(self, step: str, what: str) -> None: ...

    def update(self, done: int, total: int | None, unit: str) -> None: ...

    def note(self, message: str) -> None: ...

    def finish(self, message: str) -> None: ...
