# SPDX-License-Identifier: Apache-2.0
"""The parts of a trimming: candidates, what lands, drivers in use, build errors, memory."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest

from bootscope.analysis.removable import Build, Kind, candidates, safe_together
from bootscope.analysis.used_code import Ran, Used
from bootscope.arch.arm import ARM
from bootscope.builder.linkmap import Objects, Piece
from bootscope.capture.store import Store
from bootscope.core.errors import ToolError
from bootscope.emulator.plugin_config import Limits
from bootscope.kbuild.graph import Configuration
from bootscope.kbuild.kconfig import written
from bootscope.kbuild.resolve import land
from bootscope.kbuild.symbols import Symbols, read
from bootscope.readers.fdt import BadTree
from bootscope.system.model import Symbols as Values
from bootscope.trim.build_errors import defined_in
from bootscope.trim.build_errors import read as read_error
from bootscope.trim.devices import devices, drivers
from bootscope.trim.keep import by_nature, in_case
from bootscope.trim.trial import Memory, Tried, limits_beside

from .lab_scenes import kept_view, stock

KCONFIG = """
config EXPERT
\tbool "Expert"
config USB
\tbool "USB"
config EHCI
\tbool "EHCI"
\tdepends on USB
config NET
\tbool "Network"
\tselect CRC
config CRC
\tbool "CRC"
config SOUND
\tbool "Sound"
config FUTEX
\tbool "Futex" if EXPERT
\tdefault y
config NOISY
\tbool "On for experts"
\tdefault EXPERT
config TIMERS
\tbool "Timers"
config DEBUG
\tbool "An option without code"
config ONE
\tbool "One user of shared code"
config OTHER
\tbool "Another"
"""
ON = ("USB", "EHCI", "NET", "CRC", "SOUND", "FUTEX", "TIMERS", "DEBUG", "ONE", "OTHER")
WAYS = {
    "usb/core.o": (frozenset({"USB"}),),
    "usb/ehci.o": (frozenset({"USB", "EHCI"}),),
    "net/core.o": (frozenset({"NET"}),),
    "lib/crc.o": (frozenset({"CRC"}),),
    "sound/core.o": (frozenset({"SOUND"}),),
    "kernel/futex.o": (frozenset({"FUTEX"}),),
    "kernel/timers.o": (frozenset({"TIMERS"}),),
    "lib/shared.o": (frozenset({"ONE"}), frozenset({"OTHER"})),
    "init/main.o": (frozenset(),),
    "odd/unknown.o": (),
}  # fmt: skip
RAN = {
    "usb/core.o": Ran(setup=10),
    "net/core.o": Ran(start=5, programs=50),
    "lib/crc.o": Ran(start=1),
    "sound/core.o": Ran(start=7),
    "kernel/timers.o": Ran(programs=90, application=3),
    "lib/shared.o": Ran(programs=5),
    "init/main.o": Ran(start=1000),
}


@pytest.fixture
def tree(tmp_path: Path) -> Symbols:
    (tmp_path / "Kconfig").write_text(KCONFIG)
    return read(tmp_path, ARM)


@pytest.fixture
def build(tree: Symbols) -> Build:
    code = {name: Used(name, 1000 + n, RAN.get(name, Ran())) for n, name in enumerate(WAYS)}
    made = Configuration(tree, dict.fromkeys(ON, "y"))
    return Build.of(made, code, lambda name: WAYS[name])


def test_symbols_are_told_by_the_code_that_goes_with_them(build: Build) -> None:
    found = {c.symbol: c for c in candidates(build)}
    assert {name: c.kind for name, c in found.items()} == {
        "USB": Kind.SETUP,
        "EHCI": Kind.NEVER,
        "NET": Kind.PROGRAMS,
        "SOUND": Kind.START,
        "FUTEX": Kind.NEVER,
        "TIMERS": Kind.APPLICATION,
        "DEBUG": Kind.BLANK,
        "ONE": Kind.BLANK,
        "OTHER": Kind.BLANK,
    }
    assert found["USB"].goes == {"USB", "EHCI"}
    assert (found["USB"].image_bytes, found["USB"].folder) == (2001, "usb")
    assert found["NET"].ran == Ran(start=5, programs=50)


def test_code_that_two_symbols_bring_in_goes_with_neither(build: Build) -> None:
    pair = [c for c in candidates(build) if c.symbol in ("ONE", "OTHER", "DEBUG")]
    assert build.lost({"ONE"}) == []
    assert build.lost({"ONE", "OTHER"}) == ["lib/shared.o"]
    left = {c.symbol for c in safe_together(build, pair, Kind.SETUP)}
    assert "DEBUG" in left
    assert len(left & {"ONE", "OTHER"}) == 1
    assert len(safe_together(build, pair, Kind.PROGRAMS)) == 3


def test_what_is_to_be_kept_is_left_out_of_a_group(build: Build) -> None:
    some = [c for c in candidates(build) if c.symbol in ("USB", "SOUND")]
    assert {c.symbol for c in safe_together(build, some, Kind.START, {"usb/ehci.o"})} == {"SOUND"}


# ---- landing ----


class Tools:
    """The tree's own tools in small: what nobody can see is on, what NET selects stays."""

    def __init__(self, tree: Symbols) -> None:
        self.tree, self.asked = tree, list[Values]()

    def __call__(self, symbols: Values) -> Mapping[str, str]:
        self.asked.append(symbols)
        config = {**dict.fromkeys(ON, "y"), **{n: written(v) for n, v in symbols.items()}}
        expert = config.get("EXPERT") == "y"
        config["NOISY"] = written(symbols.get("NOISY", expert))
        if not expert:
            config["FUTEX"] = "y"
        if config["NET"] == "y":
            config["CRC"] = "y"
        return config


def test_what_is_held_is_left_on_and_its_holder_named(tree: Symbols) -> None:
    tools = Tools(tree)
    found = land(tree, tools, ["CRC", "SOUND"], dict.fromkeys(ON, "y"), ())
    assert found.symbols == {"SOUND": False}
    assert found.held == {"CRC": "NET selects it"}
    assert (found.config["SOUND"], found.config["CRC"]) == ("n", "y")


def test_experts_are_asked_and_what_that_brings_on_goes_off_again(tree: Symbols) -> None:
    found = land(tree, Tools(tree), ["FUTEX"], dict.fromkeys(ON, "y"), ())
    assert found.symbols == {"FUTEX": False, "EXPERT": True, "NOISY": False}
    assert found.held == {}
    # Later groups must not lose what was reached as an expert.
    again = land(tree, Tools(tree), ["FUTEX", "NOISY", "SOUND"], found.config, ())
    assert again.config["FUTEX"] == "n"
    fixed = land(tree, Tools(tree), ["FUTEX"], dict.fromkeys(ON, "y"), {"NOISY"})
    assert "NOISY" not in fixed.symbols


def test_a_symbol_that_does_not_exist_is_named(tree: Symbols) -> None:
    def ask(symbols: Values) -> Mapping[str, str]:
        return {**dict.fromkeys(ON, "y"), "GONE": "y"}

    assert land(tree, ask, ["GONE"], dict.fromkeys(ON, "y"), ()).held == {
        "GONE": "this version has no such symbol"
    }


# ---- drivers in use ----


def property_(strings: bytearray, name: str, data: bytes) -> bytes:
    at = len(strings)
    strings += name.encode() + b"\0"
    return struct.pack(">III", 3, len(data), at) + data + bytes(-len(data) % 4)


def node(strings: bytearray, name: str, properties: dict[str, bytes], *children: bytes) -> bytes:
    raw = name.encode() + b"\0"
    body = b"".join(property_(strings, key, value) for key, value in properties.items())
    start = struct.pack(">I", 1) + raw + bytes(-len(raw) % 4)
    return start + body + b"".join(children) + struct.pack(">I", 2)


def cells(*values: int) -> bytes:
    return b"".join(struct.pack(">I", value) for value in values)


def blob() -> bytes:
    s = bytearray()
    soc = node(
        s, "soc", {"#address-cells": cells(1), "compatible": b"simple-bus\0"},
        node(s, "clock@1000", {"compatible": b"acme,clock\0", "phandle": cells(1), "#clock-cells": cells(1),
                               "clocks": cells(7), "reg": cells(0x1000, 16)}),
        node(s, "pins@2000", {"compatible": b"acme,pins\0"}, node(s, "mmc-pins", {"phandle": cells(2)})),
        node(s, "intc@3000", {"compatible": b"acme,intc\0", "phandle": cells(3)}),
        node(s, "mmc@4000", {"compatible": b"acme,mmc-v2\0acme,mmc\0", "reg": cells(0x4000, 16),
                             "clocks": cells(1, 5, 1, 6), "pinctrl-0": cells(2), "interrupts": cells(9)}),
        node(s, "usb@5000", {"compatible": b"acme,usb\0", "reg": cells(0x5000, 16), "phandle": cells(8)}),
    )  # fmt: skip
    chosen = node(s, "chosen", {}, node(s, "fb", {"compatible": b"simple-framebuffer\0"}))
    off = node(s, "fb2", {"compatible": b"simple-framebuffer\0acme,fb\0", "status": b"disabled\0"})
    osc = node(s, "osc", {"compatible": b"fixed-clock\0", "phandle": cells(7)})
    root = {"interrupt-parent": cells(3), "compatible": b"acme,board\0"}
    body = node(s, "", root, soc, chosen, off, osc) + struct.pack(">I", 9)
    head = 40
    total = head + len(body) + len(s)
    header = struct.pack(
        ">10I", 0xD00DFEED, total, head, head + len(body), head, 17, 16, 0, len(s), len(body)
    )
    return header + body + bytes(s)


def test_devices_bring_what_they_need(tmp_path: Path) -> None:
    found = devices(blob(), {0x4000})
    assert found == {
        "acme,mmc-v2": "mmc@4000",
        "acme,mmc": "mmc@4000",
        "acme,clock": "clock@1000",
        "acme,pins": "pins@2000",
        "acme,intc": "intc@3000",
        "fixed-clock": "osc",
        "simple-bus": "soc",
        "simple-framebuffer": "fb",
    }
    with pytest.raises(BadTree):
        devices(b"nonsense", {0x4000})
    (tmp_path / "mmc.c").write_text('{ .compatible = "acme,mmc" },\n')
    (tmp_path / "usb.c").write_text('{ .compatible = "acme,usb" },\n')
    assert drivers(tmp_path, ["mmc.o", "usb.o", "gone.o"], found) == {"mmc.o": "mmc@4000"}
    assert drivers(tmp_path, ["mmc.o"], {}) == {}


# ---- what must stay ----


def test_a_system_needs_some_symbols_by_what_it_is() -> None:
    system = stock().system
    files = {"/etc/init.d/rcS": "program 1", "/lib/ld-linux-armhf.so.3": "program 2", "/dev": "folder"}
    found = by_nature("kernel", system, ARM, files)
    assert set(found) == {
        "EXT4_FS", "BINFMT_ELF", "DEVTMPFS", "DEVTMPFS_MOUNT", "BINFMT_SCRIPT", "VFP", "MMC_BLOCK",
        "ARM_THUMB", "COMPAT_32BIT_TIME", "HIGH_RES_TIMERS", "PROC_FS",
    }  # fmt: skip
    little = by_nature("kernel", system, ARM, {"/dev/null": "file"})
    assert set(little) == {"EXT4_FS", "BINFMT_ELF", "MMC_BLOCK", "HIGH_RES_TIMERS", "PROC_FS"}
    assert by_nature("uboot", system, ARM, files) == {}
    rootfs = msgspec.structs.replace(system.rootfs, filesystem="squashfs")
    packed = msgspec.structs.replace(system, rootfs=rootfs)
    assert by_nature("kernel", packed, ARM, files)["SQUASHFS"] == "the root file system is squashfs"


def test_what_is_there_for_when_something_goes_wrong_is_spared() -> None:
    found = in_case("kernel", ["BUG", "STACKPROTECTOR_STRONG", "STRICT_KERNEL_RWX", "USB", "SOUND"])
    assert set(found) == {"BUG", "STACKPROTECTOR_STRONG", "STRICT_KERNEL_RWX"}
    assert found["BUG"].startswith("for errors")


# ---- build errors ----


def test_the_lines_that_matter_are_found_in_the_log(tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    log.write_text(
        "  CC      init/main.o\n"
        "arm-ld: fs/b.o: in function `f':\nb.c:(.text+0x4): undefined reference to `crc_of'\n"
        "b.c:(.text+0x8): undefined reference to `crc_of'\nb.c:(.text+0x9): undefined reference to `other'\n"
        "make[2]: *** [vmlinux] Error 1\nmake: *** [zImage] Error 2\n"
    )
    found = read_error(ToolError("kernel: make failed", hint=f"full log: {log}"))
    assert found.undefined == ("crc_of", "other")
    assert found.lines[0] == "b.c:(.text+0x4): undefined reference to `crc_of'"
    assert not any("Error 2" in line for line in found.lines)


def test_without_a_log_the_message_is_what_there_is() -> None:
    assert read_error(ToolError("one\ntwo\nfoo.c:1: error: no such thing")).lines == (
        "foo.c:1: error: no such thing",
    )
    assert read_error(ToolError("have other values", hint="something")).lines == ("have other values",)
    assert read_error(ToolError("x", hint="full log: /gone/log.txt")).undefined == ()


def test_names_are_traced_to_their_object_files() -> None:
    linked = Objects([Piece(0x1000, 16, ".text", "lib/crc.o"), Piece(0x1010, 16, ".data", "lib/table.o")])
    table = "00001001 T crc_of\n00001004 t local\n00001010 D table\n00009000 T elsewhere\n         U gone\n"
    assert defined_in(table, linked, ARM) == {"crc_of": "lib/crc.o", "table": "lib/table.o"}


# ---- memory ----


def test_outcomes_survive(tmp_path: Path) -> None:
    path = tmp_path / "trim" / "one.json"
    memory = Memory(path)
    assert memory.get("a") is None
    memory.keep("a", Tried("does not link", undefined=("x",)))
    memory.keep("b", Tried(run_id="run"))
    again = Memory(path)
    assert again.get("a") == Tried("does not link", undefined=("x",))
    assert len(again) == 2
    path.write_bytes(b"{ broken")
    assert len(Memory(path)) == 0
    path.write_bytes(b'{"schema": 99, "outcomes": {"a": {}}}')
    assert len(Memory(path)) == 0


# ---- limits ----


def test_a_variant_is_given_up_long_before_the_ordinary_limits(tmp_path: Path) -> None:
    base = kept_view(Store(tmp_path / "store"))
    found = limits_beside(base, Limits(usage_after_ns=7))
    assert found.limit_ns == 3 * base.timeline.total_ns < Limits().limit_ns
    assert found.quiet_ns == 3_000_000_000 < Limits().quiet_ns
    assert found.usage_after_ns == 7
    assert limits_beside(base, Limits(quiet_ns=5, limit_ns=5)) == Limits(quiet_ns=5, limit_ns=5)
