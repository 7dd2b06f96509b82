# SPDX-License-Identifier: Apache-2.0
"""Gaps between the lines of a boot, by the clock that knows."""

from __future__ import annotations

from .known_builders import MS, log_of, timed


def test_lines_that_waited_for_the_console_are_told_by_the_kernels_clock() -> None:
    # The whole buffer came over the line when the console was there: 1 ms from line to line.
    log = timed(
        [
            (900, "[    0.010000] Calibrating delay loop... 1000.00 BogoMIPS"),
            (901, "[    0.250000] pid_max: default: 32768 minimum: 301"),
            (902, "[    0.260000] printk: console [ttyS0] enabled"),
        ]
    )
    assert log.gap_ns(0) == 240 * MS
    assert log.gap_ns(1) == 10 * MS
    assert log.gap_ns(2) is None


def test_before_the_kernel_has_a_clock_the_hosts_is_taken() -> None:
    log = timed([(10, "[    0.000000] Booting Linux"), (35, "[    0.000000] Linux version"), (40, "login: ")])
    assert log.gap_ns(0) == 25 * MS
    assert log.gap_ns(1) == 5 * MS


def test_without_any_clock_nothing_is_told() -> None:
    assert log_of(["[    0.000000] one", "[    0.000000] two", "three"]).gap_ns(0) == 0
    assert log_of(["one", "two"], clock="none").gap_ns(0) is None


def test_a_kernel_without_stamps_speaks_from_its_first_line_to_the_first_program() -> None:
    said = ["Linux version 6.12.1", "usb: new", "Run /sbin/init as init process"]
    log = log_of(["U-Boot 2025.01", "Starting kernel ...", "", *said, "Welcome", "login: "], clock="none")
    assert [line.text for line in log.kernel_lines] == said
    assert [line.text for line in log_of([*said[:2], "hangs"], clock="none").kernel_lines] == [
        *said[:2],
        "hangs",
    ]
    assert log_of(["Welcome", "login: "], clock="none").kernel_lines == ()
    falcon = log_of(["U-Boot SPL 2025.01", "Trying to boot from MMC1", *said, "Welcome"], clock="none")
    assert [line.text for line in falcon.loader_lines] == ["U-Boot SPL 2025.01", "Trying to boot from MMC1"]


def test_an_old_kernel_ends_where_it_frees_its_memory() -> None:
    said = ["Linux version 3.0.8", "usb: new", "Freeing init memory: 120K"]
    log = log_of([*said, "Auto login as root ...", "[cpu_hp.c]: camera"], clock="none")
    assert [line.text for line in log.kernel_lines] == said
