# SPDX-License-Identifier: Apache-2.0
"""Who builds and boots: a search or a trial decides what to do, an executor does it.

Here it is this process; `cluster` has an executor whose work is done by the workers of a cluster.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from bootscope.builder.plan import Built, build
from bootscope.builder.progress import Progress
from bootscope.builder.step import Runner
from bootscope.builder.steps import plugin
from bootscope.capture.store import Store
from bootscope.emulator.recording import Observer, Order, record_run
from bootscope.system.load import LoadedSystem


@dataclass(frozen=True)
class Ready:
    """A built system, and the plugin that watches it. Their folders are in the cache of the computer that
    built them; the names of the folders are content ids."""

    built: Built
    plugin: Path


class Executor(Protocol):
    """Builds systems and records their boots. Several threads may call it at once."""

    @property
    def hands(self) -> int:
        """How many systems it works on at a time; 0: one build at a time, and any number of boots."""

    def build(self, loaded: LoadedSystem, runner: Runner, progress: Progress) -> Ready:
        """Builds a system; `runner` has the cache of this computer. Raises as a build does."""

    def record(self, store: Store, order: Order, runner: Runner, observer: Observer) -> str:
        """Boots what was built by this executor; returns the id of the run in the store of this computer.

        Raises as a recording does.
        """

    def result(self, built: Built, name: str, runner: Runner) -> Path:
        """The folder, on this computer, that holds the result of build step `name`."""


class Here:
    """Builds and boots in this process."""

    hands = 0

    def build(self, loaded: LoadedSystem, runner: Runner, progress: Progress) -> Ready:
        step = plugin.step()
        shared_object = runner.run(step, step.step_id({}), {}) / plugin.PLUGIN
        return Ready(build(loaded, runner, progress), shared_object)

    def record(self, store: Store, order: Order, runner: Runner, observer: Observer) -> str:
        needed = [order.plugin.parent.name, *(path.name for path in order.built.results.values())]
        with runner.cache.use(needed):
            return record_run(store, order, observer)

    def result(self, built: Built, name: str, runner: Runner) -> Path:
        return built.results[name]
