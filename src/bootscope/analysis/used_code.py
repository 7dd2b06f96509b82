# SPDX-License-Identifier: Apache-2.0
"""Which object files of a build ran in a boot, how many instructions, and in which stage."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import msgspec

from bootscope.analysis.evidence import Evidence
from bootscope.analysis.kernel_activity import Mapping as Mapped
from bootscope.builder.linkmap import Objects, read
from bootscope.capture import objects
from bootscope.capture.objects import Program
from bootscope.capture.stream import Hook
from bootscope.capture.usage import AFTER, KERNEL, PROGRAMS, Block, Usage
from bootscope.core.errors import UserError

BUSYBOX = "/bin/busybox"
_NO_BYTES = (".bss", "COMMON", ".sbss")
"""Sections that take memory, but no space in an image."""


_THROWN_AWAY = (".init", ".exit")
"""Code sections that the kernel frees once it has started: set-up code that runs once."""


@dataclass(frozen=True, slots=True)
class Ran:
    """Instructions executed: by set-up code, by other code before the first program, by any code after that,
    and the part of the latter while the application had the CPU."""

    setup: int = 0
    start: int = 0
    programs: int = 0
    application: int = 0

    def __add__(self, other: Ran) -> Ran:
        return Ran(
            self.setup + other.setup,
            self.start + other.start,
            self.programs + other.programs,
            self.application + other.application,
        )

    @property
    def total(self) -> int:
        """All instructions."""
        return self.setup + self.start + self.programs


@dataclass(frozen=True, slots=True)
class Used:
    """An object file: bytes in the image, and its executed instructions."""

    name: str
    image_bytes: int
    ran: Ran


Code = Mapping[str, Used]
"""By the name of the object file in the build."""


def used_code(evidence: Evidence, usage: Usage, tree: str) -> Code:
    """The object files of the kernel, the boot loader or BusyBox; `tree`: the name of its sources.

    Raises UserError if the recording lacks what its programs were linked from.
    """
    kept = evidence.load(objects.OBJECTS_OF[tree])
    linked = Objects(read(kept.decode("utf-8", "replace")))
    if not linked.pieces:
        raise UserError(f"run {evidence.run.run_id} does not record what its {tree} was linked from")
    loader = evidence.run.board.boot_loader
    addresses = {"kernel": of_kernel, loader.tree: _of_loader}.get(tree, _of_busybox)
    executed: dict[str, Ran] = {}
    for address, block in addresses(evidence, usage):
        piece = linked.at(address)
        if piece:
            ran = _ran(block, piece.section.startswith(_THROWN_AWAY))
            executed[piece.object] = executed.get(piece.object, _NOT) + ran
    sizes = image_sizes(linked)
    return {o: Used(o, sizes.get(o, 0), executed.get(o, _NOT)) for o in {*sizes, *executed}}


_NOT = Ran()


def _ran(block: Block, sets_up: bool) -> Ran:
    before, later = block.executed(KERNEL), block.executed(PROGRAMS, AFTER)
    own = block.instructions * block.own
    return Ran(before, 0, later, own) if sets_up else Ran(0, before, later, own)


def image_sizes(linked: Objects) -> dict[str, int]:
    """Object file -> its bytes in the program's image."""
    found: dict[str, int] = {}
    for piece in linked.pieces:
        if not piece.section.startswith(_NO_BYTES):
            found[piece.object] = found.get(piece.object, 0) + piece.size
    return found


def of_kernel(evidence: Evidence, usage: Usage) -> Iterator[tuple[int, Block]]:
    kernel = evidence.arch.kernel.first_address
    return ((b.address, b) for b in usage.blocks if b.address >= kernel)


def _of_loader(evidence: Evidence, usage: Usage) -> Iterator[tuple[int, Block]]:
    """A boot loader runs at its link address until it relocates, and ends when the kernel starts."""
    ends_ns = virtual_ns(evidence, "kernel.start")
    board, offset = evidence.run.board, evidence.timeline.loader_offset
    if not (main := board.boot_loader.last):
        return
    linked, start = board.qemu.loader_code, board.addresses[main.name]
    for block in usage.blocks:
        if block.first_ns >= ends_ns or not any(low <= block.address < high for low, high in linked):
            continue
        moved = offset and block.address >= start + offset
        yield (block.address - offset if moved else block.address), block


def virtual_ns(evidence: Evidence, hook: str) -> int:
    """Virtual time at which a hook was first reached; the end of the recording if it was not."""
    names = evidence.run.watch.hooks
    found = (r.time_ns for r in evidence.recorded if isinstance(r, Hook) and names.get(r.hook) == hook)
    return next(found, evidence.recorded[-1].time_ns if evidence.recorded else 0)


def _of_busybox(evidence: Evidence, usage: Usage) -> Iterator[tuple[int, Block]]:
    programs = msgspec.json.decode(evidence.load(objects.PROGRAMS), type=dict[str, Program])
    program = programs.get(BUSYBOX)
    return of_program(evidence, usage, BUSYBOX, program) if program else iter(())


def of_program(evidence: Evidence, usage: Usage, path: str, program: Program) -> Iterator[tuple[int, Block]]:
    """Code of the program at a path of the target: (link address, block).

    A block belongs to the program mapped there when it first ran; if it first ran after the recording, to any
    task that has something mapped there.
    """
    times = [record.time_ns for record in evidence.recorded]
    for block in usage.blocks:
        if block.address >= evidence.arch.kernel.first_address:
            continue
        mapped = _mapped(evidence, times, block)
        if mapped and mapped.path == path:
            address = program.linked(mapped.in_file(block.address))
            if address is not None:
                yield address, block


def _mapped(evidence: Evidence, times: list[int], block: Block) -> Mapped | None:
    index = bisect_right(times, block.first_ns) - 1
    if index < 0:
        return None
    now, last = evidence.clock.before(index), index == len(times) - 1
    tasks = reversed(evidence.scene.tasks) if last else [evidence.slice_at(now).task]
    return next((m for task in tasks if (m := task.mapped_at(block.address, now))), None)
