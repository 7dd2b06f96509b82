# SPDX-License-Identifier: Apache-2.0
"""Recording: N boots of one build on one board, kept in the store.

The plugin writes the raw stream while the board runs; everything else here is derived from it afterwards, so
a failure on the way loses nothing.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Protocol

import msgspec

from bootscope import __version__
from bootscope.boards.changed import core_of
from bootscope.boards.profile import Board
from bootscope.builder.plan import Built
from bootscope.capture import decoded, objects, record, stream
from bootscope.capture.png import png
from bootscope.capture.record import BootEnd, BootInfo, RunInfo
from bootscope.capture.store import Store
from bootscope.core import tools
from bootscope.core.errors import UserError
from bootscope.core.host import host_facts
from bootscope.core.text import seconds, visible
from bootscope.emulator import board_clock, core_clock, initcall_table, qemu, standstill, timing_pass
from bootscope.emulator.plugin_config import PANIC_TEXT, Limits, Watch, watch
from bootscope.emulator.subject import Subject, of_build
from bootscope.system.model import System
from bootscope.timeline import console
from bootscope.timeline.build import events_of, timeline
from bootscope.timeline.live import Live


class Observer(Protocol):
    """Is notified while a recording runs."""

    def boot_begins(self, number: int, total: int) -> None:
        """Boot `number` of `total` is switched on."""

    def line(self, time_ns: int, phase: str, data: bytes) -> None:
        """A console line; `time_ns` is board time of its first byte."""

    def tick(self, time_ns: int, phase: str) -> None:
        """A few times a second."""

    def boot_ended(self, info: BootInfo) -> None:
        """The boot is stored."""

    def counting(self, core: str) -> None:
        """The boot is repeated to count its cache accesses on a core."""


@dataclass(frozen=True)
class Task:
    """What to record: what boots, on which board, how often, until which milestone, with which limits."""

    subject: Subject
    board: Board
    plugin: Path
    until: str
    boots: int = 1
    timeout_s: float = 900
    limits: Limits = field(default_factory=Limits)


Each = Callable[[int, BootInfo | None], Task | None]
"""The task for boot N of a run (from 1), given the boot before it; None ends the run."""


@dataclass(frozen=True)
class Order:
    """The same for a system that was built here."""

    system: System
    board: Board
    built: Built
    plugin: Path
    until: str
    boots: int = 1
    timeout_s: float = 900
    limits: Limits = field(default_factory=Limits)


def record_run(store: Store, order: Order, observer: Observer, run_id: str = "") -> str:
    """Records a built system and returns the id of the run; raises what :func:`record_boots` does."""
    return record_boots(store, task_of(order), observer, run_id)


def record_boots(
    store: Store,
    task: Task,
    observer: Observer,
    run_id: str = "",
    each: Each | None = None,
) -> str:
    """Records boots and returns the id of the run: `run_id`, whose folder is empty, or a new one. `each`
    gives the task of each boot, where the boots of a run differ.

    Raises UserError for an unknown milestone, ToolError when QEMU is missing or too old. A boot that panics,
    hangs or dies raises nothing: it is stored with how it ended.
    """
    version = qemu.check(task.board)
    task = counting(task)
    core_clock.core_for(task.board)
    board_clock.check(task.board)
    for core in task.limits.timing:
        timing_pass.check(task.board, core)
    now = datetime.now(UTC)
    run_id = run_id or store.new_run_id(task.subject.facts.name, now)
    with store.recording(run_id) as path:
        made = _watch(task, path / "boots" / "000")
        run = _describe(store, task, made, run_id, now, version)
        record.write_json(path / "run.json", run)
        info = None
        for number in range(1, task.boots + 1):
            this = each(number, info) if each else task
            if not this:
                break
            observer.boot_begins(number, task.boots)
            info = _one_boot(this, run, path, number, observer)
            observer.boot_ended(info)
            if number == 1 and info.complete:
                _count(task, run, path / "boots" / "001", info, observer)
    store.index(run_id)
    return run_id


def counting(task: Task) -> Task:
    """The task, extended to count for the core that its board names: views of its boots use that core."""
    limits, core = task.limits, core_of(task.board)
    if limits.timing or not limits.explain or not core:
        return task
    return replace(task, limits=replace(limits, timing=(core,)))


def count_boot(order: Order, run: RunInfo, folder: Path, info: BootInfo, observer: Observer) -> None:
    """The counting passes of an order, for a stored boot that was recorded from the same build: the counts
    are kept beside it. Raises what timing_pass.count does."""
    _count(task_of(order), run, folder, info, observer)


def stand(
    order: Order, info: BootInfo, folder: Path, at_ns: int, listen: str
) -> contextlib.AbstractContextManager[standstill.Standing]:
    """The machine of an order, stopped at a virtual time of a stored boot that was recorded from the same
    build (`folder` is the boot's, `info` its facts). Raises what standstill.standing does."""
    task = task_of(order)
    made = partial(_watch, task)
    return standstill.standing(task.board, made, _power(task, folder), (info, folder), at_ns, listen)


def task_of(order: Order) -> Task:
    """The order as a task for the recorder."""
    subject = of_build(order.system, order.board, order.built)
    return Task(subject, order.board, order.plugin, order.until, order.boots, order.timeout_s, order.limits)


def _count(task: Task, run: RunInfo, folder: Path, info: BootInfo, observer: Observer) -> None:
    """The requested counting passes, for a boot that reached its end: further boots are the same."""
    for core in task.limits.timing:
        observer.counting(core.name)
        timing_pass.count(
            run,
            core,
            lambda scratch: _watch(task, scratch),
            _power(task, folder),
            (info, folder),
            _frame(task.subject),
        )


def _power(task: Task, folder: Path) -> qemu.Power:
    return qemu.Power(
        media=task.subject.media,
        plugin=task.plugin,
        watch=folder / record.WATCH,
        stream=folder / record.STREAM,
        log=folder / record.EMULATOR_LOG,
    )


def _watch(task: Task, folder: Path) -> Watch:
    subject = task.subject
    made = watch(
        task.board, subject.watched, subject.programs, task.until, folder / record.FRAME, task.limits
    )
    made.lines += core_clock.lines(task.board, folder, _frame(subject))
    made.lines += board_clock.lines(task.board, made.devices)
    return made


def _frame(subject: Subject) -> tuple[int, int] | None:
    """The frame buffer's address range, if there is one."""
    buffer = subject.watched.screen
    return timing_pass.frame_range(subject.facts.screen, buffer.address if buffer else None)


def _describe(store: Store, task: Task, made: Watch, run_id: str, now: datetime, version: str) -> RunInfo:
    subject = task.subject
    kept = {
        name: store.keep_object(objects.packed(what if isinstance(what, bytes) else what.read_bytes()))
        for name, what in subject.kept.items()
    }
    chain, code = task.board.arch.tools, subject.programs.kernel
    table = initcall_table.levels(code, code.marks)
    kept[objects.INITCALLS] = store.keep_object(msgspec.json.encode(table))
    return RunInfo(
        run_id=run_id,
        created=now.isoformat(timespec="seconds"),
        bootscope=__version__,
        build_id=subject.build_id,
        until=task.until,
        system=msgspec.structs.replace(subject.facts, symbols=kept),
        board=task.board,
        parts=subject.parts,
        tools={
            chain.qemu: version,
            "bootscope-plugin": task.plugin.parent.name[:16],
            **tools.versions(chain.tool("gcc"), chain.tool("ld")),
        },
        host=host_facts(),
        watch=made.names(),
        sources=dict(subject.sources),
    )


def _one_boot(task: Task, run: RunInfo, run_path: Path, number: int, observer: Observer) -> BootInfo:
    folder = run_path / "boots" / f"{number:03}"
    folder.mkdir()
    started = datetime.now(UTC).isoformat(timespec="seconds")
    made = _watch(task, folder)
    (folder / record.WATCH).write_text(made.text())
    power = _power(task, folder)
    live = Live(run, observer.line)

    def on_data(data: bytes) -> None:
        live.feed(data)
        observer.tick(live.now_ns, live.phase)

    def finish(ended: BootEnd, message: str, host_ns: int) -> BootInfo:
        live.flush()
        info = BootInfo(
            boot_id=f"{run.run_id}/{number:03}",
            number=number,
            started=started,
            ended=ended,
            message=message,
            host_ms=host_ns // 1_000_000,
            stream_sha256=_close_stream(folder),
        )
        # How it ended is stored first: the rest can be derived again, and may need more disk space.
        record.write_json(folder / record.BOOT, info)
        derive(folder, info, run)
        return info

    try:
        off = qemu.switch_on(task.board, power, task.timeout_s, on_data)
    except KeyboardInterrupt:
        finish(BootEnd.INTERRUPTED, f"interrupted at {seconds(live.now_ns)} s", 0)
        raise
    ended, message = how_it_ended(live, run, off, power.log)
    if ended == BootEnd.LIMIT and task.limits.cut:
        message = f"the power was cut at {seconds(live.now_ns)} s, in {live.phase}"
    return finish(ended, message, off.host_ns)


def _close_stream(folder: Path) -> str:
    path = folder / record.STREAM
    if not path.exists():
        return ""
    with contextlib.suppress(UserError):
        stream.trim(path)
    return hashlib.sha256(path.read_bytes()).hexdigest()


def how_it_ended(live: Live, run: RunInfo, off: qemu.PoweredOff, log: Path) -> tuple[BootEnd, str]:
    """(`ended`, message) of a boot, from the stream's last record and QEMU's exit."""
    at = f"{seconds(live.now_ns)} s, in {live.phase}"
    end = live.last if isinstance(live.last, stream.Ended) else None
    texts = run.watch.texts
    if live.panicked or (end and end.reason == stream.End.STOP_TEXT and texts.get(end.ident) == PANIC_TEXT):
        return BootEnd.PANIC, f"the kernel panicked at {at}"
    if end and end.reason == stream.End.QUIET:
        return BootEnd.HANG, f"hung: nothing happened for a long time, last seen at {at}"
    if end and end.reason == stream.End.LIMIT:
        return BootEnd.LIMIT, f"{run.until} was not reached within the limit of virtual time ({at})"
    if end:
        return BootEnd.MILESTONE, f"{run.until} at {seconds(live.now_ns)} s"
    if off.stalled:
        return BootEnd.HANG, f"hung: the CPU sleeps and nothing wakes it, last seen at {at}"
    if off.timed_out:
        return BootEnd.TIMEOUT, f"{run.until} was not reached within the host time allowed ({at})"
    words = _last_words(log)
    if off.status == 0 and not words:
        # QEMU is told not to reboot, so it ends when the board would reboot.
        said = " / ".join(visible(line[:160]) for line in live.last_lines) or "nothing"
        return (
            BootEnd.DIED,
            f"the board reset itself, or switched itself off, at {at}; its last words: {said}",
        )
    return BootEnd.DIED, f"QEMU ended by itself (status {off.status}) at {at}: {words or 'it said nothing'}"


def _last_words(log: Path) -> str:
    """QEMU's last output without warnings; the plugin's own message first, since it is the cause of
    QEMU's."""
    lines = log.read_bytes()[-4000:].strip().splitlines()
    ours = [line for line in lines if line.startswith(b"bootscope plugin:")]
    errors = [line for line in lines if b": warning: " not in line]
    return visible((ours or errors or [b""])[-1])


def derive(folder: Path, info: BootInfo, run: RunInfo) -> None:
    """Writes files for people beside the raw stream: console bytes, lines with stamps, the picture."""
    try:
        records = stream.read(folder / record.STREAM)
    except (FileNotFoundError, UserError):
        return
    decoded.keep(folder / record.STREAM, records, folder / record.RECORDS)
    tl = timeline(info.boot_id, records, run)
    (folder / record.CONSOLE).write_bytes(console_bytes(records, run))
    with (folder / record.LINES).open("wb") as f:
        for line in tl.lines:
            f.write(f"[{seconds(line.start_ns, 6):>12}] ".encode() + line.data + b"\n")
    frame = folder / record.FRAME
    if frame.exists() and run.system.screen:
        (folder / record.PICTURE).write_bytes(png(run.system.screen, frame.read_bytes()))


def console_bytes(records: list[stream.Record], run: RunInfo) -> bytes:
    """Every byte written to the console port, in order."""
    found = console.console_bytes(events_of(records, run), run.board.console)
    return bytes(byte.value for byte in found)
