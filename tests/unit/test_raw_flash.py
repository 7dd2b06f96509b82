# SPDX-License-Identifier: Apache-2.0
"""What boots show of raw flash, and which techniques apply by that."""

from __future__ import annotations

import pytest

from bootscope.changes.applies import filled, not_known, why_not
from bootscope.core.errors import UserError
from bootscope.inventory.raw_flash import bad_block_scan, ubi_scan, ubi_with_fastmap
from bootscope.techniques.model import technique

from .known_builders import inventory_of

START = "[    0.000000] Booting Linux on physical CPU 0x0"
SCANS = "[    1.100000] Scanning device for bad blocks"
TABLE = "[    1.100000] Bad block table found at page 131008, version 0x01"
FULL = "[    1.300000] ubi0: scanning is finished"
FAST = "[    1.300000] ubi0: attached by fastmap"
CHIP = {"nand.address": str(0x60000000)}


@pytest.mark.parametrize(
    ("lines", "kernel", "words", "told"),
    [
        ([START, SCANS], "MTD_RAW_NAND", "", "the kernel says: Scanning device for bad blocks"),
        ([START, TABLE], "MTD_RAW_NAND", "", ""),
        ([START], "MTD_RAW_NAND", "", ""),
        ([START], "MTD_RAW_NAND", "quiet", "the kernel has drivers for NAND, and its messages are hidden"),
        (
            [START],
            "MTD_RAW_NAND",
            "loglevel=6",
            "the kernel has drivers for NAND, and its messages are hidden",
        ),
        ([START], "MTD_RAW_NAND", "loglevel=7", ""),
        ([START], "MTD_RAW_NAND=n", "quiet", ""),
        ([], "MTD_RAW_NAND", "", None),
    ],
)
def test_a_search_for_bad_blocks(lines: list[str], kernel: str, words: str, told: str | None) -> None:
    assert bad_block_scan(inventory_of(log=lines, kernel=kernel, command_line=words)) == told


def test_without_a_configuration_a_quiet_log_tells_nothing() -> None:
    assert ubi_scan(inventory_of(log=[START], command_line="quiet")) is None
    assert ubi_scan(inventory_of(log=[START, FULL])) == "the kernel says: ubi0: scanning is finished"
    assert ubi_scan(inventory_of(log=[START, FAST])) == ""


def test_the_property_goes_to_the_chip_of_the_system() -> None:
    recipe = technique("nand-bbt-on-flash").recipes["property"]
    known = inventory_of(log=[START, SCANS], kernel="MTD_RAW_NAND", built=CHIP)
    assert why_not(recipe, known) == not_known(recipe, known) == ""
    [key] = filled(recipe.change, known).settings
    assert key == "kernel.device_tree_cells./nand-controller@60000000/nand@0 nand-on-flash-bbt"
    there = inventory_of(log=[START, TABLE], kernel="MTD_RAW_NAND", built=CHIP)
    assert "does not show a search for the marks of bad NAND blocks" in why_not(recipe, there)


def test_of_other_systems_the_node_is_not_known_but_the_technique_may_apply() -> None:
    recipe = technique("nand-bbt-on-flash").recipes["property"]
    known = inventory_of(log=[START, SCANS], kernel="MTD_RAW_NAND")
    assert why_not(recipe, known) == ""
    assert "MTD_RAW_NAND=n" in why_not(recipe, inventory_of(kernel="MTD_RAW_NAND=n"))


def test_a_fastmap_is_for_who_scans() -> None:
    recipe = technique("ubi-fastmap").recipes["attach"]
    words = {"command_line": "ubi.mtd=root root=ubi0:root"}
    full = inventory_of(log=[START, FULL], kernel="MTD_UBI", **words)
    assert why_not(recipe, full) == not_known(recipe, full) == ""
    assert filled(recipe.change, full).command_line == ("ubi.mtd=root,0,0,-1,1", "ubi.fm_autoconvert=1")
    assert why_not(recipe, inventory_of(log=[START, FAST], kernel="MTD_UBI", **words))
    has = " ".join(filled(recipe.change, full).command_line)
    there = inventory_of(log=[START, FAST], kernel="MTD_UBI MTD_UBI_FASTMAP", command_line=has)
    assert why_not(recipe, there) == "already in effect"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("ubi.mtd=5,2048", "ubi.mtd=5,2048,0,-1,1"),
        ("ubi.mtd=/dev/mtd1,0,25,3", "ubi.mtd=/dev/mtd1,0,25,3,1"),
        ("ubi.mtd=root,0,0,2,0,1", "ubi.mtd=root,0,0,2,1,1"),
        ("root=/dev/mmcblk0p2", ""),
    ],
)
def test_the_word_that_attaches_ubi_allows_a_fastmap(words: str, told: str) -> None:
    assert ubi_with_fastmap(inventory_of(command_line=words)) == told


def test_several_ubi_devices_are_not_told_apart() -> None:
    with pytest.raises(UserError, match=r"several UBI devices: ubi\.mtd=a ubi\.mtd=b"):
        ubi_with_fastmap(inventory_of(command_line="ubi.mtd=a ubi.mtd=b"))
    with pytest.raises(UserError, match="not known"):
        ubi_with_fastmap(inventory_of(log=[START]))
