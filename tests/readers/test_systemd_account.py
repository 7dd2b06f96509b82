# SPDX-License-Identifier: Apache-2.0
"""A log that read the kernel's lines late: systemd's `Startup finished` tells when kernel and init began."""

from __future__ import annotations

from bootscope.timeline.trace import LENGTH, OR_MORE, Trace

from .test_published_logs import SECOND
from .test_stages import imported, phases

MS = SECOND // 1000
KERNEL = "kernel: Linux version 6.1.0 (a@b) (gcc) #1"
FREED = "kernel: Freeing unused kernel image (initmem) memory: 2048K"
RUN = "kernel: Run /sbin/init as init process"
JOURNALD = "systemd-journald[300]: Journal started"
TARGET = "systemd[1]: Reached target graphical.target - Graphical Interface."


def trace(*rows: str) -> Trace:
    """Of a syslog of 10 o'clock: each row is minutes, seconds and words."""
    text = "".join(f"Feb 08 10:{row[:5]} board {row[6:]}\n" for row in rows)
    return imported(text.encode()).trace(1)


def finished(parts: str) -> str:
    return f"systemd[1]: Startup finished in {parts} = 1s."


def test_lines_of_one_second_are_a_kernel_of_as_long_as_systemd_says() -> None:
    stamped = [f"00:09 kernel: [    {n}.000000] line {n}" for n in range(3)]
    end = "00:16 " + finished("2.187s (kernel) + 14.192s (userspace)")
    found = trace("00:09 kernel: [    0.000000] Linux version 6.1.0 (a@b) #1", *stamped, f"00:09 {RUN}", end)
    assert found.milestones() == {"kernel-entry": 0, "init": 2187 * MS, "systemd-finished": 16_379 * MS}
    assert phases(found) == ["kernel", "init"]


def test_firmware_and_loader_are_stages_before_a_kernel_that_journald_found() -> None:
    end = "00:09 " + finished("21.674s (firmware) + 6.225s (loader) + 1.134s (kernel) + 9.448s (userspace)")
    found = trace(f"00:00 {KERNEL}", f"00:00 {FREED}", f"00:00 {RUN}", f"00:00 {JOURNALD}", end)
    assert phases(found) == ["firmware", "loader", "kernel", "init"]
    assert found.milestones() == {
        "firmware": 0,
        "loader": 21_674 * MS,
        "kernel-entry": 27_899 * MS,
        "init": 29_033 * MS,
        "systemd-finished": 38_481 * MS,
    }
    errors = {point.name: point.error_ns for point in found.points if point.kind == "milestone"}
    assert errors["init"] == SECOND + 4 * MS, "four parts, each cut to milliseconds"


def test_lines_of_the_system_before_are_not_of_the_boot() -> None:
    before = ("00:00 sshd[7]: closed", "00:01 systemd-shutdown[1]: Rebooting.")
    end = "01:09 " + finished("2s (kernel) + 9s (userspace)")
    found = trace(*before, f"01:01 {KERNEL}", f"01:01 {RUN}", f"01:01 {JOURNALD}", end)
    assert found.milestones()["kernel-entry"] == 0
    assert found.other_ns == 58 * SECOND
    assert phases(found) == ["kernel", "init"]
    assert any(note.startswith("2 lines before 'kernel-entry'") for note in found.notes)


def test_an_initramfs_is_the_first_init() -> None:
    end = "00:17 " + finished("4s (kernel) + 12s (initrd) + 4s (userspace)")
    found = trace(
        f"00:01 {KERNEL}", f"00:01 {FREED}", f"00:01 {JOURNALD}", "00:13 systemd[1]: Switching root.", end
    )
    assert phases(found) == ["kernel", "initramfs", "init"]
    assert (found.milestones()["init"], found.milestones()["switch-root"]) == (4 * SECOND, 16 * SECOND)


def test_a_kernel_whose_head_is_lost_began_when_systemd_says() -> None:
    end = "00:14 " + finished("10s (kernel) + 15s (userspace)")
    found = trace("00:00 kernel: [    0.233162] pci 0000:00:18.6: x", f"00:00 {RUN}", end)
    assert found.milestones() == {"kernel-entry": 0, "init": 10 * SECOND, "systemd-finished": 25 * SECOND}


def test_a_kernel_whose_dates_can_be_true_keeps_them() -> None:
    end = "00:12 " + finished("4s (kernel) + 7s (userspace)")
    found = trace(f"00:01 {KERNEL}", f"00:05 {RUN}", end)
    assert found.milestones() == {"kernel-entry": 0, "init": 4 * SECOND, "systemd-finished": 11 * SECOND}


def test_a_container_without_a_kernel_is_not_given_one() -> None:
    found = trace("00:01 systemd[1]: Starting a.", f"00:03 {TARGET}", "00:04 " + finished("3s (userspace)"))
    assert "kernel-entry" not in found.milestones()


def test_a_kernel_that_was_read_in_one_second_took_longer() -> None:
    found = trace(f"00:01 {KERNEL}", f"00:01 {RUN}", "00:09 sh[7]: ready")
    lengths = {span.name: span.detail.get(LENGTH) for span in found.tracks[0].spans}
    assert lengths == {"kernel": OR_MORE, "init": OR_MORE}


def test_a_clock_of_jiffies_begins_before_its_counter_is_full() -> None:
    text = "[17179569.184000] Linux version 2.6.23 (a@b) #1\n[17179570.184000] Freeing init memory: 92K\n"
    found = imported(text.encode()).trace(1)
    assert phases(found) == ["kernel", "init"]
    assert found.total_ns == SECOND
