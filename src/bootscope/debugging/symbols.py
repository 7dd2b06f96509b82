# SPDX-License-Identifier: Apache-2.0
"""gdb's view of a boot's programs: their symbols, and their addresses at a moment."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from bootscope.analysis.evidence import Evidence
from bootscope.analysis.moment import Moment
from bootscope.analysis.names import NO_MMU
from bootscope.arch.model import Architecture
from bootscope.capture import objects
from bootscope.capture.stream import Hook
from bootscope.core import hints, process
from bootscope.core.errors import ToolError
from bootscope.debugging.stopped import Stopped
from bootscope.emulator.plugin_config import kernel_start
from bootscope.emulator.standstill import Standing
from bootscope.loaders.model import Hooked, Program

EVERY, OWN = "gdb-multiarch", "gdb"
_PATIENCE_S = 600
_ADDRESSES = 1 << 64
"""The modulus of gdb's addresses, for any architecture: with a smaller one, it would add negative offsets."""


def debugger(arch: Architecture, named: str | None) -> str:
    """The debugger for an architecture: the one that was named, gdb-multiarch, or this computer's own if that
    is for it. Raises ToolError if there is none."""
    wanted = [named] if named else [EVERY, *([OWN] if arch.tools.is_host else [])]
    for name in wanted:
        if shutil.which(name, path=process.search_path()):
            return name
    raise ToolError(
        f"{' or '.join(wanted)} is missing (looks into programs for {arch.title})",
        hint=f"{hints.packages(EVERY)}; without --run and --listen, debug prints the registers by itself",
    )


def commands(evidence: Evidence, moment: Moment, folder: Path, where: str, mapped: bool = True) -> list[str]:
    """Commands for gdb: symbols of the programs that the recording keeps, written to `folder`, and the
    machine at `where`; with `mapped`, the kernel is at its link address, else at its load address, before its
    MMU is switched on.

    The program that runs at the moment comes first if it is at its link address: gdb takes the architecture
    from the first file.
    """
    loader = evidence.run.board.boot_loader
    running = loader.program(evidence.phase_at(moment.board_ns))
    found = [
        (path, _moved(evidence, moment, program))
        for program in loader.programs
        if program is running or program.stays
        for path in _written(evidence, program.code, folder)
    ]
    kernel = 0 if mapped else _put(evidence)
    found += [(path, kernel) for path in _written(evidence, objects.KERNEL, folder)]
    first = next((path for path, offset in found if not offset), None)
    return [
        "set confirm off",
        "set pagination off",
        *([f"file {first}"] if first else []),
        *(f"add-symbol-file {path} -o {offset % _ADDRESSES:#x}" for path, offset in found if path != first),
        f"target remote {where}",
    ]


def _written(evidence: Evidence, name: str, folder: Path) -> Iterator[Path]:
    """The file of a program, if it was kept."""
    if data := evidence.load(name):
        path = folder / f"{name}.elf"
        path.write_bytes(data)
        yield path


def _put(evidence: Evidence) -> int:
    """The distance of the kernel's load address from its link address."""
    code = evidence.program(objects.KERNEL)
    return kernel_start(evidence.run.board, code) - code.entry if code else 0


def _moved(evidence: Evidence, moment: Moment, program: Program) -> int:
    """How far a program has moved by then from its link address."""
    if not program.moves:
        return 0
    names, called = evidence.run.watch.hooks, program.hook(Hooked.RELOCATE)
    moves = (
        r for r in evidence.recorded if isinstance(r, Hook) and names.get(r.hook) == called and r.registers
    )
    first = next(moves, None)
    return evidence.timeline.loader_offset if first and first.time_ns < moment.virtual_ns else 0


def answers(gdb: str, evidence: Evidence, found: Stopped, machine: Standing, asked: list[str]) -> str:
    """gdb's output for commands. Raises ToolError if it cannot be started."""
    mapped = found.cpus[0].where != NO_MMU
    with tempfile.TemporaryDirectory(prefix="bootscope-") as folder:
        words = [*commands(evidence, found.moment, Path(folder), str(machine.socket), mapped), *asked]
        options = [part for word in words for part in ("-ex", word)]
        return process.run([gdb, "-nx", "-batch", *options], timeout_s=_PATIENCE_S, check=False).output
