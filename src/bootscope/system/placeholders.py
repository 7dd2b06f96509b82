# SPDX-License-Identifier: Apache-2.0
"""Placeholders for settings of a system: `{name}` in the boot loader's script, `@name@` in changes."""

from __future__ import annotations

from collections.abc import Mapping

SETTINGS = {
    "application": "application.path",
    "process": "application.process",
    "command_line": "kernel.command_line",
    "framebuffer_mode": "framebuffer.mode",
}
"""Placeholders that have a setting's value."""

ADDRESSES = {
    "kernel_address": "kernel.load_address",
    "device_tree_address": "kernel.device_tree_address",
    "initramfs_address": "kernel.initramfs_address",
    "raw_sector": "card.raw_sector",
    "framebuffer_address": "framebuffer.address",
    "framebuffer_bytes": "framebuffer.reserved_bytes",
    "framebuffer_width": "framebuffer.width",
    "framebuffer_height": "framebuffer.height",
    "framebuffer_stride": "framebuffer.stride_bytes",
}
"""Placeholders that have a setting's value as a hexadecimal number."""

_TEXTS = ("command_line", "framebuffer_mode")
FRAMEBUFFER_BY_LOADER = ("{framebuffer_address}", "{framebuffer_mode}")
"""In the script of a boot loader that adds the frame buffer to its own device tree, or sets the mode of the
graphics card."""


def boot_script(script: str, settings: Mapping[str, str]) -> str:
    """The boot loader's script with command line and addresses filled in; `settings` are keyed by their full
    names. Placeholders whose value is known only when a card is made stay."""
    for name in _TEXTS:
        script = script.replace(f"{{{name}}}", settings.get(SETTINGS[name], ""))
    for name, key in ADDRESSES.items():
        value = settings.get(key, "")
        script = script.replace(f"{{{name}}}", hex(int(value)) if value.isdecimal() else value)
    return script
