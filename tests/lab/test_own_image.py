# SPDX-License-Identifier: Apache-2.0
"""An image that was built elsewhere, booted as it is: kernel, initramfs, folder of a root file system."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import debian_images
from tests.command import Bootscope

pytestmark = [pytest.mark.boot, pytest.mark.long]
APPEND = "console=ttyAMA0,115200"


def test_parts_of_debian_boot_to_their_login(tmp_path: Path) -> None:
    parts = debian_images.parts(tmp_path)
    bootscope = Bootscope(tmp_path / "store")
    files = (parts.kernel, parts.initrd, parts.root)
    told = bootscope.json("record", *files, "--board", "virt-arm64", "--append", APPEND, "-n", "2")
    assert told["until"] == "login"
    assert any("root=/dev/mmcblk0" in line for line in told["taken"])
    assert not told["advice"]
    reached = {boot["reached_ns"] for boot in told["boots"]}
    assert len(reached) == 1
    assert all(reached)
    assert bootscope.stream(told, 1) == bootscope.stream(told, 2)
    tables = bootscope.json("show", "--view", "functions", "--top", "100000")["tables"]
    names = {str(value) for table in tables for row in table["rows"] for value in row.values()}
    assert any("start_kernel" in name for name in names)
    # The initramfs is packed by gzip.
    assert any("inflate" in name for name in names)
