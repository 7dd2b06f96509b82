# SPDX-License-Identifier: Apache-2.0
"""Names for code addresses, over the whole chain: boot loader, decompressor, kernel, user programs.

Which program an address belongs to depends on when it was seen (the phase) and, below the kernel, on the
running task: every process has its own programs at its own addresses.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping

import msgspec

from bootscope.analysis.kernel_activity import Task
from bootscope.arch.model import Architecture
from bootscope.capture.objects import Program
from bootscope.image.symbols import Symbols
from bootscope.loaders.model import Loader

NO_MMU = "kernel, before its MMU is on"
NO_SYMBOL = "code without a symbol"
DECOMPRESSOR = "decompressor"
"""What unpacks the kernel: its symbol table, and the name of the whole if there is none."""
_DECOMPRESS = "decompress"


class UserPrograms:
    """The programs and libraries of the root file system."""

    def __init__(self, programs: Mapping[str, Program]) -> None:
        self._programs = programs
        self._starts = {path: [f[0] for f in p.functions] for path, p in programs.items()}

    @classmethod
    def parse(cls, data: bytes) -> UserPrograms:
        """From the JSON that the build keeps. Raises msgspec.DecodeError for anything else."""
        return cls(msgspec.json.decode(data, type=dict[str, Program]))

    def name(self, task: Task, pc: int, time_ns: int) -> str | None:
        """`program function` for an address in a task, or the program alone; None when unknown."""
        mapped = task.mapped_at(pc, time_ns)
        if mapped is None:
            return None
        short = mapped.path.rpartition("/")[2] or mapped.path
        return f"{short} {self._function(mapped.path, mapped.in_file(pc)) or NO_SYMBOL}"

    def _function(self, path: str, offset: int) -> str | None:
        """The function at an offset of a program's file."""
        address = self._programs[path].linked(offset) if path in self._programs else None
        at = bisect_right(self._starts[path], address) - 1 if address is not None else -1
        if address is None or at < 0:
            return None
        start, size, name = self._programs[path].functions[at]
        return name if not size or address < start + size else None


class Names:
    """Names addresses by phase and task. Raises nothing: unknown code gets a name that says so."""

    def __init__(
        self,
        arch: Architecture,
        tables: Mapping[str, Symbols],
        loader: Loader,
        loader_offset: int,
        users: UserPrograms | None = None,
        decompressor_offset: int = 0,
    ) -> None:
        self._tables, self._loader, self._offset, self._users = tables, loader, loader_offset, users
        self._decompressor = decompressor_offset
        self._kernel = arch.kernel
        self._known: dict[tuple[str, int], str] = {}

    def name(self, phase: str, pc: int, task: Task | None = None, time_ns: int = 0) -> str:
        """A function with its program, as `kernel udelay`, or a description of the code."""
        return self.fixed(phase, pc) or self.user(phase, pc, task, time_ns)

    def has(self, table: str) -> bool:
        """Whether the symbols of a program before Linux are known."""
        return table in self._tables

    def spans(self, name: str) -> list[tuple[int, int]]:
        """The address ranges of functions of that name, in the kernel and in what runs before it."""
        found = [span for table in self._tables.values() for span in table.spans(name)]
        moving = [p.symbols for p in self._loader.programs if p.moves and self._offset]
        moved = [
            span for table in moving if table in self._tables for span in self._tables[table].spans(name)
        ]
        return found + [(start + self._offset, end + self._offset) for start, end in moved]

    def fixed(self, phase: str, pc: int) -> str | None:
        """The same for code that does not depend on the task; None for user programs."""
        found = self._known.get((phase, pc))
        if found is None:
            program = self._loader.program(phase)
            if resident := self._resident(phase, pc):
                name = resident
            elif program:
                # It runs at its link address until it relocates itself. For an earlier address, subtracting
                # the offset yields no function.
                offset = self._offset if program.moves else 0
                moved = offset and self._look_up(program.symbols, pc - offset)
                name = self._look(program.symbols, program.title, pc - offset if moved else pc)
            elif phase != _DECOMPRESS and pc < self._kernel.first_address:
                return None
            else:
                name = self._linux(phase, pc)
            found = self._known[phase, pc] = name
        return found

    def _resident(self, phase: str, pc: int) -> str | None:
        """A function of a resident program before Linux that later code calls; None for other code."""
        for program in self._loader.programs:
            low, high = program.lies or (0, pc + 1)
            stays = program.stays and low <= pc < high
            found = self._look_up(program.symbols, pc) if stays else None
            if program.lies and stays and self._loader.program(phase):
                found = found or NO_SYMBOL
            if found and self._loader.program(phase) is not program:
                return f"{program.title} {found}"
        return None

    def _linux(self, phase: str, pc: int) -> str:
        if phase == _DECOMPRESS:
            found = self._look_up(DECOMPRESSOR, pc - self._decompressor)
            return f"{DECOMPRESSOR} {found}" if found else DECOMPRESSOR
        if pc >= self._kernel.vectors:
            return "kernel exception vectors"
        return self._look("kernel", "kernel", pc)

    def user(self, phase: str, pc: int, task: Task | None, time_ns: int) -> str:
        """A function of the program that a task runs at a moment, or a description of it."""
        if phase == "kernel" and (task is None or task.kernel):
            return NO_MMU
        if task is None or task.idles:
            return "user programs"  # unknown which: the first task runs none
        found = self._users.name(task, pc, time_ns) if self._users else None
        return found or f"program {task.name_at(time_ns)}"

    def _look_up(self, table: str, pc: int) -> str | None:
        return self._tables[table].name_at(pc) if table in self._tables else None

    def _look(self, table: str, program: str, pc: int) -> str:
        return f"{program} {self._look_up(table, pc) or NO_SYMBOL}"
