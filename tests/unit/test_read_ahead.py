# SPDX-License-Identifier: Apache-2.0
"""What is read ahead: parts of files in the order of the boot; and what the first program is."""

from __future__ import annotations

import pytest

from bootscope.capture.store import Store
from bootscope.core.errors import UserError
from bootscope.inventory.inventory import Absent
from bootscope.inventory.read_ahead import FOUND, files_read, first_program, small_init, small_libc

from .known_builders import inventory_of
from .lab_scenes import boot, known
from .reading_scenes import reading

A, B = "/usr/lib/liba.so.1", "/usr/bin/b c"


def test_parts_come_in_the_order_of_the_boot_and_once(store: Store) -> None:
    found = reading(store, (A, B), ((A, 0, 4), (B, 2, 1), (A, 4, 4), (A, 8, 2), (A, 2, 4)))
    assert files_read(found) == f"0 16384 {A}\n8192 4096 {B}\n16384 24576 {A}"


def test_what_nobody_wanted_is_left_out_but_small_gaps(store: Store) -> None:
    found = reading(store, (A, B), ((A, 0, 32), (B, 0, 2)), {A: {1, 4, 20}})
    # Pages 2 and 3 cost less than another command; nothing is known of the other file.
    assert files_read(found) == f"4096 16384 {A}\n81920 4096 {A}\n0 8192 {B}"


def test_a_compressed_block_is_read_whole(store: Store) -> None:
    found = reading(store, (A,), ((A, 1, 2), (A, 40, 2)), None, **{"rootfs.filesystem": "squashfs"})
    assert files_read(found) == f"0 262144 {A}"
    small = {"rootfs.filesystem": "squashfs", "rootfs.block_bytes": "16384"}
    found = reading(store, (A,), ((A, 1, 2), (A, 40, 2)), None, **small)
    assert files_read(found) == f"0 16384 {A}\n163840 16384 {A}"


def test_what_is_no_file_of_the_root_is_not_read_ahead(store: Store) -> None:
    assert files_read(reading(store, (A,), ())) == ""
    assert files_read(known(store, boot().read(80_000, 4096).sample().records)) == ""


def test_without_a_recording_nobody_knows() -> None:
    with pytest.raises(UserError, match="what the boot reads is not known"):
        FOUND["files_read"](inventory_of())
    with pytest.raises(UserError, match="first program is not known"):
        FOUND["first_program"](inventory_of())


@pytest.mark.parametrize(
    ("line", "there", "told"),
    [
        ("root=/dev/mmcblk0p2 rw", "/sbin/init", "/sbin/init"),
        ("rw", "/usr/sbin/init", "/sbin/init"),
        ("rw", "/bin/sh", "/bin/sh"),
        ("rw init=/sbin/start", "/sbin/init", "/sbin/start"),
        ("rw", "/etc/inittab", ""),
    ],
)
def test_the_first_program_is_that_of_the_command_line_or_the_kernels_own(
    line: str, there: str, told: str
) -> None:
    assert first_program(inventory_of(command_line=line, files={there: "program"})) == told


@pytest.mark.parametrize("line", ["rdinit=/init", "rw single", "rw 3", "rw -- a"])
def test_a_first_program_in_memory_or_with_arguments_is_left_alone(line: str) -> None:
    with pytest.raises(Absent):
        first_program(inventory_of(command_line=line, files={"/sbin/init": "program"}))


def test_a_small_first_program_counts_where_it_is_the_first() -> None:
    settings = {"small_init.path": "/sbin/small-init"}
    assert (
        small_init(inventory_of(command_line="init=/sbin/small-init", built=settings)) == "/sbin/small-init"
    )
    assert small_init(inventory_of(command_line="init=/sbin/init", built=settings)) == ""
    assert small_init(inventory_of(command_line="init=/sbin/init", built={})) == ""


def test_the_kernels_own_c_library_is_for_kernels_that_are_compiled() -> None:
    assert small_libc(inventory_of(built={"prebuilt.kernel": ""})) == "nolibc"
    assert small_libc(inventory_of(built={})) == "nolibc"
    assert small_libc(inventory_of(built={"prebuilt.kernel": "boot/vmlinuz-*"})) == "glibc"
