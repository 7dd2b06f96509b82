# SPDX-License-Identifier: Apache-2.0
"""The kernel's functions in the order in which a boot first ran them."""

from __future__ import annotations

import msgspec
import pytest

from bootscope.analysis.views import view
from bootscope.capture import counted, objects, record
from bootscope.capture.counted import CountedInfo
from bootscope.capture.store import Store
from bootscope.changes.applies import filled, why_not
from bootscope.core.errors import UserError
from bootscope.cores.counts import Count
from bootscope.cores.profile import load_core
from bootscope.inventory.code_order import SETTING, functions_in_order, misses
from bootscope.inventory.recorded import Recorded, facts
from bootscope.system.changes import Change, apply
from bootscope.techniques.model import technique

from .builders import uint
from .known_builders import inventory_of
from .lab_scenes import boot, keep, known, stock

SYMBOLS = b"""c0008000 T _text
c0100000 T _stext
c0100000 T early
c0100100 t late
c0100200 t seldom
c0100300 T never
c0c00000 T __init_begin
c0c00000 t set_up
c0d00000 D data
"""
RECIPE = technique("kernel-branch-locality").recipes["order"]


def sampled(store: Store, *counters: int, order: str = "") -> Recorded:
    """A boot whose program counter was seen at these places, maybe of a kernel with an order."""
    story = boot()
    for counter in counters:
        story.work(1_000).sample(counter)
    system = apply(stock().system, {"it": Change(settings={SETTING: order} if order else {})})
    return known(store, story.records, system, objects={objects.KERNEL_SYMBOLS: SYMBOLS})


def count(store: Store, *blocks: tuple[int, int, int, int]) -> Recorded:
    """A boot whose caches were counted: (address, when it first ran, instructions, lines from memory)."""
    run_id = keep(store, boot().records, objects={objects.KERNEL_SYMBOLS: SYMBOLS})
    folder = store.load(run_id).boots[0].path
    info = record.read_json(folder / record.BOOT, record.BootInfo, record.SCHEMA)
    record.write_json(folder / record.BOOT, msgspec.structs.replace(info, stream_sha256="5" * 64))
    data, at = counted.MAGIC + uint(len(Count)) + uint(0) + uint(1) + uint(len(blocks)), 0
    for address, first_ns, instructions, lines in sorted(blocks):
        data += uint(address - at) + uint(first_ns) + uint(instructions)
        data += uint(1 << Count.FETCH_MEMORY) + uint(lines)
        at = address
    core = load_core("cortex-a8")
    about = CountedInfo(
        core="cortex-a8",
        geometry={},
        stream_sha256="5" * 64,
        phases=("kernel",),
        size_bytes=len(data),
        host_ms=0,
    )
    counted.keep(folder, core.geometry_id, about, data)
    return facts(store, view(store, store.load(run_id)))


def test_counts_tell_of_every_function_when_it_first_ran(store: Store) -> None:
    found = count(
        store,
        (0xC0100120, 300, 10, 1),
        (0xC0100104, 200, 50, 2),
        (0xC0100000, 250, 10, 3),
        (0xC0100200, 900, 1, 4),
        (0xC0C00010, 1, 99, 5),
        (0x4A000000, 1, 99, 6),
    )
    # What only sets up has its place, and the boot loader is another program.
    assert functions_in_order(found) == "late early seldom"
    # Without the boot loader's 6 lines; 184 ns each on this core.
    assert misses(found) == "kernel code: 0 lines from the second cache, 15 from memory: 2.8 µs"
    assert why_not(RECIPE, found) == ""
    assert filled(RECIPE.change, found).settings == {SETTING: "late early seldom"}


def test_without_counts_samples_tell_of_some(store: Store) -> None:
    found = sampled(store, 0xC0100204, 0xC0100104, 0xC0100204, 0xC0C00000)
    # The boot itself has a sample where the kernel begins.
    assert functions_in_order(found) == "early seldom late"
    assert misses(found) == ""
    assert "does not show code of the kernel" in why_not(RECIPE, found)


def test_an_order_of_this_kernel_stays(store: Store) -> None:
    assert functions_in_order(sampled(store, 0xC0100104, order="late other early")) == "late other early"


def test_an_order_of_another_kernel_is_made_anew(store: Store) -> None:
    assert functions_in_order(sampled(store, 0xC0100104, order="late other")) == "early late"


def test_what_is_not_known_is_no_order(store: Store) -> None:
    with pytest.raises(UserError, match="without a recording"):
        functions_in_order(inventory_of())
    with pytest.raises(UserError, match="does not show which functions"):
        functions_in_order(known(store, boot().records))
