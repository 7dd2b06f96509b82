# SPDX-License-Identifier: Apache-2.0
"""The kernel's log in all its spellings, and what initcall_debug prints into it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bootscope.readers.base import NO_STAMP, Boot, FormatError, Options, Source
from bootscope.readers.formats import dmesg, grabserial, journalctl, plain
from bootscope.readers.registry import reader, readers
from bootscope.timeline.trace import Span

from .fuzzing import FIXTURES, check, damaged, read, source, survives

DMESG, JOURNAL = dmesg.READERS[0], journalctl.READERS[0]
FILES = [p for f in ("dmesg", "journalctl") for p in sorted((FIXTURES / f).glob("*.txt"))]


def spans(boot: Boot, ident: str = "initcalls") -> dict[str, Span]:
    track = next(t for t in boot.tracks if t.ident == ident)
    return {span.name: span for span in track.spans}


@pytest.mark.parametrize("path", FILES, ids=[f"{p.parent.name}/{p.name}" for p in FILES])
def test_every_spelling_is_recognised_and_read_whole(path: Path) -> None:
    given_source = source(path.parent.name, path.name)
    sure = {r.name: r.sure(given_source) for r in readers()}
    best = max(sure, key=lambda name: sure[name])
    # Without times there is nothing of dmesg's left, only lines.
    assert best == ("plain" if path.name == "notime.txt" else path.parent.name), sure
    reading = reader(best).read(given_source, Options())
    check(reading)
    assert reading.missed == []
    assert len(reading.boots) == 1


@pytest.mark.parametrize(
    ("file", "tool", "clock", "index", "at_ns", "level"),
    [
        ("raw.txt", "dmesg", "kernel", 299, 97_668_000, 6),
        ("busybox.txt", "dmesg", "kernel", 104, 68_730_000, -1),
        ("util-linux.txt", "dmesg", "kernel", 104, 68_730_000, -1),
        ("kmsg.txt", "dmesg /dev/kmsg", "kernel", 104, 68_730_000, 7),
        ("x.txt", "dmesg -x", "kernel", 104, 68_730_000, 7),
        ("d.txt", "dmesg -d", "kernel", 104, 68_730_000, -1),
        ("T.txt", "dmesg -T", "wall", 104, 1_795_246_194_000_000_000, -1),
        ("x-T.txt", "dmesg -T -x", "wall", 104, 1_795_246_194_000_000_000, 7),
        ("iso.txt", "dmesg --time-format iso", "wall", 104, 1_795_246_194_068_730_000, -1),
        # These count from a line that is not the kernel's zero: util-linux forgets the first gap, 19 us.
        ("e.txt", "dmesg -e", "kernel", 104, 68_711_000, -1),
        ("H-color.txt", "dmesg -e", "kernel", 104, 68_711_000, -1),
        ("delta.txt", "dmesg --time-format delta", "kernel", 104, 68_711_000, -1),
        ("d-T.txt", "dmesg -d -T", "kernel", 104, 68_711_000, -1),
        ("json.txt", "dmesg --json", "kernel", 0, 0, 6),
        ("json-repeating.txt", "dmesg --json", "kernel", 39, 0, 6),
    ],
)
def test_stamps_and_levels(file: str, tool: str, clock: str, index: int, at_ns: int, level: int) -> None:
    boot = read(DMESG, "dmesg", file).boots[0]
    assert boot.facts["tool"] == tool
    assert boot.clock.name == clock
    if index == 104:
        assert boot.log.text(index) == "calling  init_mmap_min_addr+0x0/0x20 @ 1"
    assert (boot.log.at_ns[index], boot.log.level[index]) == (at_ns, level)


@pytest.mark.parametrize(
    ("file", "clock", "first_ns", "last_ns"),
    [
        ("short-monotonic.txt", "kernel", 0, 4_200_000_000),
        ("k-nohost.txt", "kernel", 0, 3_615_160_000),
        ("json.txt", "kernel", 74_237_000, 4_200_000_000),
        ("json-pretty.txt", "kernel", 74_237_000, 4_200_000_000),
        ("json-seq.txt", "kernel", 74_237_000, 4_200_000_000),
        ("export.txt", "kernel", 74_237_000, 4_200_000_000),
        ("short.txt", "wall", 974_804_500_000_000_000, 974_804_504_000_000_000),
        ("short-precise.txt", "wall", 974_804_500_000_000_000, 974_804_504_200_000_000),
        ("short-iso.txt", "wall", 1_795_258_900_000_000_000, 1_795_258_904_000_000_000),
        ("short-iso-precise.txt", "wall", 1_795_258_900_000_000_000, 1_795_258_904_200_000_000),
        ("short-unix.txt", "wall", 1_795_258_900_000_000_000, 1_795_258_904_200_000_000),
        ("short-full.txt", "wall", 1_795_258_900_000_000_000, 1_795_258_904_000_000_000),
    ],
)
def test_journals(file: str, clock: str, first_ns: int, last_ns: int) -> None:
    boot = read(JOURNAL, "journalctl", file).boots[0]
    assert (boot.clock.name, boot.log.at_ns[0], boot.log.at_ns[-1]) == (clock, first_ns, last_ns)
    assert "initcalls" in {t.ident for t in boot.tracks}
    if file != "k-nohost.txt":
        assert boot.log.text(len(boot.log) - 1).strip().endswith("second line")
        assert "sh[312]: first line" in boot.log.text(len(boot.log) - 2)


def test_boots_of_a_journal_are_told_apart() -> None:
    text = b"".join(
        b'{"_BOOT_ID":"%d","__MONOTONIC_TIMESTAMP":"%d","MESSAGE":"m%d","_TRANSPORT":"kernel"}\n' % (b, t, t)
        for b, t in ((1, 5), (1, 9), (2, 3), (2, 4))
    )
    reading = JOURNAL.read(Source("x", text), Options())
    assert [list(b.log.at_ns) for b in reading.boots] == [[5_000, 9_000], [3_000, 4_000]]
    short = b"[    1.000000] pc kernel: one\n-- Boot %s --\n[    0.500000] pc kernel: two\n" % (b"0" * 32)
    reading = JOURNAL.read(Source("x", short), Options())
    assert [list(b.log.at_ns)[-1] for b in reading.boots] == [1_000_000_000, 500_000_000]
    assert reading.missed == []


def test_broken_records_are_counted() -> None:
    whole = source("dmesg", "json.txt").data
    cut = whole[: whole.rindex(b'"msg"') + 20]
    reading = DMESG.read(Source("x", cut), Options())
    assert [(r.what, r.count) for r in reading.repairs] == [("broken records left out", 1)]
    assert len(reading.boots[0].log) == 65
    one = b'{"__MONOTONIC_TIMESTAMP":"7","MESSAGE":"one"}\n'
    text = one + b'{"__MONO\n' + one.replace(b"one", b"two")
    reading = JOURNAL.read(Source("x", text), Options())
    assert [t for _, t in reading.boots[0].log] == ["one", "two"]
    assert reading.repairs[0].count == 1


def test_a_stamp_with_blanks_between_its_digits_is_none() -> None:
    text = b"[1 2 3.000000] board kernel: one\n[    4.200000] board kernel: two\n"
    reading = JOURNAL.read(Source("x", text), Options())
    assert [m.line for m in reading.missed] == [1]
    assert list(reading.boots[0].log)[1] == (4_200_000_000, "two")


def test_a_message_of_bytes_and_a_binary_field_without_its_nuls() -> None:
    text = b'{"__MONOTONIC_TIMESTAMP":"7","MESSAGE":["104","105","255"],"PRIORITY":"4"}\n'
    boot = JOURNAL.read(Source("x", text), Options()).boots[0]
    assert (boot.log.text(0), boot.log.level[0]) == ("hi\\xff", 4)
    export = b"__MONOTONIC_TIMESTAMP=7\nMESSAGE\n\x05one\ntwo\n_PID=3\n\n"
    boot = JOURNAL.read(Source("x", export), Options()).boots[0]
    assert boot.log.text(0).endswith("one")


def test_initcalls_of_a_real_boot() -> None:
    boot = read(DMESG, "dmesg", "raw.txt").boots[0]
    calls = spans(boot)
    track = next(t for t in boot.tracks if t.ident == "initcalls")
    assert (len(track.spans), track.kind, track.overlaps) == (628, "initcall", False)
    # initcall chr_dev_init+0x0/0xac returned 0 after 7617 usecs, stamped 0.115709
    assert calls["chr_dev_init"] == Span(
        115_709_000 - 7_617_000, 115_709_000, "chr_dev_init", {"returned": 0, "took_us": 7617, "pid": 1}
    )
    # The kernel's clock was coarse then and said 10000 usecs: no call begins before its line.
    early = calls["cma_init_reserved_areas"]
    assert (early.start_ns, early.end_ns, early.detail["took_us"]) == (69_706_000, 73_345_000, 10_000)
    assert calls["sunxi_mc_smp_init"].detail["returned"] == -19
    points = {p.name: p.at_ns for p in boot.points}
    assert points == {"root-mounted": 731_127_000, "kernel-done": 734_069_000, "init": 734_155_000}
    assert boot.facts["lines before the kernel's clock ran"] == "40"


def test_probes_of_a_real_boot() -> None:
    boot = read(DMESG, "dmesg", "raw.txt").boots[0]
    track = next(t for t in boot.tracks if t.ident == "probes")
    assert len(track.spans) == 95
    phy = [s.detail for s in track.spans if s.name == "1c13400.phy"]
    assert [d["attempt"] for d in phy] == list(range(1, len(phy) + 1))
    assert phy[0]["outcome"] == "deferred"
    assert phy[-1]["returned"] == 0
    serial = next(s for s in track.spans if s.name == "1c28000.serial" and s.detail["returned"] == 0)
    assert (serial.start_ns, serial.end_ns) == (330_246_000 - 47_301_000, 330_246_000)


def test_every_call_line_of_the_log_is_in_a_track() -> None:
    data = source("dmesg", "raw.txt").data
    boot = read(DMESG, "dmesg", "raw.txt").boots[0]
    count = sum(len(t.spans) for t in boot.tracks)
    assert count == data.count(b"] initcall ") + data.count(b"] probe of ")


def test_a_device_that_is_probed_again_and_again_tells_the_same_each_time() -> None:
    lines = (f"[    1.00000{n}] probe of 1-1 returned -517 after 7 usecs\n" for n in range(9))
    boot = DMESG.read(Source("log", "".join(lines).encode()), Options()).boots[0]
    told = [dict(span.detail) for track in boot.tracks for span in track.spans]
    same = {"returned": -517, "took_us": 7, "outcome": "deferred"}
    assert told == [{**same, "attempt": n} for n in range(1, 10)]


def test_callers_levels_modules_and_calls_that_run_at_once() -> None:
    boot = read(DMESG, "dmesg", "caller.txt").boots[0]
    assert boot.log.text(4) == "[    C0] clocksource: a line from an interrupt"
    first = spans(boot)
    assert first["0xc0a01234"].detail["level"] == "early"
    assert first["driver_init"].detail == {"returned": 0, "took_us": 9000, "pid": 1, "level": "device"}
    assert first["late_part"].detail["symbol"] == "late_part+0x10/0x40"
    # Two calls of one name: each return goes to the call that began when the kernel says.
    assert spans(boot, "initcalls-38")["async_scan"].detail["returned"] == 0
    assert spans(boot, "initcalls-37")["async_scan"].start_ns == 20_300_000
    assert spans(boot, "initcalls-90")["fb_init"].detail["module"] == "panel"
    ethernet = [s.detail for s in next(t for t in boot.tracks if t.ident == "probes").spans]
    assert [(d["attempt"], d["returned"], d.get("outcome")) for d in ethernet] == [
        (1, -517, "deferred"),
        (2, 1, None),
    ]
    marks = {p.name: p.at_ns for p in boot.points if p.kind == "mark"}
    assert marks == {
        "38000000.gpu still deferred": 10_500_000_000,
        "never_back called, never returned": 10_600_000_000,
    }


def test_a_call_whose_beginning_is_not_in_the_log() -> None:
    text = b"[    1.000000] initcall half+0x0/0x10 returned 0 after 250 usecs\n" * 1 + b"[    1.1] odd\n"
    boot = DMESG.read(Source("x", text), Options()).boots[0]
    track = boot.tracks[0]
    assert (track.title, track.spans[0].start_ns) == ("Initcalls begun unseen", 999_750_000)


def test_initcalls_in_a_log_of_a_host_whose_clock_runs_otherwise() -> None:
    # In the emulator the console costs board time that the kernel does not see.
    boot = read(grabserial.READERS[0], "grabserial", "initcall.log").boots[0]
    calls = spans(boot)
    assert len(calls) > 600
    assert boot.facts["kernel clock"].startswith("differs from that of this log")
    chr_dev = calls["chr_dev_init"]
    assert chr_dev.detail["took_us"] == 7617
    assert chr_dev.end_ns == next(at for at, text in boot.log if "initcall chr_dev_init" in text)


def test_a_steady_kernel_clock_in_a_log_of_a_host() -> None:
    lines = [b"[0.000000] U-Boot 2025.01"]
    for n in range(40):
        kernel_us = n * 50_000
        # The first ten lines come late, all at once; one line is damaged.
        host_us = 3_000_000 + max(kernel_us + 200 * (n % 5), 600_000 + n)
        words = b"initcall f%d+0x0/0x4 returned 0 after 10000 usecs" % n
        lines.append(b"[%d.%06d] [%5d.%06d] %s" % (*divmod(host_us, 10**6), *divmod(kernel_us, 10**6), words))
    boot = grabserial.READERS[0].read(Source("x", b"\n".join(lines) + b"\n"), Options()).boots[0]
    zero = next(p for p in boot.points if p.name == "kernel clock begins")
    assert abs(zero.at_ns - 3_000_000_000) <= zero.error_ns < 2_000_000
    call = next(s for s in boot.tracks[0].spans if s.name == "f5")
    assert abs(call.end_ns - 3_250_000_000) <= zero.error_ns
    assert call.duration_ns == 10_000_000


REAL = source("plain", "stock.log").data
LOG = source("dmesg", "busybox.txt").data


def test_the_log_printed_once_more_is_not_a_second_boot() -> None:
    whole = source("plain", "initcall.log").data + b"# dmesg\r\n" + LOG.replace(b"\n", b"\r\n")
    reading = plain.READERS[0].read(Source("x", whole), Options())
    assert len(reading.boots) == 1
    again = next(r for r in reading.repairs if "printed again" in r.what)
    assert (again.count, again.first_line) == (200, 402)
    log = reading.boots[0].log
    assert log.kernel_ns[405] == NO_STAMP
    assert len(spans(reading.boots[0])) < 160


def test_two_boots_in_one_file() -> None:
    other = REAL.replace(b"0.0", b"0.1")
    reading = plain.READERS[0].read(Source("x", REAL + other), Options())
    assert [len(b.log) for b in reading.boots] == [353, 351]
    two = next(r for r in reading.repairs if r.what == "2 boots in one file, read separately")
    # The line of the second U-Boot SPL banner, which an empty line precedes.
    assert two.first_line == 354


def test_a_board_that_never_gets_anywhere() -> None:
    reading = plain.READERS[0].read(Source("x", b"U-Boot SPL 2025.01 a\nfailed\n" * 6000 + b"end"), Options())
    assert len(reading.boots) == 5000
    assert sum(len(b.log) for b in reading.boots) == 12_001


def test_a_file_joined_to_itself_is_one_boot() -> None:
    reading = plain.READERS[0].read(Source("x", REAL * 2), Options())
    assert len(reading.boots) == 1
    assert any("same text 2 times" in r.what for r in reading.repairs)


def test_a_kernel_clock_that_begins_again_in_silence() -> None:
    text = b"".join(b"[    %d.%06d] line %d\n" % (s % 3, s % 3 and s, s) for s in range(6))
    reading = DMESG.read(Source("x", text), Options())
    assert [list(b.log.at_ns) for b in reading.boots] == [
        [0, 1_000_001_000, 2_000_002_000],
        [0, 1_000_004_000, 2_000_005_000],
    ]


def test_lines_a_little_out_of_order_keep_their_stamps() -> None:
    text = b"[    1.000100] one\n[    1.000090] two\n[    1.000200] three\n[    0.000000] x\n" * 1
    reading = DMESG.read(Source("x", text[: text.rindex(b"[")]), Options())
    assert list(reading.boots[0].log.at_ns) == [1_000_100_000, 1_000_090_000, 1_000_200_000]
    assert [r.what for r in reading.repairs] == ["lines a little out of order, their stamps kept"]


def test_what_is_no_kernel_log() -> None:
    with pytest.raises(FormatError, match="line 1"):
        DMESG.read(Source("x", b"nothing\n"), Options())
    with pytest.raises(FormatError, match="line 1"):
        JOURNAL.read(Source("x", b'{"__MONOTONIC_TIMESTAMP": "x"}'), Options())


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_damaged_logs(data: st.DataObject) -> None:
    path = FILES[data.draw(st.integers(0, len(FILES) - 1))]
    survives(reader(path.parent.name), data.draw(damaged(path.read_bytes()[:20_000])))
