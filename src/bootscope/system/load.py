# SPDX-License-Identifier: Apache-2.0
"""Finding and checking system files."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from bootscope.errors import UserError, unknown
from bootscope.paths import package_dir
from bootscope.settings import load
from bootscope.system.model import SCHEMA, System

SECTOR_BYTES = 512
BUILT_IN_MILESTONES = ("spl", "bootloader", "kernel-entry", "init", "application", "first-frame")


@dataclass(frozen=True)
class LoadedSystem:
    """A system and the file it came from; paths in it are relative to that file's folder."""

    system: System
    path: Path

    def beside(self, name: str) -> Path:
        """A path of the system file, made absolute."""
        return (self.path.parent / name).resolve()


def system_dir() -> Path:
    """The folder of the systems that come with bootscope."""
    return package_dir() / "systems.d"


def system_names() -> list[str]:
    """The names of the systems that come with bootscope."""
    return sorted(path.stem for path in system_dir().glob("*.toml"))


def load_system(name: str) -> LoadedSystem:
    """The system called `name`, or the one in the file `name` when that ends in .toml.

    Raises UserError for an unknown name or a file that does not describe a system.
    """
    path = Path(name) if name.endswith(".toml") else system_dir() / f"{name}.toml"
    if not name.endswith(".toml") and name not in system_names():
        raise unknown("system", name, system_names())
    system = load(path, System)
    _check(system, path)
    return LoadedSystem(system, path.resolve())


def milestones(system: System) -> list[str]:
    """The milestones this system has: those seen from outside, and those it declares."""
    built_in = [m for m in BUILT_IN_MILESTONES if m != "first-frame" or system.framebuffer]
    return [*built_in, *system.milestones]


def _check(system: System, path: Path) -> None:
    def require(good: bool, key: str, expected: str) -> None:
        if not good:
            raise UserError(f"{path}: {key}: expected {expected}")

    card = system.card
    size = card.size_bytes
    require(
        re.fullmatch(r"[a-z0-9][a-z0-9_.-]*", system.name) is not None, "name", "letters, digits, '-', '_'"
    )
    require(system.schema == SCHEMA, "schema", f"{SCHEMA}, got {system.schema}")
    require(size >= 1 << 20 and size & (size - 1) == 0, "card.size_bytes", "a power of two, 1 MiB or more")
    ends = (card.boot_sector + card.boot_sectors, card.root_sector + card.root_sectors)
    require(card.boot_sector >= 1, "card.boot_sector", "1 or more")
    require(max(ends) * SECTOR_BYTES <= size, "card", "partitions that end inside the card")
    require(ends[0] <= card.root_sector, "card.root_sector", f"{ends[0]} or more, after the boot partition")
    require(system.rootfs.filesystem == "ext4", "rootfs.filesystem", "'ext4'")
    for key, name in (("uboot", system.uboot.source), ("kernel", system.kernel.source)):
        require(name in system.sources, f"{key}.source", f"a name under [sources], got '{name}'")
    require(system.busybox.source in system.sources, "busybox.source", "a name under [sources]")
    for name, source in system.sources.items():
        _check_source(name, bool(source.path or source.url or source.archive), path)
        require(not source.url or bool(source.sha256), f"sources.{name}.sha256", "a hash beside the url")
    for name, milestone in system.milestones.items():
        text = milestone.console.encode()
        require(0 < len(text) <= 120, f"milestones.{name}.console", "a text of 1 to 120 bytes")
    if system.framebuffer:
        fb = system.framebuffer
        require(fb.format in PIXEL_BYTES, "framebuffer.format", f"one of {list(PIXEL_BYTES)}")
        line = fb.width * PIXEL_BYTES[fb.format]
        require(fb.stride_bytes >= line, "framebuffer.stride_bytes", f"{line} or more, the length of a line")


PIXEL_BYTES = {"a8r8g8b8": 4, "x8r8g8b8": 4, "r5g6b5": 2}
"""Frame buffer formats that can be shown, and how long a pixel is."""


def _check_source(name: str, somewhere: bool, path: Path) -> None:
    if not somewhere:
        raise UserError(f"{path}: sources.{name}: expected a path, a url or an archive")
