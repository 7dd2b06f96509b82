# SPDX-License-Identifier: Apache-2.0
"""Phases of several boots keep their places, also where some boots lack them or know only a bound."""

from __future__ import annotations

from dataclasses import replace

from bootscope.analysis.joined import joined
from bootscope.analysis.phase_order import in_one_order
from bootscope.analysis.samples import PHASE, of_traces
from bootscope.analysis.significance import against
from bootscope.timeline.trace import LENGTH, OR_MORE, Span, Trace, Track

from .test_boot_samples import in_phases


def test_a_phase_that_the_first_boot_lacks_keeps_its_place() -> None:
    """Only the first boot's log lacks the line that begins `decompress+early-kernel`."""
    lacking = in_phases("b", bootloader=[1000] * 4, kernel=[900] * 4, init=[700] * 4)
    early = {"decompress+early-kernel": [800] * 3}
    others = in_phases("a", bootloader=[200] * 3, **early, kernel=[900] * 3, init=[700] * 3)
    some = replace(lacking, boots=(lacking.boots[0], *others.boots))
    assert some.phases() == ("bootloader", "decompress+early-kernel", "kernel", "init")
    rows = {v.quantity.name: v.shift for v in against(some, lacking).details}
    assert list(rows) == ["bootloader+decompress+kernel", "init", "total"]
    assert all(shift and shift.shift_ns == 0 for shift in rows.values())


def test_a_phase_with_only_a_bound_keeps_its_place() -> None:
    spans = (Span(0, 5, "bootloader"), Span(5, 9, "load", {LENGTH: OR_MORE}), Span(9, 20, "kernel"))
    bounded = of_traces("a", [("a/1", Trace("t", "c", 20, (Track("p", "phase", "p", spans),)))])
    assert (bounded.phases(), bounded.boots[0].bounded) == (("bootloader", "load", "kernel"), ("load",))
    for boots in joined(bounded, in_phases("b", bootloader=[9], kernel=[11])):
        assert [q.name for q in boots.quantities() if q.kind == PHASE] == ["kernel"]


def test_a_bound_of_a_boot_that_did_not_come_to_its_end_hides_no_phase() -> None:
    """Its log ends in `init`: that took so long or longer, and is in no figure."""
    whole = in_phases("a", kernel=[900] * 4, init=[700] * 4)
    spans = (Span(0, 900, "kernel"), Span(900, 1000, "init", {LENGTH: OR_MORE}))
    cut = Trace("t", "c", 1000, (Track("p", "phase", "p", spans),), total_or_later=True, end_seen=False)
    (lost,) = of_traces("a", [("a/5", cut)], until="app-ready").boots
    assert (lost.complete, lost.bounded) == (False, ("init",))
    some = replace(whole, boots=(*whole.boots, lost))
    for a, b in ((some, whole), (whole, some)):
        for boots in joined(a, b):
            assert [q.name for q in boots.quantities() if q.kind == PHASE] == ["kernel", "init"]
        assert "init" in [v.quantity.name for v in against(a, b).details]


def test_phases_that_no_boot_has_both_are_in_the_order_of_boot_loaders() -> None:
    load, unpack = ("bootloader", "load", "kernel"), ("bootloader", "decompress", "kernel")
    for boots in ((load, unpack), (unpack, load)):
        assert in_one_order(boots) == ("bootloader", "load", "decompress", "kernel")
    assert in_one_order([("spl", "init"), ("earlier", "spl", "x", "init")]) == ("earlier", "spl", "x", "init")
