# SPDX-License-Identifier: Apache-2.0
"""A program that takes the place of a PC's BIOS, so that it is all that runs."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from bootscope.arch.x86_64 import X86_64
from bootscope.boards.machine import machine_arguments
from bootscope.boards.profile import load_board
from bootscope.devices.model import Media
from bootscope.emulator import port_lines

BIOS_BYTES = 0x10000
JUMP = bytes.fromhex("e9 0d 00")
"""At the reset vector, to the beginning of the image."""
Q35 = load_board("q35")


def command(program: bytes, library: str, folder: Path, lines: Iterable[str]) -> tuple[list[str], Path]:
    """(The words that boot a program with the plugin, the file of records): the ports of a serial line and of
    0x80 are watched, and `lines` are more for the watch file."""
    image, card = folder / "bios.img", folder / "sd.img"
    image.write_bytes((program.ljust(BIOS_BYTES - 16, b"\xf4") + JUMP).ljust(BIOS_BYTES, b"\0"))
    card.write_bytes(bytes(1 << 20))
    watch, recorded = folder / "watch.txt", folder / "stream.bin"
    machine = ["tick 1", "word 8 0", "register pc rip", "register stack rsp"]
    machine += [f"segment {X86_64.segment_bytes}", "port 1 0x3f8 8", "port 2 0x80 8", "limit 100000"]
    assert X86_64.ports
    watch.write_text("\n".join([*machine, *port_lines.outputs(X86_64.ports), *lines]) + "\n")
    words = [Q35.arch.tools.qemu, *machine_arguments(Q35, Media(card, loader=image))]
    return [*words, "-plugin", f"{library},watch={watch},out={recorded}"], recorded
