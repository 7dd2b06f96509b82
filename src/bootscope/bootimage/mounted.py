# SPDX-License-Identifier: Apache-2.0
"""The files of a volume's file system, through the tool or reader for its kind. Nothing is mounted."""

from __future__ import annotations

from pathlib import Path

from bootscope.artefacts.ext_image import ExtImage
from bootscope.artefacts.images import squashfs_entries
from bootscope.bootimage import probe
from bootscope.bootimage.fat import Fat
from bootscope.bootimage.files import Ext, Files, Listed
from bootscope.bootimage.probe import FileSystem
from bootscope.bootimage.volume import Volume
from bootscope.core.errors import BootscopeError, UserError

READ = (*probe.EXT, probe.FAT, probe.SQUASHFS)
"""The kinds whose files can be read."""
_HINTS = {
    probe.ENCRYPTED: "it is encrypted: nothing of it can be read without its key",
    "UBI": "UBI is recognised only: give the file system in it (ubireader or the build's own rootfs image)",
    "LVM physical volume": "the volumes in LVM are not looked into",
}


def files_of(volume: Volume, found: FileSystem, name: str, folder: Path) -> tuple[Files | None, str]:
    """The files, or None and why they cannot be read; `folder` is one of ours."""
    if found.kind not in READ:
        return None, _HINTS.get(found.kind, f"{found.kind} is recognised; its files are not read")
    try:
        files = Files(_holder(volume, found, name, folder))
        if not files.folder("/"):
            return None, f"it looks like {found.kind}, but no files are found in it: damaged or truncated"
    except BootscopeError as error:
        return None, f"{error.message}{f' ({error.hint})' if error.hint else ''}"
    return files, ""


def _holder(volume: Volume, found: FileSystem, name: str, folder: Path) -> Ext | Fat | Listed:
    if found.kind == probe.FAT:
        return Fat(volume)
    # Tools get a link of ours: a user's file name may look like an option or a pattern.
    link = folder / f"volume-{volume.offset_bytes}"
    if not link.is_symlink():
        link.symlink_to(volume.path.resolve())
    if found.kind in probe.EXT:
        work = folder / f"ext-{volume.offset_bytes}"
        work.mkdir(exist_ok=True)
        return Ext(found.kind, ExtImage(volume.path.resolve(), work, volume.offset_bytes))
    if found.kind == probe.SQUASHFS:
        return Listed(probe.SQUASHFS, squashfs_entries(link, name, volume.offset_bytes))
    raise UserError(f"{found.kind} is not read")
