# SPDX-License-Identifier: Apache-2.0
"""How much each part of the comparison with published decompressors matters: rows of tables without it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import msgspec

from bootscope.builder.steps.unpackers import TODAY, Unpackers
from bootscope.cores.profile import Core, load_core, without_second
from bootscope.published.decompressors import TABLES, Measured, Table, of_counts_ms, scale, told_ms

_AM335X, _BBB, _AT91 = TABLES
ABOUT = """\
The same rows, each with one part of the comparison changed and all else unchanged: nothing is fitted again.
Changes of caches are counted again; changes of costs are calculated from the same counts.
"""


@dataclass(frozen=True)
class Alternative:
    """A variant of a table: with other `images`, on another core, or with memory mapped so that stores bring
    lines in (`allocates`). `counted`: whether it has its own counts."""

    id: str
    title: str
    table: Table
    names: tuple[str, ...]
    change: Callable[[Core], Core] = lambda core: core
    images: Unpackers | None = None
    allocates: bool = False
    counted: bool = True

    @property
    def core(self) -> Core:
        """The core that it is counted for, with that core's times."""
        return self.change(load_core(self.table.core))


@dataclass(frozen=True)
class Otherwise:
    """A row of a table, as it is and with an alternative: ratios of our time to the published one."""

    title: str
    table: Table
    name: str
    ratio: float
    otherwise: float


def _without_splits(core: Core) -> Core:
    return msgspec.structs.replace(core, unaligned=msgspec.UNSET)


def _without_classes(core: Core) -> Core:
    return msgspec.structs.replace(core, classes=msgspec.UNSET)


def _today(table: Table) -> Alternative:
    images = replace(table.images, name=f"{table.id}-today", lz4=TODAY, compressors=("lz4",))
    return Alternative(f"{table.id}-today", "today's lz4", table, ("lz4",), images=images)


_THREE = ("gzip", "lzo", "lz4")
ALTERNATIVES = (
    *map(_today, TABLES),
    Alternative("l2-off", "L2 off", _AM335X, _THREE, without_second),
    Alternative("allocates", "stores allocate lines in L2", _AM335X, _THREE, allocates=True),
    Alternative(
        "no-splits", "crossing 8 or 16 bytes costs nothing", _AM335X, _THREE, _without_splits, counted=False
    ),
    Alternative(
        "no-classes",
        "no instruction takes longer than others",
        _AT91,
        _THREE,
        _without_classes,
        counted=False,
    ),
)


def compared(measured: Measured) -> Iterator[Otherwise]:
    """All alternatives, compared with the tables' own rows."""
    for one in ALTERNATIVES:
        counts = measured.otherwise[one.id] if one.counted else measured.counted[one.table.id]
        for name in one.names:
            theirs = told_ms(one.table, name) - one.table.constant_ms
            times, own = scale(one.table, measured), load_core(one.table.core)
            as_is = sum(of_counts_ms(measured.counted[one.table.id][name], own, times)[:2])
            other = sum(of_counts_ms(counts[name], one.core, times)[:2])
            yield Otherwise(one.title, one.table, name, as_is / theirs, other / theirs)
