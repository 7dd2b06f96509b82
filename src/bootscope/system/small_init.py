# SPDX-License-Identifier: Apache-2.0
"""A first program in C that mounts file systems and becomes another program, as configuration."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from bootscope.core.errors import UserError, printable
from bootscope.core.settings import Setting

NOLIBC, GLIBC = "nolibc", "glibc"
LIBRARIES = (NOLIBC, GLIBC)
_FLAGS = {
    "ro": 1, "nosuid": 2, "nodev": 4, "noexec": 8, "sync": 16, "remount": 32, "noatime": 1 << 10,
    "nodiratime": 1 << 11, "bind": 1 << 12, "relatime": 1 << 21, "strictatime": 1 << 24, "lazytime": 1 << 25,
}  # fmt: skip
"""Options of mount that are flags of the system call (sys/mount.h), and these flags."""
_NOTHING = (
    "defaults", "rw", "suid", "dev", "exec", "async", "atime", "diratime", "auto", "nofail", "nouser",
    "_netdev",
)  # fmt: skip
"""Options that are the default, or that concern only the program `mount`. All others are the file
system's."""
_PROGRAMS = ("loop", "noauto", "user", "users", "owner", "group", "offset", "sizelimit", "encryption")
"""Options that only the program `mount` can carry out."""
_NAMED = re.compile(r"(?:UUID|LABEL|PARTUUID|PARTLABEL|ID)=")
_PART = re.compile(r"(\d{1,10}) ([1-9]\d{0,9}) (/\S.*)")
_SEED = re.compile(r"(/dev/[\w-]+) ([1-9]\d{0,5})", re.ASCII)
PAGE_BYTES = 4096
_VARIABLE = re.compile(r"[A-Za-z_]\w*=.*")


class SmallInit(Setting, frozen=True, kw_only=True):
    """A program at `path` of the root file system, for init= or rdinit=.

    `mounts`: what it mounts, in order, as lines of an fstab. `command`: the program that it becomes, with its
    arguments, quoted as for a shell. `environment`: a line `NAME=VALUE` for each variable.
    `read_ahead`: a line `OFFSET BYTES PATH` for each part of a file that a separate process makes the kernel
    read meanwhile, in this order. `seed`: ``DEVICE SECTOR``, where on a card the previous boot has left a
    seed for the kernel's random numbers, and this one leaves the next (`card.seed_sector`).
    `libc`: ``nolibc``, the headers in the kernel's tree (for a kernel that is compiled), or ``glibc``, linked
    statically.
    """

    path: str
    command: str
    mounts: str = ""
    environment: str = ""
    read_ahead: str = ""
    seed: str = ""
    libc: str = NOLIBC


@dataclass(frozen=True)
class Mount:
    """One call of mount()."""

    source: str
    target: str
    kind: str
    flags: int
    data: str


@dataclass(frozen=True)
class FilePart:
    """Bytes of a file."""

    path: str
    offset: int
    size_bytes: int


def mounts_of(lines: str) -> Iterator[Mount]:
    """The mounts in lines of an fstab. Raises UserError for an invalid line, or one that the system call
    alone cannot carry out: a label or UUID for the device, an option such as `loop`, a path with a space."""
    for line in lines.splitlines():
        fields = line.split()
        if not fields or line.lstrip().startswith("#"):
            continue
        options = fields[3].split(",") if len(fields) > 3 else []
        whole = 3 <= len(fields) <= 6 and fields[1].startswith("/") and all(options)
        program = any(option.partition("=")[0] in _PROGRAMS for option in options)
        if not whole or program or _NAMED.match(fields[0]) or "\\" in line:
            raise UserError(
                f"small_init.mounts: the system call cannot mount this: {printable(line.strip())}",
                hint="for example: proc /proc proc defaults; a device by its name, no option such as loop",
            )
        flags = sum(_FLAGS.get(option, 0) for option in dict.fromkeys(options))
        data = ",".join(option for option in options if option not in (*_FLAGS, *_NOTHING))
        yield Mount(fields[0], fields[1], fields[2], flags, data)


def command(init: SmallInit) -> list[str]:
    """The program that it becomes, with its arguments. Raises UserError where the command is invalid."""
    try:
        words = shlex.split(init.command) if "\0" not in init.command else []
    except ValueError as error:
        raise UserError(f"small_init.command: {error}: {printable(init.command)}") from error
    if not words or not words[0].startswith("/"):
        raise UserError(
            f"small_init.command: expected a program by its whole path, got '{printable(init.command)}'"
        )
    return words


def environment(init: SmallInit) -> list[str]:
    """Its variables. Raises UserError for an invalid line."""
    found = [line for line in init.environment.splitlines() if line.strip()]
    for line in found:
        if not _VARIABLE.fullmatch(line):
            raise UserError(f"small_init.environment: expected NAME=VALUE, got '{printable(line)}'")
    return found


def parts_of(lines: str) -> Iterator[FilePart]:
    """The parts of files that are read ahead. Raises UserError for an invalid line."""
    for line in filter(str.strip, lines.splitlines()):
        found = _PART.fullmatch(line)
        if not found or found[1] != str(int(found[1]) // PAGE_BYTES * PAGE_BYTES):
            raise UserError(
                f"small_init.read_ahead: expected OFFSET BYTES PATH, got '{printable(line)}'",
                hint=f"the offset a multiple of {PAGE_BYTES}, for example: 0 65536 /usr/lib/libc.so.6",
            )
        yield FilePart(found[3], int(found[1]), int(found[2]))


@dataclass(frozen=True)
class SeedPlace:
    """A sector of a block device."""

    device: str
    sector: int


def seed_of(init: SmallInit) -> SeedPlace | None:
    """Where the seed is; None without one. Raises UserError for an invalid place."""
    if not init.seed:
        return None
    found = _SEED.fullmatch(init.seed)
    if not found:
        raise UserError(
            f"small_init.seed: expected DEVICE SECTOR, got '{printable(init.seed)}'",
            hint="for example: /dev/sda 2046",
        )
    return SeedPlace(found[1], int(found[2]))


def check(init: SmallInit) -> None:
    """Raises UserError for a small init that cannot be made."""
    if not re.fullmatch(r"(?:/[\w.+-]+)+", init.path) or ".." in init.path:
        raise UserError(
            f"small_init.path: expected a whole path of a file, got '{printable(init.path)}'",
            hint="for example /sbin/small-init",
        )
    command(init)
    environment(init)
    list(mounts_of(init.mounts))
    list(parts_of(init.read_ahead))
    seed_of(init)
