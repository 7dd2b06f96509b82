# SPDX-License-Identifier: Apache-2.0
"""systemd-bootchart's drawing, read back."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bootscope.core.errors import UserError
from bootscope.readers.base import Options, Source
from bootscope.readers.formats import systemd_svg
from bootscope.readers.formats.systemd_bootchart import READERS

from .fuzzing import damaged, survives
from .unpacked import read_unpacked, unpacked

(DRAWING,) = READERS
FILE = ("bootchart", "systemd-bootchart.svg.gz")


def test_processes_and_loads() -> None:
    assert DRAWING.sure(unpacked(*FILE)) >= 95
    assert systemd_svg.READERS[0].sure(unpacked(*FILE)) == 0
    reading = read_unpacked(DRAWING, *FILE)
    assert (reading.lines_total, len(reading.missed), reading.repairs) == (719, 0, [])
    (boot,) = reading.boots
    assert boot.clock.name == "kernel" and boot.clock.resolution_ns == 40_000_000
    assert boot.facts["tool"] == "systemd-bootchart version 235"
    assert boot.facts["command line"].endswith("init=/usr/lib/systemd/systemd-bootchart")
    (table,) = boot.tables
    assert len(table.rows) == 84
    assert table.rows[:2] == (
        (31, 2, "kworker/u4:1", 3_328_054_000),
        (217, 1, "systemd-journal", 2_807_556_000),
    )
    tracks = {t.ident: t for t in boot.tracks}
    assert len([t for t in boot.tracks if t.kind == "process"]) == 41
    assert tracks["process:11"].parent == "process:2"
    (alive,) = tracks["process:217"].spans
    # Drawn from 5474.670 on, 227.382 wide, and a pixel is 10 ms.
    assert (alive.start_ns, alive.end_ns) == (54_746_700_000, 57_020_520_000)
    assert tracks["bootchart:cpu"].spans[0].detail == {"percent": 90}
    assert len(tracks["bootchart:waiting"].spans) == 28


def test_half_a_drawing_and_none() -> None:
    whole = unpacked(*FILE).data
    reading = DRAWING.read(Source("x", whole[: len(whole) // 2]), Options())
    assert reading.boots[0].tracks and any("malformed" in r.what for r in reading.repairs)
    with pytest.raises(UserError):
        DRAWING.read(Source("x", b"<svg/>"), Options())


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_damage_does_no_harm(data: st.DataObject) -> None:
    survives(DRAWING, data.draw(damaged(unpacked(*FILE).data, most=60_000)))
