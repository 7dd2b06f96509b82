# SPDX-License-Identifier: Apache-2.0
"""Published times of the kernel's decompressors, beside those of a core's model.

Counts taken while images of one kernel unpacked themselves are kept in decompressors.json, which
tools/accuracy.py makes. Times follow from them and from the core profiles.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import msgspec

from bootscope.builder.steps.unpackers import CALLS, COMPRESSORS, FIRST, Unpackers
from bootscope.cores.counts import Count
from bootscope.cores.price import price
from bootscope.cores.profile import Core, load_core
from bootscope.published.figures import amount
from bootscope.techniques.model import figures

KEPT = Path(__file__).with_name("decompressors.json")
NEAR = 0.15
"""The largest relative deviation from a published time that counts as agreement."""
_LOADED_AT, _IN_PLACE = 0x42000000, 0x40008000
_FLAT_NS = 2
_MS_PS = 10**9

_MIB = 1 << 20

INTRODUCTION = f"""\
The kernel's five decompressors were timed on three boards, and the times were published. Here each of them
unpacks a piece of a current kernel on the emulated board, which counts what this costs on the published
board's core (`bootscope help cores`). The work is the same as far as the documents describe it:

- **Size and content.** The piece has the published size. It is the part of the kernel of `stock` whose five
  images come close to the published sizes, at most 4 % off: how well content compresses decides how long it
  takes. Code compresses to about half, tables and empty pages to a tenth.
- **The decompressors.** lz4 has changed twice since. Up to 4.10 it was another program, which Xen still has:
  tables of 2014 are compared with that one. From 4.11 to 5.8 it called a function for every few bytes that it
  copied (until Linux commit b1a3e75e466d, August 2020): the table of 2024, of Linux 5.1, is compared with
  that one. The result of today's lz4 is under "What matters". The other decompressors are today's.
- **What else the figures contain** is subtracted first, as each table says.

A current kernel reads the device tree before it switches the caches on. Kernels of 2014 did not, and the time
is the same whatever is unpacked, so everything counted with caches off is left out.

The line below each table counts our times within {NEAR:.0%} of the published ones. The column `ratio at 2 ns
an instruction` is what the emulated board gives without a core model, as a part of the published time.
`python tools/accuracy.py` builds the images, counts, and writes this page.

Known to be wrong, or unknown: the compilers are not those of the published kernels; prefetchers and
overlapping waits are not modelled; core figures that the profile marks as assumptions have not been measured
here. Time in user space, interrupts and devices has not been compared with anything yet.
"""


class Counted(msgspec.Struct, frozen=True):
    """The size of an image in bytes, the instructions of its decompression, and the counts taken meanwhile
    (cores/counts.py)."""

    image_bytes: int
    instructions: int
    counts: tuple[int, ...]


class Measured(msgspec.Struct, frozen=True):
    """Counts by table and compressor; the same for the alternatives to the tables (alternatives.py)."""

    counted: dict[str, dict[str, Counted]]
    otherwise: dict[str, dict[str, Counted]]


@dataclass(frozen=True)
class Table:
    """A published table. `figures`: the ids of its rows; `less`: of figures to subtract from them; `sizes`:
    of the sizes of the images. `size`: the id of the size of the unpacked content; empty where it was not
    published. `constant_ms` is in every figure and is not unpacking; where not 0 it was fitted. `images`: the
    images that unpack here, started at `address`."""

    id: str
    title: str
    core: str
    images: Unpackers
    address: int
    figures: dict[str, tuple[str, ...]]
    less: dict[str, tuple[str, ...]]
    sizes: dict[str, str]
    size: str
    about: str
    constant_ms: float = 0


def _each(first: int, seed: str, step: int = 4) -> dict[str, tuple[str, ...]]:
    return {name: (f"{seed}:{first + step * n:03}",) for n, name in enumerate(COMPRESSORS)}


def _sizes(first: int, seed: str, step: int = 4) -> dict[str, str]:
    return {name: key for name, (key,) in _each(first, seed, step).items()}


def _both(first: int, other: int) -> dict[str, tuple[str, ...]]:
    """Rows for the same kernel on two cards."""
    return {n: (f"000:{first + 3 * i}", f"000:{other + 3 * i}") for i, n in enumerate(COMPRESSORS)}


_UNCACHED = (Count.UNCACHED_FETCH, Count.UNCACHED_LOAD, Count.UNCACHED_STORE)
_V7, _V5 = "sunxi_defconfig", "at91_dt_defconfig"
_SPEED = {"CC_OPTIMIZE_FOR_SIZE": False, "CC_OPTIMIZE_FOR_PERFORMANCE": True}
TABLES = (
    Table(
        "am335x-2014",
        "TI AM335x at 1 GHz, 2014",
        "cortex-a8",
        Unpackers("am335x-2014", _V7, {}, (2 * _MIB, 8991104), FIRST),
        _IN_PLACE,
        _each(585, "001"),
        {name: ("001:605",) for name in COMPRESSORS},
        _sizes(583, "001"),
        "001:603",
        """\
Published: M. Opdenacker, A. Belloni, ELC 2014; Linux 3.13. "Unpacking" takes 687 ms there even for an
uncompressed kernel, so it is the time until the first message: 687 ms are subtracted from each figure. The
image starts at the address that the kernel is unpacked to, and moves itself away first. Fitted to this table:
the time per instruction. L2 is assumed to be on, as LMbench finds it under Linux, which does not switch it;
stores do not allocate lines in it, because the kernel's unpacker maps memory that way.""",
    ),
    Table(
        "bbb-2024",
        "BeagleBone Black (AM335x at 1 GHz), 2024",
        "cortex-a8",
        Unpackers("bbb-2024", _V7, {}, (_MIB, 4400 << 10), CALLS),
        _LOADED_AT,
        _both(313, 328),
        _both(312, 327),
        _sizes(311, "000", 3),
        "",
        """\
Published: Bootlin's boot-time course, 2024, on two cards; Linux 5.1. Time until user space minus the
time to read the image; the mean of both cards. Fitted to this table: the time of the kernel's own start, the
same in all rows (CONSTANT ms); nothing else gives it. The core is that of the table above, unchanged. The
unpacked size was not published: times are scaled by the sizes of the gzip images. Differences between rows,
which need no constant, are under "Held out": lz4 differs from gzip by 17 ms here and 22 ms there.""",
        constant_ms=1110,
    ),
    Table(
        "at91-2014",
        "Atmel AT91SAM9263 at 200 MHz, 2014",
        "arm926ej-s",
        Unpackers("at91-2014", _V5, _SPEED, (_MIB, 5775472), FIRST),
        _IN_PLACE,
        _each(609, "001"),
        {},
        _sizes(607, "001"),
        "001:627",
        """\
Published: as for the AM335x. The uncompressed kernel was not timed, so what the figures contain besides
unpacking is not known: it was fitted (CONSTANT ms), as was the time per instruction. The images are built for
ARMv5, which reads unaligned data byte by byte, and for speed (-O2, as in that board's configuration of 2013).
What causes the half cycle by which the fit exceeds the manual's figure is not known.""",
        constant_ms=375,
    ),
)


@dataclass(frozen=True)
class Row:
    """A decompressor, with times in ms."""

    name: str
    published_ms: float
    issue_ms: float
    memory_ms: float
    flat_ms: float

    @property
    def ours_ms(self) -> float:
        """The time from the core's model."""
        return self.issue_ms + self.memory_ms

    @property
    def ratio(self) -> float:
        """Ratio of our time to the published one."""
        return self.ours_ms / self.published_ms

    @property
    def flat_ratio(self) -> float:
        """The same for the time without a model."""
        return self.flat_ms / self.published_ms


def kept() -> Measured:
    """The stored counts."""
    return msgspec.json.decode(KEPT.read_bytes(), type=Measured)


@cache
def _values() -> dict[str, float]:
    return {key: value for key, f in figures().items() if (value := amount(f.value, f.unit)) is not None}


def told_ms(table: Table, name: str) -> float:
    """The published time of a row minus what its document subtracts, in ms; `constant_ms` is in it."""
    values = [_values()[key] for key in table.figures[name]]
    less = [_values()[key] for key in table.less.get(name, ())] or [0.0] * len(values)
    times = [value - other for value, other in zip(values, less, strict=True)]
    return sum(times) / len(times) / 1e6


def image_bytes(table: Table, name: str) -> int:
    """The published size of an image."""
    return int(_values()[table.sizes[name]])


def scale(table: Table, measured: Measured) -> float:
    """The size of the published kernel relative to ours."""
    if table.size:
        return _values()[table.size] / table.images.content[1]
    return image_bytes(table, "gzip") / measured.counted[table.id]["gzip"].image_bytes


def ours_ms(table: Table, name: str, measured: Measured, core: Core) -> tuple[float, float, float]:
    """The time of a row here, in ms: issuing instructions, waiting for memory (both on `core`), and the time
    without a model."""
    return of_counts_ms(measured.counted[table.id][name], core, scale(table, measured))


def of_counts_ms(counted: Counted, core: Core, times: float) -> tuple[float, float, float]:
    """The same from counts, multiplied by `times`."""
    prices = price(core)
    counts = tuple(
        0 if kind in _UNCACHED else number for kind, number in zip(Count, counted.counts, strict=True)
    )
    issue_ps = counted.instructions * prices.instruction_ps + prices.more_ps(counts)
    flat_ms = counted.instructions * _FLAT_NS / 1e6
    return issue_ps / _MS_PS * times, prices.memory_ps(counts) / _MS_PS * times, flat_ms * times


def rows(table: Table, measured: Measured) -> Iterator[Row]:
    """Each decompressor of a table beside its published time."""
    core = load_core(table.core)
    for name in COMPRESSORS:
        yield Row(name, told_ms(table, name) - table.constant_ms, *ours_ms(table, name, measured, core))


def summary(table: Table, measured: Measured) -> str:
    """How many rows agree, in a sentence."""
    found = list(rows(table, measured))
    near = sum(abs(row.ratio - 1) <= NEAR for row in found)
    flat = sum(abs(row.flat_ratio - 1) <= NEAR for row in found)
    return f"{near} of {len(found)} within {NEAR:.0%}; without a model {flat}."
