# SPDX-License-Identifier: Apache-2.0
"""What if the root file system were of another kind?

filesystems.toml gives the properties of each kind, from boots of one small system: how many bytes of large
files are read compared with ext4, and in how many commands; how much is read of everything else; how long its
code works while it is mounted and used, and how large that code is.
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Container, Sequence
from dataclasses import dataclass
from pathlib import Path

from bootscope.analysis.blocks import ROOT_PARTITION
from bootscope.analysis.console_cost import Line, hidden_by_quiet
from bootscope.analysis.evidence import Evidence
from bootscope.analysis.storage import Access, accesses
from bootscope.analysis.whatif_kernel import bytes_of, larger
from bootscope.analysis.whatif_plan import KERNEL_PHASES, Gone, Plan, check_plain
from bootscope.core.errors import UserError, printable, unknown
from bootscope.core.settings import Setting, load
from bootscope.timeline.kernel_lines import STAMP

KINDS = Path(__file__).with_name("filesystems.toml")
LARGE_BYTES = 16 << 10
"""Files of which less is read count with the file system's own data: other kinds store them there."""


class RootKind(Setting, frozen=True):
    """A kind of root file system, in a small system on the emulated board.

    `files_ppm`, `commands_ppm`: bytes and commands for large files, in millionths of ext4's. `own_bytes`,
    `own_commands`: everything else that is read. `mount_ns`: CPU time of its code in the kernel's phase.
    `letters`: characters that it prints on the console. `use_ps`: after that, picoseconds per byte of large
    files that ext4 would read. `code_bytes`: its code in the kernel's image. `source` names the boot.
    """

    files_ppm: int
    commands_ppm: int
    own_bytes: int
    own_commands: int
    mount_ns: int
    letters: int
    use_ps: int
    code_bytes: int
    source: str


class _Table(Setting, frozen=True):
    schema: int
    kind: dict[str, RootKind]


@dataclass(frozen=True)
class RootReads:
    """What a boot read and wrote of its root file system, in bytes and card commands: of large files, and of
    folders, inodes, small files and everything else."""

    files_bytes: int = 0
    files_commands: int = 0
    own_bytes: int = 0
    own_commands: int = 0

    @property
    def bytes(self) -> int:
        """Of large files and everything else."""
        return self.files_bytes + self.own_bytes

    @property
    def commands(self) -> int:
        """Of large files and everything else."""
        return self.files_commands + self.own_commands


@functools.cache
def root_kinds() -> dict[str, RootKind]:
    """By name: ext4, squashfs-lz4hc, ..."""
    return load(KINDS, _Table).kind


@dataclass(frozen=True)
class Drivers:
    """The effect on the kernel's code: whether the code of the current kind stops running, which saves its
    time (False if that is determined from the kernel itself), and how many bytes of code are added; None if
    the new kind's code replaces the current kind's."""

    old_stops: bool = True
    more_bytes: int | None = None


def rootfs(plan: Plan, evidence: Evidence, value: str, drivers: Drivers = Drivers()) -> None:
    """The root file system is of another kind.

    Raises UserError for an unknown kind, or if the current one is unknown.
    """
    known = root_kinds()
    if value not in known:
        raise unknown("kind of root file system", value, list(known))
    now = present_kind(evidence)
    if now not in known:
        raise UserError(
            f"how a root file system of kind '{printable(now)}' compares to others has not been measured",
            hint=f"measured were {', '.join(known)}",
        )
    # Other changes may concern the card too, and what does not happen reads nothing.
    plan.last.insert(0, lambda: _other(plan, evidence, now, value, drivers))


def _other(plan: Plan, evidence: Evidence, now: str, value: str, drivers: Drivers) -> None:
    before, after = root_kinds()[now], root_kinds()[value]
    reads = root_reads(evidence, Gone(plan.gone), plan.kept)
    if reads.own_commands and not reads.files_bytes:
        raise UserError(
            "this recording does not show which files were read from the root file system",
            hint="record the system again",
        )
    then = _then(reads, before, after)
    card = plan.board.card
    check_plain(card)
    commands = reads.commands - then.commands
    transfer_ns = (reads.bytes - then.bytes) * 1_000_000_000 // card.bandwidth_bytes_per_s.value
    plan.counted_ns += commands * card.command_latency_ns.value + transfer_ns
    in_ext4 = reads.files_bytes * 1_000_000 // before.files_ppm
    plan.counted_ns -= after.mount_ns + in_ext4 * after.use_ps // 1000
    if drivers.old_stops:
        plan.counted_ns += before.mount_ns + in_ext4 * before.use_ps // 1000
    plan.counted_ns -= plan.letters_ns(after.letters, hidden_by_quiet(plan.ground.lines))
    plan.hide(lines_of(plan.ground.lines, now))
    more = after.code_bytes - before.code_bytes if drivers.more_bytes is None else drivers.more_bytes
    if more:
        larger(plan, evidence, more)
    plan.assume(
        f"of the root file system {then.bytes / 1e6:.2f} MB are read in {then.commands} commands instead of "
        f"{reads.bytes / 1e6:.2f} MB in {reads.commands}",
        f"the compression ratio of {value}, and the time and size of its code, are those of another system",
    )


def lines_of(lines: list[Line], kind: str) -> list[Line]:
    """The console output of a kind of root file system: kernel lines that begin with its name.

    One driver serves ext2, ext3 and ext4.
    """
    name = "ext[234]" if kind.startswith("ext") else re.escape(kind.partition("-")[0])
    begins = re.compile(rf"{name}\b", re.IGNORECASE)
    return [line for line in lines if line.kernel and begins.match(STAMP.sub("", line.text))]


def root_bytes(plan: Plan, evidence: Evidence, value: str) -> None:
    """`value` more bytes of large files (programs, libraries) are read, or fewer if negative, in commands as
    long as those of the current large files.

    Raises UserError, also when the change is applied, if less than that or nothing is read of large files.
    """
    more = bytes_of(value, "root-bytes=-2M")
    plan.last.append(lambda: _read_more(plan, evidence, more))


def _read_more(plan: Plan, evidence: Evidence, more: int) -> None:
    reads, card = root_reads(evidence, Gone(plan.gone), plan.kept), plan.board.card
    check_plain(card)
    # What is left may be one small file: the length of commands comes from all that the boot read.
    every = root_reads(evidence)
    if not every.files_commands or reads.files_bytes + more < 0:
        raise UserError(
            f"the boot reads {reads.files_bytes} bytes of large files from the root file system",
            hint="bootscope show --view storage lists what was read",
        )
    commands = more * every.files_commands // every.files_bytes
    transfer_ns = more * 1_000_000_000 // card.bandwidth_bytes_per_s.value
    plan.counted_ns -= transfer_ns + commands * card.command_latency_ns.value
    larger_by = "larger" if more >= 0 else "smaller"
    plan.assume(f"{abs(more)} bytes by which programs and libraries are {larger_by} are all read")


def present_kind(evidence: Evidence) -> str:
    """The kind of root file system that a boot had."""
    settings = evidence.run.system.settings
    words = settings.get("rootfs.options", "").strip("()[]").split(",")
    return kind_of(settings.get("rootfs.filesystem", ""), [w.strip(" '\"") for w in words])


def _then(reads: RootReads, before: RootKind, after: RootKind) -> RootReads:
    """The reads with another kind."""
    files_bytes = reads.files_bytes * after.files_ppm // before.files_ppm
    files_commands = reads.files_commands * after.commands_ppm // before.commands_ppm
    own_bytes, own_commands = after.own_bytes, after.own_commands
    if before.own_commands // 2 < own_commands < before.own_commands * 2:
        # Both read each small file separately, and this system has more or fewer of them. A kind that gathers
        # small files reads a few pieces, however many there are.
        own_bytes = max(0, reads.own_bytes + own_bytes - before.own_bytes)
        own_commands = max(0, reads.own_commands + own_commands - before.own_commands)
    return RootReads(files_bytes, files_commands, own_bytes, own_commands)


def kind_of(filesystem: str, options: Sequence[str]) -> str:
    """A file system by its name in :func:`root_kinds`: squashfs-lz4hc, erofs-none, ext4."""
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
    """What a boot read and wrote of its root file system, from the kernel's start on; without what is `gone`,
    except the records `kept`."""
    ours = [a for a in accesses(evidence) if _of_root(a, evidence)]
    if gone:
        ours = [a for a in ours if a.start_ns not in gone or a.index in kept]
    read = Counter[str]()
    for access in ours:
        if not access.write and access.what.startswith("/"):
            read[access.what] += access.size_bytes
    large = [a for a in ours if not a.write and read[a.what] >= LARGE_BYTES]
    files_bytes, files = sum(a.size_bytes for a in large), {a.index for a in large}
    own_bytes = sum(a.size_bytes for a in ours) - files_bytes
    return RootReads(files_bytes, len(files), own_bytes, len({a.index for a in ours} - files))


def _of_root(access: Access, evidence: Evidence) -> bool:
    """Whether an access is to the root file system's part of the card, from the kernel's start on."""
    sector = access.sector
    if sector is None or evidence.phase_at(access.start_ns) not in KERNEL_PHASES:
        return False
    roots = (e for e in evidence.run.system.extents if e.name == ROOT_PARTITION)
    return any(r.sector <= sector < r.sector + r.sectors for r in roots)
