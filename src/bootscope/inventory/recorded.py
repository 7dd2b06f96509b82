# SPDX-License-Identifier: Apache-2.0
"""What is known of a recorded system: its final configuration, and what its boot showed."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import get_type_hints

import msgspec

from bootscope.analysis.unit_jobs import unit_files
from bootscope.analysis.views import View
from bootscope.builder.cache import Cache
from bootscope.capture import objects
from bootscope.capture.store import Store
from bootscope.core.errors import UserError
from bootscope.image.uboot_env import default_environment
from bootscope.inventory.bootlog import RECORDED, BootLog, log_line
from bootscope.inventory.closure import Closures
from bootscope.inventory.inventory import TREE_PARTS, Image, Inventory, Part
from bootscope.kbuild.kconfig import parse
from bootscope.system.model import System
from bootscope.system.placeholders import boot_script

_DEVICE_TREES = ("falcon/falcon.dtb", "device-tree/board.dtb")


class Unrecorded(UserError):
    """Something that only a recording shows, for a system without one."""


@dataclass(frozen=True, kw_only=True)
class Recorded(Inventory):
    """A system as built, and a boot of it."""

    view: View
    closures: Closures | None = None
    """Finds what goes off with symbols of the kernel; None where there is no cache of sources."""
    profile: str = ""
    """How often the application's branches were taken, for `application.profile`; empty: not counted yet."""


_CPUS = 1
"""For an emulated board."""


@functools.cache
def _defaults() -> dict[str, str]:
    """Settings that a system file may leave out; recordings from before they existed lack them too."""
    hints = get_type_hints(System)
    found = {"initramfs": "None"}
    for field in msgspec.structs.fields(System):
        section = hints[field.name]
        if isinstance(section, type) and issubclass(section, msgspec.Struct):
            for inner in msgspec.structs.fields(section):
                if isinstance(inner.default, str | int | bool):
                    found[f"{field.name}.{inner.name}"] = str(inner.default)
    return found


def facts(store: Store, view: View, cache: Cache | None = None) -> Recorded:
    """What is known of a system from the recording that `view` shows; `cache` may contain its sources."""
    system = view.run.info.system
    load = view.evidence.load

    def text(name: str) -> str:
        return load(name).decode("utf-8", "replace")

    told_by = {objects.ROOT_CONTENTS: Part.FILES, objects.SCRIPTS: Part.SCRIPTS}
    told_by |= {name: TREE_PARTS[tree] for tree, name in objects.CONFIG_OF.items()}
    parts = {Part.COMMAND_LINE, Part.SETTINGS, Part.LOG, Part.BOOT}
    parts |= {part for name, part in told_by.items() if name in system.symbols}
    parts |= {Part.COMMANDS} if "uboot.script" in system.settings else set()
    main = view.run.info.board.boot_loader.last
    loader = load(main.code) if main else b""
    environment = with_stored(default_environment(loader), system.settings)
    parts |= {Part.ENVIRONMENT} if environment else set()
    sizes = {part.name: part.size_bytes for part in view.run.info.parts}
    lines = [log_line(n.start_ns, n.data.decode("utf-8", "replace")) for n in view.timeline.lines]
    return Recorded(
        view=view,
        closures=Closures(store, cache, view.evidence) if cache else None,
        parts=frozenset(parts),
        settings={**_defaults(), **system.settings},
        configs={tree: parse(text(name)) for tree, name in objects.CONFIG_OF.items()},
        command_line=system.command_line,
        environment=environment,
        commands=boot_script(system.settings.get("uboot.script", ""), system.settings),
        files=contents(text(objects.ROOT_CONTENTS)),
        scripts=view.evidence.scripts,
        units=unit_files(view.evidence),
        images=images(system.settings, sizes, text(objects.KERNEL_SYMBOLS)),
        architecture=view.evidence.arch.name,
        cpus=_CPUS,
        log=BootLog(lines, RECORDED),
    )


def contents(text: str) -> dict[str, str]:
    """A list of the root file system's contents: path -> its entry."""
    return dict(line.split("\t", 1) for line in text.splitlines() if "\t" in line)


_STORED = "uboot.environment.variables."


def with_stored(defaults: Mapping[str, str], settings: Mapping[str, str]) -> dict[str, str]:
    """U-Boot's environment as a system starts with it: its defaults (none: unknown), overridden by what is
    stored."""
    stored = {key.removeprefix(_STORED): value for key, value in settings.items() if key.startswith(_STORED)}
    return {**defaults, **stored} if defaults else {}


def images(settings: Mapping[str, str], sizes: Mapping[str, int], symbols: str) -> dict[str, Image]:
    """Kernel and device tree of a build: `sizes` are bytes by step and file, `symbols` is System.map."""
    kind = settings.get("kernel.image", "zImage")
    found: dict[str, Image] = {}
    if f"kernel/{kind}" in sizes:
        count, whole = sizes[f"kernel/{kind}"], _in_memory(symbols)
        appended = settings.get("kernel.append_device_tree") == "True"
        found[kind] = Image(kind, count, whole, appended=appended)
        load = settings.get("kernel.uimage_address", "0")
        if load.isdecimal() and int(load):
            found = {"uImage": Image("uImage", count, whole, int(load), kind, appended)}
    tree = next((sizes[name] for name in _DEVICE_TREES if name in sizes), 0)
    return {**found, "dtb": Image("dtb", tree)} if tree else found


def _in_memory(symbols: str) -> int:
    """Bytes from the first to the last of a kernel's symbols, including bss."""
    found = re.findall(r"^([0-9a-f]{8,16}) \w (_text|_end)$", symbols, re.MULTILINE)
    ends = {name: int(address, 16) for address, name in reversed(found)}
    return max(0, ends.get("_end", 0) - ends.get("_text", 0))
