# SPDX-License-Identifier: Apache-2.0
"""The description of a board: how to emulate it and what its devices cost.

One TOML file a board, in ``boards.d/`` or anywhere the user keeps it. See docs/boards.md.
"""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from bootscope.arch.arm import ARM
from bootscope.arch.model import Architecture, Opcode
from bootscope.arch.registry import ARCHITECTURES
from bootscope.boards.changed import CLOCKS, INSTRUCTIONS, OF_CORE, changed_board, parted, without_core
from bootscope.core.errors import UserError, printable, unknown
from bootscope.core.paths import package_dir
from bootscope.core.settings import Setting, Sourced, find, load, names_in
from bootscope.core.settings import expected as wrong_value
from bootscope.core.toml_lines import spot
from bootscope.cores.choice import NO_CORE
from bootscope.devices.model import CardClass, Console, MemoryStorage, Storage
from bootscope.devices.registry import AnyDevice
from bootscope.loaders.model import Loader
from bootscope.loaders.registry import BUILT, LOADERS

SCHEMA = 1
MOST_CPUS = 64
"""The plugin's limit."""
QUANTUM_NS = 1_000
"""By how much the time of one of several CPUs may be ahead, where a profile does not say."""
MOST_QUANTUM_NS = 1_000_000
UNSCALED_PPM = 1_000_000
"""The scale of a CPU that is as fast as the emulator's."""
CORE_VARIABLE = "BOOTSCOPE_CORE"
"""The environment variable that, set to `none`, removes the core from all profiles."""


class Qemu(Setting, frozen=True):
    """How QEMU emulates the board. Everything here is part of a boot's identity.

    `cpu`: where it is not the machine's default. `quantum_ns`: by how much the time of one of several CPUs
    may be ahead of the others'. A file need not contain `idle`, `calls` and `user_code`: they follow from the
    architecture and `ram`, the first address of the memory and the first behind it.
    """

    machine: str
    memory: str
    minimum_version: str
    icount_shift: Sourced
    seed: int = 1
    rtc: str = "2026-01-01T00:00:00"
    idle: tuple[Opcode, ...] = ()
    user_code: tuple[tuple[int, int], ...] = ()
    calls: tuple[Opcode, ...] = ()
    loader_code: tuple[tuple[int, int], ...] = ()
    cpu: str | msgspec.UnsetType = msgspec.UNSET
    config_space: tuple[int, int] | msgspec.UnsetType = msgspec.UNSET
    cpus: int | msgspec.UnsetType = msgspec.UNSET
    quantum_ns: int | msgspec.UnsetType = msgspec.UNSET
    ram: tuple[int, int] | msgspec.UnsetType = msgspec.UNSET


class Direct(Setting, frozen=True):
    """How the emulator starts a kernel itself: `memory` is the first address of the memory that it loads the
    kernel into. `begins`: the program that the boot begins with then, and `addresses` where its programs
    start, if not at the board's. `disk`: where a virtio disk can be, for kernels without drivers for the
    board's card. `image`: where the kernel's file is loaded, if it unpacks itself. `device_tree`: whether the
    image must contain one."""

    memory: int
    begins: str = "direct"
    addresses: dict[str, int] = msgspec.field(default_factory=dict)
    disk: int | msgspec.UnsetType = msgspec.UNSET
    image: int | msgspec.UnsetType = msgspec.UNSET
    device_tree: bool = False


class Board(Setting, frozen=True, omit_defaults=True):
    """A board profile. `direct`: where a kernel can be started without a boot loader.

    `addresses`: where the programs of the boot loader and the kernel start running, before any MMU is on.
    `cpu_scale_ppm`: the time in ns that the board's CPU needs for 1,000,000 ns of the emulator's. `core`: the
    core profile whose caches and memory it has; without one all instructions take the same time.
    `core_changes`: how its memory, caches or clock differ from that profile, in the words of `what-if`.
    `guest_clock`: what drives the emulated board's clock: `instructions`, the time of its `core`, or that of
    the `board`: core and devices.
    """

    schema: int
    name: str
    title: str
    qemu: Qemu
    power_on_ns: Sourced
    addresses: dict[str, int]
    console: str
    storage: str
    card_class: str
    devices: dict[str, AnyDevice]
    card_classes: dict[str, CardClass]
    cpu_scale_ppm: Sourced = Sourced(value=UNSCALED_PPM, source="not calibrated: the emulator's own count")
    loader: str = BUILT.name
    architecture: str = ARM.name
    direct: Direct | msgspec.UnsetType = msgspec.UNSET
    core: str | msgspec.UnsetType = msgspec.UNSET
    core_changes: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    guest_clock: str = INSTRUCTIONS

    @property
    def arch(self) -> Architecture:
        """The architecture of its CPU. Raises UserError for an unknown one."""
        if self.architecture not in ARCHITECTURES:
            raise unknown("architecture", self.architecture, list(ARCHITECTURES))
        return ARCHITECTURES[self.architecture]

    @property
    def tick_ns(self) -> int:
        """Virtual time of one guest instruction."""
        return 1 << self.qemu.icount_shift.value

    @property
    def boot_loader(self) -> Loader:
        """Its boot loader. Raises UserError for an unknown one."""
        if self.loader not in LOADERS:
            raise unknown("boot loader", self.loader, list(LOADERS))
        return LOADERS[self.loader]

    def in_use(self) -> Board:
        """The profile without the card classes that it does not use: boots on equal ones are comparable."""
        return msgspec.structs.replace(self, card_classes={self.card_class: self.card})

    @property
    def card(self) -> CardClass:
        """The card class in use."""
        return self.card_classes[self.card_class]

    def console_called(self, device: str) -> Console:
        """The serial port of this name."""
        found = self.devices[device]
        assert isinstance(found, Console)
        return found

    @property
    def storage_device(self) -> Storage:
        """The controller that the board boots from."""
        found = self.devices[self.storage]
        assert isinstance(found, Storage)
        return found


def board_dir() -> Path:
    """The folder of the profiles that come with bootscope."""
    return package_dir() / "boards.d"


def board_names() -> list[str]:
    """The names of the profiles that come with bootscope."""
    return names_in(board_dir())


def load_board(name: str) -> Board:
    """The board called `name`, or the one described in the file `name` when that ends in .toml; with changes
    after a colon, as in `cubieboard:card=2x` (boards/changed.py).

    Raises UserError for an unknown name, a file that does not describe a board, an invalid change, or an
    invalid BOOTSCOPE_CORE.
    """
    plain, changes = parted(name)
    path = find("board", plain, board_dir())
    board = load(path, Board)
    _check(board, path)
    board = msgspec.structs.replace(board, qemu=_completed(board.qemu, board.arch))
    if _cores_unwanted():
        board = without_core(board)
    return changed_board(board, changes) if plain != name else board


def _cores_unwanted() -> bool:
    """Whether the user wants boards without the cores of their profiles. Raises UserError for a variable with
    another value."""
    said = os.environ.get(CORE_VARIABLE, "")
    if said not in ("", NO_CORE):
        raise UserError(
            f"{CORE_VARIABLE} is '{printable(said)}', and can only be '{NO_CORE}'",
            hint="--board BOARD:core=CORE names a core",
        )
    return said == NO_CORE


def _completed(q: Qemu, arch: Architecture) -> Qemu:
    """With all derived values, as in recordings."""
    user_code = q.user_code
    if isinstance(q.ram, tuple) and not user_code:
        # Below the kernel, except identity-mapped memory, where a boot loader runs.
        user_code = (0, q.ram[0]), (q.ram[1], arch.kernel.first_address)
    idle, calls = q.idle or arch.idle, q.calls or arch.calls
    quantum_ns = q.quantum_ns
    if isinstance(q.cpus, int) and q.cpus > 1:
        quantum_ns = quantum_ns if isinstance(quantum_ns, int) else QUANTUM_NS
    return msgspec.structs.replace(
        q, ram=msgspec.UNSET, idle=idle, calls=calls, user_code=user_code, quantum_ns=quantum_ns
    )


def _check_clock(board: Board, path: Path) -> None:
    if board.guest_clock not in CLOCKS:
        raise wrong_value(path, "guest_clock", f"one of {', '.join(CLOCKS)}")
    if board.guest_clock == INSTRUCTIONS:
        return
    if board.guest_clock == OF_CORE and not isinstance(board.core, str):
        raise wrong_value(path, "guest_clock", f"{INSTRUCTIONS}, as the board names no core")
    if board.cpu_scale_ppm.value != UNSCALED_PPM:
        raise wrong_value(path, "cpu_scale_ppm.value", f"{UNSCALED_PPM}, as the guest's clock is the core's")


def _check_card(board: Board, path: Path) -> None:
    if board.card_class not in board.card_classes:
        raise wrong_value(path, "card_class", f"one of {', '.join(sorted(board.card_classes))}")
    if isinstance(board.devices[board.storage], MemoryStorage) and not board.card.is_plain:
        raise wrong_value(
            path,
            f"card_classes.{board.card_class}",
            "bandwidth and command_latency only: flash that is read as memory says itself what writing takes",
        )


def _check(board: Board, path: Path) -> None:
    def wrong(key: str, expected: str) -> UserError:
        return wrong_value(path, key, expected)

    if board.schema != SCHEMA:
        raise wrong("schema", f"{SCHEMA}, got {board.schema}")
    if board.architecture not in ARCHITECTURES:
        raise wrong("architecture", f"one of {', '.join(ARCHITECTURES)}")
    if board.loader not in LOADERS:
        raise wrong("loader", f"one of {', '.join(LOADERS)}")
    _check_clock(board, path)
    _check_machine(board, path)
    ports = sorted(name for name, device in board.devices.items() if isinstance(device, Console))
    if board.console not in ports:
        raise wrong("console", f"a serial port under [devices]: {', '.join(ports) or 'there is none'}")
    drives = sorted(name for name, device in board.devices.items() if isinstance(device, Storage))
    if board.storage not in drives:
        raise wrong(
            "storage", f"a storage controller under [devices]: {', '.join(drives) or 'there is none'}"
        )
    _check_card(board, path)
    if not 0 <= board.qemu.icount_shift.value <= 10:
        raise wrong("qemu.icount_shift.value", "a number from 0 to 10")
    too_small = [(key, "a number above 0") for key, number in _positive(board) if number <= 0]
    too_small += [(key, "0 or more") for key, number in _not_negative(board) if number < 0]
    for key, expected in too_small:
        raise wrong(key, expected)


def _check_machine(board: Board, path: Path) -> None:
    expected = [*(program.name for program in board.boot_loader.programs), "kernel"]
    wrong = [f"unknown key `{printable(key)}`" for key in board.addresses if key not in expected]
    wrong += [f"missing value for `{key}`" for key in expected if key not in board.addresses]
    if wrong:
        raise UserError(f"{spot(path, ['addresses'])}: addresses: {wrong[0]}")
    ram = board.qemu.ram
    if isinstance(ram, tuple) and not 0 <= ram[0] < ram[1]:
        raise wrong_value(path, "qemu.ram", "the first address of the memory, and the first behind it")
    if isinstance(board.qemu.cpus, int) and not 1 <= board.qemu.cpus <= MOST_CPUS:
        raise wrong_value(path, "qemu.cpus", f"a number from 1 to {MOST_CPUS}")
    if isinstance(board.qemu.quantum_ns, int) and not 0 < board.qemu.quantum_ns <= MOST_QUANTUM_NS:
        raise wrong_value(path, "qemu.quantum_ns", f"a number from 1 to {MOST_QUANTUM_NS}")
    space = board.qemu.config_space
    if isinstance(space, tuple) and not 0 <= space[0] < space[1]:
        raise wrong_value(path, "qemu.config_space", "its first address, and the first behind it")


def _not_negative(board: Board) -> list[tuple[str, int]]:
    """The numbers that formulas add."""
    found = _of_cards(board, rates=False)
    return [("power_on_ns.value", board.power_on_ns.value), *found]


def _of_cards(board: Board, *, rates: bool) -> list[tuple[str, int]]:
    """The figures of all card classes, with their keys: the rates, or the latencies."""
    return [
        (f"card_classes.{name}.{key}.value", value)
        for name, card in board.card_classes.items()
        for key, value, is_rate in card.figures()
        if is_rate == rates
    ]


def _positive(board: Board) -> list[tuple[str, int]]:
    """The numbers that formulas divide by."""
    found = [("cpu_scale_ppm.value", board.cpu_scale_ppm.value)]
    found += _of_cards(board, rates=True)
    for name, device in board.devices.items():
        found += [(f"devices.{name}.{key}", number) for key, number in device.above_zero().items()]
    return found


def to_json(board: Board) -> bytes:
    """The profile as JSON, to be kept with a recording."""
    return msgspec.json.encode(board)
