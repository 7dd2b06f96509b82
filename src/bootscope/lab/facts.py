# SPDX-License-Identifier: Apache-2.0
"""What is known of a system: how it was configured in the end, and what a recorded boot of it showed."""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import get_type_hints

import msgspec

from bootscope.build.kconfig import parse
from bootscope.capture import objects
from bootscope.capture.store import Store
from bootscope.errors import UserError
from bootscope.system.model import System
from bootscope.views import View

_CONFIGS = {
    "kernel": objects.KERNEL_CONFIG,
    "uboot": objects.UBOOT_CONFIG,
    "busybox": objects.BUSYBOX_CONFIG,
}


@dataclass(frozen=True)
class Facts:
    """A system as built, and a boot of it.

    `configs`: tree -> symbol -> value as written. `files`: path in the root file system -> what the list
    of contents says of it. `settings`: name in the system file -> value as text.
    """

    view: View
    settings: Mapping[str, str]
    configs: Mapping[str, Mapping[str, str]]
    files: Mapping[str, str]

    @cached_property
    def words(self) -> list[str]:
        """The kernel's command line."""
        return self.view.run.info.system.command_line.split()

    @property
    def compiler_options(self) -> list[str]:
        """Of the application."""
        return re.findall(r"'([^']*)'", self.settings.get("application.compiler_options", ""))

    @cached_property
    def console(self) -> str:
        """All console lines of the boot."""
        return "\n".join(line.data.decode("utf-8", "replace") for line in self.view.timeline.lines)

    def has_file(self, path: str, text: str) -> bool:
        """Whether this text is already the content of that file."""
        told = self.files.get(path, "")
        return told.endswith(hashlib.sha256(text.encode()).hexdigest()[:16])

    def has_setting(self, key: str, value: object) -> bool:
        """Whether this setting has that value already."""
        if isinstance(value, Mapping):
            there = {k: v for k, v in self.settings.items() if k.startswith(f"{key}.")}
            return there == {f"{key}.{name}": str(text) for name, text in value.items()}
        return self.settings.get(key) == str(value)

    def value(self, name: str) -> str:
        """A value of this system or this boot, for the placeholder `@name@` in a change.

        Raises UserError when the boot does not tell it.
        """
        told = setting_value(name, self.settings)
        if told is not None:
            return told
        found = VALUES[name].search(self.console) if name in VALUES else None
        if not found:
            raise UserError(f"the boot does not tell {name}", hint="record one with the kernel's messages")
        return found[1]


def setting_value(name: str, settings: Mapping[str, str]) -> str | None:
    """The value of the placeholder `@name@` from the settings of a system; None when it is none of them."""
    if SETTINGS.get(name) in settings:
        return settings[SETTINGS[name]]
    if ADDRESSES.get(name) in settings:
        return hex(int(settings[ADDRESSES[name]]))
    return None


VALUES = {"lpj": re.compile(r"Calibrating delay loop.*\(lpj=(\d+)\)")}
"""Placeholders in changes, and where in the console log their values stand."""

SETTINGS = {
    "application": "application.path",
    "process": "application.process",
    "command_line": "kernel.command_line",
}
"""Placeholders in changes, and the settings whose values they have."""

ADDRESSES = {
    "kernel_address": "kernel.load_address",
    "device_tree_address": "kernel.device_tree_address",
    "raw_sector": "card.raw_sector",
}
"""Placeholders in changes, and the settings whose values they have, as hexadecimal numbers."""


@functools.cache
def _defaults() -> dict[str, str]:
    """Settings that a system file may leave out, which a recording made before they existed lacks too."""
    hints = get_type_hints(System)
    found = {"initramfs": "None"}
    for field in msgspec.structs.fields(System):
        section = hints[field.name]
        if isinstance(section, type) and issubclass(section, msgspec.Struct):
            for inner in msgspec.structs.fields(section):
                if isinstance(inner.default, str | int | bool):
                    found[f"{field.name}.{inner.name}"] = str(inner.default)
    return found


def facts(store: Store, view: View) -> Facts:
    """What is known of a system from the recording that `view` shows."""
    system = view.run.info.system
    kept = system.symbols

    def text(name: str) -> str:
        return objects.unpacked(store.object(kept[name])).decode("utf-8", "replace") if name in kept else ""

    settings = {**_defaults(), **system.settings}
    files = dict(line.split("\t", 1) for line in text(objects.ROOT_CONTENTS).splitlines() if "\t" in line)
    return Facts(view, settings, {tree: parse(text(name)) for tree, name in _CONFIGS.items()}, files)
