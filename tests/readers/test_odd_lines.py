# SPDX-License-Identifier: Apache-2.0
"""Lines of other people's logs that look odd: noise, colours written out, unusual stamps, other clocks.

Each case is the smallest one that shows it; the times are ours.
"""

from __future__ import annotations

import pytest

from bootscope.readers.base import Source
from bootscope.readers.detect import recognised
from bootscope.readers.lines import split

from .test_stages import FIRST_LINES, imported, phases

KERNEL = """\
[    0.000000] Linux version 6.1.0 (a@b) (gcc) #1
[    0.500000] devtmpfs: initialized
[    2.000000] Run /sbin/init as init process
"""
SECOND = 1_000_000_000


def best(data: bytes) -> str:
    """The name of the format that data is taken for."""
    found = recognised(Source("x.log", data))
    return found[0].reader.name if found else ""


def test_dates_of_a_program_on_the_board_are_no_stamps_of_a_host() -> None:
    boot = [FIRST_LINES["bootloader"], "Starting kernel ...", "Linux version 3.0.8 (a@b) (gcc) #1"]
    boot += ["Freeing init memory: 120K"]
    dated = [f"[1970-01-01 01:00:{second:02}] [-main-180]crit:init system" for second in range(3)]
    found = imported("\n".join([*boot, *dated, "camera login: ", ""]).encode()).trace(1)
    assert (found.timed, found.milestones()) == (False, {})


def test_a_host_that_was_told_to_stamp_later_still_counts() -> None:
    dated = [f"[2026-11-24 12:00:{second:02}] line" for second in range(30)]
    assert best("\n".join([FIRST_LINES["bootloader"], *dated, ""]).encode()) == "minicom"


def test_the_cpu_behind_the_kernels_stamp() -> None:
    text = KERNEL.replace("00]", "00@2]").encode()
    found = imported(text).trace(1)
    assert found.milestones() == {"kernel-entry": 0, "init": 2 * SECOND}


@pytest.mark.parametrize("noise", [b"\xe0", b"\xef\xbf\xbd", b"\xf8\x80\x7f\x01"])
def test_noise_before_a_programs_first_words(noise: bytes) -> None:
    text = noise + f"{FIRST_LINES['ddr-init']}\n{FIRST_LINES['miniloader']}\n{KERNEL}".encode()
    found = imported(text)
    assert [row[0] for row in found.trace(1).tables[0].rows] == ["ddr-init", "miniloader"]
    (repair,) = (r for r in found.files[0].reading.repairs if "noise" in r.what)
    assert (repair.count, repair.first_line) == (1, 1)


def test_letters_of_other_languages_are_no_noise() -> None:
    text = f"{FIRST_LINES['miniloader']}\nGrüße: {FIRST_LINES['ddr-init']}\n{KERNEL}"
    assert [row[0] for row in imported(text.encode()).trace(1).tables[0].rows] == ["miniloader"]


def test_colours_that_are_written_out() -> None:
    lines = split(b"first\n^[[1m[NOTE ]  coreboot^[[0m\nkey ^[[A\n")
    assert list(lines) == ["first", "[NOTE ]  coreboot", "key ^[[A"]
    assert [(r.what, r.count, r.first_line) for r in lines.repairs] == [
        ("terminal escape codes written out as ^[ removed", 2, 2)
    ]


def test_a_syslog_with_facility_and_level() -> None:
    lines = [
        "Jan  1 00:00:04 cam syslog.info syslogd started: BusyBox v1.20.2",
        "Jan  1 00:00:04 cam user.info kernel: Booting Linux on physical CPU 0",
        "Jan  1 00:00:04 cam user.notice kernel: Linux version 3.4.35 (a@b) (gcc) #25",
        "Jan  1 00:00:05 cam user.info kernel: Freeing init memory: 104K",
        "Jan  1 00:00:17 cam user.debug daemon: battery",
    ]
    text = "\n".join([*lines, "Jan  1 08:00:00 cam user.debug daemon: the clock was set", ""])
    assert best(text.encode()) == "journalctl"
    found = imported(text.encode()).trace(1)
    assert found.milestones() == {"kernel-entry": 0, "kernel-done": SECOND}
    assert not [note for note in found.notes if "ended" in note]
    later = "\n".join([*lines, "Jan  1 08:00:00 cam user.debug daemon: later", ""]).replace(
        "Jan  1", "Jan  2"
    )
    assert [note for note in imported(later.encode()).trace(1).notes if "the boot ended at" in note]


def test_lines_without_a_stamp_may_fill_a_silence() -> None:
    late = "[  200.000000] usb 1-1: new high-speed USB device number 2\n"
    silent = imported(f"{KERNEL}{late}".encode()).trace(1)
    asking = imported(f"{KERNEL}IP-Config: no response after 100 secs - giving up\n{late}".encode()).trace(1)
    assert (silent.total_ns, asking.total_ns) == (2 * SECOND, 200 * SECOND)


def test_levels_without_stamps_are_a_kernels_log() -> None:
    text = (
        b"<5>Linux version 3.4.11 (a@b) (gcc) #3\n<4>prom init\n<6>Freeing unused kernel memory: 216k freed\n"
    )
    assert best(text) == "plain"
    found = imported(text).trace(1)
    assert not found.timed
    assert [row[0] for row in found.tables[0].rows] == ["kernel-entry", "kernel-done"]


def test_a_kernels_log_deep_in_a_report() -> None:
    report = b"# CONFIG_A is not set\n" * 20_000
    text = report + KERNEL.encode() + b"\n==== top ====\n" + b"  1 root\n" * 500
    assert best(report) == ""
    assert best(text) == "plain"
    assert imported(text).trace(1).milestones() == {"kernel-entry": 0, "init": 2 * SECOND}


def test_a_stamp_of_fewer_places_is_the_kernels_before_its_first_words() -> None:
    text = f"{FIRST_LINES['bootloader']}\nStarting kernel ...\n{KERNEL.replace('[    ', '[  ')}"
    found = imported(text.encode()).trace(1)
    assert found.milestones() == {"kernel-entry": 0, "init": 2 * SECOND}
    assert phases(found)[-1] == "init"


@pytest.mark.parametrize("words", ["image memory: 2464K", "image (initmem) memory: 2464K", "memory: 2464K"])
def test_a_kernel_that_says_only_what_it_freed_ended_there(words: str) -> None:
    # Linux 4.15 to 4.18 say `image memory` and not yet `Run /init`.
    log = "[    0.000000] Linux version 4.18.0 (a@b) (gcc) #1\n[    0.500000] devtmpfs: initialized\n"
    log += (
        f"[    2.909948] Freeing unused kernel {words}\n[    3.500000] systemd[1]: Detected virtualization\n"
    )
    trace = imported(log.encode()).trace(1)
    assert trace.milestones()["kernel-done"] == 2_909_948_000
    assert "init" in phases(trace)


@pytest.mark.parametrize(
    ("line", "stage"),
    [
        ("NOTICE:  BL3-1: v1.0(debug):2da3090", "bl31"),
        ("---Realtek RTL8197F boot code at 2018.03.20-14:37+0800 v3.4T (999MHz)", "bootloader"),
        ("(AVM) EVA Revision: 7.3.0.0.0 Git: 19689e1b Build: 1.11892", "bootloader"),
    ],
)
def test_old_and_makers_own_first_lines_are_stages(line: str, stage: str) -> None:
    log = f"[0.000001 0.000001] {line}\n[1.000000 0.999999] Linux version 4.9.0 (a@b) (gcc) #1\n"
    log += "[2.000000 1.000000] Run /sbin/init as init process\n"
    assert phases(imported(log.encode()).trace(1))[:2] == [stage, "kernel"]


def test_the_cpu_alone_before_a_kernels_words() -> None:
    log = "[    0.000000][0] Linux version 4.4.60 (a@b) (gcc) #1\n[    1.000000][2] smp: up\n"
    log += "[    4.860454][1] Run /sbin/init as init process\n"
    assert imported(log.encode()).trace(1).milestones() == {"kernel-entry": 0, "init": 4_860_454_000}


def test_boots_with_the_same_ticks_are_still_boots() -> None:
    """Before its clock is calibrated every boot of a kernel has the same stamps, of whole ticks."""
    ticks = [f"[    0.{4 * (n // 40):03}000] tick line {n}" for n in range(300)]
    boots = []
    for number in range(1, 4):
        fine = [f"[    1.{n:03}{number}37] fine line {n}" for n in range(20)]
        words = ["[    0.000000] Linux version 4.15.0 (a@b) (gcc) #1", *ticks, *fine]
        boots += [f"Apr 1{number} 09:26:26 host kernel: {line}" for line in words]
    assert len(imported("\n".join([*boots, ""]).encode()).joined.groups) == 3


def test_a_journal_whose_initrd_had_another_name() -> None:
    lines = [f"Jun 22 13:16:4{n // 10} archlinux kernel: ACPI: line {n}" for n in range(60)]
    lines += [f"Jun 22 13:17:0{n // 10} rager systemd[1]: Started unit {n}." for n in range(60)]
    assert best("\n".join([*lines, ""]).encode()) == "journalctl"


def test_bytes_of_another_rate_before_a_kernel_are_another_boot() -> None:
    version = "Linux version 3.10.27 (a@b) (gcc version 4.8.5) #29"
    boot = [*(f"line {number}" for number in range(30)), "Freeing unused kernel memory: 176K"]
    noise = b"/ # \xef\xbf\xbd\x18\xef\xbf\xbdUPU\x16rR\xef\xbf\xbd"
    text = "\n".join([version, *boot, ""]).encode() + noise + "\n".join([version, *boot, ""]).encode()
    found = imported(text)
    assert len(found.joined.groups) == 2
    assert [r.first_line for r in found.files[0].reading.repairs if "noise" in r.what] == [33]


def test_a_loader_that_is_asked_for_its_version_did_not_start_again() -> None:
    first = FIRST_LINES["bootloader"]
    asked = [first, "", "DRAM:  512 MiB", "=> version", first, "arm-linux-gcc (OpenWrt GCC 5.3.0) 5.3.0", ""]
    again = [*asked[:3], "=> reset", "resetting ...", first, "", "DRAM:  512 MiB", ""]
    counts = [len(imported("\n".join(lines).encode()).joined.groups) for lines in (asked, again)]
    assert counts == [1, 2]


def test_a_second_clock_behind_a_caller() -> None:
    words = ["Booting Linux on physical CPU 0x0", "Run /init as init process"]
    lines = [f"[    {n}.000000] ({n})[{n}:swapper/0][    {n}.000001]@{n} {w}" for n, w in enumerate(words)]
    found = imported("\n".join([*lines, ""]).encode()).trace(1)
    assert found.milestones() == {"kernel-entry": 0, "init": SECOND}


def test_a_calendar_is_mended_from_the_boot_on() -> None:
    """The system before slept for an hour: that is no matter of the boot."""
    lines = [
        "May 21 20:00:00 host kernel: [ 1000.000000] PM: suspend entry",
        "May 21 21:00:00 host kernel: [ 1001.000000] PM: suspend exit",
        "May 21 21:00:01 host systemd-sleep[612]: System returned from sleep",
        "May 21 21:00:09 host kernel: [    0.000000] Linux version 6.6.0 (a@b) (gcc) #1",
        "May 21 21:00:10 host kernel: [    1.000000] Run /sbin/init as init process",
        "May 21 22:00:10 host kernel: [    2.000000] usb 1-1: new high-speed USB device number 2",
    ]
    trace = imported("\n".join([*lines, ""]).encode()).trace(1)
    assert trace.milestones() == {"kernel-entry": 0, "init": SECOND}
    assert (trace.total_ns, trace.other_ns) == (2 * SECOND, 3609 * SECOND)


def test_a_calendar_that_nobody_sets_shows_silences() -> None:
    lines = [
        "Jan  1 00:00:07 board kernel: [    0.000000] Booting Linux on physical CPU 0x0",
        "Jan  1 00:00:07 board kernel: [    3.000000] Freeing unused kernel memory: 356K",
        "Jan  1 00:00:21 board ntpdate[1696]: no server suitable for synchronization found",
        "Jan  1 00:17:01 board CRON[5282]: (root) CMD (run-parts /etc/cron.hourly)",
    ]
    trace = imported("\n".join([*lines, ""]).encode()).trace(1)
    assert trace.total_ns == 14 * SECOND


def test_a_console_whose_kernel_names_no_version() -> None:
    lines = ["VFS: Mounted root (ext4 filesystem) on device 98:0.", "devtmpfs: mounted"]
    lines += ["systemd[1]: systemd 241 running in system mode. (+PAM +AUDIT)", "", "node1 login: "]
    text = "\n".join(lines).encode()
    assert best(text) == "plain"
    assert [row[0] for row in imported(text).trace(1).tables[0].rows] == ["init-seen", "login"]


@pytest.mark.parametrize("word", ["Kernel:", "Restarting"])
def test_a_report_that_names_the_kernel_is_not_where_it_begins(word: str) -> None:
    text = (
        f"== dumpstate ==\n{word} Linux version 6.1.0 (a@b) (gcc version 12) #1\n------ KERNEL LOG ------\n"
    )
    found = imported((text + KERNEL.replace(" (gcc)", " (gcc version 12)")).encode()).trace(1)
    assert found.milestones() == {"kernel-entry": 0, "init": 2 * SECOND}
