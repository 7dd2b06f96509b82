# SPDX-License-Identifier: Apache-2.0
"""Facts from the top folder of OpenWrt's sources that changes for it depend on."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from bootscope.buildtrees.look import Look, text
from bootscope.buildtrees.parts import symbol

_ASKED = re.compile(r"^[ \t]*config KERNEL_(\w+)", re.MULTILINE)
_PLAIN = re.compile(r"[\w-]+")
_MOST_BYTES = 1 << 20
_MOST_NAMED = 6


@dataclass(frozen=True)
class Sources:
    """`config`: the text of ``.config``. `asked`: kernel symbols with an entry in OpenWrt's own menu; None
    where no sources were seen. `command_line`: files of the target's U-Boot package and images that mention
    bootargs. `uboot`: the folder of that package, empty where there is none."""

    config: str = ""
    asked: frozenset[str] | None = None
    command_line: tuple[str, ...] = ()
    uboot: str = ""


def read(folder: Path | None, config: str = "") -> Sources:
    """Reads the top folder of OpenWrt; `config` is its ``.config`` where that is known already."""
    if folder is None or not folder.is_dir():
        return Sources(config)
    look = Look(folder.resolve())
    config = config or text(folder / ".config")
    asked = {name for menu in look.all("config/*.in") for name in _ASKED.findall(text(menu, _MOST_BYTES))}
    board = symbol(config, "CONFIG_TARGET_BOARD")
    if not asked or not _PLAIN.fullmatch(board):
        return Sources(config, frozenset(asked) if asked else None)
    package = f"package/boot/uboot-{board}"
    uboot = package if look.all(package, folder=True) else ""
    return Sources(config, frozenset(asked), _speaking_of_bootargs(look, package, board), uboot)


def _speaking_of_bootargs(look: Look, package: str, board: str) -> tuple[str, ...]:
    places = (f"{package}/*", f"{package}/files/*", f"target/linux/{board}/image/*")
    found = [
        look.relative(path)
        for place in places
        for path in look.all(place)
        if "bootargs" in text(path, _MOST_BYTES)
    ]
    return tuple(sorted(found)[:_MOST_NAMED])
