# SPDX-License-Identifier: Apache-2.0
"""What libraries of graphical programs do when they start that an image or the environment can avoid."""

from __future__ import annotations

from fnmatch import fnmatchcase

from bootscope.analysis import storage
from bootscope.core.text import size
from bootscope.inventory.inventory import Inventory, Part
from bootscope.inventory.recorded import Recorded

_FONTS = "/usr/share/fonts/*"
_FONTCONFIG = "*/libfontconfig.so.1"
_CACHE = "/var/cache/fontconfig/*.cache-*"
_LIBINPUT = "*/libinput.so.*"
_QT_FRAME_BUFFER = "*/plugins/platforms/libqlinuxfb.so"


def fonts_read(facts: Recorded) -> str | None:
    """What the boot read of fonts for lack of a cache in the image; empty where the image has one, or no font
    was read."""
    if found := fonts_by_files(facts):
        told = _read(facts, _FONTS)
        return f"fonts: {told}; {found}" if told else ""
    return found


def fonts_by_files(known: Inventory) -> str | None:
    """Whether the image has fonts and fontconfig but no cache of the fonts."""
    if not known.knows(Part.FILES):
        return None
    if _any(known, _CACHE) or not (_any(known, _FONTS) and _any(known, _FONTCONFIG)):
        return ""
    return "fontconfig has no cache in /var/cache/fontconfig"


def qt_libinput(facts: Recorded) -> str | None:
    """What the boot read of libinput for Qt's frame buffer plug-in; empty where that was not used."""
    if not _read(facts, _QT_FRAME_BUFFER):
        return ""
    return _read(facts, _LIBINPUT) and "Qt's plug-in for frame buffers reads input devices by libinput"


def _any(known: Inventory, pattern: str) -> bool:
    return any(fnmatchcase(path, pattern) for path in known.files)


def _read(facts: Recorded, pattern: str) -> str:
    """How many files that match a pattern were read, and how much of them, in words; empty for none."""
    found = [a for a in storage.accesses(facts.view.evidence) if not a.write and fnmatchcase(a.what, pattern)]
    names = {access.what for access in found}
    return f"{len(names)} read, {size(sum(a.size_bytes for a in found))}" if names else ""
