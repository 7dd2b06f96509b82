# SPDX-License-Identifier: Apache-2.0
"""The edits that turn an image into a changed system: the difference of two systems."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from bootscope.changes.on_image import MADE_HERE, is_one_of
from bootscope.core.errors import UserError, printable
from bootscope.emulator.subject import flat
from bootscope.system.changes import word_name
from bootscope.system.model import Initramfs, Prebuilt, System

_OTHERS = ("name", "title", "kernel.command_line", "rootfs.files", "rootfs.links", "rootfs.remove")


@dataclass(frozen=True)
class RootEdit:
    """For a root file system: files by path (a text that begins with `#!` becomes a program), links by path,
    patterns of paths to remove; what is written is not removed."""

    write: Mapping[str, str] = field(default_factory=dict)
    link: Mapping[str, str] = field(default_factory=dict)
    remove: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.write or self.link or self.remove)


@dataclass(frozen=True)
class EarlyEdit:
    """For an initramfs: its compression (empty: as before), files and links by path, the form of modules
    (empty: as they are, `unpacked`, `unsigned`)."""

    compression: str = ""
    write: Mapping[str, str] = field(default_factory=dict)
    link: Mapping[str, str] = field(default_factory=dict)
    modules: str = ""

    def __bool__(self) -> bool:
        return bool(self.compression or self.write or self.link or self.modules)


@dataclass(frozen=True)
class Edits:
    """All edits. `added`, `dropped`: words of the command line."""

    added: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    root: RootEdit = RootEdit()
    early: EarlyEdit = EarlyEdit()

    @property
    def words(self) -> bool:
        """Whether the command line changes."""
        return bool(self.added or self.dropped)

    def __bool__(self) -> bool:
        return bool(self.words or self.root or self.early)


def edits(base: System, wanted: System) -> Edits:
    """The edits that turn the image of `base` into that of `wanted`.

    Raises UserError for a change that only the image's build can make.
    """
    now, then = flat(base), flat(wanted)
    for key in sorted({*now, *then}):
        if now.get(key) != then.get(key) and not is_one_of(key, (*_OTHERS, *MADE_HERE)):
            raise UserError(
                f"{printable(key)} of an image that is built already cannot be changed: it needs the build",
                hint="bootscope apply writes changes for Buildroot, Yocto, OpenWrt, or as files",
            )
    old, new = base.kernel.command_line.split(), wanted.kernel.command_line.split()
    added = tuple(word for word in new if word not in old)
    kept = {word_name(word) for word in new}
    dropped = tuple(dict.fromkeys(word_name(w) for w in old if word_name(w) not in kept))
    root = RootEdit(wanted.rootfs.files, wanted.rootfs.links, wanted.rootfs.remove)
    return Edits(added, dropped, root, _early(base, wanted))


def _early(base: System, wanted: System) -> EarlyEdit:
    modules = wanted.prebuilt.module_form if isinstance(wanted.prebuilt, Prebuilt) else ""
    form = modules if isinstance(modules, str) else ""
    old, new = base.initramfs, wanted.initramfs
    if not isinstance(old, Initramfs) or not isinstance(new, Initramfs):
        if form or new is not old:
            raise UserError("the image has no initramfs, or one that is a part of its kernel")
        return EarlyEdit()
    written = {path: text for path, text in new.files.items() if old.files.get(path) != text}
    compression = new.compression if new.compression != old.compression else ""
    return EarlyEdit(compression, written, new.links, form)
