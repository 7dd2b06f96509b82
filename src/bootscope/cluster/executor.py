# SPDX-License-Identifier: Apache-2.0
"""The executor that uses the workers of a cluster. Ids, decisions and recordings stay with the client."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from bootscope.builder import plan
from bootscope.builder.cache import Cache
from bootscope.builder.outlook import Outlook
from bootscope.builder.plan import Built
from bootscope.builder.progress import Progress
from bootscope.builder.step import Runner, Step
from bootscope.builder.steps import plugin
from bootscope.capture.store import Store
from bootscope.cluster import abilities, goods
from bootscope.cluster.counts import Counts
from bootscope.cluster.given import given_of
from bootscope.cluster.orders import PLUGIN_STEP, BootOrder, BuildOrder, Failure, Given, Held, Made, error_of
from bootscope.cluster.recordings import reserved, take
from bootscope.cluster.stock import Stock
from bootscope.cluster.tasks import LostThingsError, Tasks
from bootscope.core.errors import BootscopeError, ToolError, UserError
from bootscope.emulator.executor import Ready
from bootscope.emulator.recording import Observer, Order
from bootscope.system.load import LoadedSystem

if TYPE_CHECKING:
    from distributed import Client

_UNPACK = "unpack-"
_TRIES = 5


@dataclass
class _Shared:
    """A step that is being built for several builds at once."""

    done: threading.Event = field(default_factory=threading.Event)
    made: Made | None = None


class ClusterExecutor:
    """Builds and boots on a cluster. `cache` is this computer's; `tell` is called with problems.

    Raises ToolError where no worker runs this version of bootscope.
    """

    def __init__(
        self, client: Client, cache: Cache, tell: Callable[[str], None], jobs: int, use_ccache: bool
    ) -> None:
        self.counts, self._tell = Counts(), tell
        self._jobs, self._use_ccache = jobs, use_ccache
        self._stock = Stock(client, cache)
        self._tasks = Tasks(client, self._stock, self.counts, tell)
        self._made: dict[str, Made] = {}
        self._systems: dict[str, LoadedSystem] = {}
        self._building: dict[str, _Shared] = {}
        self._lock, self._loading = threading.Lock(), threading.Lock()
        self._stock.refresh()
        self._tasks.check([abilities.program()])

    @property
    def hands(self) -> int:
        """As many systems at a time as the workers take tasks."""
        return max(1, self._stock.hands())

    # ---- building ----

    def build(self, loaded: LoadedSystem, runner: Runner, progress: Progress) -> Ready:
        ahead = plan.ahead(loaded, runner.cache, progress)
        self._stock.refresh()
        watcher = plugin.step()
        plugin_id = watcher.step_id({})
        for attempt in range(_TRIES):
            try:
                self._build(loaded, ahead, watcher, progress)
                break
            except LostThingsError as lost:
                # Its holders are gone: what is missing is built again.
                if attempt == _TRIES - 1:
                    raise ToolError(f"the cluster loses what it builds: {lost}") from lost
                self._stock.refresh()
        names = [step.name for step in ahead.steps if not step.name.startswith(_UNPACK)]
        results = {name: runner.cache.steps / ahead.ids[name] for name in names}
        parts = tuple(part for name in names for part in self._made[ahead.ids[name]].parts)
        self._systems[ahead.ids["card"]] = loaded
        built = Built(ahead.ids["card"], ahead.ids, results, plan.facts(ahead.found), parts)
        return Ready(built, runner.cache.steps / plugin_id / plugin.PLUGIN)

    def _build(self, loaded: LoadedSystem, ahead: Outlook, watcher: Step, progress: Progress) -> None:
        """Builds all missing steps; steps that do not depend on each other are built at the same time."""
        given = given_of(loaded, ahead.found)
        left = {step.name: step for step in ahead.steps if not step.name.startswith(_UNPACK)}
        left |= {PLUGIN_STEP: watcher}
        ids = {**ahead.ids, PLUGIN_STEP: watcher.step_id({})}
        self._offer(left, ids)
        failed: list[BaseException] = []
        stop = threading.Event()

        def one(step: Step) -> None:
            self._step(step, given, ids, progress, stop)

        with ThreadPoolExecutor(max_workers=max(1, len(left))) as pool:
            running: dict[Future[None], str] = {}
            done: set[str] = set()
            try:
                while left or running:
                    ready = [] if failed else [n for n, s in left.items() if _ready(s, done)]
                    running |= {pool.submit(one, left.pop(name)): name for name in ready}
                    if not running:
                        break
                    for future in wait(running, return_when=FIRST_COMPLETED).done:
                        done.add(running.pop(future))
                        if error := future.exception():
                            stop.set()
                            failed.append(error)
            except BaseException:
                stop.set()
                raise
        if failed:
            # The first error is the cause; the other steps were ended because of it.
            raise failed[0]

    def _step(
        self, step: Step, given: Given, ids: Mapping[str, str], progress: Progress, stop: threading.Event
    ) -> None:
        """Builds a step, or waits while another build builds it."""
        step_id = ids[step.name]
        while True:
            if step_id in self._made and self._stock.holders(step_id):
                return
            with self._lock:
                shared = self._building.get(step_id)
                mine = shared is None
                if shared is None:
                    shared = self._building[step_id] = _Shared()
            if mine:
                break
            while not shared.done.wait(0.1):
                _look(progress, stop)
        try:
            self._made[step_id] = self._ask_step(step, given, ids, progress, stop)
        finally:
            with self._lock:
                del self._building[step_id]
            shared.done.set()

    def _ask_step(
        self, step: Step, given: Given, ids: Mapping[str, str], progress: Progress, stop: threading.Event
    ) -> Made:
        step_id = ids[step.name]
        if there := self._stock.described(step_id):
            return there
        if step.name != PLUGIN_STEP:
            self._give(given)
        progress.begin(step.name, step.title)

        def make(token: str) -> BuildOrder:
            needs = {ids[n]: self._held(ids[n]) for n in step.needs if not n.startswith(_UNPACK)}
            files = (*(s.sha256 for s in given.sources.values()), *given.folders.values())
            found = {name: held for name in files if (held := self._stock.given(name))}
            own = None if step.name == PLUGIN_STEP else given
            return BuildOrder(
                token=token, step=step.name, step_id=step_id, given=own, ids=dict(ids), needs=needs,
                files=found, jobs=self._jobs, use_ccache=self._use_ccache,
            )  # fmt: skip

        near = [holder for need in step.needs for holder in self._stock.holders(ids[need])]
        answer, _ = self._tasks.ask(make, abilities.asked(step.tools), near, lambda: _look(progress, stop))
        if answer.failure:
            raise self._error(answer.failure, step_id)
        if answer.made is None or answer.made.step_id != step_id:
            raise ToolError(f"worker {answer.worker} answers with another step than {step.name}")
        return answer.made

    def _held(self, step_id: str) -> Held:
        """The holders of a step that is needed. Raises LostThingsError where there are none."""
        held = self._stock.held(step_id)
        if held is None:
            raise LostThingsError(f"step {step_id[:16]}")
        return held

    def _offer(self, steps: Mapping[str, Step], ids: Mapping[str, str]) -> None:
        """Sends the steps that only this computer has."""
        for name in steps:
            step_id = ids[name]
            if not self._stock.holders(step_id) and (path := self._stock.cache.find(step_id)):
                self._stock.give(goods.STEP, step_id, goods.content(path), path)

    def _give(self, given: Given) -> None:
        """Sends the sources and the folders beside the system's file that no worker has."""
        for source in given.sources.values():
            if not Path(source.path).is_dir():
                self._stock.give(goods.GIVEN, source.sha256, source.sha256, Path(source.path))
        for folder, name in given.folders.items():
            self._stock.give(goods.GIVEN, name, name, Path(folder))

    def _error(self, failure: Failure, step_id: str) -> BootscopeError:
        """The error of a build; the build's output is kept on this computer."""
        if not failure.log:
            return error_of(failure)
        logs = self._stock.cache.root / "logs"
        logs.mkdir(exist_ok=True)
        path = logs / f"{step_id[:16]}.txt"
        path.write_text(failure.log)
        return error_of(failure, str(path))

    def result(self, built: Built, name: str, runner: Runner) -> Path:
        return self._stock.fetch(built.ids[name])

    # ---- booting ----

    def record(self, store: Store, order: Order, runner: Runner, observer: Observer) -> str:
        plugin_id = order.plugin.parent.name
        needed = {*(order.built.ids[name] for name in order.built.results), plugin_id}
        with reserved(store, order.system.name) as run_id:
            observer.boot_begins(1, order.boots)

            def make(token: str) -> BootOrder:
                return BootOrder(
                    token=token, run_id=run_id, build_id=order.built.build_id, system=order.system,
                    board=order.board, until=order.until, boots=order.boots, timeout_s=order.timeout_s,
                    limits=order.limits, ids=order.built.ids, results=tuple(order.built.results),
                    plugin_id=plugin_id, needs={i: self._held(i) for i in needed}, facts=order.built.sources,
                )  # fmt: skip

            how = f"{order.built.build_id} {order.until} {order.limits}"
            return self._recorded(store, order, runner, make, lambda: observer.tick(0, ""), how)

    def _recorded(
        self,
        store: Store,
        order: Order,
        runner: Runner,
        make: Callable[[str], BootOrder],
        look: Callable[[], None],
        how: str,
    ) -> str:
        wanted = abilities.asked([order.board.arch.tools.qemu])
        why = ""
        for _ in range(_TRIES):
            near = self._stock.holders(order.built.build_id)
            try:
                answer, run = self._tasks.ask(make, wanted, near, look, how)
            except LostThingsError as lost:
                why = str(lost)
                self.build(self._systems[order.built.build_id], runner, Progress())
                continue
            if answer.failure:
                raise self._error(answer.failure, order.built.build_id)
            try:
                with self._loading:
                    take(store, self._stock.cache, answer.run_id, run)
                return answer.run_id
            except UserError as error:
                why = error.message
                self._tell(f"  cluster: refused the recording of worker {answer.worker}: {why}")
                self.counts.repeat()
        raise ToolError(f"no worker gives a recording as it should be: {why}")


def _ready(step: Step, done: set[str]) -> bool:
    """Whether everything that a step needs is there; the worker that builds the step unpacks the sources."""
    return all(need in done or need.startswith(_UNPACK) for need in step.needs)


def _look(progress: Progress, stop: threading.Event) -> None:
    if stop.is_set():
        raise ToolError("another step of this build failed")
    progress.update(1, None, "step under way on the cluster")
