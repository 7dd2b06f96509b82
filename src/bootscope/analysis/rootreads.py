# SPDX-License-Identifier: Apache-2.0
"""What a boot reads of its root file system: large files, and all else."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass

from bootscope.analysis.blocks import ROOT_PARTITION
from bootscope.analysis.evidence import Evidence
from bootscope.analysis.storage import Access, accesses
from bootscope.analysis.whatif_plan import KERNEL_PHASES, Gone

LARGE_BYTES = 16 << 10
"""Files of which less is read count with the file system's own data: other kinds keep them there."""


@dataclass(frozen=True)
class RootReads:
    """What a boot read and wrote of it, in bytes and commands of the card: of large files, and of folders,
    inodes, small files and all else."""

    files_bytes: int = 0
    files_commands: int = 0
    own_bytes: int = 0
    own_commands: int = 0

    @property
    def bytes(self) -> int:
        """Of both."""
        return self.files_bytes + self.own_bytes

    @property
    def commands(self) -> int:
        """Of both."""
        return self.files_commands + self.own_commands


def kind_of(filesystem: str, options: Sequence[str]) -> str:
    """A file system as :mod:`bootscope.analysis.whatif_root` calls it: squashfs-lz4hc, erofs-none, ext4."""
    words = list(options)
    if filesystem == "squashfs":
        if "-noD" in words:
            return "squashfs-none"
        at = words.index("-comp") + 1 if "-comp" in words else len(words)
        packer = words[at] if at < len(words) else "gzip"
        return f"squashfs-{packer}{'hc' if packer == 'lz4' and '-Xhc' in words else ''}"
    if filesystem == "erofs":
        packed = [word[2:].partition(",")[0] for word in words if word.startswith("-z")]
        return f"erofs-{packed[0] if packed else 'none'}"
    return filesystem


def root_reads(evidence: Evidence, gone: Gone | None = None, kept: Container[int] = ()) -> RootReads:
    """What a boot read of its root file system, from the kernel's start on; without what is `gone`, but for
    the records `kept`."""
    ours = [a for a in accesses(evidence) if _in_use(a, evidence) and _of_root(a, evidence)]
    if gone:
        ours = [a for a in ours if a.start_ns not in gone or a.index in kept]
    read: dict[str, int] = {}
    for access in ours:
        if not access.write:
            read[access.what] = read.get(access.what, 0) + access.size_bytes
    files, own = set[int](), set[int]()
    files_bytes = own_bytes = 0
    for access in ours:
        if access.what.startswith("/") and not access.write and read[access.what] >= LARGE_BYTES:
            files.add(access.index)
            files_bytes += access.size_bytes
        else:
            own.add(access.index)
            own_bytes += access.size_bytes
    return RootReads(files_bytes, len(files), own_bytes, len(own - files))


def _in_use(access: Access, evidence: Evidence) -> bool:
    return access.sector is not None and evidence.phase_at(access.start_ns) in KERNEL_PHASES


def _of_root(access: Access, evidence: Evidence) -> bool:
    """Whether an access is of the root file system's part of the card."""
    sector = access.sector or 0
    roots = [e for e in evidence.run.system.extents if e.name == ROOT_PARTITION]
    return any(r.sector <= sector < r.sector + r.sectors for r in roots)
