# SPDX-License-Identifier: Apache-2.0
"""The description of a board: how to emulate it and what its devices cost.

One TOML file a board, in ``boards.d/`` or anywhere the user keeps it. See docs/boards.md.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from bootscope.core.errors import UserError
from bootscope.core.paths import package_dir
from bootscope.core.settings import Setting, Sourced, find, load, names_in
from bootscope.core.settings import expected as wrong_value

SCHEMA = 1
UNSCALED_PPM = 1_000_000
"""The scale of a CPU that needs for its instructions what the emulator gives it."""


class Idle(Setting, frozen=True):
    """An instruction that puts the CPU to sleep: `size` bytes, equal to `value` under `mask`."""

    size: int
    mask: int
    value: int


class Qemu(Setting, frozen=True):
    """How QEMU stands for the board. Everything here is part of a boot's identity."""

    machine: str
    memory: str
    minimum_version: str
    icount_shift: Sourced
    seed: int = 1
    rtc: str = "2026-01-01T00:00:00"
    idle: tuple[Idle, ...] = ()
    user_code: tuple[tuple[int, int], ...] = ()
    calls: tuple[Idle, ...] = ()
    loader_code: tuple[tuple[int, int], ...] = ()


class Uart(Setting, frozen=True, tag="uart16550", tag_field="kind"):
    """A 16550-class serial port with registers `register_bytes` apart."""

    base: int
    size: int
    register_bytes: int
    clock_hz: Sourced
    fifo_bytes: Sourced
    default_baud: Sourced


class SunxiMmc(Setting, frozen=True, tag="sunxi-mmc", tag_field="kind"):
    """The SD/MMC host controller of Allwinner SoCs."""

    base: int
    size: int


class SunxiGpio(Setting, frozen=True, tag="sunxi-gpio", tag_field="kind"):
    """The port controller of Allwinner SoCs: nine ports of 32 pins."""

    base: int
    size: int


Device = Uart | SunxiMmc | SunxiGpio


class CardClass(Setting, frozen=True):
    """What a storage command costs: latency_ns + bytes / bandwidth."""

    title: str
    bandwidth_bytes_per_s: Sourced
    command_latency_ns: Sourced


class Addresses(Setting, frozen=True):
    """Where the stages of the boot chain start running, before any MMU is on."""

    spl: int
    uboot: int
    kernel: int


class Board(Setting, frozen=True, omit_defaults=True):
    """A board profile.

    `cpu_scale_ppm`: how long the board's CPU needs for what the emulator's does in 1,000,000 ns.
    """

    schema: int
    name: str
    title: str
    qemu: Qemu
    power_on_ns: Sourced
    addresses: Addresses
    console: str
    storage: str
    card_class: str
    devices: dict[str, Device]
    card_classes: dict[str, CardClass]
    cpu_scale_ppm: Sourced = Sourced(value=UNSCALED_PPM, source="not calibrated: as the emulator counts")

    @property
    def tick_ns(self) -> int:
        """Virtual time of one guest instruction."""
        return 1 << self.qemu.icount_shift.value

    @property
    def card(self) -> CardClass:
        """The card class in use."""
        return self.card_classes[self.card_class]


def board_dir() -> Path:
    """The folder of the profiles that come with bootscope."""
    return package_dir() / "boards.d"


def board_names() -> list[str]:
    """The names of the profiles that come with bootscope."""
    return names_in(board_dir())


def load_board(name: str) -> Board:
    """The board called `name`, or the one described in the file `name` when that ends in .toml.

    Raises UserError for an unknown name or a file that does not describe a board.
    """
    path = find("board", name, board_dir())
    board = load(path, Board)
    _check(board, path)
    return board


def _check(board: Board, path: Path) -> None:
    def wrong(key: str, expected: str) -> UserError:
        return wrong_value(path, key, expected)

    if board.schema != SCHEMA:
        raise wrong("schema", f"{SCHEMA}, got {board.schema}")
    if not isinstance(board.devices.get(board.console), Uart):
        raise wrong("console", "the name of a uart16550 under [devices]")
    if not isinstance(board.devices.get(board.storage), SunxiMmc):
        raise wrong("storage", "the name of a sunxi-mmc under [devices]")
    if board.card_class not in board.card_classes:
        raise wrong("card_class", f"one of {', '.join(sorted(board.card_classes))}")
    if not 0 <= board.qemu.icount_shift.value <= 10:
        raise wrong("qemu.icount_shift.value", "a number from 0 to 10")
    too_small = [(key, "a number above 0") for key, number in _positive(board) if number <= 0]
    too_small += [(key, "0 or more") for key, number in _not_negative(board) if number < 0]
    for key, expected in too_small:
        raise wrong(key, expected)


def _not_negative(board: Board) -> list[tuple[str, int]]:
    """The numbers that formulas add."""
    latencies = {n: c.command_latency_ns.value for n, c in board.card_classes.items()}
    found = [(f"card_classes.{name}.command_latency_ns.value", ns) for name, ns in latencies.items()]
    return [("power_on_ns.value", board.power_on_ns.value), *found]


def _positive(board: Board) -> list[tuple[str, int]]:
    """The numbers that formulas divide by."""
    found = [("cpu_scale_ppm.value", board.cpu_scale_ppm.value)]
    found += [
        (f"card_classes.{n}.bandwidth_bytes_per_s.value", c.bandwidth_bytes_per_s.value)
        for n, c in board.card_classes.items()
    ]
    for name, device in board.devices.items():
        if isinstance(device, Uart):
            found.append((f"devices.{name}.register_bytes", device.register_bytes))
            for key in ("clock_hz", "fifo_bytes", "default_baud"):
                found.append((f"devices.{name}.{key}.value", getattr(device, key).value))
    return found


def to_json(board: Board) -> bytes:
    """The profile as JSON, to be kept with a recording."""
    return msgspec.json.encode(board)


def from_json(data: bytes) -> Board:
    """The reverse of :func:`to_json`."""
    return msgspec.json.decode(data, type=Board)
