# SPDX-License-Identifier: Apache-2.0
"""A system with its files linked into a folder of ours, so that a folder of ours can be its overlay."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import msgspec

from bootscope.regression.parts import absolute
from bootscope.system.load import LoadedSystem

_FILE, _APPLICATION, _OVERLAY = "system.toml", "application", "own-overlay"


def placed(loaded: LoadedSystem, work: Path) -> LoadedSystem:
    """The same system with `work` as the folder of its file. The application's sources and the overlay are
    links there: only names relative to a system's file can be sent to a cluster's workers."""
    system = loaded.system
    own = system.application.sources
    for name, place in ((_APPLICATION, own), (_OVERLAY, system.rootfs.overlay)):
        if place:
            (work / name).symlink_to(loaded.beside(place))
    sources = {name: absolute(loaded, one) for name, one in system.sources.items()}
    changed = msgspec.structs.replace(
        system,
        sources=sources,
        application=msgspec.structs.replace(system.application, sources=own and _APPLICATION),
        rootfs=msgspec.structs.replace(system.rootfs, overlay=_OVERLAY),
    )
    return replace(loaded, system=changed, path=work / _FILE)
