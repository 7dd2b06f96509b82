# SPDX-License-Identifier: Apache-2.0
"""systemd's `Startup finished in` inside logs of a boot: its phases lie on the clock of the log."""

from __future__ import annotations

from bootscope.readers.base import Boot, Options, Source
from bootscope.readers.registry import reader
from bootscope.timeline.trace import Span

from .unpacked import read_unpacked

MS = 1_000_000
PARTS = "4.2s (firmware) + 1.3s (loader) + 857ms (kernel) + 2s (initrd) + 3.1s (userspace) = 11.457s."
LINE = f"systemd[1]: Startup finished in {PARTS}"


def boot_of(name: str, *lines: str) -> Boot:
    source = Source("x", "\n".join([*lines, ""]).encode())
    (boot,) = reader(name).read(source, Options()).boots
    return boot


def phases(boot: Boot) -> tuple[Span, ...]:
    return next((t.spans for t in boot.tracks if t.ident == "systemd-finished"), ())


def test_on_the_kernels_clock_the_kernel_begins_at_0() -> None:
    begin, end = "[    0.000000] demo kernel: Linux version 6.1.0 (a@b) #1", f"[    5.960000] demo {LINE}"
    assert phases(boot_of("journalctl", begin, end)) == (
        Span(-5500 * MS, -1300 * MS, "firmware"),
        Span(-1300 * MS, 0, "loader"),
        Span(0, 857 * MS, "kernel"),
        Span(857 * MS, 2857 * MS, "initrd"),
        Span(2857 * MS, 5957 * MS, "userspace"),
    )


def test_on_a_hosts_clock_it_ends_with_the_line() -> None:
    found = phases(
        boot_of("grabserial", "[0.000001 0.000001] U-Boot 2025.01", f"[12.000000 11.999999] {LINE}")
    )
    assert [(s.name, s.end_ns) for s in found][-2:] == [("initrd", 8900 * MS), ("userspace", 12_000 * MS)]
    assert found[0].start_ns == 543 * MS


def test_a_host_that_listened_later_knows_nothing_of_what_was_before() -> None:
    lines = "[0.000001 0.000001] U-Boot 2025.01", f"[6.000000 5.999999] {LINE}"
    assert [(s.name, s.start_ns) for s in phases(boot_of("grabserial", *lines))] == [
        ("kernel", 43 * MS),
        ("initrd", 900 * MS),
        ("userspace", 2900 * MS),
    ]


def test_a_line_without_a_time_places_nothing() -> None:
    assert phases(boot_of("plain", "U-Boot 2025.01", "Starting kernel ...", LINE)) == ()


def test_other_words_are_no_phases() -> None:
    begin = "[    0.000000] demo kernel: Linux version 6.1.0 (a@b) #1"
    for said in ("1s (kernel) + 2s (moon) = 3s.", "ages.", ""):
        line = f"[    5.960000] demo systemd[1]: Startup finished in {said}"
        assert phases(boot_of("journalctl", begin, line)) == ()


def test_a_real_journal_tells_them_though_the_kernels_lines_came_late() -> None:
    (boot,) = read_unpacked(reader("journalctl"), "journalctl", "262-short-monotonic.txt.gz").boots
    assert [(s.name, s.end_ns // MS) for s in phases(boot)] == [
        ("kernel", 16_757),
        ("initrd", 75_647),
        ("userspace", 166_853),
    ]
