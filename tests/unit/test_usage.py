# SPDX-License-Identifier: Apache-2.0
"""The file that says which code ran, and what it says of object files."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from bootscope.analysis.used_code import Ran, used_code
from bootscope.capture import objects, usage
from bootscope.capture.record import USAGE
from bootscope.capture.store import Store
from bootscope.capture.usage import AFTER, KERNEL, PROGRAMS, Block
from bootscope.core.errors import UserError
from bootscope.emulator.plugin_config import Limits

from .lab_scenes import boot, kept_view

BLOCKS = [
    # address, instructions, first reached, (kernel, programs, after), for the application
    (0x4A000100, 5, 50, (2, 0, 0), 0),
    (0xC0100000, 10, 1000, (3, 0, 0), 0),
    (0xC0100200, 4, 1010, (1, 0, 0), 0),
    (0xC0100300, 7, 1020, (1, 2, 3), 4),
    (0xC0900000, 1, 2000, (1, 0, 0), 0),
]


def number(value: int) -> bytes:
    found = bytearray()
    while value >= 0x80:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])


def usage_file(
    blocks: Iterable[tuple[int, int, int, tuple[int, ...], int]], stages: int = 3, lost: int = 0
) -> bytes:
    """What the plugin would write."""
    rows = list(blocks)
    data, last = usage.MAGIC + b"".join(map(number, (stages, len(rows), lost))), 0
    for address, instructions, first, counts, own in rows:
        data += b"".join(map(number, (address - last, instructions, first, *counts, own)))
        last = address
    return data


@pytest.fixture
def path(tmp_path: Path) -> Path:
    found = tmp_path / USAGE
    found.write_bytes(usage_file(BLOCKS, lost=2))
    return found


def test_blocks_come_back(path: Path) -> None:
    found = usage.read(path)
    assert (found.stages, found.lost) == (3, 2)
    assert found.blocks == tuple(Block(*row) for row in BLOCKS)
    assert found.blocks[3].executed() == 42
    assert found.blocks[3].executed(KERNEL) == 7
    assert found.blocks[3].executed(PROGRAMS, AFTER) == 35
    assert Block(0, 3, 0, (2,)).executed(AFTER) == 0


def test_a_damaged_file_is_named(path: Path) -> None:
    whole = path.read_bytes()
    for size in (len(usage.MAGIC), len(usage.MAGIC) + 2, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:size])
        with pytest.raises(UserError, match="is truncated"):
            usage.read(path)
    path.write_bytes(usage.MAGIC + number(3) + number(1 << 60) + number(0))
    with pytest.raises(UserError, match="is truncated"):
        usage.read(path)
    path.write_bytes(b"something else")
    with pytest.raises(UserError, match="wrong magic"):
        usage.read(path)
    path.unlink()
    with pytest.raises(UserError, match="without counting"):
        usage.read(path)


LINKED = (
    "c0100000 100 .init.text drivers/a.o\nc0100200 100 .text drivers/a.o\nc0100300 80 .text fs/b.o\n"
    "c0100380 80 .rodata fs/b.o\nc0100400 40 .text net/never.o\nc0200000 1000 .bss drivers/a.o\n"
)


def test_object_files_are_told_by_what_ran_of_them(tmp_path: Path) -> None:
    view = kept_view(Store(tmp_path / "store"), boot().records)
    kept = {objects.KERNEL_OBJECTS: LINKED.encode()}
    view.evidence.load = lambda name: kept.get(name, b"")
    (view.boot.path / USAGE).write_bytes(usage_file(BLOCKS))
    found = used_code(view.evidence, usage.read(view.boot.path / USAGE), "kernel")
    assert {name: (used.image_bytes, used.ran) for name, used in found.items()} == {
        "drivers/a.o": (0x200, Ran(setup=30, start=4)),
        "fs/b.o": (0x100, Ran(start=7, programs=35, application=28)),
        "net/never.o": (0x40, Ran()),
    }
    with pytest.raises(UserError, match="does not record what its uboot was linked from"):
        used_code(view.evidence, usage.read(view.boot.path / USAGE), "uboot")


def test_counting_is_off_unless_asked_for() -> None:
    assert Limits().usage_after_ns is None
