# SPDX-License-Identifier: Apache-2.0
"""Faults that published logs showed: missed boots, clocks taken for others, impossible figures.

Each case is the smallest one that shows it; the times are ours.
"""

from __future__ import annotations

import pytest

from bootscope.readers.base import Source
from bootscope.readers.detect import recognised
from bootscope.readers.lines import split

from .test_stages import ARM64, FIRST_LINES, LATER, imported, phases, stamped

SECOND = 1_000_000_000
KERNEL = """\
[    0.000000] Linux version 6.1.0 (a@b) (gcc) #1
[    0.500000] devtmpfs: initialized
[    2.000000] Run /sbin/init as init process
"""


def best(text: str) -> str:
    found = recognised(Source("x.log", text.encode()))
    return found[0].reader.name if found else ""


# ---- boots ----


def test_an_spl_that_works_round_a_fault_of_its_chip_is_one_boot() -> None:
    spl = "U-Boot SPL 2026.01 (May 14 2026 - 08:08:16 +0900)"
    lines = [
        spl,
        "Resetting on cold boot",
        "resetting ...",
        spl,
        FIRST_LINES["bl31"],
        FIRST_LINES["bootloader"],
    ]
    assert imported(stamped(lines)).boots == 1


def test_coreboot_that_begins_again_after_its_payload_was_started_is_another_boot() -> None:
    once = [FIRST_LINES["coreboot"], "CBFS: Found", "[DEBUG]  Jumping to boot code at 0x000fd247(0x7be6c000)"]
    assert imported(stamped(once * 3)).boots == 3


def test_a_firmware_that_says_its_first_words_on_two_consoles_is_one_boot() -> None:
    lines = [
        FIRST_LINES["coreboot"],
        FIRST_LINES["seabios"],
        "BUILD: gcc",
        FIRST_LINES["seabios"],
        "BUILD: gcc",
    ]
    assert imported(stamped(lines)).boots == 1


def test_a_boot_without_its_kernels_first_line_ends_where_the_next_kernel_begins() -> None:
    rows = [(49, "[    0.233162] pid_max"), (50, "[    1.900000] Run /init as init process")]
    rows += [
        (55, "[    0.000000] Linux version 6.1.0 (a@b) (gcc) #1"),
        (56, "[    1.900000] Run /init as init process"),
    ]
    text = "".join(f"2025-10-23T10:49:{at}.000000+08:00 nas kernel: {words}\n" for at, words in rows)
    found = imported(text.encode())
    assert found.boots == 2
    assert "kernel-entry" not in found.trace(1).milestones()


def test_a_kernel_that_speaks_before_it_names_its_version_begins_with_these_words() -> None:
    first = [
        "[    0.000000] Initializing cgroup subsys cpuset",
        "[    0.000000] Linux version 3.13.0 (a@b) (gcc) #1",
    ]
    boot = [*first, "[    1.000000] usb", *(f"[    1.{n:03}137] line {n}" for n in range(30))]
    again = [*first, "[    1.000000] usb", *(f"[    1.{n:03}149] line {n}" for n in range(30))]
    text = "".join(f"Apr 10 09:26:26 host kernel: {line}\n" for line in [*boot, *again])
    logs = [boot.log for boot in imported(text.encode()).files[0].reading.boots]
    assert [len(log) for log in logs] == [len(boot), len(again)]


def test_the_end_of_the_system_before_is_no_boot_of_a_journal() -> None:
    rows = ["09:00:00 pc systemd[1]: Unmounted /boot.", "09:00:01 pc systemd[1]: Shutting down."]
    rows += ["-- Reboot --", "09:10:00 pc kernel: Linux version 5.13.0 (a@b) (gcc) #1"]
    rows += [f"09:10:0{n} pc systemd[1]: Started unit {n}." for n in range(9)]
    text = "".join(row if row.startswith("--") else f"Feb 09 {row}" for row in [r + "\n" for r in rows])
    assert imported(text.encode()).boots == 1


def test_a_boot_loader_that_starts_another_one_as_if_it_were_a_kernel_starts_none() -> None:
    lines = [
        "U-Boot 2017.07-RELEASE (Sep 29 2017)",
        "Starting kernel ...",
        "U-Boot 2017.07-DEVEL (Feb 16 2026)",
    ]
    assert list(imported(stamped(lines)).trace(1).milestones()) == ["bootloader"]
    found = imported(stamped([*lines, "Starting kernel ...", ARM64, *LATER])).trace(1)
    assert found.milestones()["kernel-start"] == 300_000_000


# ---- forms ----


@pytest.mark.parametrize(
    "spelled",
    ["<6>[    {}] c0      1 ", "<6>[    {} / 01-01 00:00:00.000][0] ", "[    {}] [    {}]@0 "],
)
def test_what_vendors_kernels_put_behind_the_stamp(spelled: str) -> None:
    stamps = ("0.000000", "1.000000", "2.000000")
    words = ("Linux version 3.0.40 (a@b) (gcc) #1", "usb: line", "Freeing init memory: 232K")
    text = "".join(spelled.format(at, at) + said + "\n" for at, said in zip(stamps, words, strict=True))
    assert best(text) in ("dmesg", "plain")
    assert imported(text.encode()).trace(1).milestones() == {"kernel-entry": 0, "kernel-done": 2 * SECOND}


def test_memory_that_another_task_frees_is_not_the_end_of_the_kernel() -> None:
    text = "[    0.000000] [0:        swapper:    0] Linux version 3.18 (a@b) (gcc) #1\n"
    text += "[    4.894533] [3:           init:    1] init: init first stage started!\n"
    text += "[   13.044684] [3:             sh:  876] Freeing unused kernel memory: 80K\n"
    trace = imported(text.encode()).trace(1)
    assert trace.milestones() == {"kernel-entry": 0}
    assert (phases(trace), trace.spans("phase")[1].start_ns) == (["kernel", "init"], 4_894_533_000)


@pytest.mark.parametrize("month", ["fev", "Okt", "févr.", "янв", "mag"])
def test_a_journal_in_another_language(month: str) -> None:
    words = [
        "kernel: Linux version 5.10 (a@b) (gcc) #1",
        "kernel: Run /init as init process",
        "systemd[1]: x",
    ]
    text = "".join(f"{month} 08 11:15:5{n} host {said}\n" for n, said in enumerate(words))
    assert best(text) == "journalctl"
    assert imported(text.encode()).trace(1).milestones() == {"kernel-entry": 0, "init": SECOND}


def test_the_log_of_anaconda() -> None:
    rows = ["32 INFO kernel:imklog 5.8.10", "34 NOTICE kernel:Linux version 2.6.32 (a@b) (gcc) #1"]
    rows += [
        "52 INFO kernel:Freeing unused kernel memory: 1276k freed",
        "60 INFO NetworkManager[9]: <info> x",
    ]
    found = imported("".join(f"20:50:54,5{row}\n" for row in rows).encode())
    assert found.trace(1).milestones() == {"kernel-entry": 2_000_000, "kernel-done": 20_000_000}
    assert not found.files[0].reading.missed


def test_syslogds_own_words_have_their_date() -> None:
    rows = [
        "06:25:37 box syslogd 1.5.0#6.2: restart.",
        "06:38:25 box kernel: Linux version 2.6 (a@b) (gcc) #1",
    ]
    rows += [f"06:38:3{n} box smbd[2]: line" for n in range(9)] + ["06:40:00 box exiting on signal 15"]
    found = imported("".join(f"Jul  7 {row}\n" for row in rows).encode())
    assert (found.trace(1).milestones(), found.trace(1).other_ns) == ({"kernel-entry": 0}, 768 * SECOND)
    assert not found.files[0].reading.missed


def test_colours_that_lost_their_control_character() -> None:
    lines = split(b"[[0;32m  OK  [0m] Reached target x\n[0;1;31mred[0m\narray [0;1] m[0m\n")
    assert list(lines) == ["[  OK  ] Reached target x", "red", "array [0;1] m[0m"]


def test_loaders_in_a_page_behind_blanks() -> None:
    names = ("bl1", "bl2", "bl31", "bootloader")
    text = "Boot trace\n----------\n\n::\n\n" + "".join(f"    {FIRST_LINES[name]}\n" for name in names)
    assert [row[0] for row in imported(text.encode()).trace(1).tables[0].rows] == list(names)


def test_a_kernels_first_line_behind_other_words_without_a_stamp() -> None:
    text = "U-Boot 2010 (Jan 08 2024)\n[ohio] Clk = 625 Hz     Linux version 2.6.13 (a@b) (gcc version 3)\n"
    rows = imported(text.encode()).trace(1).tables[0].rows
    assert [row[0] for row in rows] == ["bootloader", "kernel-entry"]


def test_a_kernels_log_without_stamps_whose_head_is_cut() -> None:
    text = "6>TCP reno registered\nNET: Registered protocol family 1\nFreeing init memory: 112K\nstarting\n"
    assert [row[0] for row in imported(text.encode()).trace(1).tables[0].rows] == [
        "kernel-seen",
        "kernel-done",
    ]


# ---- clocks ----


def test_the_milliseconds_of_a_firmware_are_no_seconds() -> None:
    text = f"[7.379621]{FIRST_LINES['plm'][7:]}\n[11999.025978]ERROR: x\n{FIRST_LINES['bootloader']}\n"
    found = imported(text.encode()).trace(1)
    assert (best(text), found.milestones()) == ("plain", {})
    assert [row[0] for row in found.tables[0].rows] == ["plm", "bootloader"]


def test_a_device_that_is_still_deferred_keeps_the_calendars_time() -> None:
    rows = ["36 pc kernel: [    0.000000] Linux version 6.4 (a@b) (gcc) #1", "36 pc systemd[1]: Started a."]
    rows += [
        "38 pc systemd[1]: Startup finished in 1s.",
        "40 pc kernel: [   19.176031] platform x: deferred probe pending",
    ]
    found = imported("".join(f"Apr 23 09:32:{row}\n" for row in rows).encode()).trace(1)
    assert found.milestones() == {"kernel-entry": 0, "systemd-finished": 2 * SECOND}


def test_a_calendar_that_was_set_forward_is_no_silence() -> None:
    rows = ["Apr 18 01:08:12 pi kernel: [    0.000000] Linux version 4.14 (a@b) (gcc) #1"]
    rows += ["Apr 18 01:08:13 pi kernel: [    1.000000] Run /sbin/init as init process"]
    rows += [f"Jun 11 00:15:5{n} pi kernel: [   10.{n}00000] eth0: line {n}" for n in range(9)]
    found = imported("\n".join([*rows, ""]).encode())
    assert found.trace(1).total_ns == 10 * SECOND + SECOND * 8
    assert [r.count for r in found.files[0].reading.repairs if "set forward" in r.what] == [1]


def test_a_system_that_runs_is_no_kernel_where_no_line_of_init_is() -> None:
    rows = [
        "09:00:00 pc kernel: Linux version 5.13.0 (a@b) (gcc) #1",
        "09:00:46 pc su[9]: x",
        "11:13:33 pc su[9]: y",
    ]
    trace = imported("".join(f"Feb 09 {row}\n" for row in rows).encode()).trace(1)
    assert trace.total_ns == 46 * SECOND


def test_a_kernel_that_gives_up_is_told() -> None:
    text = f"{KERNEL}[    4.946791] Kernel panic - not syncing: Attempted to kill init!\n"
    trace = imported(text.encode()).trace(1)
    assert trace.failure and trace.failure.line == "Kernel panic - not syncing: Attempted to kill init!"


def test_a_guests_kernel_that_names_its_host_is_no_hypervisor_that_starts() -> None:
    text = KERNEL.replace("[    0.5", "[    0.000000] Xen version 4.2.\n[    0.5")
    found = imported(text.encode())
    assert (best(text), found.boots, found.trace(1).milestones()["init"]) == ("dmesg", 1, 2 * SECOND)


def test_one_line_of_a_kernels_log_that_came_late_moves_no_other() -> None:
    late = "[    1.518610] systemd-udevd[153]: renamed network interface\n"
    text = KERNEL + f"[    3.735056] usb 1-1: new\n{late}[    3.800000] usb 1-2: new\n"
    found = imported(text.encode())
    assert found.trace(1).total_ns == 3_800_000_000
    assert not [r for r in found.files[0].reading.repairs if "went back" in r.what]


def test_a_syslog_with_many_lines_of_no_program_is_one() -> None:
    rows = [f"kernel: [    {n}.000000] line {n}" for n in range(9)] + [
        "ubuntu ubiquity:  x",
        "/plugin.py: y",
    ] * 9
    assert best("".join(f"Jan 10 08:34:49 ubuntu {row}\n" for row in rows)) == "journalctl"


def test_systemd_without_its_number_says_that_it_is_through() -> None:
    rows = ["18 ip kernel: Linux version 3.10 (a@b) (gcc) #1", "19 ip systemd: Switching root."]
    rows += ["21 ip systemd: Startup finished in 1.6s (kernel) + 1min 140ms (userspace).", "30 ip systemd: x"]
    trace = imported("".join(f"Feb 12 23:17:{row}\n" for row in rows).encode()).trace(1)
    assert (phases(trace), trace.total_ns) == (["kernel+initramfs", "init"], 3 * SECOND)


def test_a_console_that_an_editor_saved_as_rtf() -> None:
    rows = "".join(f"\\par \\cf0\\highlight0 {line}\\cf1 \r\n" for line in KERNEL.splitlines())
    text = (
        "{\\rtf1\\ansi{\\fonttbl{\\f0 Consolas;}}{\\*\\generator x;}\r\n"
        + rows
        + "\\par \\'41\\{\\}\\\\}\r\n"
    )
    found = imported(text.encode())
    assert found.trace(1).milestones() == {"kernel-entry": 0, "init": 2 * SECOND}
    assert found.files[0].reading.boots[0].log.text(4) == "A{}\\"


def test_redboots_last_words() -> None:
    lines = [
        FIRST_LINES["bootloader"],
        "TOM Now booting linux kernel:",
        " Base address 0x80080000 Entry 0x80100000",
    ]
    assert list(imported(stamped(lines)).trace(1).milestones()) == ["bootloader", "kernel-start"]
