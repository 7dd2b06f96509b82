# SPDX-License-Identifier: Apache-2.0
"""Published times of the kernel's decompressors, beside those of a core's model.

What was counted while images of one kernel unpacked themselves is kept in decompressors.json, which
tools/accuracy.py makes. Times follow from it and from the core profiles.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import msgspec

from bootscope.cores.counts import Count
from bootscope.cores.price import Price, price
from bootscope.cores.profile import Core, load_core, without_second
from bootscope.published.figures import amount
from bootscope.techniques.model import figures

KEPT = Path(__file__).with_name("decompressors.json")
COMPRESSORS = ("gzip", "lzma", "xz", "lzo", "lz4")
NEAR = 0.15
"""How far from a published time one may be to count as agreeing with it."""
_LOADED_AT, _IN_PLACE = 0x42000000, 0x40008000
_FLAT_NS = 2
_MS_PS = 10**9

INTRODUCTION = f"""\
The five decompressors of the kernel were timed on three boards, and published. Here an image of each of
them unpacks the beginning of a kernel of today on the emulated board, which counts what the caches of the
published board's core make of it (`bootscope help cores`); the counts are scaled to the size of the published
kernel. What differs in the documents themselves is taken off first, as each table says.

A kernel of today looks through the device tree before it switches the caches on, which those of 2014 did not
and which takes as long whatever is unpacked: what was counted with caches off is left out.

Ours is within {NEAR:.0%} of a published time, or it is not: that is counted below each table. `2 ns an
instruction` is what the emulated board says without a model of a core, as a part of the published time.

Known to be wrong, or not known: the kernels are not the published ones, nor their content, nor the compilers;
prefetchers, and waits that overlap, are not modelled; figures of a core that are marked as assumptions in its
profile have been measured by nobody here. Time in user space, interrupts, and devices were compared with
nothing yet.
"""


class Counted(msgspec.Struct, frozen=True):
    """Instructions of a decompression, and what was counted meanwhile (cores/counts.py)."""

    instructions: int
    counts: tuple[int, ...]


class Measured(msgspec.Struct, frozen=True):
    """What was unpacked and the size of each image, in bytes; counts by table and compressor."""

    unpacked_bytes: int
    image_bytes: dict[str, int]
    counted: dict[str, dict[str, Counted]]


@dataclass(frozen=True)
class Table:
    """A published table. `figures`: the ids of its rows. `size`: the id of its size, of what was unpacked or,
    with `by_image`, of the gzip image. `constant_ms` is in every figure and is no unpacking. `against`: only
    differences from this row were published of unpacking. `second`: whether L2 is on. `images`: the folder of
    its images below that of the others."""

    id: str
    title: str
    core: str
    address: int
    figures: dict[str, tuple[str, ...]]
    less: dict[str, tuple[str, ...]]
    size: str
    about: str
    constant_ms: float = 0
    by_image: bool = False
    against: str = ""
    second: bool = True
    images: str = ""

    @property
    def as_counted(self) -> Core:
        """The core as the table's boards have it."""
        core = load_core(self.core)
        return core if self.second else without_second(core)


def _each(first: int, seed: str, step: int = 4) -> dict[str, tuple[str, ...]]:
    return {name: (f"{seed}:{first + step * n:03}",) for n, name in enumerate(COMPRESSORS)}


def _both(first: int, other: int) -> dict[str, tuple[str, ...]]:
    """Rows of the same kernel on two cards."""
    return {n: (f"000:{first + 3 * i}", f"000:{other + 3 * i}") for i, n in enumerate(COMPRESSORS)}


_UNCACHED = (Count.UNCACHED_FETCH, Count.UNCACHED_LOAD, Count.UNCACHED_STORE)
TABLES = (
    Table(
        "am335x-2014",
        "TI AM335x at 1 GHz, 2014",
        "cortex-a8",
        _IN_PLACE,
        _each(585, "001"),
        {name: ("001:605",) for name in COMPRESSORS},
        "001:603",
        """\
Published: M. Opdenacker, A. Belloni, ELC 2014. "Unpacking" takes 687 ms there even for an uncompressed
kernel, so it is the time until the first message: 687 ms are taken off each figure. The image is started
where the kernel is unpacked to, and moves itself away first. Fitted to this table: the time of an
instruction. Concluded from it: that the boot loader leaves L2 switched off. With L2 on lz4 takes half of what
was published, and lzo two thirds, whatever an instruction takes.""",
        second=False,
    ),
    Table(
        "bbb-2024",
        "BeagleBone Black (AM335x at 1 GHz), 2024",
        "cortex-a8",
        _LOADED_AT,
        _both(313, 328),
        _both(312, 327),
        "000:326",
        """\
Published: Bootlin's boot-time course, 2024, on two cards. Time until user space less that of reading
the image; the mean of both cards; the difference from gzip, as the rest of it is the kernel's own start. Held
out: the same core, with L2 off, and nothing fitted.""",
        by_image=True,
        against="gzip",
        second=False,
    ),
    Table(
        "at91-2014",
        "Atmel AT91SAM9263 at 200 MHz, 2014",
        "arm926ej-s",
        _IN_PLACE,
        _each(609, "001"),
        {},
        "001:627",
        """\
Published: as for the AM335x. The uncompressed kernel was not timed, so that what the figures hold besides
unpacking is not known: it was fitted (CONSTANT ms), as was the time of an instruction. The images are built
for ARMv5 and for speed (-O2); ARMv5 reads what is not aligned byte by byte. Not explained: gzip and lz4.""",
        constant_ms=200,
        images="v5",
    ),
)


@dataclass(frozen=True)
class Row:
    """A decompressor: times in ms. With a table that has differences only, all of them are such."""

    name: str
    published_ms: float
    issue_ms: float
    memory_ms: float
    flat_ms: float

    @property
    def ours_ms(self) -> float:
        """By the core's model."""
        return self.issue_ms + self.memory_ms

    @property
    def ratio(self) -> float:
        """Ours as a part of theirs."""
        return self.ours_ms / self.published_ms

    @property
    def flat_ratio(self) -> float:
        """Without a model, as a part of theirs."""
        return self.flat_ms / self.published_ms


def kept() -> Measured:
    """What was counted."""
    return msgspec.json.decode(KEPT.read_bytes(), type=Measured)


@cache
def _values() -> dict[str, float]:
    return {key: value for key, f in figures().items() if (value := amount(f.value, f.unit)) is not None}


def _published_ms(table: Table, name: str) -> float:
    values = [_values()[key] for key in table.figures[name]]
    less = [_values()[key] for key in table.less.get(name, ())] or [0.0] * len(values)
    times = [value - other for value, other in zip(values, less, strict=True)]
    return sum(times) / len(times) / 1e6 - table.constant_ms


def _scale(table: Table, measured: Measured) -> float:
    """How much more the published kernel was than ours."""
    here = measured.image_bytes["gzip"] if table.by_image else measured.unpacked_bytes
    return _values()[table.size] / here


def _ours(table: Table, name: str, measured: Measured, prices: Price) -> Row:
    counted, scale = measured.counted[table.id][name], _scale(table, measured)
    counts = tuple(
        0 if kind in _UNCACHED else number for kind, number in zip(Count, counted.counts, strict=True)
    )
    issue_ps = counted.instructions * prices.instruction_ps + prices.more_ps(counts)
    memory_ps = prices.memory_ps(counts)
    flat_ms = counted.instructions * _FLAT_NS / 1e6
    return Row(
        name,
        _published_ms(table, name),
        issue_ps / _MS_PS * scale,
        memory_ps / _MS_PS * scale,
        flat_ms * scale,
    )


def rows(table: Table, measured: Measured) -> Iterator[Row]:
    """Each decompressor of a table beside its published time."""
    prices = price(table.as_counted)
    base = _ours(table, table.against, measured, prices) if table.against else Row("", 0, 0, 0, 0)
    for name in COMPRESSORS:
        if name == table.against:
            continue
        row = _ours(table, name, measured, prices)
        yield Row(
            name,
            row.published_ms - base.published_ms,
            row.issue_ms - base.issue_ms,
            row.memory_ms - base.memory_ms,
            row.flat_ms - base.flat_ms,
        )


def summary(table: Table, measured: Measured) -> str:
    """How many rows agree, in a sentence."""
    found = list(rows(table, measured))
    near = sum(abs(row.ratio - 1) <= NEAR for row in found)
    flat = sum(abs(row.flat_ratio - 1) <= NEAR for row in found)
    return f"{near} of {len(found)} within {NEAR:.0%}; without a model {flat}."
