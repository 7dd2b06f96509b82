# SPDX-License-Identifier: Apache-2.0
"""Boots that fail, and which lines of a log are the boot's: not those of the system before it.

Each case is the smallest one that shows it; the times and names are ours.
"""

from __future__ import annotations

import pytest

from bootscope.analysis.silences import quiet
from bootscope.importing.files import Understood
from bootscope.timeline.failure import LOCKUP, OOPS, PANIC, PROMPT

from .test_stages import imported

SECOND = 1_000_000_000
MS = 1_000_000
KERNEL = "[    0.000000] Linux version 6.1.0 (a@b) (gcc) #1\n[    1.000000] devtmpfs: initialized\n"
RUN = "[    2.000000] Run /sbin/init as init process\n"
DIES = "[    4.500000] Kernel panic - not syncing: Attempted to kill init! exitcode=0x00000100\n"
TRACE = "[    4.600000] ---[ end Kernel panic - not syncing: Attempted to kill init! ]---\n"


def read(text: str) -> Understood:
    return imported(text.encode())


def test_a_boot_that_panics_came_to_no_end_and_takes_no_known_time() -> None:
    trace = read(KERNEL + RUN + DIES + TRACE).trace(1)
    found = trace.failure
    assert found is not None
    assert (found.kind, found.at_ns, found.phase, found.ends) == (PANIC, 4_500 * MS, "init", True)
    assert found.line.startswith("Kernel panic - not syncing: Attempted to kill init!")
    assert found.words == "the kernel panicked at 4.500 s in init: the boot did not come to its end"
    assert (trace.total_ns, trace.known_total_ns) == (4_500 * MS, None)
    assert [(s.name, s.detail.get("length")) for s in trace.spans("phase")] == [
        ("kernel", None),
        ("init", "or more"),
    ]
    assert trace.notes == (
        "the boot failed at 4.500000 s; what follows, up to 4.600000 s, is not part of it",
    )


def test_the_oops_before_a_panic_is_its_cause() -> None:
    oops = "[    4.400000] Unable to handle kernel paging request at virtual address ffff\n"
    found = read(KERNEL + RUN + oops + DIES).trace(1).failure
    assert found is not None
    assert found.cause == "Unable to handle kernel paging request at virtual address ffff"


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("Kernel panic - not syncing: VFS: Unable to mount root fs on unknown-block(0,0)", PANIC),
        ("Kernel panic: No init found.  Try passing init= option to kernel.", PANIC),
        ("Internal error: Oops: 5 [#1] PREEMPT SMP ARM", OOPS),
        ("Oops[#1]:", OOPS),
        ("BUG: kernel NULL pointer dereference, address: 0000000000000010", OOPS),
        ("kernel BUG at fs/inode.c:300!", OOPS),
        ("watchdog: BUG: soft lockup - CPU#1 stuck for 22s! [kworker/1:1:40]", LOCKUP),
        ("pstore: registered blk as backend for kmsg(Oops,panic_write)", None),
        ("sysctl: kernel.panic_on_oops = 1", None),
    ],
)  # fmt: skip
def test_words_of_the_kernel_that_tell_a_failure(line: str, kind: str | None) -> None:
    found = read(f"{KERNEL}[    1.500000] {line}\n").trace(1).failure
    assert (found.kind if found else None) == kind
    if found:
        assert found.ends == (kind == PANIC), "only after a panic nothing goes on"


def test_what_fails_after_the_boots_end_is_not_the_boots() -> None:
    trace = read(
        f"{KERNEL}{RUN}[    3.000000] board login: \n[   30.000000] Oops: 0003 [#1] SMP\n{DIES}"
    ).trace(1)
    assert trace.failure is not None
    assert (trace.failure.after, trace.failure.ends) == (True, False)
    assert trace.failure.words.startswith("after the boot's end ")
    assert trace.total_ns == 3 * SECOND


def test_a_loader_that_stops_at_its_prompt_started_no_kernel() -> None:
    text = "U-Boot 2024.01 (Jan 01 2024 - 00:00:00 +0000)\n\nHit any key to stop autoboot:  0\n"
    text += "Wrong Image Format for bootm command\nERROR: can't get kernel image!\n=> \n"
    found = read(text).trace(1).failure
    assert found is not None
    assert (found.kind, found.at_ns, found.ends) == (PROMPT, None, True)
    assert read(text + "=> boot\nStarting kernel ...\n\n" + KERNEL).trace(1).failure is None


def test_a_boot_whose_end_is_not_seen_has_no_exact_length_and_no_shares() -> None:
    trace = read(f"{KERNEL}{RUN}[    5.000000] eth0: link up\n").trace(1)
    assert trace.known_total_ns is None
    assert trace.spans("phase")[-1].detail["length"] == "or more"


# ---- which lines are the boot's ----

BEFORE = "2024-03-01T10:00:00.000000+00:00 board systemd-shutdown[1]: Rebooting.\n"
JOURNAL = (
    "2024-03-03T10:00:00.000000+00:00 board kernel: Linux version 6.1.0 (a@b) (gcc) #1\n"
    "2024-03-03T10:00:01.000000+00:00 board kernel: Run /sbin/init as init process\n"
    "2024-03-03T10:00:04.000000+00:00 board systemd[1]: Startup finished in 1s + 3s = 4s.\n"
)


def test_the_system_that_ran_before_is_no_phase_no_silence_and_no_share() -> None:
    u = read(BEFORE * 3 + JOURNAL)
    trace = u.trace(u.boots)
    assert [s.name for s in trace.spans("phase")] == ["kernel", "init"]
    assert trace.known_total_ns == 4 * SECOND
    assert all(s.duration_ns <= 3 * SECOND for s in quiet(u, u.boots, trace, 9))
    assert any("are of the system that ran before" in note for note in trace.notes)


def test_lines_of_a_loader_without_a_stamp_end_no_silence() -> None:
    u = read(
        "GNU GRUB  version 2.06\nLoading Linux ...\n"
        + KERNEL.replace("0.000000] Linux version 6.1.0", "0.900000] x")
    )
    assert not [s for s in quiet(u, 1, u.trace(1), 9) if s.before == b"(start)"]


def test_a_ring_buffer_without_its_head_has_no_silence_and_no_phase_before_it() -> None:
    u = read(
        "".join(f"[   {n}.000000] eth0: link {n}\n" for n in range(11, 15)) + "[   15.000000] systemd[1]: x\n"
    )
    trace = u.trace(1)
    assert trace.spans("phase")[0].start_ns == 11 * SECOND
    assert [s.duration_ns for s in quiet(u, 1, trace, 9)] == [SECOND] * 4
    assert any(note.startswith("the head of this log is lost") for note in trace.notes)


def test_a_ring_buffer_of_a_system_that_runs_shows_no_boot() -> None:
    u = read("".join(f"[ 4300.{n}00000] battery: {n}\n" for n in range(8)))
    trace = u.trace(1)
    assert trace.running
    assert not trace.spans("phase")
    assert not quiet(u, 1, trace, 9)


def test_a_journal_that_read_the_kernels_lines_late_tells_only_bounds() -> None:
    lines = ["Linux version 6.1.0 (a@b) (gcc) #1", *(f"driver {n}: probed" for n in range(40))]
    text = "".join(f"[    3.7{n:02}000] board kernel: {line}\n" for n, line in enumerate(lines))
    text += "[    3.790000] board kernel: Freeing unused kernel memory: 2048K\n"
    text += (
        "[    3.791000] board kernel: Run /sbin/init as init process\n[    5.000000] board systemd[1]: x\n"
    )
    trace = read(text).trace(1)
    assert [(s.name, s.start_ns, s.detail.get("length")) for s in trace.spans("phase")] == [
        ("kernel", 0, "or less"),
        ("init", 3_791 * MS, "or more"),
    ]
    assert trace.milestones() == {"kernel-entry": 0}
    assert any("stamped the kernel's lines when it read them" in note for note in trace.notes)


def test_a_journal_that_says_when_it_began_ends_no_silence_with_the_kernels_lines() -> None:
    told = ["Linux version 6.1.0 (a@b) (gcc) #1", "Run /sbin/init as init process"]
    text = "".join(f"[    3.7{n:02}000] board kernel: {line}\n" for n, line in enumerate(told * 5))
    text += "[    3.800000] board systemd-journald[200]: Journal started\n"
    text += "[    3.900000] board systemd[1]: a\n[    4.500000] board systemd[1]: b\n"
    u = read(text)
    assert [s.duration_ns for s in quiet(u, 1, u.trace(1), 9)] == [600 * MS, 100 * MS]


def test_a_loader_that_resets_at_once_is_not_what_is_shown() -> None:
    loader = "U-Boot 2024.01 (Jan 01 2024 - 00:00:00 +0000)\n"
    u = read(f"{loader}resetting ...\n{loader}Starting kernel ...\n\n{KERNEL}{RUN}board login: \n")
    assert (u.boots, u.shown) == (2, 2)


def boot(seed: int, end: str) -> str:
    """A boot long enough to be told from the one before."""
    drivers = "".join(f"[    1.{n:02}{seed:04}] driver{n}: probed\n" for n in range(30))
    return f"{KERNEL}{drivers}{RUN}{end}"


def test_of_two_boots_the_one_that_came_to_its_end_is_shown() -> None:
    login = "board login: \n"
    assert read(boot(1, DIES) + boot(2, login)).shown == 2
    assert read(boot(1, login) + boot(2, DIES)).shown == 1
    assert read(boot(1, DIES) + boot(2, DIES)).shown == 1


@pytest.mark.parametrize("stamp", ["", "[    9.000000] "])
def test_a_panic_before_the_boot_is_of_the_system_that_ran_before(stamp: str) -> None:
    before = f"{stamp}Kernel panic - not syncing: Fatal exception in interrupt\nStarting Microloader C...\n"
    loader = "U-Boot 2009.08 (Jul 03 2012 - 10:09:11)\nStarting kernel ...\n"
    kernel = "Linux version 2.6.34 (a@b) (gcc) #1\nFreeing init memory: 156K\nboard login: \n"
    assert read(before + loader + kernel).trace(1).failure is None
    found = read(loader + kernel.replace("board login: ", "Kernel panic - not syncing: died")).trace(1)
    assert found.failure is not None
    assert found.failure.kind == PANIC


def test_a_journal_of_a_system_that_runs_shows_no_boot() -> None:
    lines = [
        f"May 01 16:1{n}:38 host systemd[1]: Started Fingerprint Authentication Daemon." for n in range(6)
    ]
    trace = read("\n".join([*lines, ""])).trace(1)
    assert (trace.running, trace.spans("phase")) == (True, [])
    assert trace.notes == ("this log shows a system that runs, and no boot",)
    boots = ["May 01 16:10:30 host systemd[1]: systemd 252 running in system mode (+PAM)", *lines, ""]
    assert not read("\n".join(boots)).trace(1).running


def test_lines_before_the_kernel_that_systemd_reckons_are_of_the_system_before() -> None:
    lines = [
        "Sep 26 00:00:00 host hostapd: wlan0: associated",
        "Sep 26 01:00:00 host hostapd: wlan0: associated",
        "Sep 26 02:00:05 host systemd-udevd[129]: started",
        "Sep 26 02:00:12 host systemd[1]: Startup finished in 2s (kernel) + 10s (userspace) = 12s.",
    ]
    trace = read("\n".join([*lines, ""])).trace(1)
    assert (trace.milestones()["kernel-entry"], trace.other_ns) == (0, 7200 * SECOND)
    assert min(s.start_ns for s in trace.spans("phase")) == 0
    assert trace.notes[0].startswith("2 lines before 'kernel-entry' are of the system that ran before")
