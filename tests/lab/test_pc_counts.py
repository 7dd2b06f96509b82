# SPDX-License-Identifier: Apache-2.0
"""What the counting pass makes of a PC: caches that CR0 switches, address translation, and I/O ports."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from bootscope.capture import counted
from bootscope.capture.counted import CountedInfo
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


def counts(program: bytes, library: str, folder: Path) -> dict[Count, int]:
    """What was counted while a program ran, and then a loop that does nothing; kinds that did not occur are
    left out."""
    path = folder / "counts.bin"
    words, _ = command(program + FOREVER, library, folder, timing_pass.lines(Q35, ATOM, path, [], []))
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=60)
    found = counted.parse(path.read_bytes(), INFO)
    sums = [sum(column) for column in zip(*(entry.counts for entry in found.entries), strict=True)]
    assert done.returncode == 0, done.stderr
    return {kind: sums[kind] for kind in Count if sums[kind]}


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
