# SPDX-License-Identifier: Apache-2.0
"""A raw NAND chip added to a board: its sizes, timing and content."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from bootscope.core.errors import printable
from bootscope.core.settings import Setting, Sourced

IDENTITY_BYTES = 5
UBOOT, DEVICE_TREE, KERNEL = "uboot", "device_tree", "kernel"
"""Partitions that hold what their names say."""
ARGUMENT_BYTES = 0x10000
"""How much U-Boot's SPL reads of the device tree that it gives to Linux: all of it must fit."""
TABLE_BLOCKS = 4
"""At the end of a chip: where Linux keeps its table of bad blocks (drivers/mtd/nand/raw/nand_bbt.c)."""
_SPARE_PER_1024 = 20
"""Of 1,024 erase blocks, how many UBI reserves to replace bad ones: Linux' CONFIG_MTD_UBI_BEB_LIMIT."""
_SPARES = (64, 128)
"""Sizes of the spare area of a page, in bytes, for which Linux has a layout with a Hamming code."""


class Nand(Setting, frozen=True, kw_only=True):
    """A large-page NAND chip whose array is in memory that nothing else uses, from `address` on.

    `identity`: its identity bytes, as hexadecimal text. Sizes in bytes do not include the `spare_bytes` of
    each page. `cycle_ns`: for a command, an address or a byte on the bus. `bad_blocks`: marked as bad by the
    factory. `partitions`: name -> first block and number of blocks; the one called `root` has the root file
    system; from one called `uboot` the SPL loads U-Boot proper, and those called `kernel` and `device_tree`
    hold what their names say. `flipped_bits`: (block, page in it, bit of that including the spare bytes) that
    read differently from what was written. `boots_before`: the number of boots before the recorded ones;
    power is cut after `boot_before_ns` of each, and the recorded boot finds what they left.
    """

    part: str
    address: int
    identity: str
    blocks: int
    page_bytes: int
    spare_bytes: int
    erase_bytes: int
    read_ns: Sourced
    program_ns: Sourced
    erase_ns: Sourced
    cycle_ns: Sourced
    partitions: dict[str, tuple[int, int]]
    bad_blocks: tuple[int, ...] = ()
    flipped_bits: tuple[tuple[int, int, int], ...] = ()
    root: str = "root"
    boots_before: int = 0
    boot_before_ns: int = 30_000_000_000

    @property
    def pages(self) -> int:
        """Pages of an erase block."""
        return self.erase_bytes // self.page_bytes

    @property
    def raw_page_bytes(self) -> int:
        """A page with its spare bytes."""
        return self.page_bytes + self.spare_bytes

    @property
    def raw_block_bytes(self) -> int:
        """An erase block with its spare bytes."""
        return self.raw_page_bytes * self.pages

    @property
    def array_bytes(self) -> int:
        """The whole chip, in bytes with the spare ones."""
        return self.raw_block_bytes * self.blocks

    @property
    def chip_node(self) -> str:
        """The chip's node in the device tree."""
        return chip_node(self.address)

    @property
    def controller_node(self) -> str:
        """The node of its controller."""
        return self.chip_node.rpartition("/")[0]

    @property
    def ubi_spare_blocks(self) -> int:
        """The number of erase blocks that UBI reserves to replace bad ones."""
        return -(-self.blocks * _SPARE_PER_1024 // 1024)

    @property
    def root_bytes(self) -> int:
        """Room for the root file system, in bytes: the good blocks of its partition."""
        return len(self.good_blocks(self.root)) * self.erase_bytes

    def offset(self, partition: str) -> int:
        """Where a partition begins, in bytes without the spare bytes, as users of the chip count them."""
        return self.partitions[partition][0] * self.erase_bytes

    def good_blocks(self, partition: str) -> list[int]:
        """The blocks of a partition that the factory did not mark as bad, in order."""
        first, count = self.partitions[partition]
        return [block for block in range(first, first + count) if block not in self.bad_blocks]


def chip_node(address: int) -> str:
    """The device tree node of a chip whose array is at an address."""
    return f"/nand-controller@{address:x}/nand@0"


def nand_of(value: Nand | msgspec.UnsetType) -> Nand | None:
    """The chip of a system, if it has one."""
    return value if isinstance(value, Nand) else None


def check_nand(nand: Nand, require: Callable[[bool, str, str], None]) -> None:
    """Calls `require` with each condition on a chip's sizes, its key and what is expected."""
    page, blocks = nand.page_bytes, nand.blocks
    good = len(nand.identity) == 2 * IDENTITY_BYTES and _hexadecimal(nand.identity)
    require(good, "nand.identity", f"{IDENTITY_BYTES} bytes as hexadecimal digits")
    require(page in (2048, 4096), "nand.page_bytes", "2048 or 4096: that of a large-page part")
    require(nand.spare_bytes in _SPARES, "nand.spare_bytes", "64 or 128")
    whole = nand.erase_bytes > 0 and nand.erase_bytes % page == 0
    require(whole, "nand.erase_bytes", f"a multiple of the page, {page:,} bytes, got {nand.erase_bytes:,}")
    sizes = (page, nand.spare_bytes, nand.erase_bytes)
    told = _told_sizes(int(nand.identity[6:8], 16))
    words = f"that of {sizes} bytes of a page, beside it and of a block; its fourth byte says {told}"
    require(told == sizes, "nand.identity", words)
    require(0 < blocks <= 1 << 16, "nand.blocks", "1 to 65,536")
    for key in ("read_ns", "program_ns", "erase_ns", "cycle_ns"):
        require(0 < getattr(nand, key).value < 1 << 31, f"nand.{key}", "a time above 0, in ns")
    outside = [block for block in nand.bad_blocks if not 0 <= block < blocks]
    require(not outside, "nand.bad_blocks", f"blocks of the chip, 0 to {blocks - 1}, got {outside[:1]}")
    for block, number, bit in nand.flipped_bits:
        inside = 0 <= block < blocks and 0 <= number < nand.pages and 0 <= bit < 8 * nand.raw_page_bytes
        expected = f"(block, page, bit) of the chip, got ({block}, {number}, {bit})"
        require(inside, "nand.flipped_bits", expected)
    require(0 <= nand.boots_before <= 8, "nand.boots_before", "0 to 8")
    require(nand.boot_before_ns > 0, "nand.boot_before_ns", "a time above 0, in ns")
    named = nand.root in nand.partitions
    require(named, "nand.root", f"a name under nand.partitions, got '{printable(nand.root)}'")
    _check_partitions(nand, require)


def _check_partitions(nand: Nand, require: Callable[[bool, str, str], None]) -> None:
    there = nand.partitions.keys()
    both = (KERNEL in there) == (DEVICE_TREE in there)
    require(both, f"nand.partitions.{KERNEL}", f"one beside '{DEVICE_TREE}', or neither of them")
    loader = UBOOT in there or KERNEL not in there
    require(loader, f"nand.partitions.{KERNEL}", f"none without '{UBOOT}', which has the driver to load it")
    end = 0
    for name, (first, count) in sorted(nand.partitions.items(), key=lambda item: item[1]):
        key = f"nand.partitions.{printable(name)}"
        require(name.isidentifier() and name.isascii(), key, "a name of letters and digits")
        require(count > 0 and first >= end, key, f"blocks from {end} on, behind the partition before it")
        end = first + count
        fits = end <= nand.blocks - TABLE_BLOCKS
        room = f"the chip has {nand.blocks}, the last {TABLE_BLOCKS} of which are for a table of bad blocks"
        require(fits, key, f"blocks that end before {nand.blocks - TABLE_BLOCKS}, got {end}: {room}")


def _told_sizes(byte: int) -> tuple[int, int, int]:
    """Bytes of a page, of its spare area and of a block, decoded from the fourth byte of an identity."""
    page = 1024 << (byte & 3)
    return page, page // 512 * (8 << (byte >> 2 & 1)), 65536 << (byte >> 4 & 3)


def _hexadecimal(text: str) -> bool:
    return all(digit in "0123456789abcdef" for digit in text)
