# SPDX-License-Identifier: Apache-2.0
"""Board and system files: what is wrong is said with file, key and what was expected."""

from __future__ import annotations

import re
import shutil
import tomllib
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from bootscope.arch.arm import ARM
from bootscope.boards.profile import Board, board_dir, board_names, load_board, to_json
from bootscope.core.errors import UserError
from bootscope.core.settings import as_toml, as_toml_key, load
from bootscope.loaders.tfa import TFA
from bootscope.loaders.uboot import UBOOT
from bootscope.system.load import load_system, milestones, system_dir, system_names
from bootscope.system.model import System

BOARD = (board_dir() / "cubieboard.toml").read_text()
SYSTEM = (system_dir() / "stock.toml").read_text()
LOADERS: dict[str, tuple[str, Callable[[str], object]]] = {
    "board": (BOARD, load_board),
    "system": (SYSTEM, load_system),
}


def complaint(tmp_path: Path, kind: str, old: str, new: str) -> str:
    """The error for a file of this kind in which `old` became `new`; it names the file."""
    return refused(tmp_path, kind, old, new)[0]


def refused(tmp_path: Path, kind: str, old: str, new: str) -> tuple[str, str | None]:
    """The error and the hint for a file of this kind in which `old` became `new`."""
    text, read = LOADERS[kind]
    assert text.count(old) >= 1, f"{old!r} is not in the {kind} file"
    path = tmp_path / f"my-{kind}.toml"
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(UserError) as caught:
        read(str(path))
    assert str(path) in caught.value.message
    assert "\n" not in caught.value.message
    return re.sub(re.escape(str(path)) + r"(:\d+)?", "FILE", caught.value.message), caught.value.hint


@pytest.mark.parametrize("name", board_names())
def test_every_board_that_comes_with_bootscope_loads(name: str) -> None:
    board = load_board(name)
    assert board.name == name
    assert msgspec.json.decode(to_json(board), type=Board) == board
    assert (b"architecture" in to_json(board)) == (board.arch is not ARM)


OPCODES = """
idle = [{ size = 4, mask = 0xffffffff, value = 0xe320f003 }, { size = 2, mask = 0xffff, value = 0xbf30 }]
calls = [
    { size = 4, mask = 0x0f000000, value = 0x0b000000 },
    { size = 4, mask = 0x0ffffff0, value = 0x012fff30 },
    { size = 4, mask = 0xc000f800, value = 0xc000f000 },
    { size = 2, mask = 0xff87, value = 0x4780 },
]
user_code = [[0x0, 0x40000000], [0x80000000, 0xbf000000]]
"""


def test_a_profile_of_an_earlier_version_is_the_same_board(tmp_path: Path) -> None:
    """It says itself what follows from architecture and memory now."""
    ram = "ram = [0x40000000, 0x80000000]\n"
    assert ram in BOARD
    path = tmp_path / "mine.toml"
    path.write_text(BOARD.replace(ram, OPCODES))
    assert load_board(str(path)) == load_board("cubieboard")
    path.write_text(BOARD.replace(ram, OPCODES.replace("0xe320f003", "0xe320f002")))
    assert [idle.value for idle in load_board(str(path)).qemu.idle] == [0xE320F002, 0xBF30]


@pytest.mark.parametrize("name", system_names())
def test_every_system_that_comes_with_bootscope_loads(name: str) -> None:
    loaded = load_system(name)
    assert loaded.system.name == name
    assert load_board(loaded.system.board)
    assert loaded.beside(loaded.system.rootfs.overlay).is_dir()
    assert loaded.beside(loaded.system.application.sources).is_dir()


def test_a_file_is_taken_by_its_path(tmp_path: Path) -> None:
    shutil.copytree(system_dir() / "stock", tmp_path / "stock")
    (tmp_path / "mine.toml").write_text(SYSTEM.replace('name = "stock"', 'name = "mine"'))
    loaded = load_system(str(tmp_path / "mine.toml"))
    assert loaded.system.name == "mine"
    assert loaded.beside("x/../y") == tmp_path.resolve() / "y"


@pytest.mark.parametrize(
    ("kind", "old", "new", "expected"),
    [
        (
            "board",
            "schema = 1",
            'schema = "one"',
            "FILE: schema: expected a whole number, got a string in quotes",
        ),
        (
            "board",
            "value = 1\n",
            "value = 1.5\n",
            "FILE: qemu.icount_shift.value: expected a whole number, got a fraction",
        ),
        ("board", "[addresses]", "[addresses]\ncolour = 3", "FILE: addresses: unknown key `colour`"),
        ("board", 'machine = "cubieboard"\n', "", "FILE: qemu: missing value for `machine`"),
        ("board", 'console = "uart0"\n', "", "FILE: top level: missing value for `console`"),
        ("system", "width = 800", 'width = "800"', "FILE: framebuffer.width: expected a whole number"),
        ("system", "[card]", "[card]\nspeed = 3", "FILE: card: unknown key `speed`"),
        ("system", 'process = "testcard"\n', "", "FILE: application: missing value for `process`"),
        ("system", 'title = "U-Boot', 'extra = 1\ntitle = "U-Boot', "FILE: top level: unknown key `extra`"),
        ("system", '"home",', "7,", "FILE: rootfs.folders[4]: expected a string in quotes"),
    ],
)
def test_a_wrong_value_is_named_by_file_key_and_expectation(
    tmp_path: Path, kind: str, old: str, new: str, expected: str
) -> None:
    assert complaint(tmp_path, kind, old, new).startswith(expected)


@pytest.mark.parametrize(
    ("kind", "old", "new", "meant"),
    [
        ("system", "[uboot]", "[ubot]", "uboot"),
        ("system", "width = 800", "widht = 800", "width"),
        ("board", "minimum_version", "minimal_version", "minimum_version"),
        ("board", "clock_hz", "clok_hz", "clock_hz"),
        ("board", "bandwidth_bytes_per_s", "bandwith_bytes_per_s", "bandwidth_bytes_per_s"),
    ],
)
def test_a_misspelt_key_is_told_what_was_meant(
    tmp_path: Path, kind: str, old: str, new: str, meant: str
) -> None:
    assert refused(tmp_path, kind, old, new)[1] == f"did you mean {meant}?"


def test_a_key_that_is_like_no_other_gets_no_hint(tmp_path: Path) -> None:
    assert refused(tmp_path, "board", "schema = 1", "schema = 1\nzzz = 1")[1] is None


@pytest.mark.parametrize("kind", LOADERS)
def test_an_error_below_a_table_with_a_free_name_says_which_table(tmp_path: Path, kind: str) -> None:
    """There may be many devices or sources: 'devices[...].base' does not say where to look."""
    old, new, name = {
        "board": ("base = 0x01c28000", 'base = "there"', "uart0"),
        "system": ('version = "2025.01"', "version = 2025", "uboot"),
    }[kind]
    assert name in complaint(tmp_path, kind, old, new)


def test_an_unknown_kind_of_device_names_those_there_are(tmp_path: Path) -> None:
    message = complaint(tmp_path, "board", 'kind = "sunxi-mmc"', 'kind = "nvme"')
    assert "kind" in message
    assert "nvme" in message
    assert "uart16550" in message
    # A kind derived from another one, whose class is not derived from `Setting` itself.
    assert "cadence-uart" in message


@pytest.mark.parametrize("kind", LOADERS)
def test_a_key_with_control_characters_cannot_reach_the_terminal(tmp_path: Path, kind: str) -> None:
    message = complaint(tmp_path, kind, "schema = 1", 'schema = 1\n"\\u001b[31m\\nx" = 1')
    assert message.isprintable()


@pytest.mark.parametrize("kind", LOADERS)
@pytest.mark.parametrize(
    "data",
    [b"schema = ", b"\xff\xfe\x00", b"schema = 1\nschema = 2", b"x = " + b"[" * 5_000],
    ids=["no value", "no text", "twice", "very deep"],
)
def test_what_is_no_toml_is_said(tmp_path: Path, kind: str, data: bytes) -> None:
    path = tmp_path / "bad.toml"
    path.write_bytes(data)
    with pytest.raises(UserError, match="not valid TOML") as caught:
        LOADERS[kind][1](str(path))
    assert str(path) in caught.value.message


@pytest.mark.parametrize("kind", LOADERS)
def test_a_file_that_cannot_be_read_is_said(tmp_path: Path, kind: str) -> None:
    read = LOADERS[kind][1]
    with pytest.raises(UserError, match=r"cannot read .*gone\.toml: No such file"):
        read(str(tmp_path / "gone.toml"))
    (tmp_path / "folder.toml").mkdir()
    with pytest.raises(UserError, match=r"cannot read .*folder\.toml: Is a directory"):
        read(str(tmp_path / "folder.toml"))


@pytest.mark.parametrize("kind", LOADERS)
@pytest.mark.parametrize("name", ["nonsense", "", "../stock", "\x1b[31m"])
def test_an_unknown_name_lists_those_there_are(kind: str, name: str) -> None:
    with pytest.raises(UserError, match=f"unknown {kind} '") as caught:
        LOADERS[kind][1](name)
    assert caught.value.message.isprintable()
    there = f"there are: {', '.join(board_names() if kind == 'board' else system_names())}"
    like = "did you mean stock? " if (kind, name) == ("system", "../stock") else ""
    assert caught.value.hint == like + there


BOARD_CHECKS = [
    ("schema = 1", "schema = 2", "schema: expected 1, got 2"),
    ('console = "uart0"', 'console = "uart9"', "console: expected a serial port under [devices]: uart0"),
    ('console = "uart0"', 'console = "mmc0"', "console: expected a serial port under [devices]: uart0"),
    ('storage = "mmc0"', 'storage = "uart0"', "storage: expected a storage controller under [devices]: mmc0"),
    (
        'card_class = "slow-sd"',
        'card_class = "x"',
        "card_class: expected one of ideal, kingston-c10, sandisk-extreme, slow-sd",
    ),
    ("value = 1\n", "value = 11\n", "qemu.icount_shift.value: expected a number from 0 to 10"),
    ("value = 1\n", "value = -1\n", "qemu.icount_shift.value: expected a number from 0 to 10"),
    ("ram = [0x40000000,", "ram = [0x80000000,", "qemu.ram: expected the first address of the memory"),
    ("value = 11_300_000", "value = 0", "card_classes.slow-sd.bandwidth_bytes_per_s.value: expected"),
    ("value = 24_000_000", "value = 0", "devices.uart0.clock_hz.value: expected a number above 0"),
    ("value = 16,", "value = 0,", "devices.uart0.fifo_bytes.value: expected a number above 0"),
    ("value = 115_200", "value = -1", "devices.uart0.default_baud.value: expected a number above 0"),
    ("register_bytes = 4", "register_bytes = 0", "devices.uart0.register_bytes: expected"),
    ("value = 200_000_000", "value = -1", "power_on_ns.value: expected"),
    ("value = 500_000,", "value = -1,", "card_classes.slow-sd.command_latency_ns.value: expected"),
]


@pytest.mark.parametrize(("old", "new", "expected"), BOARD_CHECKS, ids=[c[1] for c in BOARD_CHECKS])
def test_a_board_that_cannot_be_is_refused(tmp_path: Path, old: str, new: str, expected: str) -> None:
    assert complaint(tmp_path, "board", old, new).startswith(f"FILE: {expected}")


SYSTEM_CHECKS = [
    ("schema = 1", "schema = 2", "schema: expected 1, got 2"),
    ("134_217_728", "134_217_729", "card.size_bytes: expected a power of two"),
    ("134_217_728", "524_288", "card.size_bytes: expected a power of two, 1 MiB or more"),
    ("134_217_728", "-134_217_728", "card.size_bytes: expected a power of two"),
    ("root_sectors = 131072", "root_sectors = 262144", "card: expected partitions that end inside"),
    ("root_sector = 67584", "root_sector = 67583", "card.root_sector: expected 67584 or more"),
    ("root_sector = 67584", "root_sector = 2048", "card.root_sector: expected 67584 or more"),
    ("boot_sector = 2048", "boot_sector = -1", "card.boot_sector: expected"),
    (
        'filesystem = "ext4"',
        'filesystem = "ntfs"',
        "rootfs.filesystem: expected one of ['ext2', 'ext3', 'ext4', 'squashfs', 'erofs'",
    ),
    ('[uboot]\nsource = "uboot"', '[uboot]\nsource = "x"', "uboot.source: expected a name under [sources]"),
    ('source = "linux"', 'source = "x"', "kernel.source: expected a name under [sources], got 'x'"),
    ('[busybox]\nsource = "busybox"', '[busybox]\nsource = "x"', "busybox.source: expected a name under"),
    ("[sources.linux]", '[sources.x]\nversion = "1"\n[sources.linux]', "sources.x: expected a path, a url"),
    ('sha256 = "cdef7d', '# sha256 = "cdef7d', "sources.uboot.sha256: expected a hash beside the url"),
    ('"testcard: ready"', '""', "milestones.app-ready.console: expected a string of 1 to 120 bytes"),
    ('"testcard: ready"', f'"{"x" * 121}"', "milestones.app-ready.console: expected a string of 1"),
    ('"a8r8g8b8"', '"yuv"', "framebuffer.format: expected one of"),
    ("stride_bytes = 3200", "stride_bytes = 3196", "framebuffer.stride_bytes: expected"),
    ('name = "stock"', 'name = "a/../b"', "name: expected"),
    ('name = "stock"', 'name = "my board"', "name: expected"),
]


@pytest.mark.parametrize(("old", "new", "expected"), SYSTEM_CHECKS, ids=[c[1] for c in SYSTEM_CHECKS])
def test_a_system_that_cannot_be_is_refused(tmp_path: Path, old: str, new: str, expected: str) -> None:
    assert complaint(tmp_path, "system", old, new).startswith(f"FILE: {expected}")


@pytest.mark.parametrize(
    "value",
    [
        {"/init": '#!/bin/sh\n"a" = \\ \x7f\t', "": "ü", "a.b": {"c d": [1, {"x": True}]}},
        {},
        [],
        [["a", 1], -2.5],
    ],
)
def test_values_are_the_same_when_they_are_read_as_toml(value: object) -> None:
    assert tomllib.loads(f"it = {as_toml(value)}") == {"it": value}


def test_names_are_the_same_when_they_are_read_as_toml() -> None:
    assert tomllib.loads(f"{as_toml_key('kernel.cells./soc/nand@1 on-flash')} = 1") == {
        "kernel": {"cells": {"/soc/nand@1 on-flash": 1}}
    }
    assert as_toml_key("uboot.edits.card-idle.file") == "uboot.edits.card-idle.file"


def test_a_system_without_a_display_has_no_first_frame() -> None:
    stock = load(system_dir() / "stock.toml", System)
    assert milestones(stock, UBOOT)[-2:] == ["first-frame", "app-ready"]
    fields = {name: getattr(stock, name) for name in stock.__struct_fields__}
    assert "first-frame" not in milestones(System(**{**fields, "framebuffer": None}), UBOOT)


def test_a_system_has_the_milestones_of_its_boot_loader() -> None:
    stock = load(system_dir() / "stock.toml", System)
    assert milestones(stock, UBOOT)[:2] == ["spl", "bootloader"]
    assert milestones(stock, TFA)[:4] == ["bl1", "bl2", "bl31", "bootloader"]
