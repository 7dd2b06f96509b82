# SPDX-License-Identifier: Apache-2.0
"""What audit makes of a file of a tree, by its role."""

from __future__ import annotations

from pathlib import Path

from bootscope.artefacts.file_facts import Piece
from bootscope.artefacts.identify import read_pieces
from bootscope.core.errors import UserError, printable
from bootscope.image.uboot_env import default_environment
from bootscope.inventory.inventory import Part

_ROOTS = ("rootfs-image", "initramfs", "rootfs-folder")
_PROGRAMS = ("uboot-elf", "uboot-image")
READ = (
    "kernel-config", "uboot-config", "busybox-config", "kernel-image", "device-tree", "uboot-environment",
    "uboot-script", *_ROOTS, "emulator", *_PROGRAMS,
)  # fmt: skip
"""Roles whose files are read, in the order in which they count."""
_MOST_BYTES = 64 << 20


def tells(role: str) -> str:
    """What a role is one form of: of each, one is enough."""
    if role in _ROOTS:
        return "rootfs"
    return "uboot-environment" if role in _PROGRAMS else role


def read(role: str, path: Path) -> Piece | None:
    """What a file tells; None where it is nothing for audit. Raises UserError when it is not understood."""
    if path.name.endswith(".qemuboot.conf"):
        return None
    if role in _PROGRAMS:
        return _compiled_in(path)
    return read_pieces([str(path)])[0]


def _compiled_in(path: Path) -> Piece | None:
    """The environment that a U-Boot starts with when it has none stored."""
    try:
        if path.stat().st_size > _MOST_BYTES:
            return None
        found = default_environment(path.read_bytes())
    except OSError as error:
        raise UserError(f"cannot read {printable(str(path))}: {error.strerror}") from error
    if not found:
        return None
    told = f"U-Boot environment, compiled in: {len(found)} variables"
    fields = {"environment": found}
    return Piece(str(path), "U-Boot environment", told, fields, frozenset({Part.ENVIRONMENT}))
