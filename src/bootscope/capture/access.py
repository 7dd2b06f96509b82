# SPDX-License-Identifier: Apache-2.0
"""Who may write to a store, and the message to those who may not."""

from __future__ import annotations

import errno
import os
import pwd
from pathlib import Path

from bootscope.core.errors import ToolError

REFUSALS = {errno.EACCES, errno.EPERM, errno.EROFS}
"""Errors of a file system that refuses access, whatever its free space."""


def refused(root: Path, error: OSError) -> ToolError:
    """The error for a store below `root` that cannot be used or written because of `error`."""
    here = f"BOOTSCOPE_STORE=FOLDER keeps recordings in another folder, such as {Path.home()}/boots"
    if error.errno not in REFUSALS:
        return ToolError(f"cannot use the store {root}: {error.strerror}", hint=here)
    folder = _nearest(Path(os.fsdecode(error.filename)) if error.filename else root)
    if error.errno == errno.EROFS:
        return ToolError(f"the store {root} is read-only", hint=here)
    return ToolError(f"the store {root} cannot be used: {folder} {_owned(folder)}", hint=here)


def check_writable(root: Path, folder: Path) -> None:
    """Raises ToolError when nothing can be written to a `folder` of the store below `root`."""
    if os.access(folder, os.W_OK | os.X_OK):
        return
    number = errno.EROFS if os.statvfs(folder).f_flag & os.ST_RDONLY else errno.EACCES
    raise refused(root, OSError(number, os.strerror(number), str(folder)))


def _nearest(path: Path) -> Path:
    """The folder or file itself, or the nearest existing folder above it."""
    while not os.path.lexists(path) and path != path.parent:
        path = path.parent
    return path


def _owned(path: Path) -> str:
    """The owner and permissions of a folder, in words."""
    try:
        found = path.stat()
    except OSError:
        return "cannot be read"
    try:
        owner = pwd.getpwuid(found.st_uid).pw_name
    except KeyError:
        owner = f"user {found.st_uid}"
    whose = "is yours" if found.st_uid == os.geteuid() else f"belongs to {owner}"
    return f"{whose}, and its permissions ({found.st_mode & 0o777:03o}) do not allow it"
