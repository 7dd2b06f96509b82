# SPDX-License-Identifier: Apache-2.0
"""What a system consists of beside its root file system: packages, or sources, of boot loader, kernel,
BusyBox and their headers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from bootscope.builder import sources
from bootscope.builder.plan import wanted_sources
from bootscope.search.bench import Bench
from bootscope.system.load import LoadedSystem
from bootscope.system.model import System
from bootscope.system.named_sources import of_one_build, packaged_root
from bootscope.system.source import Source

_PREFIX = "sources."


@dataclass(frozen=True)
class Part:
    """A fetched source: its version, its hash, and its origin."""

    version: str
    sha256: str
    source: Source


Parts = Mapping[str, Part]
"""By the name in a system file, such as `sources.linux`."""


def parts_of(loaded: LoadedSystem, bench: Bench) -> dict[str, Part]:
    """All sources of a system except its root's packages. Raises ToolError for one that cannot be fetched."""
    root = packaged_root(loaded.system)
    wanted = [each for each in wanted_sources(loaded) if each.name != root]
    found = sources.fetch_all(wanted, bench.cache, bench.progress)
    return {
        f"{_PREFIX}{each.name}": Part(
            found[each.name].version, found[each.name].sha256, absolute(loaded, each.source)
        )
        for each in wanted
    }


def absolute(loaded: LoadedSystem, source: Source) -> Source:
    """A source with an absolute path."""
    if not source.path:
        return source
    return msgspec.structs.replace(source, path=str(loaded.beside(str(Path(source.path).expanduser()))))


def with_parts(system: System, parts: Parts) -> System:
    """The system with other sources."""
    own = {name.removeprefix(_PREFIX): part.source for name, part in parts.items()}
    return msgspec.structs.replace(system, sources={**system.sources, **own})


def together(system: System) -> Iterator[tuple[str, str]]:
    """Pairs of sources that must come from the same build, in both orders."""
    for name, of in of_one_build(system).items():
        yield f"{_PREFIX}{of}", f"{_PREFIX}{name}"
        yield f"{_PREFIX}{name}", f"{_PREFIX}{of}"
