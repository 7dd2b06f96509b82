# SPDX-License-Identifier: Apache-2.0
"""Boards on a desk that are made of an emulated boot: what a listener would have heard of them."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from datetime import datetime

import msgspec

from bootscope.boards.physical import Console, RealBoard
from bootscope.boards.profile import Board, load_board
from bootscope.capture import record, tap, tapper
from bootscope.capture.measured import MEASURED, TAP, MeasuredInfo
from bootscope.capture.record import RunInfo
from bootscope.capture.store import Store
from bootscope.capture.stream import Record
from bootscope.core.settings import Sourced
from bootscope.devices.model import CardClass
from bootscope.devices.uart16550 import Uart16550
from bootscope.timeline.build import timeline_of
from bootscope.timeline.console import console_bytes
from bootscope.timeline.core_time import Timing

from .builders import boot_info

SWITCHED_NS = 5_000_000_000
"""When the board was switched on, on the clock of the host that listens."""
Bytes = list[tuple[int, int]]


def profile(
    bandwidth: int = 11_300_000,
    latency_ns: int = 500_000,
    cpu_ppm: int = 1_000_000,
    line_percent: int = 100,
    power_on_ns: int = 200_000_000,
) -> Board:
    """The cubieboard with other figures; `line_percent` is that of its line rate."""

    def said(value: int) -> Sourced:
        return Sourced(value=value, source="made up")

    found = load_board("cubieboard")
    uart = found.devices["uart0"]
    assert isinstance(uart, Uart16550)
    uart = msgspec.structs.replace(
        uart,
        clock_hz=said(uart.clock_hz.value * line_percent // 100),
        default_baud=said(uart.default_baud.value * line_percent // 100),
    )
    card = CardClass(
        title="a card", bandwidth_bytes_per_s=said(bandwidth), command_latency_ns=said(latency_ns)
    )
    return msgspec.structs.replace(
        found,
        power_on_ns=said(power_on_ns),
        cpu_scale_ppm=said(cpu_ppm),
        devices={**found.devices, "uart0": uart},
        card_class="its",
        card_classes={"its": card},
    )


def heard(records: list[Record], run: RunInfo, board: Board, timing: Timing | None = None) -> Bytes:
    """When each byte of the console has come over the line on that board, in ns since power on, and the
    byte: by the rules of timeline/costs.py; with `timing`, on that core."""
    made = timeline_of("board", records, run, board, timing)
    found: Bytes = []
    free_ns = 0
    for byte in console_bytes(made.events, board.console):
        free_ns = max(made.clock.after(byte.index), free_ns) + byte.byte_ns
        found.append((free_ns, byte.value))
    return found


def varied(found: Bytes, rng: random.Random, jitter_ns: int = 40_000, often: float = 0.01) -> Bytes:
    """The same boot on another day: lines are late by a skewed jitter, now and then by much, and all that
    follows with them."""
    late_ns, result = 0, []
    for at_ns, value in found:
        result.append((at_ns + late_ns, value))
        if value == 0x0A:
            late_ns += round(rng.expovariate(1 / jitter_ns))
            if rng.random() < often:
                late_ns += round(rng.expovariate(1 / 40_000_000))
    return result


def capture(found: Iterable[tuple[int, int]], rate: int = 115_200, *, switched: bool = True) -> bytes:
    """A console capture of those bytes."""
    events = [tap.event_record(SWITCHED_NS - 1, "open", source="a port", rate=rate, late_99_ns=50_000)]
    if switched:
        for at_ns, at in ((SWITCHED_NS, "call"), (SWITCHED_NS + 2_000, "return")):
            events.append(tap.event_record(at_ns, "power", what="on", at=at))
    reads = [tap.record(tapper.BYTES, SWITCHED_NS + 1_000 + at, bytes([value])) for at, value in found]
    return tap.MAGIC + b"".join([*events, *reads])


def keep_measured(
    store: Store,
    boots: Sequence[Bytes],
    *,
    rate: int = 115_200,
    kind: str = "serial",
    switched: bool = True,
    ended: str = "milestone",
) -> str:
    """Puts boots of a real board into the store, as if they had been measured; returns the run's id."""
    run_id = store.new_run_id("desk", datetime(2026, 11, 22, 12, 0, 0))
    host, port = ("lab", "2000") if kind == "tcp" else ("", "/dev/ttyUSB0")
    with store.recording(run_id) as path:
        info = MeasuredInfo(
            run_id=run_id,
            created="2026-11-22T12:00:00+00:00",
            bootscope="0.1.0",
            name="desk",
            board=RealBoard(name="desk", console=Console(kind=kind, host=host, port=port, rate=rate)),
            power="./on.sh",
            until="login",
            asked=len(boots),
            host={},
        )
        record.write_json(path / MEASURED, info)
        for number, found in enumerate(boots, start=1):
            folder = path / "boots" / f"{number:03}"
            folder.mkdir()
            (folder / TAP).write_bytes(capture(found, rate, switched=switched))
            record.write_json(folder / record.BOOT, boot_info(run_id, number, ended))
    return run_id
