# SPDX-License-Identifier: Apache-2.0
"""The NAND chip of a soak, which is emulated in a part of the memory: its content is carried from boot to
boot."""

from __future__ import annotations

import hashlib
import shutil
from dataclasses import dataclass
from pathlib import Path

from bootscope.builder.nand import array
from bootscope.soak.card import Checked, Region
from bootscope.soak.states import State, Verdict
from bootscope.system.nand import Nand


@dataclass(frozen=True)
class Flash:
    """A chip, and the memory that holds it: where that begins and how large it is."""

    nand: Nand
    memory_address: int
    memory_bytes: int


class Chip:
    """A chip in use. `content` is what the next boot finds in it, `memory` the memory file of the current
    boot; both are in a folder of ours."""

    def __init__(self, flash: Flash, built: Path, folder: Path) -> None:
        self._flash, self.content, self.memory = flash, folder / "nand.elf", folder / "memory"
        shutil.copy(built, self.content)
        self._built = self._digest()

    def _digest(self) -> bytes:
        return hashlib.sha256(self.content.read_bytes()).digest()

    def begin(self) -> None:
        """Before a boot: empties the memory, as at power-on."""
        with self.memory.open("wb") as f:
            f.truncate(self._flash.memory_bytes)

    def end(self) -> None:
        """After a boot: saves what it left in the chip."""
        rows = array.read_memory(self._flash.nand, self.memory, self._flash.memory_address)
        array.write(self._flash.nand, rows, self.content)

    def check(self) -> Checked:
        """Whether anything was written or erased; only Linux can tell what UBI makes of it."""
        region = Region("nand", 0, self._flash.nand.blocks * self._flash.nand.erase_bytes, "UBI")
        same = self._digest() == self._built
        return Checked(region, State(Verdict.UNCHANGED) if same else State(Verdict.UNCHECKED, "changed"))
