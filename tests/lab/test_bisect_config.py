# SPDX-License-Identifier: Apache-2.0
"""`bootscope bisect --config` finds the symbol of a kernel that costs time, with what it needs and brings."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command import Bootscope

pytestmark = [pytest.mark.boot, pytest.mark.campaign]

MS = 1_000_000
# A test of interval trees runs while the kernel starts. It needs DEBUG_KERNEL, with which Kconfig switches on
# some other symbols, and selects the code that it tests.
FRAGMENT = """\
CONFIG_CRC4=y
CONFIG_CRC7=y
CONFIG_MINIX_FS=y
CONFIG_ROMFS_FS=y
CONFIG_TEST_UUID=y
CONFIG_DEBUG_KERNEL=y
CONFIG_INTERVAL_TREE_TEST=y
"""


def test_the_symbol_that_costs_is_found_with_what_it_needs_and_brings(
    bootscope: Bootscope, tmp_path: Path
) -> None:
    fragment, text = tmp_path / "bad.config", tmp_path / "found.md"
    fragment.write_text(FRAGMENT)
    words = ("bisect", "stock", "--config", "stock", fragment, "--milestone", "init")
    done = bootscope.json(*words, "--by", "20", "-o", text)
    assert 7 <= done["units"] < done["differences"] < 30
    (found,) = done["found"]
    assert [each["name"] for each in found["differences"]] == ["INTERVAL_TREE_TEST"]
    assert [each["name"] for each in found["needs"]] == ["DEBUG_KERNEL"]
    assert (found["only_beside"], found["alone"]) == ([], True)
    # What it tests comes with it, as the configurations of the two boots say.
    assert found["follows"] == ["INTERVAL_TREE: n -> y"]
    assert found["change_ns"] > 20 * MS
    rows = [row for table in found["tables"] for row in table["rows"]]
    assert any("interval_tree_test_init" in row["what"] for row in rows)
    assert "INTERVAL_TREE_TEST" in text.read_text()
    # A run is a configuration, too: between the two that show it, there is nothing else to find, or to build.
    runs = (found["run_before"], found["run_after"])
    again = bootscope.json("bisect", "stock", "--config", *runs, "--milestone", "init")
    assert again["units"] == 1
    assert [each["differences"][0]["name"] for each in again["found"]] == ["INTERVAL_TREE_TEST"]
    assert [each["change_ns"] for each in again["found"]] == [found["change_ns"]]
