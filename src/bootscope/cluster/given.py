# SPDX-License-Identifier: Apache-2.0
"""A system as it is sent to workers: with its sources and the folders beside its file, by their hashes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from bootscope.builder.ids import tree_id
from bootscope.builder.sources import Resolved
from bootscope.cluster.orders import Given
from bootscope.core.errors import UserError
from bootscope.system.load import LoadedSystem, folders_beside, system_dir


def given_of(loaded: LoadedSystem, found: Mapping[str, Resolved | None]) -> Given:
    """The system as it is sent. Raises UserError for folders that are given by absolute paths."""
    sources = {name: source for name, source in found.items() if source}
    shipped = loaded.path.parent == system_dir()
    if shipped:
        return Given(system=loaded.system, base=loaded.path.name, sources=sources, folders={})
    for key, name in _named(loaded).items():
        if Path(name).is_absolute():
            raise UserError(
                f"{loaded.path}: {key}: a cluster's workers do not have {name}",
                hint="a path that is relative to the system's file is sent to them",
            )
    folders = folders_of(loaded)
    return Given(system=loaded.system, base=str(loaded.path), sources=sources, folders=folders)


def folders_of(loaded: LoadedSystem) -> dict[str, str]:
    """The folders beside the system's file: path -> hash."""
    paths = {str(loaded.beside(name)) for name in _named(loaded).values()}
    return {path: tree_id(Path(path)) for path in sorted(paths)}


def _named(loaded: LoadedSystem) -> dict[str, str]:
    return folders_beside(loaded.system)
