# SPDX-License-Identifier: Apache-2.0
"""Lines of bootscope's own little analysers."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bootscope.core.errors import UserError
from bootscope.readers.base import Boot, Options, Reading, Source
from bootscope.readers.formats.edges import READERS

from .fuzzing import check, damaged, read, source, survives

(EDGES,) = READERS
STATE = "bs1 {} state tick_ns=1000 resolution_ns=16000 ppm=5000 wrap=4294967296 pins=D2,D3 levels={}\n"


def reading(text: str, **values: str) -> Reading:
    found = EDGES.read(Source("x", text.encode()), Options(values=values))
    check(found)
    return found


def edges(boot: Boot) -> list[tuple[int, str]]:
    """(µs, name) of each edge."""
    return [(p.at_ns // 1000, p.name) for p in sorted(boot.points, key=lambda p: p.at_ns) if p.kind == "pin"]


def test_the_sketch_in_a_simulated_chip() -> None:
    """tests/fixtures/readers/edges/README.md says what its pins did."""
    assert EDGES.sure(source("edges", "arduino.txt")) == 98
    found = read(EDGES, "edges", "arduino.txt", pin="D4=high:app-ready,D2=high:power")
    assert not found.missed and not found.repairs and not found.questions
    (boot,) = found.boots
    assert (boot.clock.name, boot.clock.resolution_ns) == ("sample", 16_000)
    seen = edges(boot)
    wanted = [
        (200_000, "D2 high"), (200_100, "D3 high"), (300_000, "D2 low"), (1_400_000, "D2 high"),
        (1_400_030, "D2 low"), (1_400_060, "D2 high"), (1_400_060, "D4 high"), (2_500_000, "D3 low"),
    ]  # fmt: skip
    assert [name for _, name in seen] == [name for _, name in wanted]
    late = [at - true for (at, _), (true, _) in zip(seen, wanted, strict=True)]
    assert max(late) - min(late) <= 16
    named = {p.name: p.at_ns // 1000 for p in boot.points if p.kind == "milestone"}
    assert named == {"power": seen[0][0], "app-ready": seen[6][0]}


def test_the_counter_may_wrap() -> None:
    text = (
        STATE.format(4_294_000_000, "00") + "bs1 4294967290 D2 1\nbs1 10 D2 0\n" + STATE.format(900_000, "00")
    )
    (boot,) = reading(text).boots
    assert edges(boot) == [(4_294_967_290, "D2 high"), (4_294_967_306, "D2 low")]


def test_a_restart_begins_a_recording_of_its_own() -> None:
    text = STATE.format(5_000_000, "00") + "bs1 5000100 D2 1\n" + STATE.format(80, "10") + "bs1 900 D2 0\n"
    found = reading(text)
    assert [edges(boot) for boot in found.boots] == [[(5_000_100, "D2 high")], [(900, "D2 low")]]
    assert "restarted" in found.repairs[0].what


def test_two_cores_may_tell_a_little_out_of_order() -> None:
    (boot,) = reading(STATE.format(1000, "00") + "bs1 1000 D2 1\nbs1 996 D3 1\n").boots
    assert edges(boot) == [(1000, "D2 high"), (1000, "D3 high")]


def test_damaged_lines_are_counted_and_no_clock_goes_back() -> None:
    text = (
        "7 D2 1\n" + STATE.format(1000, "00") + "bs1 2000 D2 1\nbs1 20 D2 0\nbs1 2100 D2\nbs1 x D2 0\n"
        "bs1 99999999999 D2 0\nbs1 3000 D2 0\nbs1 3100 state tick_ns=0 pins=D2 levels=0\n\nbs1 4000 lost 7\n"
    )
    found = reading(text)
    assert [miss.line for miss in found.missed] == [1, 4, 5, 6, 7, 9]
    (boot,) = found.boots
    assert edges(boot) == [(2000, "D2 high"), (3000, "D2 low")]
    assert boot.facts["lost"] == "7 edges"


def test_an_edge_without_a_line_is_noticed() -> None:
    found = reading(STATE.format(0, "00") + STATE.format(1_000_000, "10"))
    assert any("an edge was lost" in r.what for r in found.repairs)


def test_without_a_state_microseconds_are_assumed_and_said() -> None:
    found = reading("bs1 100 GP2 1\nbs1 200 GP2 0\n")
    assert edges(found.boots[0]) == [(100, "GP2 high"), (200, "GP2 low")]
    assert any("assumed whole µs" in q for q in found.questions)


@pytest.mark.parametrize("text", ["", "hello\n", "bs1\n", "bs2 1 D2 1\n"])
def test_another_text_is_refused(text: str) -> None:
    assert EDGES.sure(Source("x", text.encode())) == 0
    with pytest.raises(UserError):
        EDGES.read(Source("x", text.encode()), Options())


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_damage_does_no_harm(data: st.DataObject) -> None:
    survives(EDGES, data.draw(damaged(source("edges", "arduino.txt").data)))
