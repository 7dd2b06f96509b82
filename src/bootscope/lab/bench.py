# SPDX-License-Identifier: Apache-2.0
"""The bench: builds a system, boots it, and keeps the recording; what it has measured it knows."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field, replace

from bootscope.boards import emulated
from bootscope.boards.profile import Board, load_board
from bootscope.boards.watch import Limits, check_store_path, default_until
from bootscope.build.plan import build
from bootscope.build.progress import Progress
from bootscope.build.step import Runner
from bootscope.build.steps import kernel, plugin
from bootscope.capture.record import WATCH, RunInfo
from bootscope.capture.store import Store, StoredBoot, StoredRun
from bootscope.errors import UserError
from bootscope.recording import Observer, Order, record_run
from bootscope.system.load import LoadedSystem


@dataclass(frozen=True)
class Bench:
    """Where systems are built and booted. `timeout_s` is host time for a boot."""

    store: Store
    runner: Runner
    progress: Progress
    observer: Observer
    timeout_s: float = 900
    limits: Limits = field(default_factory=Limits)

    def with_limits(self, limits: Limits) -> Bench:
        """The same bench, where boots end in other ways."""
        return replace(self, limits=limits)

    def record(self, loaded: LoadedSystem, board: Board, until: str, boots: int = 1) -> StoredRun:
        """Builds the system and boots it.

        Raises UserError and ToolError as build and recording do; a boot that fails is a stored result.
        """
        return self._boot(self._order(loaded, board, until, boots))

    def measured(self, loaded: LoadedSystem, board: Board | None = None, until: str = "") -> StoredRun:
        """A recording of the system, made before or made now.

        A boot here is exact, so that the same images on the same board give the same recording; one that
        did not reach its milestone is kept too, as that would be seen again.
        """
        board = board or load_board(loaded.system.board)
        order = self._order(loaded, board, until or default_until(loaded.system), 1)
        return self._known(order) or self._boot(order)

    def device_tree(self, loaded: LoadedSystem) -> bytes:
        """The device tree that a system boots with. Raises ToolError when it cannot be built."""
        built = build(loaded, self.runner, self.progress)
        return (built.results["device-tree"] / kernel.DEVICE_TREE).read_bytes()

    def _order(self, loaded: LoadedSystem, board: Board, until: str, boots: int) -> Order:
        # What can fail at once is tried before what takes minutes.
        emulated.check(board)
        check_store_path(self.store.root)
        step = plugin.step()
        shared_object = self.runner.run(step, step.step_id({}), {}) / plugin.PLUGIN
        built = build(loaded, self.runner, self.progress)
        return Order(loaded.system, board, built, shared_object, until, boots, self.timeout_s, self.limits)

    def _boot(self, order: Order) -> StoredRun:
        needed = [order.plugin.parent.name, *(path.name for path in order.built.results.values())]
        with self.runner.cache.use(needed):
            run_id = record_run(self.store, order, self.observer)
        return self.store.load(run_id)

    def _known(self, order: Order) -> StoredRun | None:
        """A run of the same images on the same board, watched by the same plugin, that came to an end."""
        for summary in reversed(self.store.summaries()):
            if (summary.build_id, summary.until) != (order.built.build_id, order.until):
                continue
            # One that is damaged is as good as none.
            with contextlib.suppress(UserError):
                run = self.store.load(summary.run_id)
                if _same_bench(run.info, order) and any(_will_do(b, order.limits) for b in run.boots):
                    return run
        return None


_SWITCH = "switch"
"""A hook that only recordings with explanations have."""


def _will_do(boot: StoredBoot, limits: Limits) -> bool:
    """Whether a boot says what is asked for now, and would end in the same way the next time."""
    counted = limits.usage_after_ns is None or f"usage {limits.usage_after_ns} " in _watched(boot)
    return counted and _certain(boot, limits)


def _watched(boot: StoredBoot) -> str:
    path = boot.path / WATCH
    return path.read_text() if path.exists() else ""


def _certain(boot: StoredBoot, limits: Limits) -> bool:
    """Whether a boot would end in the same way the next time, since the virtual clock decides on it."""
    if boot.info.ended not in ("hang", "limit"):
        return boot.info.ended in ("milestone", "panic")
    # With other limits it might have got there.
    said = _watched(boot).splitlines()
    return {f"limit {limits.limit_ns}", f"quiet {limits.quiet_ns}"} <= set(said)


def _same_bench(run: RunInfo, order: Order) -> bool:
    tools = {
        "qemu-system-arm": emulated.check(order.board),
        "bootscope-plugin": order.plugin.parent.name[:16],
    }
    explained = _SWITCH in run.watch.hooks.values() or not order.limits.explain
    return run.board == order.board and explained and tools.items() <= run.tools.items()
