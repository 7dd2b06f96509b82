# SPDX-License-Identifier: Apache-2.0
"""What a boot reads of the files of its root file system, in order: a small first program makes the kernel
read this ahead, while the programs that need it start."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from bootscope.analysis.evidence import Evidence
from bootscope.analysis.storage import wanted_pages
from bootscope.core.errors import UserError
from bootscope.devices.model import SECTOR_BYTES, StorageCommand
from bootscope.inventory.inventory import Absent, Inventory, Part
from bootscope.inventory.recorded import Recorded, Unrecorded
from bootscope.system.small_init import GLIBC, NOLIBC, PAGE_BYTES, FilePart

_BLOCK_BYTES = {"squashfs": 131072}
"""The least that a file system reads at once, where that is more than a page: mksquashfs's default block."""
_FIRST_PHASE = "init"
_GAP_PAGES = 4
"""Up to this distance, pages between two needed ones are read too: a command costs more than they do."""
_KERNELS_OWN = ("/sbin/init", "/etc/init", "/bin/init", "/bin/sh")
"""What the kernel tries where the command line gives no init: kernel_init in init/main.c of Linux 6.12."""
_MODES = frozenset({"single", "s", "S", "emergency", "--", *map(str, range(10))})
"""Words of a command line that the kernel passes to its first program."""


def files_read(known: Inventory) -> str:
    """The parts of files that the boot read, as lines `OFFSET BYTES PATH`; empty where there are none.

    Raises UserError without a recorded boot.
    """
    if not isinstance(known, Recorded):
        raise Unrecorded("what the boot reads is not known", hint="bootscope record tells")
    if not known.knows(Part.FILES):
        raise UserError("the files of the root file system are not known")
    return "\n".join(f"{part.offset} {part.size_bytes} {part.path}" for part in parts(known))


def parts(known: Recorded) -> list[FilePart]:
    """The same as parts, each page once."""
    evidence = known.view.evidence
    block = _block_bytes(known) // PAGE_BYTES
    wanted = wanted_pages(evidence)
    found: list[tuple[str, int, int]] = []
    seen: dict[str, set[int]] = {}
    for path, first, end in _reads(evidence, known, block):
        listed = seen.setdefault(path, set())
        for begin, after in _runs(sorted(_close(wanted.get(path), first, end) - listed)):
            listed.update(range(begin, after))
            last = found[-1] if found else ("", 0, 0)
            if last[0] == path and last[2] == begin:
                found[-1] = path, last[1], after
            else:
                found.append((path, begin, after))
    return [FilePart(path, first * PAGE_BYTES, (end - first) * PAGE_BYTES) for path, first, end in found]


def _block_bytes(known: Recorded) -> int:
    """The least that the root's file system reads at once."""
    given = known.settings.get("rootfs.block_bytes", "")
    if known.filesystem in _BLOCK_BYTES and given.isdecimal():
        return max(int(given), PAGE_BYTES)
    return _BLOCK_BYTES.get(known.filesystem, PAGE_BYTES)


def _reads(evidence: Evidence, known: Recorded, block: int) -> Iterator[tuple[str, int, int]]:
    """(path, first page, page after the last) of each read of a file, in order of time."""
    begins = [phase.start_ns for phase in known.view.timeline.phases if phase.name == _FIRST_PHASE]
    for event in evidence.events:
        if not isinstance(event, StorageCommand) or event.write or event.sector is None:
            continue
        if not begins or evidence.clock.before(event.index) < begins[0]:
            continue
        for piece in evidence.blocks.split(event.sector, max(1, event.size_bytes // SECTOR_BYTES)):
            if known.files.get(piece.name, "").startswith(("file", "program")):
                first = piece.file_sector * SECTOR_BYTES // PAGE_BYTES
                end = -(-(piece.file_sector + piece.sectors) * SECTOR_BYTES // PAGE_BYTES)
                yield piece.name, first // block * block, -(-end // block) * block


def _close(wanted: set[int] | None, first: int, end: int) -> set[int]:
    """The needed pages from `first` on, and those in small gaps between them; all pages where it was not
    recorded which are needed."""
    if wanted is None:
        return set(range(first, end))
    kept = sorted(wanted & set(range(first, end)))
    found = set(kept)
    for one, other in itertools.pairwise(kept):
        if other - one <= _GAP_PAGES:
            found.update(range(one, other))
    return found


def _runs(pages: list[int]) -> Iterator[tuple[int, int]]:
    """(first page, page after the last) of each run of consecutive pages."""
    start = 0
    for number in range(1, len(pages) + 1):
        if number == len(pages) or pages[number] != pages[number - 1] + 1:
            yield pages[start], pages[number - 1] + 1
            start = number


def first_program(known: Inventory) -> str:
    """The path of the program that the kernel starts. Raises Absent where it is in an initramfs, or gets
    arguments."""
    if not known.knows(Part.COMMAND_LINE, Part.FILES):
        raise UserError("the first program is not known")
    if known.word("rdinit") is not None or known.settings.get("initramfs.place"):
        raise Absent("its first program is in memory")
    if given := [word for word in known.words if word in _MODES]:
        raise Absent(f"its first program is given arguments: {given[0]}")
    own = (path for path in _KERNELS_OWN if path in known.files or f"/usr{path}" in known.files)
    return known.word("init") or next(own, "")


def small_init(known: Inventory) -> str:
    """The path of the system's existing small first program; empty for none."""
    path = known.settings.get("small_init.path", "")
    return path if path and known.word("init") == path else ""


def small_libc(known: Inventory) -> str:
    """The C library for a small first program: nolibc, which is in the tree of a kernel that is compiled."""
    return GLIBC if known.settings.get("prebuilt.kernel") else NOLIBC


FOUND = {
    "files_read": files_read,
    "first_program": first_program,
    "small_init": small_init,
    "small_libc": small_libc,
}
"""Placeholders, and functions for their values in a system."""
