# SPDX-License-Identifier: Apache-2.0
"""The watch file for the plugin: what to watch on this board while it runs this system.

The numbers in it have no meaning to the plugin; :class:`Watch` keeps what they stand for.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from bootscope.arch.model import Architecture
from bootscope.boards.profile import Board
from bootscope.capture.record import FIRST_FRAME, MILESTONE_TEXT, USAGE, WatchNames
from bootscope.core.errors import UserError, unknown
from bootscope.cores.profile import Core
from bootscope.devices.model import PORTS, MemoryStorage
from bootscope.devices.registry import asks_in_memory
from bootscope.emulator import (
    flash_probes,
    function_probes,
    kernel_probes,
    loader_probes,
    message_probes,
    port_lines,
    screen_probes,
    syscall_probes,
)
from bootscope.emulator.probes import Hooks, argument
from bootscope.emulator.subject import Programs, Watched
from bootscope.image.code import Code
from bootscope.system.model import System
from bootscope.timeline.kernel_lines import PANIC_END

PANIC_TEXT = "panic"
_NAMES_HOOKS = ("stop ", "routine ", "stage ", "owner ", "over ", "begins ", "flash-window ")
_COMM_BYTES = 15
_LONGEST_TEXT_BYTES = 120
_PANIC_NS = 1_000_000_000
"""The silence that ends a panicked kernel: its words are serial output, and its traces take no longer."""
# Functions of the kernel, by their names in different versions.
_INIT_STARTS = ("run_init_process", "try_to_run_init_process", "kernel_execve")
_NAME_SET = ("__set_task_comm",)
_EXECUTES, _AFTER_NAMING = "begin_new_exec", "flush_signal_handlers"


@dataclass(frozen=True)
class Limits:
    """When to give up, in virtual time; a sample of the program counter every `sample_ns`, and one of
    the stack, of up to `stack_bytes`, every `stack_ns`."""

    limit_ns: int = 120_000_000_000
    quiet_ns: int = 30_000_000_000
    sample_ns: int = 100_000
    stack_ns: int = 500_000
    stack_bytes: int = 1536
    explain: bool = True
    """Whether to record what the views need, or only phases, milestones, devices and samples."""
    usage_after_ns: int | None = None
    """Count which code runs, for this long beyond the recording's end; None: no counting."""
    probes: tuple[str, ...] = ()
    """Functions whose calls and returns are recorded: SYMBOL or PROGRAM:SYMBOL (function_probes.py)."""
    light: bool = True
    """Whether to look for the first pixel where there is a frame buffer; older recordings did not."""
    syscalls: bool = False
    """Whether all system calls of all processes are recorded (syscall_probes.py)."""
    timing: tuple[Core, ...] = ()
    """Cores for which the boot is repeated to count its cache accesses (timing_pass.py)."""
    cut: bool = False
    """Whether power is cut at `limit_ns`: the boot does not end at its milestone."""


@dataclass
class Watch:
    """A watch file under construction."""

    lines: list[str] = field(default_factory=list)
    devices: dict[int, str] = field(default_factory=dict)
    hooks: Hooks = field(default_factory=Hooks)
    texts: dict[int, str] = field(default_factory=dict)

    def names(self) -> WatchNames:
        """What the numbers stand for."""
        return WatchNames(devices=self.devices, hooks=self.hooks.names, texts=self.texts)

    def text(self) -> str:
        """The file. Lines that refer to hooks by number come after the hooks."""
        last = [line for line in self.lines if line.startswith(_NAMES_HOOKS)]
        rest = [line for line in self.lines if not line.startswith(_NAMES_HOOKS)]
        return "\n".join([*rest, *self.hooks.lines, *last]) + "\n"

    def numbers(self, name: str) -> list[int]:
        """The numbers of the hooks called `name`."""
        return [number for number, known in self.hooks.names.items() if known == name]

    def console_text(self, name: str, device: int, offset: int, data: bytes) -> None:
        """Adds a text to look for in the bytes written to the register at `offset` of a device."""
        number = len(self.texts) + 1
        self.texts[number] = name
        self.lines.append(f"text {number} {device} {offset} {data.hex()}")


def watch(
    board: Board,
    watched: Watched,
    programs: Programs,
    until: str,
    frame_path: Path,
    limits: Limits,
) -> Watch:
    """The watch for a boot on `board` that ends at milestone `until`.

    Raises UserError for an unknown milestone.
    """
    check_store_path(frame_path)
    if until not in watched.milestones:
        raise unknown("milestone", until, list(watched.milestones))
    w = Watch([f"tick {board.tick_ns}", *_machine(programs.kernel.arch)])
    add_devices(w, board)
    _add_phases(w, board, watched, programs)
    if limits.explain:
        first = len(w.hooks.names) + 1
        loader_probes.add(w.hooks, board.boot_loader, programs.loader)
        loader_probes.add_places(w.hooks, board.boot_loader, programs.pieces)
        kernel_probes.add(w.hooks, programs.kernel, programs.layout)
        if programs.units:
            message_probes.add(w.hooks, programs.kernel, programs.layout)
        # All of these continue in a system that hangs, too.
        w.lines.append(f"routine {first} {len(w.hooks.names)}")
    moving = (program.name for program in board.boot_loader.programs if program.moves)
    w.lines += function_probes.add(w.hooks, programs, moving, limits.probes)
    if limits.syscalls:
        w.lines += syscall_probes.add(w.hooks, programs.kernel)
    if limits.syscalls or limits.probes:
        arch = programs.kernel.arch
        w.lines += [f"over {number} {arch.kernel.stack_bytes}" for number in w.numbers("exit")]
    _add_texts(w, board, watched)
    _add_calls(w, watched, programs)
    begins = w.numbers("application.start") if watched.splash else []
    w.lines += screen_probes.lines(board, watched.screen, frame_path, limits.light, begins)
    for idle in board.qemu.idle:
        w.lines.append(f"idle {idle.size} {idle.mask:#x} {idle.value:#x}")
    if isinstance(board.qemu.quantum_ns, int):
        w.lines += [f"quantum {board.qemu.quantum_ns}"]
        w.lines += [f"yield {o.size} {o.mask:#x} {o.value:#x}" for o in board.arch.yields]
    w.lines += [f"sample {limits.sample_ns}", f"limit {limits.limit_ns}", _quiet(w, limits)]
    if limits.explain:
        _add_stacks(w, board, programs, limits)
    if limits.usage_after_ns is not None:
        _add_usage(w, frame_path.with_name(USAGE), limits.usage_after_ns, programs)
    _add_stops(w, until, board, limits)
    return w


def _quiet(w: Watch, limits: Limits) -> str:
    """The line that ends a boot after silence; after a panic, a shorter one is enough."""
    after = [f"{number} {min(limits.quiet_ns, _PANIC_NS)}" for number in w.numbers("kernel.panic")]
    return " ".join([f"quiet {limits.quiet_ns}", *after[:1]])


def _machine(arch: Architecture) -> list[str]:
    """What the plugin must know about the CPU."""
    registers = arch.registers
    parts = {
        "pc": registers.counter,
        "stack": registers.stack,
        "link": registers.link,
        "flags": registers.flags,
    }
    tests = [" ".join(f"{m:#x} {v:#x}" for m, v in condition) for condition in arch.conditions]
    return [
        f"word {arch.word_bytes} {arch.mode_bit}",
        *([f"segment {arch.segment_bytes}"] if arch.segment_bytes else []),
        *(f"register {part} {name}" for part, name in parts.items() if name),
        *(f"condition {number} {test}" for number, test in enumerate(tests)),
    ]


def _add_stacks(w: Watch, board: Board, programs: Programs, limits: Limits) -> None:
    """Where return addresses may point; a boot loader runs in memory below the kernel's once relocated."""
    w.lines.append(f"stack {limits.stack_ns} {limits.stack_bytes}")
    w.lines += [f"call {call.size} {call.mask:#x} {call.value:#x}" for call in board.qemu.calls]
    staying = [programs.loader[p.name] for p in board.boot_loader.programs if not p.moves]
    for code in (*staying, programs.kernel):
        low, high = code.extent()
        if low < high:
            w.lines.append(f"return {low:#x} {high:#x}")
    w.lines += [f"return {low:#x} {high:#x}" for low, high in board.qemu.loader_code]


def default_until(system: System) -> str:
    """The milestone that ends a recording when the user names none."""
    if system.framebuffer:
        return FIRST_FRAME
    return "app-ready" if "app-ready" in system.milestones else "application"


def add_devices(w: Watch, board: Board) -> None:
    for number, (name, device) in enumerate(board.devices.items(), start=1):
        w.devices[number] = name
        what = "port" if device.address_space == PORTS else "io"
        w.lines.append(f"{what} {number} {device.base:#x} {device.size:#x}")
        if asks_in_memory(device):
            w.lines.append(f"disk {number}")
        if isinstance(device, MemoryStorage):
            w.lines += [f"flash {number} {device.bus_bytes}", *device.watch_lines()]
    if ports := board.arch.ports:
        w.lines += port_lines.outputs(ports)
    if isinstance(space := board.qemu.config_space, tuple):
        w.lines.append(f"config {space[0]:#x} {space[1] - space[0]:#x}")


def _add_phases(w: Watch, board: Board, watched: Watched, programs: Programs) -> None:
    def address(code: Code, *names: str) -> int | None:
        function = code.function(*names)
        return function.address if function else None

    hooks, kernel = w.hooks, programs.kernel
    w.lines += loader_probes.add_starts(hooks, board.boot_loader, programs.loader, board.addresses)
    hooks.add("kernel.image", watched.image_at, "once")
    start = kernel_start(board, kernel) if watched.starts_at is None else watched.starts_at
    unpacks = watched.image_at is not None
    hooks.add("kernel.start", start, _once_there(start, board, watched, programs) if unpacks else "once")
    if watched.late_entry:
        hooks.add("kernel.start", address(kernel, *kernel.arch.kernel.mapped), "once")
    first, second, *_ = kernel.arch.registers.arguments
    hooks.add("kernel.init", address(kernel, *_INIT_STARTS), f"once str {first}")
    process = watched.process.encode()
    _add_inlined_naming(hooks, programs, process)
    # The kernel names a task when it executes a program (third argument: whether it does, or only renames).
    hooks.add("exec", address(kernel, *_NAME_SET), f"every {argument(kernel.arch, 2, 0)} str {second}")
    # It gets the whole name of the file and keeps the beginning; a process can set only that much itself.
    for name in dict.fromkeys((process[:_LONGEST_TEXT_BYTES], process[:_COMM_BYTES])) if process else ():
        hooks.add("application.start", address(kernel, *_NAME_SET), f"once str {second} is {name.hex()}")
    for called, fields in watched.journal.items():
        message_probes.add_milestone(hooks, kernel, programs.layout, called, fields)
    hooks.add("kernel.panic", address(kernel, "panic"), f"once str {first}")
    w.lines += flash_probes.lines(board, hooks, watched.image_at)


def _once_there(start: int, board: Board, watched: Watched, programs: Programs) -> str:
    """How to tell the first instruction of an unpacked kernel from code that ran at the same address before:
    the kernel's own image, or a program of the boot loader that lies where the kernel is unpacked to."""
    extents = [programs.loader[program.name].extent() for program in board.boot_loader.programs]
    shared = start == watched.image_at or any(low <= start < high for low, high in extents)
    register = programs.kernel.arch.kernel.unpacker_jumps_by
    return f"once if {register} {start:#x}" if shared and register else "once"


def kernel_start(board: Board, kernel: Code) -> int:
    """Where the kernel starts before its MMU is on. Kernels for some SoCs reserve more room in front of their
    start, and multi-platform kernels the largest amount that any of their SoCs needs."""
    entries = kernel.arch.kernel
    offset = kernel.entry & entries.offset_mask or entries.usual_offset
    return board.addresses["kernel"] - entries.usual_offset + offset


def _add_inlined_naming(hooks: Hooks, programs: Programs, process: bytes) -> None:
    """Starts of programs in a kernel whose compiler inlined the naming of a task into exec.

    Shortly afterwards the task, which has its name by then, drops its signal handlers; only exec calls that
    function with a second argument of 0.
    """
    kernel = programs.kernel
    names, executes = kernel.function(*_NAME_SET), kernel.function(_EXECUTES)
    after, comm = kernel.function(_AFTER_NAMING), programs.layout.get("task_struct.comm")
    if names and executes and after and comm is not None and not kernel.calls(executes, names):
        first, second, *_ = kernel.arch.registers.arguments
        name, only = f"str {first}+{comm}", f"if {second} 0"
        hooks.add("exec", after.address, f"every {only} {argument(kernel.arch, 0, 0)} {name}")
        if process:
            told = f"{name} is {process[:_COMM_BYTES].hex()}"
            hooks.add("application.start", after.address, f"once {only} {told}")


def _add_texts(w: Watch, board: Board, watched: Watched) -> None:
    device = next(number for number, name in w.devices.items() if name == board.console)
    offset = board.console_called(board.console).data_offset
    for name, texts in watched.texts.items():
        for text in texts:
            w.console_text(MILESTONE_TEXT + name, device, offset, text)
    w.console_text(PANIC_TEXT, device, offset, PANIC_END.encode())


def _add_calls(w: Watch, watched: Watched, programs: Programs) -> None:
    kernel = programs.kernel
    for name, reached in watched.calls.items():
        function = kernel.function(*reached.functions)
        if function and all(member in programs.layout for member in reached.path):
            chain = kernel.arch.registers.arguments[reached.argument]
            if reached.path:
                chain += "+" + ">".join(str(programs.layout[member]) for member in reached.path) + ">0"
            told = reached.text[:_LONGEST_TEXT_BYTES].hex()
            w.hooks.add(MILESTONE_TEXT + name, function.address, f"once str {chain} is {told}")


def check_store_path(path: Path) -> None:
    """Raises UserError for a path that cannot be written into a watch file."""
    if any(c.isspace() or c == "#" for c in str(path)):
        raise UserError(
            f"the plugin cannot write to a path with blanks or '#': {path}",
            hint="set BOOTSCOPE_STORE to another folder",
        )


def _add_usage(w: Watch, path: Path, after_ns: int, programs: Programs) -> None:
    """Counting: separates what the kernel does by itself from what programs have it do, and keeps apart what
    runs while the application has the CPU (all of its threads)."""
    check_store_path(path)
    w.lines.append(f"usage {after_ns} {path}")
    w.lines += [f"stage {number}" for number in w.numbers("kernel.init")]
    starts, switches, tgid = (
        w.numbers("application.start"),
        w.numbers("switch"),
        programs.layout.get("task_struct.tgid"),
    )
    if starts and switches and tgid is not None:
        # In the function that names a task, the task is the first argument.
        arch = programs.kernel.arch
        named, to = arch.registers.arguments[0], arch.registers.arguments[arch.kernel.switch_to]
        w.lines.append(f"owner {starts[0]} {named}+{tgid} {switches[0]} {to}+{tgid}")


def _add_stops(w: Watch, until: str, board: Board, limits: Limits) -> None:
    w.lines += [] if limits.cut else _stops_at(w, until, board)
    w.lines += [f"stop text {number}" for number, name in w.texts.items() if name == PANIC_TEXT]


def _stops_at(w: Watch, until: str, board: Board) -> list[str]:
    declared = [number for number, name in w.texts.items() if name == MILESTONE_TEXT + until]
    if declared:
        return [f"stop text {number}" for number in declared]
    if until in screen_probes.STOPS:
        return [screen_probes.STOPS[until]]
    hooks = [n for s in board.boot_loader.stages if s.milestone == until for n in w.numbers(s.hook)]
    hooks += w.numbers(MILESTONE_TEXT + until)
    if not hooks:
        raise UserError(f"milestone {until} cannot be observed: the kernel has no symbol for it")
    return [f"stop hook {hook}" for hook in hooks]
