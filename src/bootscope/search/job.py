# SPDX-License-Identifier: Apache-2.0
"""A system that a search wants built and booted, and how its work is watched and stopped."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bootscope.builder.progress import Progress
from bootscope.builder.workload import Workload
from bootscope.capture.record import BootInfo
from bootscope.loaders import registry as loaders
from bootscope.search.emulator import Ordered
from bootscope.search.outcome import Outcome
from bootscope.system.load import LoadedSystem

WAITING, BUILDING, BUILT, BOOTING, DONE = range(5)


@dataclass(frozen=True)
class Candidate:
    """A system to build and boot; `what` are the techniques in it, `title` is what the user reads."""

    what: tuple[str, ...]
    loaded: LoadedSystem
    title: str


class Stopped(KeyboardInterrupt):
    """Work that is no longer wanted; builds and recordings clean up as for Ctrl-C."""


@dataclass
class Job:
    candidate: Candidate
    key: str
    state: int = WAITING
    host_s: float = 0.0
    stop: bool = False
    yields: bool = False
    """To be stopped and restarted later: what is compiled by then is in the compiler's cache."""
    order: Ordered | None = None
    outcome: Outcome | None = None
    error: BaseException | None = None


@dataclass(frozen=True)
class Watcher(Progress):
    """Receives the progress of a build or boot; ends it when its job is to stop."""

    job: Job
    tell: Callable[[str], None]

    def _look(self) -> None:
        if self.job.stop or self.job.yields:
            raise Stopped

    def expect(self, workload: Workload) -> None:
        self._look()

    def begin(self, step: str, what: str) -> None:
        self._look()
        # The other steps are too short to be worth a message.
        if step in ("kernel", loaders.BUILT.tree, "busybox") or step.startswith("fetch"):
            self.tell(f"  {self.job.candidate.title}: {what} ...")

    def update(self, done: int, total: int | None, unit: str) -> None:
        self._look()

    def note(self, message: str) -> None:
        self.tell(f"  {self.job.candidate.title}: {message}")

    def boot_begins(self, number: int, total: int) -> None:
        self.tell(f"  {self.job.candidate.title}: booting ...")

    def line(self, time_ns: int, phase: str, data: bytes) -> None: ...

    def tick(self, time_ns: int, phase: str) -> None:
        self._look()

    def boot_ended(self, info: BootInfo) -> None: ...

    def counting(self, core: str) -> None: ...
