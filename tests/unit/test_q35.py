# SPDX-License-Identifier: Apache-2.0
"""The board q35: what stores of a boot of debian-amd64 mean, its chain, and kernels that are ELF programs."""

from __future__ import annotations

import struct
from pathlib import Path

import msgspec
import pytest

from bootscope.arch.arm64 import ARM64
from bootscope.arch.x86_64 import X86_64
from bootscope.boards.machine import machine_arguments
from bootscope.boards.profile import load_board
from bootscope.core.errors import UserError
from bootscope.cores.profile import load_core
from bootscope.devices.model import PORTS, ConsoleByte, DeviceEvent, Media, StorageCommand
from bootscope.devices.sdhci_pci import SdhciDecoder
from bootscope.devices.uart16550 import Uart16550
from bootscope.devices.vga import Vga
from bootscope.emulator import port_lines, timing_pass
from bootscope.image import vmlinux
from bootscope.image.kallsyms import Symbol
from bootscope.loaders.grub import BIOS, GRUB

AT_115200_NS = 86_805


def port() -> Uart16550:
    found = load_board("q35").devices["uart0"]
    assert isinstance(found, Uart16550)
    return found


def test_grub_sets_the_rate_and_sends() -> None:
    stores = ((1, 0), (3, 0x80), (0, 1), (1, 0), (3, 3), (2, 7), (4, 3), (0, 0x1B), (0, 0x5B))
    decoder = port().decoder("uart0", 0)
    found = [event for i, (at, value) in enumerate(stores) if (event := decoder.store(i, at, value))]
    assert found == [ConsoleByte(i, "uart0", value, AT_115200_NS) for i, value in ((7, 0x1B), (8, 0x5B))]


def test_seabios_reads_the_first_sector_and_what_grub_asks_for() -> None:
    stores = (
        *((0x08, 0), (0x0E, 0x371A), (0x30, 1), (0x08, 0x40100000), (0x0E, 0x2902)),
        *((0x04, 0x200), (0x06, 1), (0x0C, 0x10), (0x08, 0), (0x0E, 0x113A), (0x30, 1), (0x30, 0x20)),
        *((0x04, 0x200), (0x06, 0x7F), (0x0C, 0x36), (0x08, 0x400), (0x0E, 0x123A)),
    )
    decoder = SdhciDecoder("sd0", byte_addressed=True)
    found: list[DeviceEvent | None] = [decoder.store(i, at, value) for i, (at, value) in enumerate(stores)]
    assert [event for event in found if event] == [
        StorageCommand(9, "sd0", 17, 0, 512, False),
        StorageCommand(16, "sd0", 18, 2, 0x7F * 512, False),
    ]


def test_a_port_is_not_in_memory_and_other_ports_are_as_they_were() -> None:
    assert port().address_space == PORTS
    assert b"address_space" in msgspec.json.encode(port())
    assert b"address_space" not in msgspec.json.encode(load_board("cubieboard").devices["uart0"])


def test_how_the_plugin_is_told_of_outputs() -> None:
    assert X86_64.ports
    lines = port_lines.outputs(X86_64.ports)
    assert lines[0] == "ports 0xffff"
    assert {"output 0xee 1 rdx rax", "output 0xe7 4 next rax 0x66 2"} <= set(lines)
    assert "outputs 0x6f 4 rdx rsi rcx 0xf3 0x66 2" in lines


def test_how_the_plugin_is_told_of_inputs_and_of_caches(tmp_path: Path) -> None:
    lines = timing_pass.lines(load_board("q35"), load_core("atom-n270"), tmp_path / "counts", [], [])
    assert lines[0] == f"timing {tmp_path}/counts 0x0 0x40000000"
    assert {"input 0xe4 next", "input 0xed rdx", "inputs 0x6c rdx rcx 0xf3"} <= set(lines)
    assert {"control 0x80000000 0x40000000 0x40000000 cr0", "control-off 0x40000000"} <= set(lines)


@pytest.mark.parametrize(
    ("code", "switches"),
    [
        ("0f22c0", True),  # mov %eax,%cr0
        ("0f22df", True),  # mov %rdi,%cr3
        ("410f22dc", True),  # mov %r12,%cr3
        ("0f22e0", True),  # mov %rax,%cr4
        ("0f20c0", False),  # mov %cr0,%rax
        ("0f013f", True),  # invlpg (%rdi)
        ("410f0138", True),  # invlpg (%r8)
        ("0f0138", True),
        ("0f0101", False),  # sgdt (%rcx)
        ("0f01f8", False),  # swapgs
        ("0faa", True),  # rsm
    ],
)
def test_what_changes_caches_or_translation(code: str, switches: bool) -> None:
    data = bytes.fromhex(code)
    word = int.from_bytes(data, "little")
    known = (o for o in X86_64.control.changed_by if o.size == len(data))
    assert any(word & o.mask == o.value for o in known) == switches


@pytest.mark.parametrize(
    ("code", "reads"), [("0f31", True), ("0f01f9", True), ("0f30", False), ("0f01f8", False)]
)
def test_what_reads_the_time_stamp_counter(code: str, reads: bool) -> None:
    data = bytes.fromhex(code)
    word = int.from_bytes(data, "little")
    assert any(o.size == len(data) and word & o.mask == o.value for o in X86_64.clocks) == reads


@pytest.mark.parametrize("memory", ["3G", "2816M"])
def test_memory_in_two_pieces_is_refused(memory: str) -> None:
    board = load_board("q35")
    large = msgspec.structs.replace(board, qemu=msgspec.structs.replace(board.qemu, memory=memory))
    with pytest.raises(UserError, match=f"has {memory} of memory, which is in two pieces") as caught:
        timing_pass.control_of(large, load_core("atom-n270"))
    assert caught.value.hint == "record it with less than 2816 MiB (qemu.memory)"


def test_what_qemu_is_told_of_the_board() -> None:
    media = Media(Path("sd.img"), loader=Path("/bios.img"), video=Path("/a,b/video.rom"))
    words = machine_arguments(load_board("q35"), media)
    assert "if=pflash,unit=0,format=raw,file=/bios.img,snapshot=on" in words
    assert "VGA,romfile=/a,,b/video.rom" in words
    assert Vga(base=0, size=1).firmware_arguments(Media(Path("sd.img"))) == ("-device", "VGA")


def test_the_chain_of_a_pc() -> None:
    assert GRUB.phases[:5] == ("rom", "firmware", "bootloader", "load", "decompress")
    assert (GRUB.first, GRUB.main.title) == (BIOS, "GRUB")


BASE, PHYSICAL = 0xFFFFFFFF81000000, 0x1000000


def kernel(*parts: tuple[int, int, bytes]) -> bytes:
    """An ELF program that begins 0x40 bytes behind PHYSICAL; parts are (linked to, lies at, content)."""
    at = 64 + 56 * len(parts)
    heads = contents = b""
    for linked, physical, data in parts:
        size = len(data)
        heads += struct.pack("<IIQQQQQQ", 1, 5, at + len(contents), linked, physical, size, size, 1)
        contents += data
    ident = b"\x7fELF\x02\x01\x01" + bytes(9)
    counts = (64, 56, len(parts), 64, 0, 0)
    return (
        struct.pack("<16sHHIQQQIHHHHHH", ident, 2, 62, 1, PHYSICAL + 0x40, 64, 0, 0, *counts)
        + heads
        + contents
    )


def test_a_kernel_that_is_an_elf_program_lies_where_its_header_says() -> None:
    text, data = b"\x90" * 0x100, b"data"
    program = kernel((BASE, PHYSICAL, text), (0, 0x9000000, b"per CPU"), (BASE + 0x1000, 0x1001000, data))
    found = vmlinux.laid_out(program, [], X86_64)
    assert (found.base, found.entry) == (BASE, BASE + 0x40)
    assert found.data == text + bytes(0xF00) + data


@pytest.mark.parametrize(
    ("program", "words"),
    [
        (b"\x7fELF\x02\x01\x01" + bytes(40), "damaged"),
        (kernel((0x1000, 0x1000, b"user")), "no part at a kernel's address"),
        (kernel((BASE, PHYSICAL, b"a"), (BASE + (1 << 30), PHYSICAL, b"b")), "spans"),
    ],
)
def test_a_damaged_one_is_told(program: bytes, words: str) -> None:
    with pytest.raises(UserError, match=words):
        vmlinux.laid_out(program, [Symbol(BASE, "T", "_text")], X86_64)


def test_segments_and_thunks_are_of_one_architecture_only() -> None:
    assert (ARM64.segment_bytes, ARM64.call_thunks, ARM64.ports) == (0, "", None)
