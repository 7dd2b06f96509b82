# SPDX-License-Identifier: Apache-2.0
"""What stores to the devices of QEMU's boards 'virt' mean. Stores are those of a boot of debian-arm64."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from bootscope.boards.machine import machine_arguments
from bootscope.boards.profile import QUANTUM_NS, board_dir, load_board
from bootscope.core.errors import UserError
from bootscope.devices.model import (
    ConsoleByte,
    Decoder,
    DeviceEvent,
    FirmwareStore,
    Media,
    Storage,
    StorageCommand,
)
from bootscope.devices.pflash import Pflash
from bootscope.devices.pl011 import Pl011, Pl011Decoder
from bootscope.devices.sdhci_pci import SdhciDecoder

DATA, INTEGER, FRACTION, LINE, CONTROL = 0x00, 0x24, 0x28, 0x2C, 0x30
AT_115200_NS = 86_805


def port() -> Pl011:
    found = load_board("virt-arm64").devices["uart0"]
    assert isinstance(found, Pl011)
    return found


def store(decoder: Decoder, *stores: tuple[int, int]) -> list[DeviceEvent]:
    """Feeds (byte offset, value) pairs; the index of an event is that of its pair."""
    found = (decoder.store(i, offset, value) for i, (offset, value) in enumerate(stores))
    return [event for event in found if event]


def test_firmware_that_does_not_know_the_ports_clock_leaves_the_rate_as_it_is() -> None:
    """Trusted Firmware-A's stores: it was told of a clock of 1 Hz, and stores a divisor of 0."""
    decoder = Pl011Decoder("uart0", port())
    begun = ((CONTROL, 0x300), (INTEGER, 0), (FRACTION, 0), (LINE, 0x70), (0x04, 0), (CONTROL, 0x301))
    assert store(decoder, *begun, (DATA, 0x4E)) == [ConsoleByte(6, "uart0", 0x4E, AT_115200_NS)]


def test_the_divisor_counts_when_the_line_control_register_is_stored_to() -> None:
    decoder = Pl011Decoder("uart0", port())
    found = store(decoder, (INTEGER, 1), (FRACTION, 40), (DATA, 1), (LINE, 0x70), (DATA, 2))
    # 24 MHz / 16 / (1 + 40/64)
    faster = 10 * 16 * 104 * 1_000_000_000 // (64 * 24_000_000)
    assert [e.byte_ns for e in found if isinstance(e, ConsoleByte)] == [AT_115200_NS, faster]


def test_a_byte_in_loopback_is_not_on_the_line() -> None:
    assert store(Pl011Decoder("uart0", port()), (CONTROL, 0x381), (DATA, 0x41)) == []


def test_the_nearest_rate_that_the_port_can_make() -> None:
    assert port().at_rate(115_200) == (10 * 16 * 833 * 1_000_000_000 // (64 * 24_000_000), 115_246)
    twice = port().with_rates(lambda s: msgspec.structs.replace(s, value=s.value * 2))
    assert twice.clock_hz.value == 48_000_000


SETTING = ((0x04, 0x7200), (0x06, 8), (0x0C, 0x33), (0x08, 2048))
"""Eight blocks of 512 bytes from sector 2048 on, by DMA, in U-Boot."""


def test_a_command_with_data_says_where_and_how_much() -> None:
    read = store(SdhciDecoder("sd0", byte_addressed=False), *SETTING, (0x0E, 0x123A))
    assert read == [StorageCommand(4, "sd0", 18, 2048, 4096, False)]
    written = store(SdhciDecoder("sd0", byte_addressed=False), *SETTING, (0x0C, 0x23), (0x0E, 0x193A))
    assert written == [StorageCommand(5, "sd0", 25, 2048, 4096, True)]


def test_registers_beside_each_other_may_be_stored_to_as_one() -> None:
    both = ((0x04, 8 << 16 | 0x7200), (0x08, 1 << 20), (0x0C, 0x123A << 16 | 0x33))
    found = store(SdhciDecoder("sd0", byte_addressed=True), *both)
    assert found == [StorageCommand(2, "sd0", 18, 2048, 4096, False)]


def test_the_registers_of_the_card_are_no_place_on_it() -> None:
    """Its configuration: eight bytes, after the command that says that another one follows."""
    stores = ((0x0E, 0x371A), (0x04, 0x7008), (0x06, 1), (0x0C, 0x13), (0x08, 0), (0x0E, 0x333A))
    found = store(SdhciDecoder("sd0", byte_addressed=True), *stores)
    assert found == [StorageCommand(5, "sd0", 51, None, 8, False)]


@pytest.mark.parametrize("command", [0x0000, 0x081A, 0x2902])
def test_a_command_without_data_moves_none(command: int) -> None:
    assert store(SdhciDecoder("sd0", byte_addressed=True), (0x08, 0), (0x0E, command)) == []


def test_what_qemu_is_told_of_the_board() -> None:
    board = load_board("virt-arm64")
    media = Media(Path("/a,b/sd.img"), loader=Path("/flash.img"))
    flash = "if=pflash,unit=0,format=raw,file=/flash.img,snapshot=on"
    words = machine_arguments(board, media)
    assert words[words.index(flash) - 1] == "-drive"
    assert "id=card,if=none,format=raw,file=/a,,b/sd.img,snapshot=on" in words
    assert [n for n, d in board.devices.items() if isinstance(d, FirmwareStore)] == ["flash0"]
    assert [n for n, d in board.devices.items() if isinstance(d, Storage)] == ["sd0"]


def test_several_cpus_are_a_setting_of_the_board(tmp_path: Path) -> None:
    text = (board_dir() / "virt-arm64.toml").read_text()
    path = tmp_path / "four.toml"
    path.write_text(text.replace("[qemu]", "[qemu]\ncpus = 4"))
    words = machine_arguments(load_board(str(path)), Media(Path("sd.img")))
    assert words[words.index("-smp") + 1] == "4"
    # A recording holds by how much their times may differ; that of one CPU does not.
    assert load_board(str(path)).qemu.quantum_ns == QUANTUM_NS
    assert load_board("virt-arm64").qemu.quantum_ns is msgspec.UNSET
    path.write_text(text.replace("[qemu]", "[qemu]\ncpus = 0"))
    with pytest.raises(UserError, match=r"qemu\.cpus: expected a number from 1 to 64"):
        load_board(str(path))
    path.write_text(text.replace("[qemu]", "[qemu]\ncpus = 4\nquantum_ns = 0"))
    with pytest.raises(UserError, match=r"qemu\.quantum_ns: expected a number from 1 to 1000000"):
        load_board(str(path))


def test_flash_without_an_image_needs_nothing_and_tells_nothing() -> None:
    flash = Pflash(base=0, size=1 << 26)
    assert flash.firmware_arguments(Media(Path("sd.img"))) == ()
    assert store(flash.decoder("flash0", 0), (0, 0xF0)) == []
