# SPDX-License-Identifier: Apache-2.0
"""trace.dat of trace-cmd: the same as the text of `trace-cmd report`, and what that text cannot show."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bootscope.core.errors import UserError
from bootscope.readers.base import Boot, Options, Reading, Source
from bootscope.readers.registry import reader
from bootscope.readers.source import opened
from bootscope.readers.unpack import Budget

from .fuzzing import FIXTURES, check, damaged, survives
from .trace_dat_files import Ring, new, old

TRACE_CMD, FTRACE = reader("trace-cmd"), reader("ftrace")
FOLDER = FIXTURES / "trace-cmd"


def boot_of(name: str) -> Boot:
    given = opened(name, (FOLDER / name).read_bytes(), Budget()).source
    chosen = TRACE_CMD if ".dat" in name else FTRACE
    assert chosen.sure(given) >= 80
    reading = chosen.read(given, Options())
    check(reading)
    assert not reading.missed
    (boot,) = reading.boots
    return boot


def reading_of(data: bytes, **values: str) -> Reading:
    reading = TRACE_CMD.read(Source("x", data), Options(values=values))
    check(reading)
    return reading


def marks(data: bytes, **values: str) -> list[tuple[int, str]]:
    reading = reading_of(data, **values)
    return [(point.at_ns, point.name) for point in reading.boots[0].points]


@pytest.mark.parametrize("name", ["boot-arm64.dat", "boot-arm-v6.dat.gz"])
def test_a_file_gives_the_same_as_its_text(name: str) -> None:
    ours, text = boot_of(name), boot_of(name.replace(".gz", "").replace(".dat", ".txt.gz"))
    assert ours.tracks == text.tracks
    assert ours.points == text.points
    assert ours.tables == text.tables
    assert list(ours.log.at_ns) == list(text.log.at_ns)
    kinds = {track.kind for track in ours.tracks}
    assert {"initcall", "phase", "process", "storage", "irq"} <= kinds


def test_the_short_form_of_the_text_differs_in_states_only() -> None:
    ours, text = boot_of("boot-arm64.dat"), boot_of("boot-arm64-plugins.txt.gz")
    whole = {track.ident: track for track in ours.tracks}
    seen = 0
    for track in text.tracks:
        # Rows of processes last to the end of the trace, of which the text is the beginning.
        if track.kind in ("initcall", "cpu", "irq", "storage"):
            spans = whole[track.ident].spans[: len(track.spans)]
            pairs = [(span.name, span.start_ns, span.end_ns) for span in track.spans]
            assert pairs == [(span.name, span.start_ns, span.end_ns) for span in spans]
            seen += len(pairs)
    assert seen > 500
    assert {p.name.partition(" wakes ")[2] for p in text.points} <= {
        p.name.partition(" wakes ")[2] for p in ours.points
    }


def test_drawn_calls_are_those_of_the_text() -> None:
    ours, text = boot_of("graph-arm64.dat"), boot_of("graph-arm64.txt")
    calls = {t.ident: t.spans for t in ours.tracks if t.kind == "function"}
    for track in (t for t in text.tracks if t.kind == "function"):
        spans = calls[track.ident][-len(track.spans) :]
        assert [s.start_ns for s in spans] == [s.start_ns for s in track.spans]
        # The text shows a length of a second and more in whole microseconds.
        assert all(abs(a.end_ns - b.end_ns) < 1_000 for a, b in zip(spans, track.spans, strict=True))
    # The call whose beginning was overwritten: its exit names it, in the file alone.
    assert calls["functions-1"][0].name == "do_one_initcall"
    assert ours.facts["calls without a beginning"] == text.facts["calls without a beginning"] == "1"


def test_modules_that_were_loaded_are_in_the_log() -> None:
    boot = boot_of("boot-arm-v6.dat.gz")
    assert "module_load: taints=0 name=virtio_blk" in boot.log.text(len(boot.log) - 1)
    assert boot.facts["kernel"] == "6.1.0-50-armmp"


@pytest.mark.parametrize("order", ["<", ">"])
def test_stamps_add_up_in_both_byte_orders(order: str) -> None:
    ring = Ring(order, stamp=5_000).mark(10, b"one").extend(1 << 30).mark(7, b"two")
    ring.discarded(12).mark(1, b"three" * 40).extend(3 << 40, kind=31).mark(2, b"four")
    assert marks(old([ring.page()], order=order)) == [
        (5_010, "one"),
        (5_017 + (1 << 30), "two"),
        (5_019 + (1 << 30), "three" * 40),
        ((3 << 40) + 2, "four"),
    ]


def test_events_of_all_cpus_are_put_in_order() -> None:
    pages = [Ring().mark(10, b"a").mark(10, b"c").page(), Ring().mark(15, b"b").page()]
    assert [name for _, name in marks(old(pages))] == ["a", "b", "c"]


def test_parts_packed_by_zlib_are_read() -> None:
    reading = reading_of(new(Ring().level(3_000, b"core").mark(7, b"here").page()))
    (boot,) = reading.boots
    assert boot.tracks[0].ident == "initcall-levels" and boot.points[0].at_ns == 3_007
    assert "trace_clock mono" in boot.clock.zero and boot.clock.resolution_ns == 1


def test_what_was_lost_is_told() -> None:
    page = Ring(flags=3 << 30, lost=17).mark(1, b"x").page()
    reading = reading_of(old([page]))
    assert reading.repairs[0].what == "events were lost while tracing, 17 or more"


def test_stamps_of_other_clocks() -> None:
    page = Ring(stamp=24_000_000).mark(0, b"x").page()
    data = old([page], clock=b"local global [counter]")
    reading = reading_of(data)
    assert reading.boots[0].clock.name == "none" and "trace_clock_hz" in reading.questions[0]
    assert marks(data, trace_clock_hz="24000000") == [(1_000_000_000, "x")]
    ticks = old([Ring(stamp=4_019).mark(0, b"x").page()], clock=b"local [uptime]")
    assert marks(ticks) == [(40_190_000_000, "x")]
    assert reading_of(ticks).boots[0].clock.resolution_ns == 10_000_000


def test_a_file_that_breaks_off_is_read_up_to_there() -> None:
    pages = [Ring().mark(1, b"a").page(), Ring().mark(2, b"b").page()]
    reading = reading_of(old(pages)[:-4096])
    assert [p.name for p in reading.boots[0].points] == ["a"]
    assert reading.repairs[0].what == "it breaks off"


def test_events_that_are_not_described_are_missed() -> None:
    page = Ring().mark(1, b"a").add(1, b"\x99\x01" + bytes(10)).add(1, b"\x2c\x01\0\0\1\0\0\0").page()
    reading = reading_of(old([page]))
    assert [miss.line for miss in reading.missed] == [2, 3]
    assert "kind 409" in reading.missed[0].text and "shorter" in reading.missed[1].text


def test_a_field_of_another_type_than_the_kernels_is_shown_as_it_is() -> None:
    page = Ring().level(3, b"core").page()
    other = old([page]).replace(b"__data_loc char[] level;", b"unsigned int      level;")
    (boot,) = reading_of(other).boots
    assert not boot.tracks
    assert boot.log.text(0).startswith("swapper/0-1 initcall_level: level=")


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"\x17\x08\x44tracing9\0" + bytes(99), "version 9"),
        (new(Ring().mark(1, b"x").page(), b"lzma"), "packed by lzma"),
        (new(Ring().mark(1, b"x").page(), b"zstd"), "zstd data damaged"),
        (old([Ring().page()]), "no events"),
        (b"hello\n", "does not begin"),
    ],
)
def test_what_cannot_be_read_says_why(data: bytes, why: str) -> None:
    with pytest.raises(UserError, match=why):
        TRACE_CMD.read(Source("x", data), Options())


SMALL = old([Ring().mark(9, b"x").level(1, b"core").page()])
PACKED = new(Ring().mark(9, b"x").page())


@settings(max_examples=150, deadline=None)
@given(st.one_of(damaged(SMALL, len(SMALL)), damaged(PACKED, len(PACKED)), st.binary(max_size=300)))
def test_damage_is_survived(data: bytes) -> None:
    survives(TRACE_CMD, data)
