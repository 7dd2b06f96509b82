# SPDX-License-Identifier: Apache-2.0
"""Systems with firmware before their boot loader: settings, steps, and names for code that stays."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bootscope.analysis.names import Names
from bootscope.arch.arm64 import ARM64
from bootscope.builder.plan import steps_of
from bootscope.builder.sources import Resolved
from bootscope.core.errors import UserError
from bootscope.image.symbols import Symbols
from bootscope.loaders.tfa import BL31, TFA
from bootscope.loaders.uboot import PROPER
from bootscope.system.changes import Change, apply
from bootscope.system.load import load_system, system_dir
from bootscope.system.model import System
from bootscope.system.placeholders import boot_script


def arm64() -> System:
    return load_system("debian-arm64").system


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('source = "firmware"', 'source = "atf"', "firmware.source: expected a name under [sources]"),
        ("package_at = 0x40000", "package_at = 0x4000000", "firmware.package_at: expected more than 0"),
        ('defconfig = "qemu_arm64_defconfig"\n', "", "uboot.defconfig: expected the name"),
        ("reg <0 {framebuffer_address}", "reg <0 0x5f000000", "prebuilt.device_tree: expected one to change"),
    ],
)
def test_what_cannot_be_together_is_refused(tmp_path: Path, old: str, new: str, said: str) -> None:
    text = (system_dir() / "debian-arm64.toml").read_text()
    assert old in text
    for folder in ("debian", "stock"):
        (tmp_path / folder).symlink_to(system_dir() / folder)
    path = tmp_path / "mine.toml"
    path.write_text(text.replace(old, new))
    with pytest.raises(UserError, match=re.escape(said)):
        load_system(str(path))


def test_the_boot_loader_comes_before_the_firmware_that_holds_it() -> None:
    loaded = load_system("debian-arm64")
    there = {name: Resolved("", "0" * 64, "", "") for name in loaded.system.sources}
    names = [step.name for step in steps_of(loaded, there)]
    assert names.index("unpack-firmware") < names.index("uboot") < names.index("firmware")
    assert "unpack-linux" not in names and "device-tree" not in names


def test_only_what_is_compiled_can_be_configured() -> None:
    changed = apply(arm64(), {"mine": Change(uboot={"BOOTDELAY": 2})})
    assert changed.uboot.config["BOOTDELAY"] == 2
    with pytest.raises(UserError, match="mine configures kernel, which debian-arm64 takes prebuilt"):
        apply(arm64(), {"mine": Change(kernel={"PRINTK": False})})


def test_the_script_has_the_frame_buffers_numbers() -> None:
    settings = {"framebuffer.address": str(0x5F000000), "framebuffer.reserved_bytes": str(0x200000)}
    script = boot_script("reg <0 {framebuffer_address} 0 {framebuffer_bytes}> {framebuffer_width}", settings)
    assert script == "reg <0 0x5f000000 0 0x200000> "


def test_code_of_resident_firmware_is_named_whoever_calls_it() -> None:
    tables = {
        BL31.symbols: Symbols([(0xE090000, "bl31_entrypoint"), (0xE091000, "psci_smc_handler")]),
        PROPER.symbols: Symbols([(0x60000000, "_start")]),
        "kernel": Symbols([(0xFFFF800080000000, "_text")]),
    }
    names = Names(ARM64, tables, TFA, 0)
    phases = ("bootloader", "kernel", "application")
    assert {names.name(phase, 0xE091008) for phase in phases} == {"BL31 psci_smc_handler"}
    assert names.name("bl31", 0xE090004) == "BL31 bl31_entrypoint"
    assert names.name("bootloader", 0x60000008) == "U-Boot _start"
    assert names.name("kernel", 0xFFFF800080000010) == "kernel _text"
    assert names.name("bl2", 0xE05B000) == "BL2 code without a symbol"
