# SPDX-License-Identifier: Apache-2.0
"""A first program in C, really booted: it mounts what it is told, and the application comes up."""

from __future__ import annotations

import pytest

from tests.command import Bootscope

pytestmark = [pytest.mark.boot, pytest.mark.campaign]


def test_a_small_init_with_nolibc_boots_and_is_smaller(bootscope: Bootscope) -> None:
    """The base is the same program with glibc, which boots as well."""
    tried = bootscope.json("try", "toolchain-tiny-libc", "--own-base")
    assert tried["works"], tried["faults"]
    sizes = tried["sizes"]["small-init/program"]
    assert sizes["b_bytes"] < 16_384 < sizes["a_bytes"]
    assert tried["saving_ns"] > 0
    seen = bootscope.json("show", tried["variant"], "--view", "processes", "--top", "1000")
    names = {str(value) for table in seen["tables"] for row in table["rows"] for value in row.values()}
    assert any("testcard" in name for name in names)
    # init, and what became of it, is one process: no shell, no mount.
    assert not any(name.startswith(("mount", "sh[", "rcS")) for name in names)
    calls = bootscope.json("show", tried["variant"], "--view", "console")
    assert "cannot mount" not in str(calls)
