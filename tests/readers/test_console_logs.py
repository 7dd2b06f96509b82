# SPDX-License-Identifier: Apache-2.0
"""Console logs as each tool writes them, all of the same recorded boot of the emulated Cubieboard."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bootscope.readers.base import (
    END_OF_LINE,
    FIRST_BYTE,
    PREVIOUS_NEWLINE,
    UNKNOWN,
    FormatError,
    Options,
    Reading,
    Source,
)
from bootscope.readers.formats import bootterm, grabserial, minicom, plain, serialchrono, tio, ts
from bootscope.readers.registry import reader, readers

from .fuzzing import FIXTURES, check, damaged, read, source, survives

FOLDERS = ("grabserial", "tio", "minicom", "bootterm", "ts", "serialchrono", "plain")
FILES = [p for f in FOLDERS for p in sorted((FIXTURES / f).glob("*.[lt][ox][gt]"))]


def told(reading: Reading) -> list[str]:
    return [repair.what for repair in reading.repairs]


def at_of(reading: Reading, words: str, boot: int = 0) -> int:
    """Time in ns of the first line that holds `words`."""
    return next(at for at, text in reading.boots[boot].log if words in text)


@pytest.mark.parametrize("path", FILES, ids=[f"{p.parent.name}/{p.name}" for p in FILES])
def test_every_log_is_recognised_and_nearly_all_of_it_read(path: Path) -> None:
    given_source = source(path.parent.name, path.name)
    sure = {r.name: r.sure(given_source) for r in readers()}
    best = max(sure, key=lambda name: sure[name])
    assert best == path.parent.name, sure
    assert sure[best] >= 60
    reading = reader(best).read(given_source, Options())
    check(reading)
    assert len(reading.missed) <= 2, reading.missed
    for boot in reading.boots:
        assert list(boot.log.at_ns) == sorted(boot.log.at_ns)


# As bootscope itself timed it: U-Boot's banner at 358.112 ms, the application's line at 10.539119 s.
BANNER_TO_END_NS = 10_539_119_000 - 358_112_000


@pytest.mark.parametrize(
    ("name", "tool", "stamp", "resolution_ns", "clock"),
    [
        ("grabserial/t.log", "grabserial -t", FIRST_BYTE, 1_000, "host"),
        ("grabserial/tT.log", "grabserial -t -T", FIRST_BYTE, 1_000, "host"),
        ("grabserial/m.log", "grabserial -t", FIRST_BYTE, 1_000, "host"),
        ("tio/24hour-delta.log", "tio 24hour-delta", FIRST_BYTE, 1_000_000, "host"),
        ("minicom/simple.log", "minicom simple", FIRST_BYTE, 1_000_000_000, "wall"),
        ("minicom/extended.log", "minicom extended", FIRST_BYTE, 1_000_000, "wall"),
        ("minicom/persecond.log", "minicom once a second", FIRST_BYTE, 1_000_000_000, "wall"),
        ("bootterm/init.log", "bootterm init", FIRST_BYTE, 1_000, "host"),
        ("bootterm/line.log", "bootterm line", FIRST_BYTE, 1_000, "host"),
        ("bootterm/terminal.log", "bootterm init", PREVIOUS_NEWLINE, 1_000, "host"),
        ("ts/i.log", "ts -i", END_OF_LINE, 1_000_000_000, "host"),
        ("ts/isub.log", "ts -i %.s", END_OF_LINE, 1_000, "host"),
        ("ts/ssub.log", "ts -s %.s", END_OF_LINE, 1_000, "host"),
        ("serialchrono/console.txt", "serialchrono", FIRST_BYTE, 1_000, "host"),
    ],
)
def test_the_same_boot_lasts_as_long_in_every_log(
    name: str, tool: str, stamp: str, resolution_ns: int, clock: str
) -> None:
    folder, file = name.split("/")
    reading = read(reader(folder), folder, file)
    boot = reading.boots[0]
    assert boot.facts["tool"] == tool
    assert (boot.clock.name, boot.clock.stamp, boot.clock.resolution_ns) == (clock, stamp, resolution_ns)
    assert boot.facts["kernel"] == "6.12.107"
    assert boot.facts["boot loader"] == "U-Boot 2025.01"
    assert boot.facts["machine"] == "Cubietech Cubieboard"
    assert boot.facts["lines before the kernel's clock ran"] == "35"
    took_ns = at_of(reading, "Starting the application") - at_of(reading, "U-Boot 2025")
    # The replay itself was late by up to 30 ms now and then.
    slack_ns = 2 * resolution_ns + 60_000_000
    if tool == "tio 24hour-delta":
        # Each of its 344 gaps is cut to milliseconds.
        assert "times summed from truncated intervals: they may be up to 344 ms short at the end" in told(
            reading
        )
        slack_ns += 344_000_000
    assert abs(took_ns - BANNER_TO_END_NS) < slack_ns


@pytest.mark.parametrize(
    ("name", "tool", "first_ns", "last_ns"),
    [
        ("grabserial/T.log", "grabserial -T", 39_972_893_924_000, 39_978_193_234_000),
        ("grabserial/Tn.log", "grabserial -T -n", 39_972_894_190_000, None),
        ("grabserial/F.log", "grabserial -T -F", 0, None),
        ("grabserial/tn.log", "grabserial -t -n", 1_000, None),
        ("grabserial/l.log", "grabserial -t -T", 2_057_059_000, None),
        ("grabserial/label.log", "grabserial -t", 1_000, None),
        ("tio/24hour.log", "tio 24hour", 39_773_061_000_000, None),
        ("tio/24hour-start.log", "tio 24hour-start", 2_220_000_000, None),
        ("tio/iso8601.log", "tio iso8601", 1_795_258_973_058_000_000, None),
        ("tio/epoch.log", "tio epoch", 1_795_258_973_058_000_000, None),
        ("tio/epoch-usec.log", "tio epoch-usec", 1_795_258_973_058_420_000, None),
        ("bootterm/abs.log", "bootterm abs", 1_795_259_289_175_640_000, None),
        ("ts/plain.log", "ts %b %d %H:%M:%S", 974_804_620_000_000_000, None),
        ("ts/s.log", "ts -s", 2_000_000_000, None),
        ("ts/sfrac.log", "ts %.S", 2_050_812_000, None),
        ("ts/m.log", "ts %H:%M:%.S", 39_820_574_931_000, None),
        ("ts/epoch.log", "ts %.s", 1_795_259_020_398_006_000, None),
        ("ts/iso.log", "ts %Y-%m-%dT%H:%M:%.S", 1_795_259_020_398_333_000, None),
    ],
)
def test_stamps_to_the_last_digit(name: str, tool: str, first_ns: int, last_ns: int | None) -> None:
    folder, file = name.split("/")
    boot = read(reader(folder), folder, file).boots[0]
    assert boot.facts["tool"] == tool
    assert boot.log.at_ns[0] == first_ns
    if last_ns is not None:
        assert boot.log.at_ns[-1] == last_ns


def test_text_keeps_the_kernel_stamp_and_the_log_has_it_as_a_number() -> None:
    log = read(grabserial.READERS[0], "grabserial", "t.log").boots[0].log
    index = next(
        i for i, (_, text) in enumerate(log) if "CPU: All CPU(s) started" in text and log.kernel_ns[i] > 0
    )
    assert log.text(index) == "[    0.062426] CPU: All CPU(s) started in SVC mode."
    assert log.kernel_ns[index] == 62_426_000
    assert log.at_ns[index] == 5_154_218_000
    assert log.kernel_ns[0] == -1


def test_a_time_set_back_by_grabserial_is_counted_on() -> None:
    reading = read(grabserial.READERS[0], "grabserial", "m.log")
    assert "stamps were reset to 0 (grabserial -m): continued from the line before" in told(reading)
    # The line after the match is stamped 0.000147 in the file, on top of the match's 3.983.
    before, after = at_of(reading, "Starting kernel"), at_of(reading, "Booting Linux")
    assert 800_000_000 < after - before < 900_000_000


def test_patterns_that_grabserial_reports_at_its_end() -> None:
    reading = read(grabserial.READERS[0], "grabserial", "iq.log")
    points = {p.name: p.at_ns for p in reading.boots[0].points if p.name.startswith("last line with")}
    assert points == {
        "last line with U-Boot 20 ended": 163_498_000,
        "last line with Starting kernel ended": 3_990_044_000,
        "last line with Linux version ended": 4_848_627_000,
    }
    assert reading.missed == []


def test_hexadecimal_rows_become_lines() -> None:
    reading = read(grabserial.READERS[0], "grabserial", "hex.log")
    log = reading.boots[0].log
    assert log.text(1) == "U-Boot SPL 2025.01 (Jan 01 2026 - 00:00:00 +0000)"
    # It begins in the first row; the next line in the row that has 0D 0A 44 in its middle.
    assert list(log.at_ns[1:3]) == [1_000, 5_762_000]
    assert any("hexadecimal" in what for what in told(reading))


def test_appended_captures_are_two_boots() -> None:
    reading = read(minicom.READERS[0], "minicom", "appended.log")
    assert [len(b.log) for b in reading.boots] == [353, 351]
    assert "2 boots in one file, read separately" in told(reading)
    # The second begins with a line before its first stamp, and must not reach back to the first capture.
    assert reading.boots[1].log.at_ns[0] - reading.boots[0].log.at_ns[-1] > 300 * 10**9
    assert [m.line for m in reading.missed] == [2, 354]


def test_end_of_line_is_seen_in_the_lines() -> None:
    reading = read(serialchrono.READERS[0], "serialchrono", "example.log")
    assert reading.boots[0].clock.stamp == END_OF_LINE
    assert reading.questions == []


def test_what_cannot_be_seen_is_asked() -> None:
    text = b"".join(b"[    %d.000000] U-Boot 2025.01 says something\n" % n for n in range(5))
    reading = serialchrono.READERS[0].read(Source("x", text), Options())
    assert reading.boots[0].clock.stamp == UNKNOWN
    assert ["--stamp" in q for q in reading.questions] == [True]
    told_by_user = serialchrono.READERS[0].read(Source("x", text), Options(stamp=END_OF_LINE))
    assert told_by_user.boots[0].clock.stamp == END_OF_LINE
    assert told_by_user.questions == []


def test_a_console_without_stamps() -> None:
    reading = read(plain.READERS[0], "plain", "stock.log")
    boot = reading.boots[0]
    assert boot.clock.name == "kernel"
    assert (boot.log.at_ns[0], boot.log.at_ns[-1]) == (0, 770_031_000)
    # Without the stamps of its lines only their order is left.
    text = b"U-Boot 2025.01\nStarting kernel ...\nLinux version 6.1\n"
    bare = plain.READERS[0].read(Source("x", text), Options())
    assert bare.boots[0].clock.name == "none"
    assert (bare.lines_understood, set(bare.boots[0].log.at_ns)) == (3, {0})


def test_midnight_and_a_clock_that_is_set_back() -> None:
    text = b"[23:59:59.900] one\r\n[00:00:00.100] two\r\n[00:00:02.000] three\r\n[00:00:01.500] four\r\n"
    reading = tio.READERS[0].read(Source("x", text), Options())
    assert [at // 1_000_000 for at in reading.boots[0].log.at_ns] == [
        86_399_900,
        86_400_100,
        86_402_000,
        86_402_000,
    ]
    assert told(reading) == [
        "stamps wrap at midnight: unwrapped",
        "clock went back by 500 ms in all: later stamps shifted",
    ]


def test_a_log_read_as_what_it_is_not_names_a_line() -> None:
    for found in (grabserial, tio, minicom, bootterm, ts, serialchrono):
        with pytest.raises(FormatError, match=r"line \d+"):
            found.READERS[0].read(Source("x.txt", b"no stamps\nat all\n"), Options())


def test_an_impossible_date_is_no_stamp() -> None:
    text = b"[2026-13-41 11:00:00] one\n[2026-11-21 25:61:00] two\n[2026-11-21 11:00:00] three\n"
    reading = minicom.READERS[0].read(Source("x", text), Options())
    assert [m.text for m in reading.missed] == ["[2026-13-41 11:00:00] one", "[2026-11-21 25:61:00] two"]


BITS = [p.read_bytes()[:20_000] for p in FILES]


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_damaged_logs(data: st.DataObject) -> None:
    which = data.draw(st.integers(0, len(FILES) - 1))
    survives(reader(FILES[which].parent.name), data.draw(damaged(BITS[which])))


def test_tio_may_count_from_its_own_start() -> None:
    for first, zero in (
        ("00:00:00.000", "the first line that tio stamped"),
        ("00:00:01.648", "the start of tio"),
    ):
        text = f"[{first}] U-Boot 2025.01\n[00:00:02.000] DRAM:  512 MiB\n[00:00:02.500] Net:\n"
        (boot,) = tio.READERS[0].read(Source("x", text.encode()), Options()).boots
        assert boot.clock.zero == zero


def test_stamps_of_tegras_boot_loaders_are_none_of_minicom() -> None:
    text = "".join(f"[0000.{n:03}] I> MB1 line {n}\n" for n in range(100, 140)) + "U-Boot 2025.01\n"
    assert minicom.READERS[0].sure(Source("x", text.encode())) == 0


def test_minicoms_gaps_are_summed() -> None:
    (boot,) = read(minicom.READERS[0], "minicom", "delta.log").boots
    stamped = [at for at, own in zip(boot.log.at_ns, boot.log.own, strict=True) if own]
    assert (boot.facts["tool"], boot.clock.name) == ("minicom delta", "host")
    assert stamped[:4] == [0, 39_000_000, 71_000_000, 334_000_000]
