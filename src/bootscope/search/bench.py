# SPDX-License-Identifier: Apache-2.0
"""The bench: builds, boots and records systems, and does not measure again what it has measured."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from bootscope.analysis.timing import find_timing
from bootscope.analysis.views import view
from bootscope.boards.changed import core_of
from bootscope.boards.profile import Board, load_board
from bootscope.builder.cache import Cache
from bootscope.builder.ids import id_of
from bootscope.builder.outlook import UNKNOWN
from bootscope.builder.plan import configured, outlook, source_tree
from bootscope.builder.progress import Progress
from bootscope.builder.step import Runner
from bootscope.builder.steps import payload, plugin
from bootscope.capture import counted
from bootscope.capture.record import SYSCALL_FILE, WATCH, BootEnd
from bootscope.capture.store import Store
from bootscope.capture.stored import StoredBoot, StoredRun
from bootscope.core.errors import UserError
from bootscope.cores.profile import Core
from bootscope.emulator import function_probes, qemu
from bootscope.emulator.executor import Executor, Here
from bootscope.emulator.plugin_config import Limits, check_store_path, default_until
from bootscope.emulator.recording import Observer, Order, count_boot, stand
from bootscope.emulator.standstill import Standing
from bootscope.emulator.subject import flat
from bootscope.system.load import LoadedSystem
from bootscope.system.model import System

PATIENCE_S = 7200
"""Host time for one boot. Virtual time decides what hangs: a busy computer must not."""


@dataclass(frozen=True)
class Bench:
    """Where systems are built and booted, by an `executor`. `timeout_s` is host time for a boot."""

    store: Store
    runner: Runner
    progress: Progress
    observer: Observer
    timeout_s: float = PATIENCE_S
    limits: Limits = field(default_factory=Limits)
    executor: Executor = field(default_factory=Here)

    @property
    def hands(self) -> int:
        """How many systems may be worked on at once; 0: one build, and as many boots as are asked for."""
        return self.executor.hands

    @property
    def cache(self) -> Cache:
        """Where the sources are."""
        return self.runner.cache

    def with_limits(self, limits: Limits) -> Bench:
        """The same bench with other limits for its boots."""
        return replace(self, limits=limits)

    def record(self, loaded: LoadedSystem, board: Board, until: str, boots: int = 1) -> StoredRun:
        """Builds the system and boots it.

        Raises UserError and ToolError as build and recording do; a boot that fails is a stored result.
        """
        return self.boot(self._order(loaded, board, until, boots))

    def measured(self, loaded: LoadedSystem, board: Board | None = None, until: str = "") -> StoredRun:
        """A recording of the system, made before or made now.

        Boots here are exact: the same images on the same board give the same recording. One that did not
        reach its milestone is kept too, since it would fail in the same way again.
        """
        board = board or load_board(loaded.system.board)
        order = self._order(loaded, board, until or default_until(loaded.system), 1)
        return self.known(order) or self.boot(order)

    def key(self, loaded: LoadedSystem, until: str = "") -> str:
        """A name for the boot of this system on its board, found without building anything. The same images,
        watched in the same way for the same milestones, have the same name. Empty if a source has not been
        fetched yet."""
        build_id = self._build_id(loaded)
        if build_id == UNKNOWN:
            return ""
        board = load_board(loaded.system.board)
        step = plugin.step()
        watched_by = (step.step_id({}), qemu.check(board), self.limits.explain)
        system = loaded.system
        # They are not part of the build, but an outcome depends on them, also on which are required.
        looked_for = (system.milestones, system.application.process)
        return id_of([build_id, board, until or default_until(system), watched_by, looked_for])

    def order(self, loaded: LoadedSystem, board: Board | None = None, until: str = "") -> Order:
        """Builds the system and returns the order to record one boot of it.

        Raises UserError and ToolError as a build does.
        """
        board = board or load_board(loaded.system.board)
        return self._order(loaded, board, until or default_until(loaded.system), 1)

    def watched_by(self, progress: Progress, observer: Observer) -> Bench:
        """The same bench with other receivers for its progress."""
        return replace(
            self, progress=progress, observer=observer, runner=replace(self.runner, progress=progress)
        )

    def device_tree(self, loaded: LoadedSystem) -> bytes:
        """The device tree that a system boots with. Raises ToolError when it cannot be built."""
        built = self.executor.build(loaded, self.runner, self.progress).built
        return (self.executor.result(built, "device-tree", self.runner) / payload.DEVICE_TREE).read_bytes()

    def source(self, loaded: LoadedSystem, tree: str) -> Path:
        """The folder of a tree's sources."""
        return source_tree(loaded, tree, self.runner, self.progress).resolve()

    def configured(self, loaded: LoadedSystem, tree: str) -> dict[str, str]:
        """A tree's configuration after its Kconfig has resolved it. Raises ToolError when it cannot."""
        return configured(loaded, tree, self.runner, self.progress)

    def _order(self, loaded: LoadedSystem, board: Board, until: str, boots: int) -> Order:
        # What can fail at once comes before what takes minutes.
        self.store.check_writable()
        qemu.check(board)
        check_store_path(self.store.root)
        ready = self.executor.build(loaded, self.runner, self.progress)
        how = (until, boots, self.timeout_s, self.limits)
        return Order(loaded.system, board, ready.built, ready.plugin, *how)

    def limited(self, limit_ns: int) -> Bench:
        """The same bench, which gives up a boot after so much virtual time."""
        return replace(self, limits=replace(self.limits, limit_ns=limit_ns))

    def boot(self, order: Order) -> StoredRun:
        """Boots what was built; a failed boot is a result too. Raises ToolError as a recording does."""
        return self.store.load(self.executor.record(self.store, order, self.runner, self.observer))

    def count(self, run: StoredRun, boot: StoredBoot, loaded: LoadedSystem, core: Core) -> None:
        """Boots a stored boot again to count what the caches of a core do, and keeps the counts beside it.

        Raises UserError where the system differs from the recorded one or the boot did not complete;
        ToolError as a build and a counting pass do.
        """
        if not boot.info.complete:
            raise UserError(f"boot {boot.info.boot_id} did not reach its milestone: {boot.info.message}")
        instead = f"bootscope record {loaded.system.name} --timing --core {core.name}"
        order = self._again(run, boot, loaded, instead)
        with self.used(order):
            limits = replace(order.limits, timing=(core,))
            count_boot(replace(order, limits=limits), run.info, boot.path, boot.info, self.observer)

    @contextlib.contextmanager
    def standing(
        self, run: StoredRun, boot: StoredBoot, loaded: LoadedSystem, at_ns: int, listen: str = ""
    ) -> Iterator[Standing]:
        """Boots a stored boot again up to a virtual time, at which the machine is halted.

        Raises UserError where the system differs from the recorded one; ToolError as a build and
        :func:`bootscope.emulator.standstill.standing` do.
        """
        order = self._again(run, boot, loaded, f"bootscope record {loaded.system.name}")
        with self.used(order), stand(order, boot.info, boot.path, at_ns, listen) as machine:
            yield machine

    def _again(self, run: StoredRun, boot: StoredBoot, loaded: LoadedSystem, instead: str) -> Order:
        """The order by which a stored boot was recorded. Raises UserError if it is of another build, with
        `instead` as the command to run."""
        order = self._order(loaded, run.info.board, run.info.until, 1)
        if order.built.build_id != run.info.build_id:
            raise UserError(
                f"{run.info.run_id} is of build {run.info.build_id[:12]}, but {loaded.system.name} is build "
                f"{order.built.build_id[:12]} now: it would not be the same boot",
                hint=instead,
            )
        said, names = _limits_of(boot), run.info.watch
        limits = Limits(
            said.get("limit", 0),
            said.get("quiet", 0),
            explain=_SWITCH in names.hooks.values(),
            probes=function_probes.probed(names),
            light="\nlight " in _watched(boot),
            syscalls=SYSCALL_FILE in names.hooks.values(),
        )
        return replace(order, limits=limits)

    def used(self, order: Order) -> contextlib.AbstractContextManager[None]:
        """Keeps the files that an order boots in the cache meanwhile."""
        return self.runner.cache.use(
            [order.plugin.parent.name, *(path.name for path in order.built.results.values())]
        )

    def unanswered(self, loaded: LoadedSystem) -> tuple[str, ...]:
        """Which of the system's required milestones it does not reach, and why. Each is a boot of its own
        that ends there, kept for the next time; none is needed for a milestone that an earlier one has
        passed.

        Raises UserError and ToolError as a build does.
        """
        patient, found, passed = self.limited(Limits().limit_ns), list[str](), set[str]()
        for name, milestone in loaded.system.milestones.items():
            if milestone.required and name not in passed:
                run = patient.measured(loaded, until=name)
                if run.boots[0].info.complete:
                    passed |= view(self.store, run).timeline.milestones.keys()
                else:
                    found.append(f"{name} does not answer: {run.boots[0].info.message}")
        return tuple(found)

    def lasting(self, boot: StoredBoot) -> bool:
        """Whether a boot would end in the same way the next time."""
        return certain(boot, self.limits)

    def known(self, order: Order) -> StoredRun | None:
        """A usable run of the same images on the same board, watched by the same plugin for the same
        milestones."""
        plugin_id = order.plugin.parent.name
        return self._recorded(order.system, order.built.build_id, order.until, order.board, plugin_id)

    def recorded(self, loaded: LoadedSystem) -> StoredRun | None:
        """The same for a system, without building it."""
        build_id, system = self._build_id(loaded), loaded.system
        if build_id == UNKNOWN:
            return None
        plugin_id = plugin.step().step_id({})
        return self._recorded(system, build_id, default_until(system), load_board(system.board), plugin_id)

    def _build_id(self, loaded: LoadedSystem) -> str:
        return next(p.step_id for p in outlook(loaded, self.runner.cache).planned() if p.name == "card")

    def _recorded(
        self, system: System, build_id: str, until: str, board: Board, plugin_id: str
    ) -> StoredRun | None:
        tools = {board.arch.tools.qemu: qemu.check(board), "bootscope-plugin": plugin_id[:16]}
        for summary in reversed(self.store.summaries()):
            if (summary.build_id, summary.until) != (build_id, until):
                continue
            # A damaged one is as good as none.
            with contextlib.suppress(UserError):
                run = self.store.load(summary.run_id)
                explained = _SWITCH in run.info.watch.hooks.values() or not self.limits.explain
                called = SYSCALL_FILE in run.info.watch.hooks.values() or not self.limits.syscalls
                tooled = tools.items() <= run.info.tools.items()
                probed = set(self.limits.probes) <= set(function_probes.probed(run.info.watch))
                looked_for = _looked_for(run.info.system.settings) == _looked_for(flat(system))
                watched = explained and called and tooled and probed and looked_for
                if (
                    run.info.board.in_use() == board.in_use()
                    and watched
                    and any(_will_do(boot, self.limits) and _counted(run, boot) for boot in run.boots)
                ):
                    return run
        return None


def _looked_for(settings: Mapping[str, str]) -> dict[str, str]:
    """The settings of a system that say what is looked for in its boots. Whether a milestone is required
    changes no recording."""
    found = {k: v for k, v in settings.items() if k.startswith(_MILESTONES) and not k.endswith(_REQUIRED)}
    return {**found, _PROCESS: settings.get(_PROCESS, "")}


_MILESTONES, _REQUIRED, _PROCESS = "milestones.", ".required", "application.process"
_SWITCH = "switch"
"""A hook that only recordings with explanations have."""


def _will_do(boot: StoredBoot, limits: Limits) -> bool:
    """Whether a boot has what is asked for now, and would end in the same way the next time."""
    used = limits.usage_after_ns is None or f"usage {limits.usage_after_ns} " in _watched(boot)
    # Only a boot that completed has counts.
    passes = counted.kept(boot.path) if limits.timing and boot.info.complete else {}
    has = not boot.info.complete or {core.geometry_id for core in limits.timing} <= passes.keys()
    return used and has and certain(boot, limits)


def _counted(run: StoredRun, boot: StoredBoot) -> bool:
    """Whether a boot was counted for the core that its board names; True if it names none, and for a boot
    that did not complete, which is never counted."""
    core = core_of(run.info.board)
    return core is None or not boot.info.complete or find_timing(run, boot, core) is not None


def _watched(boot: StoredBoot) -> str:
    path = boot.path / WATCH
    return path.read_text() if path.exists() else ""


def certain(boot: StoredBoot, limits: Limits) -> bool:
    """Whether a boot would end in the same way the next time: its end depends on the virtual clock only."""
    if boot.info.ended not in (BootEnd.HANG, BootEnd.LIMIT):
        return boot.info.ended in (BootEnd.MILESTONE, BootEnd.PANIC)
    # With higher limits it might have reached its milestone.
    said = _limits_of(boot)
    return said.get("limit", 0) >= limits.limit_ns and said.get("quiet", 0) >= limits.quiet_ns


def _limits_of(boot: StoredBoot) -> dict[str, int]:
    """The limits of virtual time that a boot was recorded with, in ns, by their names in the watch file."""
    found = re.findall(r"^(limit|quiet) (\d+)$", _watched(boot), re.MULTILINE)
    return {name: int(ns) for name, ns in found}
