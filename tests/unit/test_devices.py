# SPDX-License-Identifier: Apache-2.0
"""What stores to device registers mean."""

from __future__ import annotations

import msgspec
import pytest

from bootscope.capture.stream import Io, Record, Sample
from bootscope.devices.model import ConsoleByte, Decoder, DeviceEvent, PinChange, StorageCommand
from bootscope.devices.sunxi_gpio import SunxiGpioDecoder
from bootscope.devices.sunxi_mmc import SunxiMmcDecoder
from bootscope.devices.uart16550 import Uart16550, Uart16550Decoder
from bootscope.timeline.build import decode

from .builders import BYTE_NS, MMC, UART, board, card_read, typed

DATA, LINE, MODEM = 0, 3, 4
START, WITH_DATA, WRITE = 1 << 31, 1 << 9, 1 << 10


def uart(register_bytes: int = 4) -> Uart16550Decoder:
    description = board().devices["uart0"]
    assert isinstance(description, Uart16550)
    return Uart16550Decoder("uart0", msgspec.structs.replace(description, register_bytes=register_bytes))


def store(decoder: Decoder, *stores: tuple[int, int]) -> list[DeviceEvent]:
    """Feeds (byte offset, value) pairs; the index of an event is that of its pair."""
    found = (decoder.store(i, offset, value) for i, (offset, value) in enumerate(stores))
    return [event for event in found if event]


# ---- serial port ----


def test_a_byte_is_a_store_to_the_data_register() -> None:
    assert store(uart(), (0, 0x41)) == [ConsoleByte(0, "uart0", 0x41, BYTE_NS)]


def test_only_the_lowest_byte_of_a_wide_store_goes_out() -> None:
    assert store(uart(), (0, 0xFFFFFF41)) == [ConsoleByte(0, "uart0", 0x41, BYTE_NS)]


def test_stores_to_other_registers_are_no_bytes() -> None:
    assert store(uart(), *((4 * register, 0x01) for register in range(1, 256))) == []


def test_the_divisor_latch_turns_bytes_into_a_speed() -> None:
    port = uart()
    # 24 MHz / 16 / 26 = 57,692 baud
    found = store(port, (4 * LINE, 0x83), (0, 26), (4, 0), (4 * LINE, 0x03), (0, 0x42))
    assert found == [ConsoleByte(4, "uart0", 0x42, 10 * 16 * 26 * 1_000_000_000 // 24_000_000)]


def test_the_upper_half_of_the_divisor_counts() -> None:
    found = store(uart(), (4 * LINE, 0x80), (0, 0x71), (4, 0x02), (4 * LINE, 0), (0, 1))
    assert [event.byte_ns for event in found if isinstance(event, ConsoleByte)] == [
        10 * 16 * 0x271 * 1_000_000_000 // 24_000_000
    ]


def test_a_divisor_of_zero_leaves_the_speed_as_it_was() -> None:
    found = store(uart(), (4 * LINE, 0x80), (0, 0), (4, 0), (4 * LINE, 0), (0, 1))
    assert found == [ConsoleByte(4, "uart0", 1, BYTE_NS)]


def test_bytes_in_loopback_never_leave_the_port() -> None:
    found = store(uart(), (4 * MODEM, 0x10), (0, 0x41), (4 * MODEM, 0x03), (0, 0x42))
    assert found == [ConsoleByte(3, "uart0", 0x42, BYTE_NS)]


def test_registers_may_lie_a_byte_apart() -> None:
    found = store(
        uart(register_bytes=1), (LINE, 0x80), (0, 13), (LINE, 0x03), (0, 0x41), (4, 0x10), (0, 0x42)
    )
    assert [(event.index, event.device) for event in found] == [(3, "uart0")]


# ---- SD card ----


def mmc(*stores: tuple[int, int], byte_addressed: bool = True) -> list[DeviceEvent]:
    return store(SunxiMmcDecoder("mmc0", byte_addressed), *stores)


def command(opcode: int, flags: int = START | WITH_DATA) -> tuple[int, int]:
    return 0x18, flags | opcode


def test_a_small_card_is_addressed_in_bytes() -> None:
    assert mmc((0x14, 4096), (0x1C, 512 * 77), command(18)) == [
        StorageCommand(2, "mmc0", 18, 77, 4096, False)
    ]


def test_a_large_card_is_addressed_in_sectors() -> None:
    assert mmc((0x14, 512), (0x1C, 77), command(17), byte_addressed=False) == [
        StorageCommand(2, "mmc0", 17, 77, 512, False)
    ]


@pytest.mark.parametrize(("card_bytes", "sector"), [(2 << 30, 1), (4 << 30, 512)])
def test_the_size_of_the_card_decides_how_it_is_addressed(card_bytes: int, sector: int) -> None:
    decoder = board().devices["mmc0"].decoder("mmc0", card_bytes)
    (found,) = store(decoder, (0x14, 512), (0x1C, 512), command(17))
    assert isinstance(found, StorageCommand)
    assert found.sector == sector


def test_a_write_is_told_from_a_read_by_its_flag() -> None:
    found = mmc((0x14, 512), (0x1C, 0), command(24, START | WITH_DATA | WRITE), command(17))
    assert [event.write for event in found if isinstance(event, StorageCommand)] == [True, False]


def test_a_command_without_data_is_none() -> None:
    assert mmc((0x14, 512), (0x1C, 0), command(13, START), command(12, START)) == []


def test_a_command_that_is_not_started_is_none() -> None:
    assert mmc((0x14, 512), (0x1C, 0), command(17, WITH_DATA)) == []


def test_data_that_are_not_the_cards_contents_have_no_sector() -> None:
    assert mmc((0x14, 64), (0x1C, 0xFFFFF1), command(6)) == [StorageCommand(2, "mmc0", 6, None, 64, False)]


def test_after_cmd55_the_same_opcode_is_no_sector_once() -> None:
    found = mmc((0x14, 512), (0x1C, 1024), command(55, START), command(18), command(18))
    assert [event.sector for event in found if isinstance(event, StorageCommand)] == [None, 2]


# ---- pins ----


def port(name: str) -> int:
    """Offset of the data register of port `name`."""
    return 0x24 * (ord(name) - ord("A")) + 0x10


def test_a_pin_change_names_what_went_high_and_low() -> None:
    assert store(SunxiGpioDecoder("pio"), (port("H"), 0b110), (port("H"), 0b011)) == [
        PinChange(0, "pio", ("PH1", "PH2"), ()),
        PinChange(1, "pio", ("PH0",), ("PH2",)),
    ]


def test_ports_are_kept_apart_and_the_same_value_twice_is_no_change() -> None:
    found = store(SunxiGpioDecoder("pio"), (port("A"), 1), (port("I"), 1), (port("A"), 1), (port("B"), 0))
    assert found == [PinChange(0, "pio", ("PA0",), ()), PinChange(1, "pio", ("PI0",), ())]


def test_only_data_registers_of_the_nine_ports_are_pins() -> None:
    others = [(offset, 1) for offset in range(0, 0x400, 4) if offset % 0x24 != 0x10 or offset >= 9 * 0x24]
    assert store(SunxiGpioDecoder("pio"), *others) == []


# ---- all together ----


def test_events_come_in_stream_order_with_the_index_of_their_record() -> None:
    records: list[Record] = [
        Sample(0, 1),
        *typed(b"a"),
        *card_read(0, 9, 512),
        Io(0, 99, 0, 4, 1),
        *typed(b"b"),
    ]
    devices = board().devices
    decoders = {UART: devices["uart0"].decoder("uart0", 1), MMC: devices["mmc0"].decoder("mmc0", 1)}
    found = list(decode(records, decoders))
    assert [(event.index, type(event)) for event in found] == [
        (1, ConsoleByte),
        (4, StorageCommand),
        (6, ConsoleByte),
    ]
