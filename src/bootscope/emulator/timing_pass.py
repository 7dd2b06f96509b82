# SPDX-License-Identifier: Apache-2.0
"""The counting pass: a recorded boot is repeated, and the accesses to the modelled caches of a core are
counted. A boot is exact, so the two are matched event by event (counted.py)."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from bootscope.arch.model import Control, Rule
from bootscope.boards.changed import clock_core_of
from bootscope.boards.profile import Board, Direct
from bootscope.capture import counted, record, stream
from bootscope.capture.record import BootInfo, RunInfo, Screen
from bootscope.core.errors import ToolError, UserError, unknown
from bootscope.core.text import seconds
from bootscope.cores.profile import ALONE, PAGE_HINTS, SWITCHED, Core
from bootscope.emulator import flash_probes, port_lines, qemu
from bootscope.emulator.plugin_config import Watch, check_store_path
from bootscope.timeline.build import events_of
from bootscope.timeline.phases import boundaries

_COUNTS, _PASS = "counts.bin", "pass"
_UNIT_BYTES = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_SPARE_BYTES = 1 << 24
FLAT_PASSES = "flat-passes"
"""The line that says: stores to identity-mapped memory do not allocate cache lines."""
PATIENCE = 8
"""How many times longer than a plain boot the pass may take."""


def control_of(board: Board, core: Core) -> Control:
    """How the board's software switches caches. Raises UserError for a board that lacks this core, or has
    several CPUs, or memory in two pieces."""
    if core.architecture != board.architecture:
        raise UserError(
            f"core {core.name} is of architecture {core.architecture}, "
            f"board {board.name} of {board.architecture}"
        )
    if isinstance(board.qemu.cpus, int) and board.qemu.cpus > 1:
        raise UserError(
            f"board {board.name} has {board.qemu.cpus} CPUs, and caches are modelled for one",
            hint="record it with qemu.cpus = 1",
        )
    _check_memory(board)
    return board.arch.control


def check(board: Board, core: Core) -> None:
    """Raises UserError where the boots of a board cannot be counted for a core."""
    control_of(board, core)
    if own := clock_core_of(board):
        raise UserError(
            f"board {board.name} has the clock of core {own.name} already: its boots are not counted",
            hint="leave out --timing, or guest-clock=core",
        )


def memory_of(board: Board) -> tuple[int, int]:
    """The board's memory: its first address, and the first one behind it. A board that says neither where its
    memory is nor where a kernel is put into it is assumed to have it from the multiple of 16 MiB at or below
    the kernel's first address."""
    if isinstance(board.qemu.ram, tuple):
        return board.qemu.ram
    size = board.qemu.memory
    bytes_ = int(size[:-1]) * _UNIT_BYTES[size[-1]] if size[-1:] in _UNIT_BYTES else int(size) << 20
    first = board.addresses["kernel"] // _SPARE_BYTES * _SPARE_BYTES
    if isinstance(board.direct, Direct):
        first = board.direct.memory
    return first, first + bytes_


def _check_memory(board: Board) -> None:
    """Raises UserError for memory that is in two pieces, one of them behind the addresses of PCI."""
    space, (_, end) = board.qemu.config_space, memory_of(board)
    if isinstance(space, tuple) and end >= space[0] > memory_of(board)[0]:
        raise UserError(
            f"board {board.name} has {board.qemu.memory} of memory, which is in two pieces, "
            "and caches are modelled for one",
            hint=f"record it with less than {space[0] >> 20} MiB (qemu.memory)",
        )


def lines(
    board: Board,
    core: Core,
    path: Path,
    parts: list[int],
    uncached: list[tuple[int, int]],
    phases: Sequence[str] = (),
) -> list[str]:
    """The lines of a watch file for the pass; `phases` are the phases of its parts. Raises what
    :func:`control_of` does, and UserError for a core whose caches are switched in a phase that the boot
    lacks."""
    check_store_path(path)
    control = control_of(board, core)
    found = [f"timing {path} {_range(memory_of(board))}"]
    for name, words in core.geometry.items():
        if name == PAGE_HINTS:
            continue  # FLAT_PASSES says it
        what = name if name in ALONE else f"cache {name}"
        if name.startswith(SWITCHED):
            what = f"{SWITCHED} {_part(name.removeprefix(SWITCHED).strip(), phases)}"
        found.append(f"{what} {' '.join(map(str, words))}")
    if not flash_probes.follow_switches(board):
        found += flash_probes.control_lines(control)
    found += [f"large {_range(each)} {control.large_shift}" for each in control.large]
    found += ["write-combining"] * control.write_combining
    found += [FLAT_PASSES] * (control.flat_passes and core.caches.heeds_pages)
    found += map(class_line, board.arch.classes)
    found += [f"clock {o.size} {o.mask:#x} {o.value:#x}" for o in board.arch.clocks]
    if ports := board.arch.ports:
        found += port_lines.inputs(ports)
    found += [f"repeat {prefix:#x}" for prefix in board.arch.repeats]
    found += [f"uncached {_range(each)}" for each in uncached]
    # Where stacks are followed, the lines already describe calls.
    return [*found, *(f"part {number}" for number in parts)]


def class_line(rule: Rule) -> str:
    """The line of a watch file for a class of instructions."""
    o = rule.opcode
    words = [rule.kind, f"{o.size} {o.mask:#x} {o.value:#x}", *(f"{at} {bits}" for at, bits in rule.fields)]
    return " ".join([*words, *([f"{rule.registers:#x}"] if rule.registers else [])])


def _part(phase: str, phases: Sequence[str]) -> int:
    if phase not in phases:
        raise unknown("phase of this boot", phase, list(phases))
    return phases.index(phase)


def _range(range_: tuple[int, int]) -> str:
    return f"{range_[0]:#x} {range_[1]:#x}"


def count(
    run: RunInfo,
    core: Core,
    made: Callable[[Path], Watch],
    power: qemu.Power,
    boot: tuple[BootInfo, Path],
    frame: tuple[int, int] | None = None,
) -> None:
    """Repeats a recorded `boot` (its facts, its folder), and keeps the counts beside it.

    `made` returns the watch that it was recorded with, for another folder; `power` is what it booted from;
    `frame` is the address range of a frame buffer, which no cache holds. Raises ToolError when the pass is
    not the same boot, or QEMU fails.
    """
    info, folder = boot
    records = stream.read(folder / record.STREAM)
    starts = boundaries(records, events_of(records, run), run)
    number = {index: n for n, index in enumerate(i for i, r in enumerate(records) if counted.is_event(r))}
    phases = (run.board.boot_loader.phases[1], *(b.phase for b in starts))
    scratch = folder / _PASS
    scratch.mkdir()
    try:
        watch = made(scratch)
        counts = scratch / _COUNTS
        uncached = [frame] if frame else []
        parts = [number[b.index] for b in starts]
        watch.lines += lines(run.board, core, counts, parts, uncached, phases)
        power = replace(
            power,
            watch=scratch / record.WATCH,
            stream=scratch / record.STREAM,
            log=scratch / record.EMULATOR_LOG,
        )
        power.watch.write_text(watch.text())
        off = qemu.switch_on(run.board, power, _patience_s(info), lambda data: None)
        data = _counted(info, power, counts, records)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    facts = counted.CountedInfo(
        core=core.name,
        geometry=core.geometry,
        stream_sha256=info.stream_sha256,
        phases=phases,
        size_bytes=len(data),
        host_ms=off.host_ns // 1_000_000,
    )
    counted.keep(folder, core.geometry_id, facts, data)


def _patience_s(info: BootInfo) -> float:
    return 60 + PATIENCE * max(info.host_ms, 1000) / 1000


def _counted(info: BootInfo, power: qemu.Power, counts: Path, first: list[stream.Record]) -> bytes:
    """The counts. Raises ToolError when there are none, or they are of another boot."""
    if not counts.exists() or not power.stream.exists():
        said = power.log.read_bytes()[-400:].decode("utf-8", "replace").strip()
        raise ToolError(
            f"the counting pass of boot {info.boot_id} did not complete: {said or 'no reason given'}"
        )
    if not counted.same_boot(first, stream.read(power.stream)):
        raise ToolError(
            f"the counting pass of boot {info.boot_id} differs from its recording",
            hint="was QEMU, or an image, changed in between? record it again",
        )
    return counts.read_bytes()


def frame_range(screen: Screen | None, address: int | None) -> tuple[int, int] | None:
    """The address range of the frame buffer that shows a screen, if there is one."""
    if screen is None or address is None:
        return None
    return address, address + screen.stride_bytes * screen.height


def told(info: counted.CountedInfo) -> str:
    """Describes a pass in words."""
    return f"counted for {info.core}, {seconds(info.host_ms * 1_000_000, 1)} s of host time"
