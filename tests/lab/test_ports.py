# SPDX-License-Identifier: Apache-2.0
"""I/O ports: every way to output to one is seen by its opcode, and nothing else is taken for one.

The program takes the place of a PC's BIOS, so that it is all that runs.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from bootscope.arch.x86_64 import X86_64
from bootscope.boards.machine import machine_arguments
from bootscope.boards.profile import load_board
from bootscope.capture import stream
from bootscope.devices.model import Media
from bootscope.emulator.plugin_config import output_lines

pytestmark = pytest.mark.boot
BIOS_BYTES = 0x10000
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
JUMP = bytes.fromhex("e9 0d 00")
"""At the reset vector, to the beginning of the image."""


@pytest.fixture
def seen(library: str, tmp_path: Path) -> list[tuple[int, int, int, int]]:
    """(device, offset, bytes, value) of all that the program did."""
    image, card = tmp_path / "bios.img", tmp_path / "sd.img"
    image.write_bytes((PROGRAM.ljust(BIOS_BYTES - 16, b"\xf4") + JUMP).ljust(BIOS_BYTES, b"\0"))
    card.write_bytes(bytes(1 << 20))
    watch, recorded = tmp_path / "watch.txt", tmp_path / "stream.bin"
    lines = ["tick 1", "word 8 0", "register pc rip", "register stack rsp", f"segment {X86_64.segment_bytes}"]
    lines += ["port 1 0x3f8 8", "port 2 0x80 8", "limit 100000"]
    assert X86_64.ports
    watch.write_text("\n".join([*lines, *output_lines(X86_64.ports)]) + "\n")
    board = load_board("q35")
    command = [board.arch.tools.qemu, *machine_arguments(board, Media(card, loader=image))]
    command += ["-plugin", f"{library},watch={watch},out={recorded}"]
    with pytest.raises(subprocess.TimeoutExpired):  # it sleeps, and nothing wakes it
        subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=True, timeout=5)
    found = (r for r in stream.read(recorded) if isinstance(r, stream.Io))
    return [(r.device, r.offset, r.size, r.value) for r in found]


def test_every_way_to_output_is_seen_once(seen: list[tuple[int, int, int, int]]) -> None:
    letters = [(1, 0, 1, ord(letter)) for letter in "CDD"]
    first = [(1, 0, 1, 0x41), (1, 0, 1, 0x41), (2, 0, 1, 0x41)]
    assert seen == [*first, (2, 4, 4, 0x04030201), *letters, (1, 2, 1, 0xEE)]
