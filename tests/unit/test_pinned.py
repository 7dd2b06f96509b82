# SPDX-License-Identifier: Apache-2.0
"""Pins and console of one boot put on one clock, from captures built by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from bootscope.boards.pins import Edge, Pins
from bootscope.capture import record, tap, tapper
from bootscope.capture.measured import PINS, PinCapture
from bootscope.importing.pin_correlation import Kept, Together, kept_pins, together
from bootscope.readers.base import Options, Source
from bootscope.readers.formats import edges, vcd
from bootscope.readers.formats import tap as tap_reader
from bootscope.readers.join import File, join

from .uart_wave import vcd as dump

MS, S = 1_000_000, 1_000_000_000
CALL, RETURN, FIRST_BYTE = 10 * S, 10 * S + 60 * MS, 10 * S + 300 * MS
BOARD = Pins(driver="demo", edges={"D0": Edge(high="app-ready"), "D1": Edge(high="power")})


def console() -> bytes:
    """A capture of one line, the board being switched on between CALL and RETURN."""
    return (
        tapper.MAGIC
        + tap.event_record(9 * S, "open", rate=0)
        + tap.event_record(CALL, "power", what="on", at="call")
        + tap.event_record(RETURN, "power", what="on", at="return")
        + tap.record(tapper.BYTES, FIRST_BYTE, b"hello board\n")
    )


def put(
    power_ns: int, about: PinCapture, pins: Pins = BOARD, ready_ns: int = 2 * S, low_first: bool = False
) -> Together:
    """A capture in which D1 goes high at `power_ns`, D0 at `ready_ns`, put beside that console."""
    glitch = [(power_ns // 4, 1), (power_ns // 2, 0)] if low_first else []
    channels = {"D0": [(0, 0), *glitch, (ready_ns, 1)], "D1": [(0, 0), (power_ns, 1)]}
    values = {"pin": "D0=high:app-ready,D1=high:power"}
    reading = vcd.read(Source("pins.vcd", dump(channels, 3 * S)), Options(values=values))
    data = console()
    heard = tap_reader.READERS[0].read(Source("console.tap", data), Options())
    kept = Kept(about, b"", ())
    return together(
        File("console.tap", "tap", heard), File("pins.vcd", "vcd", reading), pins, tap.read(data), kept
    )


def milestones(found: Together) -> dict[str, tuple[int, int]]:
    """Name -> (ns, error in ns)."""
    return {p.name: (p.at_ns, p.error_ns) for p in found.pins.boots[0].points if p.kind == "milestone"}


def capture(started_ns: int, seen_ns: int) -> PinCapture:
    return PinCapture(
        command=("x",), file="pins.vcd", started_ns=started_ns, seen_ns=seen_ns, ended_ns=13 * S
    )


def test_the_edge_of_the_supply_is_time_zero_and_narrows_where_the_console_lies() -> None:
    # Sampling began between 9.4 and 9.6 s; the edge 520 ms later may be at 9.92 to 10.12, so 10.00 to 10.06.
    found = put(520 * MS, capture(9 * S + 400 * MS, 9 * S + 600 * MS))
    assert found.reference == 1 and not found.notes
    assert found.pins.boots[0].clock.at_power
    assert milestones(found) == {"power": (0, 1_000), "app-ready": (2 * S - 520 * MS, 1_000)}
    (link,) = found.links
    assert 30 * MS <= link.error_ns <= 31 * MS
    files = [File("console.tap", "tap", found.console), File("pins.vcd", "vcd", found.pins)]
    (group,) = join(files, {}, found.links, found.reference).groups
    first, second = group.members
    assert (first.file, second.file) == (1, 0)
    (at_ns, _), *_ = list(found.console.boots[0].log)
    # Power came between 10.00 and 10.06, the first byte at 10.30.
    assert second.map.at(at_ns) == pytest.approx(270 * MS, abs=MS)


def test_an_edge_elsewhere_is_not_taken_for_power() -> None:
    found = put(5 * MS, capture(9 * S + 400 * MS, 9 * S + 600 * MS))
    # The boot is shown on the console's clock, which knows when power came on.
    assert found.reference == 0
    assert "is not time zero" in found.notes[0] and "0.395" in found.notes[0]
    assert milestones(found)["app-ready"] == (2 * S, 1_000)
    # It is placed by when the capture began: 100 ms to each side, and what is known of power.
    assert 130 * MS <= found.links[0].error_ns <= 131 * MS


def test_an_edge_before_power_does_not_have_the_name() -> None:
    found = put(520 * MS, capture(9 * S + 400 * MS, 9 * S + 600 * MS), low_first=True)
    assert milestones(found)["app-ready"] == (2 * S - 520 * MS, 1_000)
    assert all(p.at_ns >= 0 for p in found.pins.boots[0].points)


def little(fast_ppm: int, late_ms: int) -> tuple[bytes, tap.Tap]:
    """An Arduino's lines and their capture; nobody heard it for 4 s. D1 rises at 10.02, D0 at 12 s."""
    worth = "state tick_ns=1000 resolution_ns=16000 ppm=5000 wrap=4294967296 pins=D0,D1 levels="
    power_ns, ready_ns = 10 * S + 20 * MS, 12 * S
    beats = [at * 100 * MS for at in range(50, 130)]
    told = [(at, f"{worth}{int(at > ready_ns)}{int(at > power_ns)}") for at in beats]
    told = sorted([*told, (power_ns, "D1 1"), (ready_ns, "D0 1")])
    records, opened = [], 9 * S
    for number, (at, text) in enumerate(told):
        line = f"bs1 {at * (1_000_000 + fast_ppm) // S} {text}\n".encode()
        came = max(opened + 10 * MS, at + (number * 7 % 3) * late_ms * MS)
        records.append(tap.record(tapper.BYTES, came, line))
    data = tapper.MAGIC + tap.event_record(opened, "open", rate=0) + b"".join(records)
    found = tap.read(data)
    return bytes(found.data), found


@pytest.mark.parametrize("fast_ppm", [-4000, 0, 4000])
def test_a_bad_clock_is_made_good_by_when_its_lines_came(fast_ppm: int) -> None:
    text, kept_tap = little(fast_ppm, 1)
    values = {"pin": "D0=high:app-ready,D1=high:power"}
    reading = edges.read(Source("pins.tap", text), Options(values=values))
    data = console()
    heard = tap_reader.READERS[0].read(Source("console.tap", data), Options())
    kept = Kept(capture(9 * S, 9 * S), text, (), kept_tap)
    found = together(
        File("console.tap", "tap", heard), File("pins.tap", "edges", reading), BOARD, tap.read(data), kept
    )
    assert not found.notes and found.reference == 1
    at_ns, error_ns = milestones(found)["app-ready"]
    assert abs(at_ns - 1980 * MS) <= error_ns <= 5 * MS


def test_whatever_lies_in_the_folder_is_told_and_never_raised(tmp_path: Path) -> None:
    assert "missing" in kept_pins(tmp_path).notes[0]
    record.write_json(tmp_path / PINS, capture(1, 2))
    assert "cannot be read" in kept_pins(tmp_path).notes[0]
    (tmp_path / "pins.vcd").write_bytes(tapper.MAGIC + b"\x07" * 40)
    assert "damaged" in kept_pins(tmp_path).notes[0]
    (tmp_path / "pins.vcd").write_bytes(b"x")
    assert kept_pins(tmp_path).data == b"x" and not kept_pins(tmp_path).notes
    for damage in (b"", b"[]", b'{"schema": 99}', b"\xff"):
        (tmp_path / PINS).write_bytes(damage)
        assert kept_pins(tmp_path).notes and not kept_pins(tmp_path).data
