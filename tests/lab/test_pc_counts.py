# SPDX-License-Identifier: Apache-2.0
"""What the counting pass makes of a PC: caches that CR0 switches, pages, flash, I/O ports, and instructions
that repeat themselves."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from bootscope.capture import counted
from bootscope.capture.counted import Counted, CountedInfo
from bootscope.cores.counts import Count
from bootscope.cores.profile import load_core
from bootscope.emulator import timing_pass
from tests.lab.own_bios import Q35, command

pytestmark = pytest.mark.boot
ATOM = load_core("atom-n270")
INFO = CountedInfo(core=ATOM.name, geometry={}, stream_sha256="", phases=("all",), size_bytes=0, host_ms=0)
FOREVER = bytes.fromhex("eb fe")
LOAD = bytes.fromhex("a0 00 05")  # mov al, [0x500]
STORE = bytes.fromhex("a2 00 05")
CACHES_ON = bytes.fromhex("0f 20 c0  66 25 ff ff ff 9f  0f 22 c0")  # cr0 &= ~(CD | NW)
CACHES_OFF = bytes.fromhex("0f 20 c0  66 0d 00 00 00 40  0f 22 c0")  # cr0 |= CD
IN_LOOP = bytes.fromhex("ba fd 03  b9 05 00  ec  e2 fd")  # mov dx, 0x3fd; mov cx, 5; 1: in al, dx; loop 1b
CLOCK_LOOP = bytes.fromhex("b9 05 00  0f 31  e2 fc")  # mov cx, 5; 1: rdtsc; loop 1b
IN_80, OUT_80 = bytes.fromhex("e4 80"), bytes.fromhex("e6 80")
IN_STRING = bytes.fromhex("fc  bf 00 06  b9 02 00  ba fa 03  f3 6c  f3 6c")  # rep insb, and with nothing left


PROTECTED = bytes.fromhex(
    "fa  2e 66 0f 01 16 78 00"  # cli; lgdt cs:gdtr
    "0f 20 c0  66 25 ff ff ff 9f  66 83 c8 01  0f 22 c0"  # cr0: caches on, and protected mode
    "66 ea 20 00 ff ff 08 00  66 b8 10 00  8e d8  8e c0"  # to 32-bit code, with all of memory as data
    "be 00 00 ff ff  8a 06"  # mov 0xffff0000, esi; mov (esi), al: from the flash
    "bf 00 20 00 00  b9 64 00 00 00  fc  f3 aa"  # rep stosb: 100 bytes to 0x2000
    "c7 05 00 10 00 00 83 00 00 00"  # pages of 4 MiB, with tables at 0x1000: the first one of memory,
    "c7 05 fc 1f 00 00 83 00 c0 ff"  # and that of the flash
    "0f 20 e0  83 c8 10  0f 22 e0  b8 00 10 00 00  0f 22 d8"  # cr4: such pages; cr3: the tables
    "0f 20 c0  0d 00 00 00 80  0f 22 c0"  # cr0: paging on
    "a0 00 05 00 00  a0 04 05 00 00"  # mov (0x500), al; mov (0x504), al
    "eb fe"
    "17 00 7e 00 ff ff"  # gdtr: three entries
    "00 00 00 00 00 00 00 00  ff ff 00 00 00 9b cf 00  ff ff 00 00 00 93 cf 00"
)
FLASH = (0xFFFF0000, 0x100000000)


def counted_of(program: bytes, library: str, folder: Path, uncached: list[tuple[int, int]]) -> Counted:
    """What was counted while a program ran, and then a loop that does nothing."""
    path = folder / "counts.bin"
    lines = timing_pass.lines(Q35, ATOM, path, [], uncached)
    words, _ = command(program + FOREVER, library, folder, lines)
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    return counted.parse(path.read_bytes(), INFO)


def sums(found: Counted) -> dict[Count, int]:
    """The counts; kinds that did not occur are left out."""
    whole = [sum(column) for column in zip(*(entry.counts for entry in found.entries), strict=True)]
    return {kind: whole[kind] for kind in Count if whole[kind]}


def counts(
    program: bytes, library: str, folder: Path, uncached: list[tuple[int, int]] | None = None
) -> dict[Count, int]:
    """What a program has counted."""
    return sums(counted_of(program, library, folder, uncached or []))


def test_data_are_cached_while_a_bit_is_clear(library: str, tmp_path: Path) -> None:
    program = 3 * LOAD + STORE + CACHES_ON + 4 * LOAD + CACHES_OFF + LOAD + CACHES_ON + LOAD
    found = counts(program, library, tmp_path)
    assert found[Count.LOADS] == 9 and found[Count.STORES] == 1
    assert found[Count.UNCACHED_LOAD] == 4 and found[Count.UNCACHED_STORE] == 1
    # Caches that go off are empty when they are on again.
    assert found[Count.LOAD_MEMORY] == 2


def test_ports_are_devices(library: str, tmp_path: Path) -> None:
    found = counts(IN_80 + OUT_80 + IN_80 + OUT_80, library, tmp_path)
    assert found[Count.DEVICE_LOAD] == 2 and found[Count.DEVICE_STORE] == 2
    assert Count.POLLED_NS not in found and Count.LOADS not in found


def test_a_loop_that_asks_a_port_waits_for_it(library: str, tmp_path: Path) -> None:
    found = counts(IN_LOOP, library, tmp_path)
    assert found[Count.DEVICE_LOAD] == 1 and found[Count.POLLED_NS] == 4 * 2


def test_a_loop_that_asks_the_clock_waits_for_it(library: str, tmp_path: Path) -> None:
    found = counts(CLOCK_LOOP, library, tmp_path)
    assert found[Count.POLLED_NS] == 4 * 2 and Count.DEVICE_LOAD not in found


def test_each_repetition_counts(library: str, tmp_path: Path) -> None:
    found = counts(IN_STRING, library, tmp_path)
    assert found[Count.DEVICE_LOAD] == 1 and found[Count.POLLED_NS] == 1


def test_no_repetition_is_a_branch(library: str, tmp_path: Path) -> None:
    found = counted_of(PROTECTED, library, tmp_path, [])
    loop = max(block.instructions for block in found.parts[0])
    whole = sums(found)
    assert whole[Count.STORES] == 100 + 2
    # What remains: from the reset vector, and to 32-bit code.
    assert whole[Count.TAKEN] - loop in (1, 2)


def test_pages_are_looked_up_while_paging_is_on(library: str, tmp_path: Path) -> None:
    found = counts(PROTECTED, library, tmp_path)
    assert found[Count.WALK_DATA] == 1 and found[Count.WALK_CODE] == 1
    assert Count.WALK_DATA not in counts(LOAD, library, tmp_path)


def test_the_flash_is_no_memory(library: str, tmp_path: Path) -> None:
    found = counts(PROTECTED, library, tmp_path)
    # Its code as well, in blocks of 32 bytes.
    assert found[Count.SRAM] > 5 and Count.UNCACHED_LOAD not in found
    shown = counts(PROTECTED, library, tmp_path, [FLASH])
    assert found[Count.SRAM] - shown[Count.SRAM] > 0
    assert shown[Count.UNCACHED_LOAD] > 0


def test_stores_to_what_is_shown_are_combined_to_lines(library: str, tmp_path: Path) -> None:
    found = counts(PROTECTED, library, tmp_path, [(0x2000, 0x3000)])
    # 100 bytes are two lines.
    assert found[Count.WRITTEN] == 2 and Count.UNCACHED_STORE not in found
