# SPDX-License-Identifier: Apache-2.0
"""Where the root file system is, and of which kind it is."""

from __future__ import annotations

import re

from bootscope.core.errors import UserError
from bootscope.inventory.inventory import Absent, Inventory, Part

_PARTITION = re.compile(r"(/dev/(?:mmcblk|nvme\d+n)\d+)p\d+|(/dev/(?:sd|vd)[a-z]+)\d+", re.ASCII)


def root_disk(known: Inventory) -> str:
    """Its device, such as /dev/mmcblk0. Raises Absent where root= names no partition by its device."""
    if not known.knows(Part.COMMAND_LINE):
        raise UserError("the command line is not known")
    found = _PARTITION.fullmatch(known.word("root") or "")
    if not found:
        raise Absent("root= names no partition of a disk")
    return found[1] or found[2]


def root_filesystem(known: Inventory) -> str:
    """Its kind, as `rootfstype=` names it. Raises UserError where it is unknown."""
    if not known.filesystem:
        raise UserError("the kind of root file system is not known")
    return known.filesystem


FOUND = {"root_disk": root_disk, "root_filesystem": root_filesystem}
"""Placeholders, and functions for their values in a system."""
