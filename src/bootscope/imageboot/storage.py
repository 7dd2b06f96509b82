# SPDX-License-Identifier: Apache-2.0
"""How the board gets an image's disk or root file system: as its card, or as a virtio disk where the kernel
has drivers for that only, as kernels for virtual machines have."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

import msgspec

from bootscope.artefacts.tree import FOLDER
from bootscope.boards.profile import Board, Direct
from bootscope.bootimage.files import Files
from bootscope.bootimage.understand import Image
from bootscope.devices import sd_card, virtio_disk
from bootscope.devices.registry import linux_drivers
from bootscope.devices.virtio_disk import VirtioDisk
from bootscope.image.kallsyms import Symbol
from bootscope.kbuild.kconfig import parse as parse_config

_NAME = "disk0"
_MODULES = ("/lib/modules", "/usr/lib/modules")
_MODULE = re.compile(r"^(.+)\.ko(?:\.(?:gz|xz|zst))?$")
_DEEPEST = 12


@dataclass(frozen=True)
class Store:
    """`board` with the storage, Linux's name for it, and what to report about it."""

    board: Board
    disk: str
    notes: tuple[str, ...] = ()

    @property
    def partition(self) -> str:
        """The prefix of its partitions' names."""
        return self.disk + ("p" if self.disk[-1].isdigit() else "")


def of_image(image: Image, board: Board, symbols: list[Symbol]) -> Store:
    """The storage for an image, by the drivers of its kernel, where symbols, its configuration or modules of
    its initramfs show which it has."""
    card = Store(board, sd_card.DISK)
    drivers = linux_drivers(board.storage_device)
    known = _Drivers.of(image, symbols)
    lacks = known.lacking(drivers)
    if not lacks:
        return card
    why = f"the kernel has no driver for the board's card ({_symbols(lacks)})"
    if not isinstance(board.direct, Direct) or not isinstance(board.direct.disk, int):
        return Store(board, sd_card.DISK, (why,))
    others = known.lacking(virtio_disk.DRIVERS)
    if others:
        return Store(board, sd_card.DISK, (f"{why}, nor for a virtio disk ({_symbols(others)})",))
    disk = VirtioDisk(base=board.direct.disk)
    made = msgspec.structs.replace(board, devices={**board.devices, _NAME: disk}, storage=_NAME)
    told = f"{why}: it gets a virtio disk, {virtio_disk.DISK}, at the card's cost; no product has that"
    return Store(made, virtio_disk.DISK, (told,))


def _symbols(lacking: Collection[str]) -> str:
    return ", ".join(f"CONFIG_{symbol}" for symbol in lacking)


@dataclass(frozen=True)
class _Drivers:
    """The known drivers of a kernel: the functions in it, its configuration, the modules of its initramfs."""

    functions: frozenset[str]
    config: Mapping[str, str]
    modules: frozenset[str]

    @classmethod
    def of(cls, image: Image, symbols: list[Symbol]) -> _Drivers:
        text = image.configuration()
        early = image.early_files()
        return cls(
            frozenset(symbol.name for symbol in symbols),
            parse_config(text) if text else {},
            frozenset(_modules(early)) if early else frozenset(),
        )

    def lacking(self, drivers: Mapping[str, tuple[str, str]]) -> list[str]:
        """The symbols of those drivers that it lacks; none where nothing is known."""
        if not self.functions and not self.config:
            return []
        return [s for s, (module, function) in drivers.items() if not self._has(s, module, function)]

    def _has(self, symbol: str, module: str, function: str) -> bool:
        if function in self.functions or self.config.get(symbol) == "y":
            return True
        return module.replace("-", "_") in self.modules


def _modules(files: Files) -> set[str]:
    """The names of the modules in a file system."""
    found: set[str] = set()
    here = [path for path in _MODULES if files.folder(path)]
    for _ in range(_DEEPEST):
        below: list[str] = []
        for path in here:
            for name, entry in files.folder(path).items():
                if match := _MODULE.match(name):
                    found.add(match[1].replace("-", "_"))
                elif entry.kind == FOLDER:
                    below.append(f"{path}/{name}")
        here = below
    return found
