# SPDX-License-Identifier: Apache-2.0
"""What the unit tests build by hand: streams, boards, runs, recordings in a store."""

from __future__ import annotations

import os
import struct
import sys
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path

import msgspec

from bootscope.boards.profile import Board, load_board
from bootscope.capture import record, stream
from bootscope.capture.record import BootInfo, Extent, RunInfo, SystemFacts, WatchNames
from bootscope.capture.store import Store
from bootscope.capture.stream import (
    Bytes,
    Clock,
    Cpu,
    Cpus,
    Ended,
    Frame,
    Hook,
    Idle,
    Io,
    Light,
    Record,
    Sample,
    Slept,
    StackSample,
    Text,
    Unknown,
)
from bootscope.devices.model import CardClass

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src"
DEVICES = {1: "uart0", 2: "mmc0", 3: "pio"}
UART, MMC, PIO = 1, 2, 3
HOOK_NAMES = (
    "spl.start", "uboot.start", "uboot.relocate", "kernel.image", "kernel.start",
    "kernel.init", "exec", "application.start", "kernel.panic",
)  # fmt: skip
SPANS = (
    "initcall", "probe", "irq", "softirq", "work", "delay", "spl.delay", "spl.initcall", "spl.probe",
    "uboot.delay", "uboot.initcall", "uboot.probe", "uboot.command",
)  # fmt: skip
MOMENTS = (
    "switch", "fork", "exit", "wake", "execve", "execve.file", "map", "bio", "bio.end", "page", "printk",
    "module", "driver", "probe.driver",
)  # fmt: skip
MESSAGES = ("datagram", "kmsg", "kmsg.text", "cgroup")
EVERY_HOOK = (*HOOK_NAMES, *MOMENTS, *SPANS, *(f"{name}.end" for name in SPANS), *MESSAGES)
"""What a recording of today has; HOOK_NAMES is what the first ones had."""
HOOKS = dict(enumerate(EVERY_HOOK, start=1))
TEXTS = {1: "milestone app-ready", 2: "panic"}
KERNEL_SECTOR, KERNEL_SECTORS = 4096, 100
BYTE_NS = 10 * 1_000_000_000 // 115_200
POWER_ON_NS = 200_000_000


# ---- streams: the encoder of native/plugin/stream.c, once more ----


def uint(value: int) -> bytes:
    """LEB128."""
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def sint(value: int) -> bytes:
    """Zigzag, then LEB128."""
    return uint(value * 2 if value >= 0 else -value * 2 - 1)


def kind_and_payload(r: Record) -> tuple[int, bytes]:
    """Type and payload of a record, as the plugin writes them."""
    match r:
        case Io():
            return 1, uint(r.device) + uint(r.offset) + bytes([r.size]) + uint(r.value)
        case Hook():
            numbers = b"".join(uint(value) for value in r.registers)
            text = bytes([len(r.text)]) + r.text if r.text else b""
            return 2, uint(r.hook) + bytes([len(r.registers)]) + numbers + text
        case Sample():
            return 3, uint(r.pc)
        case Idle():
            return 4, uint(r.duration_ns)
        case Frame():
            kind = 6 if r.whole else 5
            return kind, uint(r.frame) + uint(r.number) + bytes([r.copied]) + uint(r.pc)
        case Text():
            return 7, uint(r.text)
        case _:
            return _other(r)


def _other(r: Record) -> tuple[int, bytes]:
    match r:
        case Clock():
            return 8, uint(r.syncs) + sint(r.worst_ns)
        case Ended():
            return 9, bytes([r.reason]) + uint(r.ident)
        case StackSample():
            return 10, uint(r.pc) + uint(r.lr) + uint(r.flags) + r.raw
        case Cpu():
            return 11, uint(r.cpu)
        case Bytes():
            return 12, r.data
        case Cpus():
            return 13, uint(r.number) + uint(r.quantum_ns)
        case Slept():
            return 14, uint(r.duration_ns)
        case Light():
            return 15, uint(r.picture) + uint(r.offset) + uint(r.pc)
        case Unknown():
            return r.kind, r.payload
    raise TypeError(r)


def encode_each(records: Iterable[Record]) -> list[bytes]:
    """Each record as it stands in a stream."""
    parts, before_ns = [], 0
    for r in records:
        kind, payload = kind_and_payload(r)
        parts.append(bytes([kind, len(payload)]) + sint(r.time_ns - before_ns) + payload)
        before_ns = r.time_ns
    return parts


def encode(records: Iterable[Record]) -> bytes:
    """The body of a stream."""
    return b"".join(encode_each(records))


def header(committed: int, version: int = 1, magic: bytes = b"BSCOPE1\n") -> bytes:
    """The header of a stream, 64 bytes."""
    return struct.pack("<8sIIQI", magic, version, 64, committed, 2).ljust(64, b"\0")


def stream_file(records: Iterable[Record], spare: int = 0) -> bytes:
    """A whole stream with `spare` bytes allocated ahead."""
    body = encode(records)
    return header(len(body)) + body + bytes(spare)


# ---- what a board does ----


def typed(text: bytes, time_ns: int = 0, step_ns: int = 0) -> list[Record]:
    """Stores of `text` to the console port, `step_ns` of virtual time apart."""
    return [Io(time_ns + at * step_ns, UART, 0, 4, byte) for at, byte in enumerate(text)]


def card_read(time_ns: int, sector: int, size_bytes: int) -> list[Record]:
    """The three stores that make the host controller read from a byte-addressed card."""
    start, data = 1 << 31, 1 << 9
    return [
        Io(time_ns, MMC, 0x14, 4, size_bytes),
        Io(time_ns, MMC, 0x1C, 4, sector * 512),
        Io(time_ns, MMC, 0x18, 4, start | data | 18),
    ]


def hook(time_ns: int, name: str, *registers: int, text: bytes = b"") -> Hook:
    """Arrival at the hook called `name`."""
    return Hook(time_ns, EVERY_HOOK.index(name) + 1, registers, text)


def stack(time_ns: int, pc: int, lr: int = 0, words: dict[int, int] | None = None) -> StackSample:
    """The stack as the plugin found it: words from the stack pointer up -> what may be an address."""
    raw = b"".join(uint(at) + uint(value) for at, value in (words or {}).items())
    return StackSample(time_ns, pc, lr, 0, raw)


BOOT: list[Record] = [
    hook(0, "uboot.start"),
    *card_read(10, 4096, 5120),
    *typed(b"[red]hello[/nonsense] \x1b[31m\r\n", 20),
    hook(1_000, "kernel.start"),
    Sample(2_000, 0x8000),
]


# ---- boards and runs ----


def board(bandwidth: int | None = None, latency_ns: int | None = None) -> Board:
    """The cubieboard, with another card when asked for."""
    found = load_board("cubieboard")
    card = found.card
    if bandwidth is not None:
        value = msgspec.structs.replace(card.bandwidth_bytes_per_s, value=bandwidth)
        card = msgspec.structs.replace(card, bandwidth_bytes_per_s=value)
    if latency_ns is not None:
        value = msgspec.structs.replace(card.command_latency_ns, value=latency_ns)
        card = msgspec.structs.replace(card, command_latency_ns=value)
    classes: dict[str, CardClass] = {**found.card_classes, found.card_class: card}
    return msgspec.structs.replace(found, card_classes=classes)


def run_info(
    run_id: str = "20261121-120000-test", on: Board | None = None, schema: int = record.SCHEMA
) -> RunInfo:
    """A minimal run of a made-up system."""
    kernel = Extent(name="kernel", sector=KERNEL_SECTOR, sectors=KERNEL_SECTORS)
    boot = Extent(name="partition boot", sector=2048, sectors=65536)
    facts = SystemFacts(
        name="test",
        title="a made-up system",
        application="testcard",
        screen=None,
        card_bytes=128 << 20,
        extents=(kernel, boot),
        symbols={},
        command_line="console=ttyS0",
        settings={},
    )
    return RunInfo(
        run_id=run_id,
        created="2026-11-21T12:00:00+00:00",
        bootscope="0.1.0",
        build_id="b" * 64,
        until="app-ready",
        system=facts,
        board=on or board(),
        parts=(),
        tools={},
        host={},
        watch=WatchNames(devices=DEVICES, hooks=HOOKS, texts=TEXTS),
        schema=schema,
    )


def boot_info(run_id: str, number: int = 1, ended: str = "milestone") -> BootInfo:
    """How boot `number` of a run ended."""
    return BootInfo(
        boot_id=f"{run_id}/{number:03}",
        number=number,
        started="2026-11-21T12:00:00+00:00",
        ended=record.BootEnd(ended),
        message=f"ended by {ended}",
        host_ms=1,
        stream_sha256="",
    )


def keep_run(
    store: Store, records: Iterable[Record] = (), system: str = "test", day: int = 21, boots: int = 1
) -> str:
    """Puts a finished run into the store, as a recorder would; returns its id."""
    run_id = store.new_run_id(system, datetime(2026, 11, day, 12, 0, 0))
    data = stream_file(records)
    with store.recording(run_id) as path:
        record.write_json(path / "run.json", run_info(run_id))
        for number in range(1, boots + 1):
            folder = path / "boots" / f"{number:03}"
            folder.mkdir()
            (folder / record.STREAM).write_bytes(data)
            record.write_json(folder / record.BOOT, boot_info(run_id, number))
    return run_id


def body_records(data: bytes) -> list[Record]:
    """The records of a stream's body, decoded at once."""
    return list(stream.Decoder().feed(data))


# ---- other processes ----


def environment(**extra: str) -> dict[str, str]:
    """The environment for a Python that finds this checkout's bootscope."""
    return {**os.environ, "PYTHONPATH": f"{SOURCE}{os.pathsep}{ROOT}", **extra}


def python(script: str, *arguments: str | Path) -> list[str]:
    """The command that runs `script` in a Python of its own."""
    return [sys.executable, "-c", script, *map(str, arguments)]
