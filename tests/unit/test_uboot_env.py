# SPDX-License-Identifier: Apache-2.0
"""U-Boot's environment, as it is found in a program and as it is stored."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from bootscope.core.errors import UserError
from bootscope.image.uboot_env import default_environment, stored
from bootscope.inventory.recorded import with_stored

VARIABLES = {"bootcmd": "run distro_bootcmd", "bootdelay": "0", "baudrate": "115200", "empty": ""}


def test_stored_is_what_uboots_own_tool_makes(tmp_path: Path) -> None:
    text = tmp_path / "environment.txt"
    text.write_text("".join(f"{name}={value}\n" for name, value in sorted(VARIABLES.items())))
    made = tmp_path / "uboot.env"
    subprocess.run(["mkenvimage", "-s", "0x10000", "-p", "0", "-o", made, text], check=True)
    assert stored(VARIABLES, 0x10000) == made.read_bytes()


def test_found_in_a_program() -> None:
    texts = b"".join(f"{name}={value}\0".encode() for name, value in VARIABLES.items())
    assert default_environment(b"\x7fELF code\0\0\0" + texts + b"\0more") == VARIABLES
    assert default_environment(b"\x7fELF code that has none") == {}


@pytest.mark.parametrize("name", ["", "boot delay", "a=b", "1st", "x\n"])
def test_a_name_that_cannot_be_one(name: str) -> None:
    with pytest.raises(UserError, match=r"is not a U-Boot variable"):
        stored({name: "1"}, 0x1000)


def test_a_value_that_ends_early_and_one_too_long() -> None:
    with pytest.raises(UserError, match="is not a U-Boot variable"):
        stored({"a": "1\0b=2"}, 0x1000)
    with pytest.raises(UserError, match="room for 4,092"):
        stored({"a": "x" * 4096}, 0x1000)


def test_what_is_stored_counts_over_the_defaults_and_alone_tells_nothing() -> None:
    settings = {"uboot.environment.variables.bootdelay": "0", "uboot.environment.size_bytes": "65536"}
    assert with_stored({"bootdelay": "2", "bootcmd": "x"}, settings) == {"bootdelay": "0", "bootcmd": "x"}
    assert with_stored({}, settings) == {}
