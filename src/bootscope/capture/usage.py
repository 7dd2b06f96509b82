# SPDX-License-Identifier: Apache-2.0
"""Reader of the file that says which code ran (``native/plugin/usage.h`` is its other half)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import msgspec

from bootscope.capture.stream import uint
from bootscope.core.errors import UserError

MAGIC = b"BSUSAGE1"
KERNEL, PROGRAMS, AFTER = 0, 1, 2
"""Stages: until the kernel starts init, until the recording ends, after it."""


class Block(msgspec.Struct, frozen=True, gc=False):
    """A block of instructions: its address and length, when it was first reached (virtual time), how often it
    was begun in each stage, and the part of these while the application had the CPU."""

    address: int
    instructions: int
    first_ns: int
    counts: tuple[int, ...]
    own: int = 0

    def executed(self, *stages: int) -> int:
        """Instructions executed in these stages; in all if none are named. An upper bound."""
        wanted = stages or range(len(self.counts))
        return self.instructions * sum(self.counts[s] for s in wanted if s < len(self.counts))


@dataclass(frozen=True)
class Usage:
    """All blocks by address; `lost` translations of blocks did not fit."""

    stages: int
    lost: int
    blocks: tuple[Block, ...]


def read(path: Path) -> Usage:
    """Raises UserError when the file does not exist, is another kind of file, or is damaged."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise UserError("this boot was recorded without counting which code runs") from None
    if not data.startswith(MAGIC):
        raise UserError(f"{path} is not a record of executed code (wrong magic number)")
    try:
        return _usage(data)
    except IndexError:
        raise UserError(f"{path} is truncated") from None


def _usage(data: bytes) -> Usage:
    at = len(MAGIC)

    def number() -> int:
        nonlocal at
        value, at = uint(data, at)
        return value

    stages, count, lost = number(), number(), number()
    # Each number of a block takes at least one byte: a file that claims more is damaged.
    if count * (4 + stages) > len(data) - at:
        raise IndexError
    found, address = [], 0
    for _ in range(count):
        address += number()
        found.append(Block(address, number(), number(), tuple(number() for _ in range(stages)), number()))
    return Usage(stages, lost, tuple(found))
