# SPDX-License-Identifier: Apache-2.0
"""Where a worker carries out its orders: a step of a build, or a boot. Does not depend on Dask.

What it needs and does not have it fetches from other workers, and it rejects anything with another hash.
"""

from __future__ import annotations

import contextlib
import errno
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import msgspec

from bootscope.builder.cache import DEFAULT_LIMIT_BYTES, Cache
from bootscope.builder.plan import Built, steps_of
from bootscope.builder.share import Share
from bootscope.builder.sources import Resolved
from bootscope.builder.step import Runner, Step, read_meta
from bootscope.builder.steps import plugin
from bootscope.capture.record import Part
from bootscope.capture.saving import save
from bootscope.capture.store import Store
from bootscope.cluster import farm_desk, goods
from bootscope.cluster.orders import (
    LOST,
    PLUGIN_STEP,
    UNFIT,
    Answer,
    Asked,
    BootOrder,
    BuildOrder,
    Failure,
    Given,
    Held,
    Made,
    MeasureOrder,
    failure_of,
)
from bootscope.cluster.watch import Ended, Watch
from bootscope.core.damaged import DAMAGED
from bootscope.core.errors import BoardError, BootscopeError, SpaceError, StepError, ToolError
from bootscope.emulator.recording import Order, record_run
from bootscope.system.load import LoadedSystem, system_dir

_ASKED = msgspec.json.Decoder(Asked)
_UNPACK = "unpack-"
_MOST_LOG_BYTES = 1 << 20


class UnfitError(BootscopeError):
    """This worker cannot carry out the order."""


class LostThings(BootscopeError):
    """Things that no worker has any more, or none has undamaged."""

    def __init__(self, names: tuple[str, ...], message: str) -> None:
        super().__init__(message)
        self.names = names


class Fetch(Protocol):
    """How things are fetched from another worker."""

    def __call__(self, holder: str, kind: str, name: str, to: Path) -> None:
        """Writes the parcel of a thing into a file. Raises OSError and ToolError."""


@dataclass
class _Task:
    """What is collected while an order is carried out."""

    watch: Watch
    fetched: list[str] = field(default_factory=list)
    wrong: dict[str, str] = field(default_factory=dict)
    unpacked: int = 0
    said: list[str] = field(default_factory=list)
    kept: bytes = b""
    """A recording that the failure of the board cut off."""


def made(path: Path, built: bool) -> Made:
    """A finished step in a cache, as described to others. Raises ToolError where it is damaged."""
    meta, parts = read_meta(path), []
    for file, sha256 in meta.files.items():
        size, name = (path / file).stat().st_size, f"{meta.step}/{file}"
        parts.append(Part(name=name, step_id=meta.step_id, sha256=sha256, size_bytes=size))
    return Made(step_id=meta.step_id, content=goods.content(path), parts=tuple(parts), built=built)


@dataclass
class Desk:
    """A worker's desk: its cache, its address, how it fetches, and how many cores it has for a task."""

    cache: Cache
    address: str
    fetch: Fetch
    cores: int = 1
    full: Callable[[], None] = lambda: None
    """Called when the disk is full."""
    share: Share | None = None
    _stops: dict[str, threading.Event] = field(default_factory=dict)

    def stop(self, token: str) -> None:
        """Ends the order with that token, if it is in progress here."""
        if event := self._stops.get(token):
            event.set()

    def answer(self, data: bytes) -> tuple[bytes, bytes]:
        """Carries out an order; returns the answer, and the recording that was made, in the format of
        `save`."""
        order = _ASKED.decode(data)
        begun = time.monotonic()
        task = _Task(Watch(self._stops.setdefault(order.token, threading.Event())))
        answer, run = Answer(worker=self.address, host_ms=0), b""
        try:
            if isinstance(order, BuildOrder):
                answer = msgspec.structs.replace(answer, made=self._build(order, task))
            elif isinstance(order, MeasureOrder):
                run = self._measure(order, task)
                answer = msgspec.structs.replace(answer, run_id=order.run_id)
            else:
                run = self._boot(order, task)
                answer = msgspec.structs.replace(answer, run_id=order.run_id)
        except Ended:
            answer = msgspec.structs.replace(answer, stopped=True)
        except (BootscopeError, OSError) as error:
            answer = msgspec.structs.replace(answer, failure=self._failure(error))
            run = task.kept
        finally:
            del self._stops[order.token]
        answer = msgspec.structs.replace(
            answer,
            host_ms=round((time.monotonic() - begun) * 1000),
            fetched=tuple(task.fetched),
            unpacked=task.unpacked,
            said=tuple(task.said),
            wrong=task.wrong,
        )
        return msgspec.json.encode(answer), run

    def _failure(self, error: BootscopeError | OSError) -> Failure:
        if isinstance(error, OSError):
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                return Failure(kind="ToolError", message=f"{self.address}: {error}")
            error = SpaceError(f"no space left on worker {self.address}: {error.filename or self.cache.root}")
        if isinstance(error, SpaceError):
            self.full()
        if isinstance(error, UnfitError):
            return Failure(kind=UNFIT, message=error.message)
        if isinstance(error, LostThings):
            return Failure(kind=LOST, message=error.message, lost=error.names)
        log = ""
        if isinstance(error, StepError) and error.log:
            with contextlib.suppress(OSError):
                log = Path(error.log).read_bytes()[-_MOST_LOG_BYTES:].decode("utf-8", "replace")
        return failure_of(error, log)

    # ---- a step ----

    def _build(self, order: BuildOrder, task: _Task) -> Made:
        if found := self.cache.find(order.step_id):
            return made(found, built=False)
        runner = Runner(self.cache, task.watch, order.jobs or self.cores, order.use_ccache, self.share)
        if order.step == PLUGIN_STEP:
            step = plugin.step()
            self._same(order, step)
            return made(runner.run(step, order.step_id, {}), built=True)
        assert order.given
        with self._system(order.given, order.files, task) as loaded:
            steps = {s.name: s for s in steps_of(loaded, self._sources(order.given))}
            path = self._result(order, order.step, steps, runner, task)
        return made(path, built=True)

    def _result(
        self, order: BuildOrder, name: str, steps: Mapping[str, Step], runner: Runner, task: _Task
    ) -> Path:
        """The result of a step: the one ordered, sources that must be unpacked for it, or a fetched one."""
        step_id, step = order.ids[name], steps.get(name)
        if found := self.cache.find(step_id):
            return found
        if name != order.step and not name.startswith(_UNPACK):
            return self._obtain(goods.STEP, step_id, order.needs.get(step_id), task)
        if step is None:
            raise UnfitError(f"worker {self.address} knows no step {name}")
        self._same(order, step)
        results = {need: self._result(order, need, steps, runner, task) for need in step.needs}
        if order.given:
            self._bring(order, step, order.given, task)
        task.unpacked += name.startswith(_UNPACK)
        return runner.run(step, step_id, results)

    def _same(self, order: BuildOrder, step: Step) -> None:
        """Raises UnfitError where the step has another id here, because tools or files differ."""
        if step.step_id(order.ids) != order.ids[step.name]:
            words = f"step {step.name} would be another one on worker {self.address}: its tools differ"
            raise UnfitError(words)

    # ---- sources ----

    def _sources(self, given: Given) -> dict[str, Resolved]:
        """The sources with their paths on this worker, some of which are not fetched yet."""
        return {
            name: s if Path(s.path).is_dir() else msgspec.structs.replace(s, path=str(self._place(s)))
            for name, s in given.sources.items()
        }

    def _place(self, source: Resolved) -> Path:
        """Where a source file is: among this worker's own sources, or where it was sent to."""
        name = Path(source.path).name
        for own in self.cache.sources.glob(f"*/{name}"):
            with contextlib.suppress(OSError, *DAMAGED):
                there = msgspec.json.decode((own.parent / "resolved.json").read_bytes(), type=Resolved)
                if there.sha256 == source.sha256:
                    return own
        return self.cache.root / goods.GIVEN / source.sha256 / name

    def _bring(self, order: BuildOrder, step: Step, given: Given, task: _Task) -> None:
        """Fetches the sources that go into a step: those whose hash is among the step's inputs."""
        inputs = msgspec.json.encode(step.inputs)
        for source in given.sources.values():
            if source.sha256.encode() not in inputs or self._place(source).exists():
                continue
            if source.sha256 not in order.files:
                words = f"{source.path} is not there on worker {self.address}: it needs a shared folder"
                raise UnfitError(words)
            self._obtain(goods.GIVEN, source.sha256, order.files[source.sha256], task)

    @contextlib.contextmanager
    def _system(self, given: Given, files: Mapping[str, Held], task: _Task) -> Iterator[LoadedSystem]:
        """The system; folders beside its file have the same paths as on the client's computer, below a
        workspace folder."""
        if not Path(given.base).is_absolute():
            yield LoadedSystem(given.system, system_dir() / given.base)
            return
        with self.cache.workspace() as work:
            for folder, name in given.folders.items():
                (held,) = self._obtain(goods.GIVEN, name, files.get(name), task).iterdir()
                link = work / folder.lstrip("/")
                link.parent.mkdir(parents=True, exist_ok=True)
                link.symlink_to(held)
            yield LoadedSystem(given.system, work / given.base.lstrip("/"))

    # ---- from other workers ----

    def _obtain(self, kind: str, name: str, held: Held | None, task: _Task) -> Path:
        """A step's result or something given: from the own cache, the share, or another worker."""
        if found := goods.find(self.cache, kind, name):
            return found
        if self.share and kind == goods.STEP:
            with self.cache.lock(name, lambda: None):
                if found := self.cache.find(name) or self.share.get(self.cache, name):
                    return found
        for holder in held.holders if held else ():
            if holder == self.address:
                continue
            task.watch.look()
            try:
                with self.cache.workspace() as work:
                    self.fetch(holder, kind, name, work / "parcel")
                    assert held
                    path = goods.take(self.cache, kind, name, held.content, work / "parcel")
            except SpaceError:
                raise
            except (ToolError, OSError) as error:
                task.wrong[holder] = f"{name[:16]}: {error}"
                continue
            task.fetched.append(name)
            return path
        raise LostThings((name,), f"no worker has {name[:16]} as it should be")

    # ---- a boot ----

    def _boot(self, order: BootOrder, task: _Task) -> bytes:
        results = {
            name: self._obtain(goods.STEP, order.ids[name], order.needs.get(order.ids[name]), task)
            for name in order.results
        }
        watcher = self._obtain(goods.STEP, order.plugin_id, order.needs.get(order.plugin_id), task)
        built = Built(order.build_id, order.ids, results, order.facts)
        with (
            self.cache.use([*(order.ids[name] for name in order.results), order.plugin_id]),
            self.cache.workspace() as work,
        ):
            store = Store(work / "store", says=lambda text: None)
            (store.runs / order.run_id).mkdir()
            whole = Order(
                order.system, order.board, built, watcher / plugin.PLUGIN, order.until, order.boots,
                order.timeout_s, order.limits,
            )  # fmt: skip
            record_run(store, whole, task.watch, order.run_id)
            run = _packed(store, order.run_id, work)
        self.cache.prune(DEFAULT_LIMIT_BYTES, frozenset(order.ids.values()))
        return run

    def _measure(self, order: MeasureOrder, task: _Task) -> bytes:
        observer = farm_desk.Listening(task.watch.look, task.said)
        with self.cache.workspace() as work:
            store = Store(work / "store", says=lambda text: None)
            try:
                farm_desk.measure(order, store, observer)
            except BoardError:
                # The boots made before the failure are worth keeping.
                if (store.runs / order.run_id).is_dir():
                    task.kept = _packed(store, order.run_id, work)
                raise
            return _packed(store, order.run_id, work)


def _packed(store: Store, run_id: str, work: Path) -> bytes:
    """A run in the format of `save`."""
    save(store, [run_id], work / "run.bsz")
    return (work / "run.bsz").read_bytes()
