# SPDX-License-Identifier: Apache-2.0
"""Logic analysers: one capture of sigrok's demo device in all its forms, and others' forms."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bootscope.core.errors import UserError
from bootscope.readers import pins
from bootscope.readers.base import Boot, Options, Reader, Reading, Source
from bootscope.readers.csv_clock import SigrokTimes, rate_of
from bootscope.readers.formats import analyser_csv, sigrok, vcd
from bootscope.timeline.trace import Track

from .fuzzing import FIXTURES, check, damaged, read, survives
from .unpacked import damaged_members, read_unpacked, survives_archive, unpacked

(VCD,) = vcd.READERS
(CSV,) = analyser_csv.READERS
(SR,) = sigrok.READERS
ALL = (VCD, CSV, SR)
RATE = {"samplerate_hz": "44100"}


def levels(boot: Boot, name: str) -> list[tuple[int, int]]:
    """(start, end) in ns of each time that a pin was high."""
    return [(s.start_ns, s.end_ns) for s in pin(boot, name).spans]


def pin(boot: Boot, name: str) -> Track:
    return next(t for t in boot.tracks if t.title == name)


def only(reading: Reading) -> Boot:
    (boot,) = reading.boots
    return boot


def given_text(reader: Reader, text: str, **values: str) -> Reading:
    reading = reader.read(Source("x", text.encode()), Options(values=values))
    check(reading)
    return reading


@pytest.mark.parametrize(
    ("name", "reader", "least"),
    [
        ("logic.sr", SR, 95),
        ("mixed.sr", SR, 95),
        ("logic.vcd", VCD, 95),
        ("mixed.vcd", VCD, 95),
        ("bus.vcd", VCD, 95),
        ("rows.csv", CSV, 95),
        ("time.csv", CSV, 95),
        ("dedup.csv", CSV, 95),
        ("mixed.csv", CSV, 95),
        ("saleae.csv", CSV, 95),
        ("saleae-iso.csv", CSV, 95),
        ("units.csv", CSV, 90),
        ("bare.csv", CSV, 30),
    ],
)
def test_each_file_is_recognised_and_understood(name: str, reader: Reader, least: int) -> None:
    given_source = unpacked("analyser", name)
    assert reader.sure(given_source) >= least
    assert all(other.sure(given_source) == 0 for other in ALL if other is not reader)
    reading = read_unpacked(reader, "analyser", name)
    assert not reading.missed and reading.lines_understood


def test_no_fixture_is_forgotten() -> None:
    assert len([p for p in (FIXTURES / "analyser").iterdir() if p.name != "README.md"]) == 13


def test_the_demo_devices_pattern() -> None:
    """Its first samples, as `sigrok-cli -O bits` shows them: D0:10001111 00001111, D1:01110111 10011111."""
    boot = only(read_unpacked(SR, "analyser", "logic.sr"))
    assert boot.clock.name == "sample" and boot.clock.resolution_ns == 22_675
    assert boot.facts == {"tool": "sigrok 0.5.2", "samples": "2000 at 44100 a second"}
    # High in samples 0, 4 to 7, 12 to 15.
    edges = [n * 1_000_000_000 // 44_100 for n in (0, 1, 4, 8, 12, 17)]
    assert levels(boot, "D0")[:3] == list(zip(edges[::2], edges[1::2], strict=True))


def test_all_forms_of_one_capture_agree() -> None:
    exact = only(read_unpacked(SR, "analyser", "logic.sr"))
    assert sum(len(t.spans) for t in exact.tracks) == 1220
    for name, values in (("rows.csv", {}), ("time.csv", {}), ("bare.csv", RATE), ("units.csv", RATE)):
        found = only(read(CSV, "analyser", name, **values))
        assert [t.spans for t in found.tracks] == [t.spans for t in exact.tracks], name
        assert [p.at_ns for p in found.points] == [p.at_ns for p in exact.points]
    for name, reader, error_ns in (("dedup.csv", CSV, 0), ("logic.vcd", VCD, 100)):
        found = only(read(reader, "analyser", name))
        for mine, right in zip(found.tracks, exact.tracks, strict=True):
            assert mine.title == right.title
            for a, b in zip(mine.spans[:-1], right.spans[:-1], strict=True):
                assert abs(a.start_ns - b.start_ns) <= error_ns and abs(a.end_ns - b.end_ns) <= error_ns


def test_sigroks_cut_times_are_reckoned_anew_and_that_is_told() -> None:
    reading = read(CSV, "analyser", "time.csv")
    assert [r.what for r in reading.repairs] == [
        "sigrok's time column is rounded: times computed from the sample rate"
    ]
    # The last of 2000 samples, which the file puts at 44,000 us.
    assert SigrokTimes(44_100).at(b"44000") == 1999 * 1_000_000_000 // 44_100 == 45_328_798


def test_without_a_rate_the_reader_asks() -> None:
    assert "samplerate_hz=N" in read(CSV, "analyser", "bare.csv").questions[0]
    assert "samplerate_hz=N" in read(CSV, "analyser", "units.csv").questions[0]
    with pytest.raises(UserError):
        read(CSV, "analyser", "bare.csv", samplerate_hz="fast")


def test_analog_channels_are_named_not_shown() -> None:
    assert only(read_unpacked(SR, "analyser", "mixed.sr")).facts["not shown"] == "1 analog channels (A0)"
    reading = read(VCD, "analyser", "mixed.vcd")
    assert [(r.count, r.first_line) for r in reading.repairs] == [(300, 143)]
    assert only(reading).tracks == only(read_unpacked(SR, "analyser", "mixed.sr")).tracks
    assert [t.title for t in only(read(CSV, "analyser", "mixed.csv")).tracks] == ["D0", "D1"]


def test_saleae_seconds_and_dates() -> None:
    boot = only(read(CSV, "analyser", "saleae.csv"))
    assert levels(boot, "Channel 0") == [(0, 1_500_000_000)]
    assert levels(boot, "RESET") == [(-1_000_000, 250_000_125)]
    dates = only(read(CSV, "analyser", "saleae-iso.csv"))
    assert dates.clock.name == "wall"
    begin = 1_795_255_200 * 1_000_000_000
    assert levels(dates, "Channel 0") == [(begin + 1_000_000_500, begin + 2_500_000_000)]


def test_buses_real_numbers_unknown_levels_and_scopes() -> None:
    reading = read(VCD, "analyser", "bus.vcd")
    boot = only(reading)
    assert boot.clock.resolution_ns == 1
    # Units of 100 ps: 25 is 2.5 ns, 1000 is 100 ns, 2005 is 200.5 ns.
    assert levels(boot, "clk") == [(2, 100)]
    assert levels(boot, "top.uart.clk") == [(100, 300)]
    assert [(p.at_ns, p.name) for p in boot.points] == [
        (2, "clk high"),
        (100, "clk low"),
        (200, "clk unknown"),
        (100, "top.uart.clk high"),
    ]
    assert boot.facts["not shown"] == "2 buses and real numbers (state [7:0], volts)"


def test_a_pin_can_be_a_milestone() -> None:
    boot = only(read(CSV, "analyser", "saleae.csv", pin="Channel 0=high:app-ready, RESET=low"))
    assert {p.name: p.at_ns for p in boot.points if p.kind == "milestone"} == {
        "app-ready": 0,
        "RESET low": 250_000_125,
    }
    with pytest.raises(UserError) as caught:
        read(CSV, "analyser", "saleae.csv", pin="Channel 7=high")
    assert caught.value.hint == "there are: Channel 0, RESET"
    with pytest.raises(UserError):
        read(CSV, "analyser", "saleae.csv", pin="Channel 0=up")
    assert "never" in read(CSV, "analyser", "saleae.csv", pin="RESET=high").questions[0]


def test_a_busy_channel_is_summed_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pins, "MAX_EDGES", 400)
    reading = read_unpacked(SR, "analyser", "logic.sr")
    boot = only(reading)
    assert [r.what for r in reading.repairs] == ["channel with too many edges to keep each: summed up"]
    (busy,) = pin(boot, "D0").spans
    whole = only(read_unpacked(SR, "analyser", "logic.sr"))
    assert busy.name == "busy" and busy.detail["edges"] == 500
    assert [p.name for p in boot.points if p.name.startswith("D0")] == ["D0 first edge", "D0 last edge"]
    assert whole.tracks == boot.tracks


def test_two_recordings_in_one_file_are_two() -> None:
    whole = (FIXTURES / "analyser" / "bus.vcd").read_bytes()
    reading = VCD.read(Source("x", whole + whole), Options())
    first, second = reading.boots
    assert first.tracks == second.tracks and levels(first, "clk") == [(2, 100)]
    assert [(r.what.split(",")[0], r.first_line) for r in reading.repairs] == [
        ("another recording begins here", 24)
    ]


def test_a_clock_that_goes_back_is_held() -> None:
    reading = given_text(CSV, "Time [s],A\n1.0,0\n2.0,1\n1.5,0\n3.0,0\n")
    assert [r.what for r in reading.repairs] == ["clock went back: held"]
    assert levels(only(reading), "A") == [(2_000_000_000, 2_000_000_000)]
    reading = given_text(
        VCD, "$timescale 1 us $end $var wire 1 ! A $end $enddefinitions $end\n#5 1!\n#3 0!\n"
    )
    assert levels(only(reading), "A") == [(5_000, 5_000)]


def test_rows_that_are_none_are_kept() -> None:
    reading = given_text(CSV, "Time [s],A\n1.0,0\nsomething\n2.0,1\n3.0\n")
    assert [(m.line, m.text) for m in reading.missed] == [(3, "something"), (5, "3.0")]


def test_a_steady_signal_is_not_taken_for_a_file_joined_to_itself() -> None:
    reading = given_text(CSV, "1,0\n0,0\n" * 2_000, samplerate_hz="1000")
    assert reading.lines_total == 4_000 and not reading.repairs
    assert len(levels(only(reading), "channel 0")) == 2_000


def test_two_channels_of_one_name_stay_two() -> None:
    boot = only(given_text(CSV, "Time [s],A,A\n0,0,1\n1,1,1\n2,0,0\n"))
    assert [t.title for t in boot.tracks] == ["A", "A (1)"]


def test_channels_that_a_sample_has_no_bit_for_are_left_out() -> None:
    metadata = b"probe0=none\nprobe1=A\nprobe9=too far\nsamplerate=1 kHz\n"
    members = {"version": b"2", "metadata": metadata, "logic-1-1": b"\0\1\1\0"}
    boot = only(SR.read(Source("x.sr", b"", members), Options()))
    assert [t.title for t in boot.tracks] == ["A"]
    assert levels(boot, "A") == [(1_000_000, 3_000_000)]


def test_rates() -> None:
    assert [rate_of(x) for x in ("1 MHz", "44.1 kHz", "1.000024 GHz", "10 Hz", "0 Hz", "fast", "")] == [
        1_000_000,
        44_100,
        1_000_024_000,
        10,
        None,
        None,
        None,
    ]


@pytest.mark.parametrize("unit", [1, 2, 3, 8])
@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_samples_are_followed_bit_by_bit(unit: int, data: st.DataObject) -> None:
    """Against a loop over every sample and every bit, with chunks cut anywhere."""
    few = st.sampled_from([b"\0" * unit, b"\1" + b"\0" * (unit - 1), b"\0" * (unit - 1) + b"\x80"])
    samples = data.draw(st.lists(few, min_size=1, max_size=40))
    whole = b"".join(samples)
    cut = data.draw(st.integers(0, len(whole)))
    names = [f"probe{n + 1}=P{n}" for n in range(8 * unit)]
    metadata = "\n".join(
        ["[device 1]", "capturefile=logic-1", "samplerate=1 GHz", f"unitsize={unit}", *names]
    )
    members = {
        "version": b"2",
        "metadata": metadata.encode(),
        "logic-1-1": whole[:cut],
        "logic-1-2": whole[cut:],
    }
    boot = only(SR.read(Source("x.sr", b"", members), Options()))
    for bit, name in ((0, "P0"), (8 * unit - 1, f"P{8 * unit - 1}")):
        high = {n for n, s in enumerate(samples) if int.from_bytes(s, "little") >> bit & 1}
        assert {n for a, b in levels(boot, name) for n in range(a, b)} == high


@settings(max_examples=50, deadline=None)
@given(
    st.data(),
    st.sampled_from(["logic.vcd", "bus.vcd", "time.csv", "dedup.csv", "units.csv", "saleae-iso.csv"]),
)
def test_damage_does_no_harm(data: st.DataObject, name: str) -> None:
    survives(VCD if name.endswith("vcd") else CSV, data.draw(damaged(unpacked("analyser", name).data)))


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_damage_to_a_session_does_no_harm(data: st.DataObject) -> None:
    survives_archive(SR, data.draw(damaged_members(unpacked("analyser", "mixed.sr"))))


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=300), st.sampled_from(ALL))
def test_noise_does_no_harm(data: bytes, reader: Reader) -> None:
    survives(reader, data)
