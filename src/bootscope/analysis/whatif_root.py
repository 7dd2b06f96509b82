# SPDX-License-Identifier: Apache-2.0
"""What if the root file system were of another kind?

filesystems.toml says what each kind comes to, as boots of one small system showed it: how many bytes of
large files are read beside ext4, and in how many commands; how much is read of everything else; how long
its own code works while it is mounted and used, and how large that code is.
"""

from __future__ import annotations

import functools
import re
from pathlib import Path

from bootscope.analysis.bill import Line
from bootscope.analysis.evidence import Evidence
from bootscope.analysis.rootreads import RootReads, kind_of, root_reads
from bootscope.analysis.whatif_kernel import larger
from bootscope.analysis.whatif_plan import Plan
from bootscope.errors import UserError, unknown
from bootscope.settings import Setting, load

_STAMP = re.compile(r"^\[ *\d+\.\d+\] ?(?:\[ *[TC]\d+\] ?)?")
KINDS = Path(__file__).with_name("filesystems.toml")


class RootKind(Setting, frozen=True):
    """A kind of root file system, in a small system on the emulated board.

    `files_ppm`, `commands_ppm`: bytes and commands for large files, in millionths of ext4's. `own_bytes`,
    `own_commands`: all else that is read of it. `mount_ns`: CPU time of its code in the kernel's phase.
    `letters`: what it says on the console. `use_ps`: after that, picoseconds for a byte of large files that
    ext4 would read. `code_bytes`: its code in the kernel's image. `source` names the boot.
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


@functools.cache
def root_kinds() -> dict[str, RootKind]:
    """By name: ext4, squashfs-lz4, ..."""
    return load(KINDS, _Table).kind


def rootfs(plan: Plan, evidence: Evidence, value: str, *, old_code: bool = True) -> None:
    """The root file system is of another kind. `old_code`: the code of the one of today goes too; False where
    that is told from the kernel itself.

    Raises UserError for a kind that is not known, or where the one of today is not.
    """
    known = root_kinds()
    if value not in known:
        raise unknown("kind of root file system", value, list(known))
    now = present_kind(evidence)
    if now not in known:
        raise UserError("it is not known how the root file system of this boot compares to others")
    before, after = known[now], known[value]
    reads = root_reads(evidence)
    then = _then(reads, before, after)
    card = plan.board.card
    commands = reads.commands - then.commands
    transfer_ns = (reads.bytes - then.bytes) * 1_000_000_000 // card.bandwidth_bytes_per_s.value
    plan.counted_ns += commands * card.command_latency_ns.value + transfer_ns
    in_ext4 = reads.files_bytes * 1_000_000 // before.files_ppm
    plan.counted_ns -= after.mount_ns + in_ext4 * after.use_ps // 1000
    said = lines_of(plan.ground.lines, now)
    plan.hide(said)
    written = [line for line in plan.ground.lines if line.kernel] or plan.ground.lines
    letter_ns = sum(line.cost_ns for line in written) // max(1, sum(line.bytes for line in written))
    plan.counted_ns -= after.letters * letter_ns
    more = after.code_bytes
    if old_code:
        plan.counted_ns += before.mount_ns + in_ext4 * before.use_ps // 1000
        more -= before.code_bytes
    if more:
        larger(plan, evidence, more)
    plan.assume(
        f"of the root file system {then.bytes / 1e6:.2f} MB are read in {then.commands} commands instead of "
        f"{reads.bytes / 1e6:.2f} MB in {reads.commands}",
        f"what {value} makes of files, and its code's time and size, are as in another system",
    )


def lines_of(lines: list[Line], kind: str) -> list[Line]:
    """What a kind of root file system says on the console: lines of the kernel that begin with its name.

    One driver serves ext2, ext3 and ext4.
    """
    name = "ext" if kind.startswith("ext") else kind.partition("-")[0]
    return [line for line in lines if line.kernel and _STAMP.sub("", line.text).lower().startswith(name)]


def present_kind(evidence: Evidence) -> str:
    """The kind of root file system that a boot had."""
    settings = evidence.run.system.settings
    words = settings.get("rootfs.options", "").strip("()[]").split(",")
    return kind_of(settings.get("rootfs.filesystem", ""), [w.strip(" '\"") for w in words])


def _then(reads: RootReads, before: RootKind, after: RootKind) -> RootReads:
    """What is read with another kind."""
    files_bytes = reads.files_bytes * after.files_ppm // before.files_ppm
    files_commands = reads.files_commands * after.commands_ppm // before.commands_ppm
    own_bytes, own_commands = after.own_bytes, after.own_commands
    if before.own_commands // 2 < own_commands < before.own_commands * 2:
        # Both read each small file by itself, of which this system has more or less. A kind that gathers
        # them reads a few pieces, however many there are.
        own_bytes = max(0, reads.own_bytes + own_bytes - before.own_bytes)
        own_commands = max(0, reads.own_commands + own_commands - before.own_commands)
    return RootReads(files_bytes, files_commands, own_bytes, own_commands)
