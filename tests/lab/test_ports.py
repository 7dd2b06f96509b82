# SPDX-License-Identifier: Apache-2.0
"""I/O ports: every way to output to one is seen by its opcode, and nothing else is taken for one."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from bootscope.capture import stream
from tests.lab.own_bios import command

pytestmark = pytest.mark.boot
PROGRAM = bytes.fromhex(
    "ba f8 03  b8 41 5a"  # mov dx, 0x3f8; mov ax, 'AZ'
    "ee  2e ee"  # out dx, al; with a prefix that says nothing here
    "e6 80  e4 80"  # out 0x80, al; in al, 0x80
    "66 b8 01 02 03 04  66 ba ff 03 f8 ff  e7 84"  # mov eax, ...; mov edx, 0xfff803ff; out 0x84, ax
    "c7 06 00 05 43 44  be 00 05  b9 02 00  fc"  # "CD" to 0x500; mov si, 0x500; mov cx, 2; cld
    "ba f8 03  f3 6e  f3 6e"  # rep outsb, and again with nothing left
    "be 01 05  6e"  # mov si, 0x501; outsb
    "66 ba fa 03 07 00  b0 ee  ee"  # edx has more bits than a port's number; al is an opcode
    "f4"
)


@pytest.fixture
def seen(library: str, tmp_path: Path) -> list[tuple[int, int, int, int]]:
    """(device, offset, bytes, value) of all that the program did."""
    words, recorded = command(PROGRAM, library, tmp_path, ())
    with pytest.raises(subprocess.TimeoutExpired):  # it sleeps, and nothing wakes it
        subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, check=True, timeout=5)
    found = (r for r in stream.read(recorded) if isinstance(r, stream.Io))
    return [(r.device, r.offset, r.size, r.value) for r in found]


def test_every_way_to_output_is_seen_once(seen: list[tuple[int, int, int, int]]) -> None:
    letters = [(1, 0, 1, ord(letter)) for letter in "CDD"]
    first = [(1, 0, 1, 0x41), (1, 0, 1, 0x41), (2, 0, 1, 0x41)]
    assert seen == [*first, (2, 4, 4, 0x04030201), *letters, (1, 2, 1, 0xEE)]
