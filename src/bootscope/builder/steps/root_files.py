# SPDX-License-Identifier: Apache-2.0
"""Files and links written in a system file, as entries of an image; valid names in an image."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import PurePosixPath

from bootscope.builder.filesystems.model import Entry
from bootscope.builder.step import Context
from bootscope.core.errors import UserError, printable
from bootscope.system.model import RootFs


def written(context: Context, rootfs: RootFs) -> Iterator[Entry]:
    """Files and links written in the system file."""
    for path, text in sorted(rootfs.files.items()):
        # Named by its content: an initramfs has its own files in addition to the root's.
        source = context.scratch / f"file-{hashlib.sha256(text.encode()).hexdigest()}"
        source.write_bytes(text.encode())
        yield Entry(entry_name(path), source=source, program=text.startswith("#!"))
    for path, target in sorted(rootfs.links.items()):
        yield Entry(entry_name(path), target=printable_name(target))


def entry_name(path: str) -> PurePosixPath:
    """The path without its first slash. Raises UserError for one that leads out of the image."""
    name = PurePosixPath(printable_name(path).lstrip("/"))
    if ".." in name.parts or not name.parts:
        raise UserError(f"'{printable(path)}' is not a valid path in a root file system")
    return name


def printable_name(text: str) -> str:
    """The text. Raises UserError for text that a tool would read as the beginning of another command."""
    if '"' in text or not text.isprintable():
        raise UserError(f"an image cannot have this name: {printable(text)}")
    return text
