# SPDX-License-Identifier: Apache-2.0
"""File systems checked by their own tools, without root and without mounting: by kind.

A tool gets a copy. What Linux does by itself at the next mount (replaying a journal or log, clearing a dirty
mark) is not damage; what `fsck` at boot repairs without asking is reported; anything else is damage.

Sources of the exit codes: the manual pages e2fsck(8), fsck.fat(8), btrfs-check(8), xfs_repair(8); fsck.f2fs
as tried on images that were damaged on purpose.
"""

from __future__ import annotations

import re
from pathlib import Path

from bootscope.builder.step import BUILD_ENV
from bootscope.core import tools
from bootscope.core.errors import printable
from bootscope.core.process import Finished, build_environment, run
from bootscope.soak.states import CLEAN, Checker, State, Verdict

_TIMEOUT_S = 1800
_EXT_FEATURES_AT, _EXT_TO_REPLAY = 0x460, 0x4
_EXT_DAMAGE, _EXT_MENDED = r"\?( no)?$|UNEXPECTED", r"\bwrong\b|FIXED|CLEARED"
_MENDED, _LEFT = 0x1, 0x4
_BTRFS_LOG_AT = 0x10060
_FAT_MARK_AT = {True: 0x41, False: 0x25}
"""Offset of the dirty mark: of a FAT32 (True), and of a smaller FAT."""
_XFS_LOG = re.compile(r"state: <(\w+)>")
_SAID = 160
COPY = "partition"
"""The name of the copy, in the folder that a checker gets."""


def _ran(*command: str, folder: Path) -> Finished:
    """Runs a tool on the copy, which is in `folder`."""
    env = {**build_environment(BUILD_ENV), "E2FSCK_CONFIG": "/dev/null"}
    return run([*command, COPY], cwd=folder, env=env, timeout_s=_TIMEOUT_S, check=False)


def _bytes(folder: Path, at: int, count: int) -> bytes:
    with (folder / COPY).open("rb") as f:
        f.seek(at)
        return f.read(count)


def _words(done: Finished, pattern: str) -> str:
    """The first line of the output that contains `pattern`, else the last one."""
    lines = [line.strip() for line in done.output.splitlines() if line.strip()]
    told = next((line for line in lines if re.search(pattern, line)), lines[-1] if lines else "")
    return printable(told.removeprefix(f"{COPY}: "))[:_SAID]


def ext(folder: Path) -> State:
    """ext2, ext3, ext4: as e2fsck at boot checks them (-p), after which no error may be left."""
    tools.require("e2fsck")
    to_replay = _bytes(folder, _EXT_FEATURES_AT, 1)[0] & _EXT_TO_REPLAY
    mends = _ran("e2fsck", "-p", folder=folder)
    left = _ran("e2fsck", "-f", "-n", folder=folder) if mends.status < _LEFT else mends
    if left.status:
        return State(Verdict.DAMAGED, _words(left, _EXT_DAMAGE))
    if to_replay:
        return State(Verdict.PENDING, "journal to replay")
    if mends.status and re.search(_EXT_MENDED, mends.output):
        return State(Verdict.MENDED, _words(mends, _EXT_MENDED))
    return State(Verdict.PENDING, "not unmounted") if mends.status else CLEAN


def fat(folder: Path) -> State:
    """FAT: errors, a dirty mark, or nothing."""
    tools.require("mkfs.vfat")
    large = int.from_bytes(_bytes(folder, 22, 2), "little") == 0
    in_use = _bytes(folder, _FAT_MARK_AT[large], 1)[0] & 1
    mends = _ran("fsck.vfat", "-a", folder=folder)
    left = _ran("fsck.vfat", "-n", folder=folder)
    if left.status or mends.status > _MENDED:
        return State(Verdict.DAMAGED, _words(left, "[Ee]rror|differ|[Bb]ad|[Oo]rphan|beyond"))
    others = [
        line
        for line in mends.output.splitlines()[1:-1]
        if line.strip() and not re.search("[Dd]irty bit|changed|Writing|^Performing", line)
    ]
    if mends.status and others:
        return State(Verdict.MENDED, printable(others[0].strip())[:_SAID])
    return State(Verdict.PENDING, "marked as in use") if in_use else CLEAN


def f2fs(folder: Path) -> State:
    """F2FS: its last checkpoint is whole."""
    tools.require("mkfs.f2fs")
    done = _ran("fsck.f2fs", "-f", "--dry-run", folder=folder)
    return State(Verdict.DAMAGED, _words(done, r"\[Fail\]|ASSERT")) if done.status else CLEAN


def btrfs(folder: Path) -> State:
    """btrfs: its trees are whole; a log is replayed at the next mount."""
    tools.require("btrfs")
    done = _ran("btrfs", "check", "--readonly", folder=folder)
    if done.status:
        return State(Verdict.DAMAGED, _words(done, "[Ee]rror"))
    return State(Verdict.PENDING, "log to replay") if any(_bytes(folder, _BTRFS_LOG_AT, 8)) else CLEAN


def xfs(folder: Path) -> State:
    """XFS: only Linux replays its log; until then xfs_repair reports errors that are not damage."""
    tools.require("mkfs.xfs")
    told = _XFS_LOG.search(_ran("xfs_logprint", "-t", folder=folder).output)
    if not told or told[1] != "CLEAN":
        return State(Verdict.UNCHECKED, "log to replay")
    done = _ran("xfs_repair", "-n", folder=folder)
    return State(Verdict.DAMAGED, _words(done, "would|bad|corrupt")) if done.status else CLEAN


CHECKERS: dict[str, Checker] = {
    **dict.fromkeys(("ext2", "ext3", "ext4"), ext),
    "FAT": fat,
    "f2fs": f2fs,
    "btrfs": btrfs,
    "XFS": xfs,
}
"""By the name of the kind in bootimage.probe."""
ONLY_READ = ("squashfs", "erofs", "cramfs", "romfs", "ISO 9660")
"""Read-only kinds: every byte stays."""
