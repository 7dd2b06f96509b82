# SPDX-License-Identifier: Apache-2.0
"""Boots of which only later words tell: of init's start, of the kernel, of a line behind other words.

Each case is the smallest one that shows it; the times are ours.
"""

from __future__ import annotations

import pytest

from bootscope.importing.files import Understood

from .test_stages import imported, phases

SECOND = 1_000_000_000
KERNEL = "[    0.000000] Linux version 3.1.10 (a@b) (gcc) #1\n[    1.000000] devtmpfs: initialized\n"
RUN = "[    2.000000] Run /sbin/init as init process\n"


def read(text: str) -> Understood:
    return imported(text.encode())


@pytest.mark.parametrize(
    "words",
    [
        "systemd[1]: Detected architecture arm.",
        "init: could not open /dev/keychord",
        "procd: - early -",
        "init started: BusyBox v1.36.1 (2024-01-01)",
    ],
)
def test_init_is_there_by_the_time_it_speaks(words: str) -> None:
    trace = read(f"{KERNEL}[    3.000000] {words}\n[    4.000000] eth0: link is up\n").trace(1)
    assert trace.milestones() == {"kernel-entry": 0}
    assert [(s.name, s.duration_ns, s.detail["length"]) for s in trace.spans("phase")] == [
        ("kernel", 3 * SECOND, "or less"),
        ("init", SECOND, "or more"),
    ]


def test_inits_own_words_on_a_console_are_bounds_on_both_sides() -> None:
    trace = read(f"{KERNEL}INIT: version 3.14 booting\nStarting network\n").trace(1)
    assert [span.detail["length"] for span in trace.spans("phase")] == ["not known", "not known"]


def test_what_init_says_is_nothing_new_where_the_kernel_told_its_start() -> None:
    trace = read(f"{KERNEL}{RUN}[    3.000000] systemd[1]: systemd 252 running\n").trace(1)
    assert trace.spans("phase")[1].start_ns == 2 * SECOND


def test_the_last_words_of_the_system_before_are_not_of_this_boot() -> None:
    before = "[  OK  ] Reached target Multi-User System.\nboard login: \nsystemd[1]: Shutting down.\n"
    trace = read(f"{before}{KERNEL}[    3.000000] init: started\n").trace(1)
    assert trace.milestones() == {"kernel-entry": 0}
    assert (phases(trace), trace.spans("phase")[1].start_ns) == (["kernel", "init"], 3 * SECOND)


def test_a_kernel_whose_first_lines_are_not_there_is_one() -> None:
    text = "NOTICE:  BL2: v2.4(release):v2.4\n[    1.010185] stm32-cpufreq: Failed to get chip info: -517\n"
    trace = read(f"{text}Switching root to '/rootfs'...\n[  OK  ] Mounted /var.\nboard login: \n").trace(1)
    assert [row[0] for row in trace.tables[0].rows] == ["bl2"]
    assert phases(trace) == ["kernel+initramfs (its first line not seen)", "init", "application"]
    assert trace.spans("phase")[0].start_ns == 1_010_185_000
    assert "kernel-entry" not in trace.milestones()


def test_a_kernels_log_of_a_system_that_runs_is_no_kernels_start() -> None:
    assert read("[ 7200.000000] usb 1-1: new device\n" * 5).trace(1).milestones() == {}


def test_a_command_that_prints_the_version_is_not_the_kernel_that_was_not_seen() -> None:
    text = "Starting kernel ...\n\n[    1.500000] mmc2: timeout\nINIT: version 3.14 booting\n"
    text += "[    2.500000] eth0: up\nboard login: root\n# cat /proc/version\nLinux version 6.6.90 (a@b) #5\n"
    trace = read(text).trace(1)
    assert list(trace.milestones()) == ["login"]
    assert phases(trace) == ["kernel (its first line not seen)", "init", "application"]


# ---- a row of a program and the kernel ----


def test_the_kernels_line_behind_a_programs_words_tells_the_time_of_what_follows() -> None:
    text = f"{KERNEL}{RUN} * Starting mdev ... [ ok[    3.244624] random: crng init\n ]\nboard login: root\n"
    trace = read(text).trace(1)
    assert trace.milestones()["login"] == 3_244_624_000
    assert trace.earliest() == ["login"]


def test_the_kernels_first_line_behind_a_row_of_dots_has_its_own_time() -> None:
    trace = read(f"U-Boot 2024.01 (Jan 08 2024)\n......{KERNEL}{RUN}").trace(1)
    assert trace.milestones() == {"kernel-entry": 0, "init": 2 * SECOND}
    assert trace.earliest() == []


@pytest.mark.parametrize("quoted", ["[    0.500000] early", "[    9.000000] later"])
def test_a_line_that_a_program_quotes_tells_no_time(quoted: str) -> None:
    text = f"{KERNEL}{RUN}last: {quoted}\nboard login: \n[    5.000000] eth0: up\n"
    assert read(text).trace(1).milestones()["login"] == 2 * SECOND


@pytest.mark.parametrize(
    "words", ["Wed Nov 29 12:42:00 UTC 2023", "PID file /run/boot.pid", "scsi 2:0:0:0: Disk"]
)
def test_a_program_that_still_starts_writes_on_the_prompts_row(words: str) -> None:
    assert "login" in read(f"{KERNEL}{RUN}(none) login: {words}\n").trace(1).milestones()


@pytest.mark.parametrize(
    "words", ["Failed login: root", "sshd[4]: login: x y", "Last login: Thu Jan  1 00:00:00"]
)
def test_words_about_logins_are_no_prompt(words: str) -> None:
    assert "login" not in read(f"{KERNEL}{RUN}{words} on ttyS0\n").trace(1).milestones()


# ---- records that are not in order ----


def journal(*rows: tuple[int, str]) -> Understood:
    first = [(0, "kernel: Linux version 6.7.0 (a@b) (gcc) #1"), (1, "kernel: Run /init as init process")]
    return read("".join(f"Jan 26 10:00:{at:02} moe {words}\n" for at, words in [*first, *rows]))


def test_records_that_came_late_into_a_journal_are_no_clock_that_went_back() -> None:
    late = [(9, f"kernel: usb 1-{n}: line") for n in range(20)]
    rows = [(2, "systemd[1]: Starting a"), *late, (5, "mtp-probe[24]: x"), (3, "systemd[1]: Started a")]
    end = (12, "systemd[1]: Startup finished in 5.0s (kernel) + 7.0s (userspace) = 12.0s.")
    found = journal(*rows, (5, "systemd[1]: Started b"), end)
    assert found.trace(1).milestones()["systemd-finished"] == 12 * SECOND
    assert not [r for r in found.files[0].reading.repairs if "went back" in r.what]


def test_a_clock_that_is_set_back_shows_in_the_lines_of_one_program() -> None:
    rows = [
        (9, "systemd[1]: Starting a"),
        (4, "systemd[1]: Started a"),
        (6, "kernel: eth0: up"),
        (6, "systemd[1]: x"),
    ]
    found = journal(*[(n, f"systemd[1]: {n}") for n in range(2, 9)], *rows)
    assert [r for r in found.files[0].reading.repairs if "went back" in r.what]
