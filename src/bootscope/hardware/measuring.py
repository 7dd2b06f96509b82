# SPDX-License-Identifier: Apache-2.0
"""Measuring: N boots of a real board, each listened to from before its power comes on.

The raw capture is written while the board boots; everything else is derived from it afterwards. A failed boot
is kept with its error, and the next one follows.
"""

from __future__ import annotations

import contextlib
import hashlib
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from bootscope import __version__
from bootscope.boards.physical import Console, RealBoard, listening, speaks_telnet
from bootscope.capture import dating, record, tap, tapper
from bootscope.capture.measured import END_TEXT, MEASURED, TAP, MeasuredInfo, read_measured
from bootscope.capture.record import BootEnd, BootInfo
from bootscope.capture.store import Store
from bootscope.capture.stored import MeasuredRun
from bootscope.capture.telnet import Telnet
from bootscope.core.errors import BoardError
from bootscope.core.host import host_facts
from bootscope.core.text import seconds
from bootscope.hardware.analyser import watching
from bootscope.hardware.console_monitor import LineWatch
from bootscope.hardware.listener import Listener
from bootscope.hardware.power import Power
from bootscope.hardware.stop_conditions import NS, End, Ended, SoFar, source_ended, verdict
from bootscope.runs.headline import with_own_figure

_LOOK_S = 0.05
_NEVER_NS = 3600 * NS
_SETTLE_NS = 300_000_000
"""Time for a serial server to open its port after somebody connects, and to deliver what it has buffered."""
_PATIENCE_S, _PATIENCE_FAR_S = 10.0, 30.0
"""How long the console may take to open: here, and on another computer."""


@dataclass(frozen=True)
class Order:
    """What to measure: which board, switched how, until what, how often.

    `where` returns the console before each boot, and the rate of the line behind it, for a board that moves.
    It may raise BoardError. `instead` gets the error of a console that cannot be listened to, and returns
    another console, or None.
    """

    board: RealBoard
    power: Power
    end: End
    boots: int = 10
    where: Callable[[], Console] | None = None
    instead: Callable[[BoardError], Console | None] | None = None


class Observer:
    """Is notified while a board is measured; by default does nothing."""

    def boot_begins(self, number: int, total: int) -> None:
        """Boot `number` of `total` is about to be switched on."""

    def says(self, text: str) -> None:
        """Something that a person should know."""

    def heard(self, since_ns: int, data: bytes) -> None:
        """A line of the console, with its time since power-on."""

    def boot_ended(self, info: BootInfo) -> None:
        """The boot is stored."""


def measure_run(store: Store, order: Order, observer: Observer, run_id: str = "") -> str:
    """Measures and returns the id of the run, which is `run_id` if given.

    Raises BoardError when the console cannot be opened at all, or the board cannot be switched; the boots
    made before that are kept.
    """
    with measuring(store, order, run_id=run_id) as run:
        for _ in range(order.boots):
            run.boot(observer)
    return run.run_id


@dataclass
class Measuring:
    """A run in progress; several, on one board, may take turns."""

    order: Order
    run_id: str
    path: Path
    boots: int = 0
    """Boots made so far, including those before the run was continued."""

    def boot(self, observer: Observer) -> BootInfo:
        """Makes the next boot. Raises BoardError as :func:`measure_run` does."""
        self.boots += 1
        observer.boot_begins(self.boots, max(self.boots, self.order.boots))
        info = one_boot(self.order, self.run_id, self.path, self.boots, observer)
        observer.boot_ended(info)
        return info


@contextlib.contextmanager
def measuring(
    store: Store, order: Order, name: str = "", techniques: tuple[str, ...] = (), run_id: str = ""
) -> Iterator[Measuring]:
    """A run that boots are added to inside the block. Its name is `name`, else the board's; its id is
    `run_id` if given; `techniques` are those of the system that boots."""
    board, now = order.board, datetime.now().astimezone()
    if run_id:
        (store.runs / run_id).mkdir()
    else:
        run_id = store.new_run_id(name or board.name, now)
    info = MeasuredInfo(
        run_id=run_id,
        created=now.isoformat(timespec="seconds"),
        bootscope=__version__,
        name=name or board.name,
        techniques=techniques,
        board=board,
        power=order.power.words,
        until=END_TEXT if order.end.text else order.end.words,
        end_text=order.end.text,
        asked=order.boots,
        host=host_facts(),
    )
    try:
        with again(store, order, run_id, info) as run:
            yield run
    except BaseException:
        # A run without a single boot would become the latest one, and have nothing to show.
        boots = store.runs / run_id / "boots"
        if boots.exists() and not any(boots.iterdir()):
            store.remove(run_id)
        raise


@dataclass
class _Boot(SoFar):
    """A boot in progress."""

    observer: Observer = field(kw_only=True)
    begin_ns: int = 0
    """What was heard before this is not part of the boot: an adapter or a server had buffered it."""
    telnet: Telnet | None = None

    def heard(self, kind: int, at_ns: int, payload: bytes) -> None:
        if kind == tapper.EVENT:
            event = tap.event_of(at_ns, payload)
            if event.name == "lost":
                self.lost_ns = at_ns
                self.observer.says("the console's port has vanished; waiting for it to return")
            elif event.name == "back":
                self.lost_ns = 0
                self.observer.says("the console's port is back")
            return
        data = self.telnet.plain(payload) if self.telnet else payload
        if at_ns < self.begin_ns:
            return
        for line in self.watch.feed(at_ns, data):
            self.observer.heard(max(0, at_ns - self.begun_ns), line)


@contextlib.contextmanager
def again(store: Store, order: Order, run_id: str, info: MeasuredInfo | None = None) -> Iterator[Measuring]:
    """An earlier run, with boots added to it inside the block; the order must be the same. `info` describes a
    new run."""
    with store.recording(run_id) as path:
        if info:
            record.write_json(path / MEASURED, info)
        made = [int(folder.name) for folder in (path / "boots").glob("[0-9]*")]
        try:
            yield Measuring(order, run_id, path, max(made, default=0))
        finally:
            if order.board.left == "off":
                with contextlib.suppress(BoardError):
                    order.power.off()
    store.index(run_id)


def one_boot(order: Order, run_id: str, run_path: Path, number: int, observer: Observer) -> BootInfo:
    """Switches the board on and listens until the boot has ended."""
    folder = run_path / "boots" / f"{number:03}"
    folder.mkdir()
    # A boot that produces nothing has a capture, too: an empty one.
    (folder / TAP).write_bytes(tap.MAGIC)
    started, begun = datetime.now(UTC), time.monotonic_ns()
    boot = _Boot(LineWatch(order.end.marker), told_when=order.power.tells_when, observer=observer)
    ended = Ended(BootEnd.INTERRUPTED, "interrupted")

    def finish() -> BootInfo:
        data = (folder / TAP).read_bytes()
        info = BootInfo(
            boot_id=f"{run_id}/{number:03}",
            number=number,
            started=started.isoformat(timespec="seconds"),
            ended=ended.how,
            message=ended.message(boot.begun_ns),
            host_ms=(time.monotonic_ns() - begun) // 1_000_000,
            stream_sha256=hashlib.sha256(data).hexdigest(),
        )
        # How it ended is stored first: the rest can be derived again, and may need more disk space.
        record.write_json(folder / record.BOOT, info)
        derive(folder, data)
        info = with_own_figure(MeasuredRun(read_measured(run_path), run_path, ()), info)
        record.write_json(folder / record.BOOT, info)
        return info

    try:
        with (
            _listening(order, folder / TAP, boot) as listener,
            watching(order.board.pins, folder, observer.says) as boot.pins,
        ):
            ended = _watched(order, boot, listener)
    except BoardError as error:
        ended = Ended(BootEnd.DIED, error.message)
        if number == 1:
            # Nothing has been measured yet, so failing at once loses nothing.
            if boot.zero_ns or tap.read((folder / TAP).read_bytes()).data:
                finish()
            else:
                shutil.rmtree(folder)
            raise
    except BaseException:
        finish()
        raise
    return finish()


@contextlib.contextmanager
def _listening(order: Order, path: Path, boot: _Boot) -> Iterator[Listener]:
    """Listens to the board from before it is switched off and on again."""
    console = order.where() if order.where else order.board.console
    order.power.off()
    if order.power.tells_when or order.board.power.by_hand:
        time.sleep(order.board.power.off_s)
    if order.power.tells_when:
        boot.begin_ns = time.monotonic_ns() + _NEVER_NS  # until it is switched on
    console, listener = _opened(order, console, path, boot)
    try:
        if boot.telnet:
            listener.note("telnet", time.monotonic_ns())
        if order.power.tells_when and console.host:
            _settle(listener, boot)
        if order.where:
            listener.note("line", time.monotonic_ns(), rate=console.rate)
        yield listener
    finally:
        listener.close()


def _opened(order: Order, console: Console, path: Path, boot: _Boot) -> tuple[Console, Listener]:
    """The console, or its replacement, once that is open."""
    try:
        return console, _open(console, path, boot)
    except BoardError as error:
        other = order.instead(error) if order.instead else None
        if other is None:
            raise
        listener = _open(other, path, boot)
        listener.note("tapped", time.monotonic_ns(), refused=error.message)
        return other, listener


def _open(console: Console, path: Path, boot: _Boot) -> Listener:
    boot.rate = console.rate
    boot.telnet = Telnet() if speaks_telnet(console) else None
    listener = Listener(listening(console), path, boot.heard, console.tap_host)
    until = time.monotonic() + (_PATIENCE_FAR_S if console.tap_host else _PATIENCE_S)
    try:
        while not listener.opened:
            going = listener.work(_LOOK_S)
            if not listener.opened and (not going or time.monotonic() > until):
                raise listener.not_open()
    except BaseException:
        listener.close()
        raise
    return listener


def _settle(listener: Listener, boot: _Boot) -> None:
    """Lets a serial server deliver what it buffered before the boot."""
    until = time.monotonic_ns() + _SETTLE_NS
    while time.monotonic_ns() < until:
        listener.work(_LOOK_S)
    listener.note("begin", time.monotonic_ns())


def _watched(order: Order, boot: _Boot, listener: Listener) -> Ended:
    """Switches the board on and listens to the end; returns how the boot ended."""
    called = time.monotonic_ns()
    order.power.on()
    returned = time.monotonic_ns()
    boot.zero_ns = called
    if order.power.tells_when:
        boot.begin_ns = called
        listener.note("power", called, what="on", at="call")
        listener.note("power", returned, what="on", at="return")
    while True:
        going = listener.work(_LOOK_S)
        found = verdict(order.end, boot, time.monotonic_ns())
        if found:
            return found
        if not going:
            return source_ended(order.end, boot, listener.listens)


def derive(folder: Path, data: bytes) -> None:
    """Writes files for people beside the raw capture: the console's bytes, and lines with stamps."""
    try:
        found = tap.read(data)
    except Exception:  # the raw capture is kept, whatever is wrong with it
        return
    (folder / record.CONSOLE).write_bytes(bytes(found.data))
    zero_ns = dating.zero_of(found).at_ns
    with (folder / record.LINES).open("wb") as f:
        for at_ns, line in dating.lines(found, found.rate):
            f.write(f"[{seconds(at_ns - zero_ns, 6):>12}] ".encode() + line + b"\n")
