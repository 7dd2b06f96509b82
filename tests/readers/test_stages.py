# SPDX-License-Identifier: Apache-2.0
"""Boots of other people's boards: their stages in order, how many boots there are, and where each ends.

The first lines of programs are as their sources and the logs of real boards have them; the times are ours.
"""

from __future__ import annotations

import re

import pytest

from bootscope.analysis.silences import quiet
from bootscope.capture.imported import Answers, Raw
from bootscope.importing.files import Understood, understand
from bootscope.loaders.console import ANY, BANNERS, WHICH, banner_of
from bootscope.timeline.trace import Trace

FIRST_LINES = {
    "rom": "RomBOOT",
    "hostboot": "--== Welcome to Hostboot hostboot-a2ddbf3/hbicore.bin ==--",
    "rpi-eeprom": "RPi: BOOTLOADER release VERSION:30f0bae2 DATE: 2024/04/20 TIME: 12:53:24",
    "rpi-firmware": "MESS:00:00:01.163211:0: brfs: File read: /mfs/sd/config.txt",
    "amlogic-bl1": "GXL:BL1:9ac50e:bb16dc;FEAT:BDFC31BC:0;POC:3;RCY:0;EMMC:0;READ:0;0.0;CHK:0;",
    "bl2": "BL2 Built : 11:58:42, May 27 2017.",
    "boot0": "[21]HELLO! BOOT0 is starting Dec 14 2018 20:26:21!",
    "ddr-init": "DDR Version V1.09 20200427",
    "miniloader": "Boot1 Release Time: May 29 2020 17:36:36, version: 1.26",
    "preloader": "Preloader Start=======================",
    "bootbase": "EN7528 at Mon Jun 21 10:11:52 CST 2021 version 1.1 free bootbase",
    "ipl": "IPL g5da0ceb",
    "tegraboot": "[0000.126] [TegraBoot] (version 00.00.2018.01-l4t-33e7fa82)",
    "depthcharge": "Starting depthcharge on Juniper...",
    "xbl": "Format: Log Type - Time(microsec) - Message - Optional Info",
    "fsbl": "Xilinx Zynq MP First Stage Boot Loader ",
    "pmufw": "PMU Firmware 2019.2\tNov  6 2019   15:09:11",
    "plm": "[4.560]Xilinx Versal Platform Loader and Manager ",
    "coreboot": "[NOTE ]  coreboot-4.20 Mon May 15 2023 x86_32 bootblock starting (log level: 7)...",
    "slim-bootloader": "============= Intel Slim Bootloader STAGE1A =============",
    "seabios": "SeaBIOS (version rel-1.16.2-0-gea1b7a073390)",
    "at91bootstrap": "AT91Bootstrap 4.0.6 (2023-01-01)",
    "skiboot": "[    0.021456789,5] OPAL skiboot-v6.5 starting...",
    "bl1": "NOTICE:  BL1: v2.9(release):v2.9.0",
    "bl31": "NOTICE:  BL31: lts-v2.8.7(release):v2.8",
    "op-tee": "I/TC: OP-TEE version: 3.19.0 (gcc version 11.3.0) #1 Thu Jan 12 2023 aarch64",
    "opensbi": "OpenSBI v1.2",
    "bbl": "bbl loader",
    "tpl": "U-Boot TPL 2024.01 (Jan 08 2024 - 15:37:48)",
    "vpl": "U-Boot VPL 2024.01 (Jan 08 2024 - 15:37:48)",
    "spl": "U-Boot SPL 2024.01 (Jan 08 2024 - 15:37:48 +0000)",
    "bootloader": "U-Boot 2015.01-g1a2b3c4 (Jun 02 2018 - 09:13:37)",
    "uefi": "UEFI firmware (version 2.7 built at 10:12:13 on Jan  1 2024)",
    "grub": "Welcome to GRUB!",
    "syslinux": "SYSLINUX 6.04 EDD Copyright (C) 1994-2015 H. Peter Anvin et al",
    "ipxe": "iPXE 1.21.1+ -- Open Source Network Boot Firmware -- https://ipxe.org",
    "xen": "(XEN) Xen version 4.17.0 (root@) (aarch64-poky-linux-gcc 12.2.0)",
    "efi-stub": "EFI stub: Booting Linux Kernel...",
}
ARM64 = "[    0.000000] Booting Linux on physical CPU 0x0000000000 [0x410fd034]"
LATER = ("[    2.000000] Run /sbin/init as init process", "board login:")


def stamped(lines: list[str], step_ms: int = 100) -> bytes:
    """A log of grabserial, a line every `step_ms`."""
    step = f"0.{step_ms:03}000"
    return "".join(f"[{n * step_ms / 1000:.6f} {step}] {line}\n" for n, line in enumerate(lines)).encode()


def imported(data: bytes, **milestones: str) -> Understood:
    return understand([Raw("console.log", data)], Answers(milestones=milestones), strict=True)


def boot(lines: list[str], **milestones: str) -> Trace:
    found = imported(stamped(lines), **milestones)
    assert found.boots == 1
    return found.trace(1)


def phases(trace: Trace) -> list[str]:
    track = trace.track("phases")
    return [span.name for span in track.spans] if track else []


@pytest.mark.parametrize("name", FIRST_LINES)
def test_each_program_is_known_by_its_first_line(name: str) -> None:
    line = FIRST_LINES[name]
    (found,) = [banner for banner in BANNERS if re.match(banner.pattern, line)]
    assert (found.milestone, found.text in line) == (name, True)
    match = re.match(WHICH, line)
    assert match is not None
    assert re.match(ANY, line)
    assert banner_of(match) is found


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("U-Boot unifi-home-.g345bbabc (Aug 16 2019 - 16:21:51)", "bootloader"),
        ("U-boot(m8b_m201_v1@20f4f42d) (Oct 28 2015 - 14:02:21)", "bootloader"),
        ("QA5:A;SVN:B72;POC:FF;STS:0;BOOT:0;INIT:0;", "amlogic-bl1"),
        ("[0] [0] welcome to lk", "bootloader"),
        ("[bootloader] (built on Apr 16 2013, 16:46:06)", "bootloader"),
        ("preloader_v.42133", "preloader"),
        ("64NOTICE:  BL31: v1.3(release):b5eaca0", "bl31"),
        ("BootROM 1.20", "rom"),
        ("Bootrom start", "rom"),
        ("ROM VER: 1.1.4", "rom"),
        ("BL2 Built:15:10:20, Oct 12 2021.t7", "bl2"),
        ("[0000.157] [L4T TegraBoot] (version 00.00.2018.01-l4t-8728f3cb)", "tegraboot"),
        ("OpenSBI auto-t113-linux-V0.8-2-g053d088", "opensbi"),
        ("NOTICE:  BL31: Built : 02:20:03, Jun  9 2026", "bl31"),
        ("ADAM2 Revision 0.22.03", "bootloader"),
        ("Loading PEIM at 0x0008002CF34 EntryPoint=0x0008002D024", "uefi"),
        ("[NOTE ]  coreboot-24.02-410-g86b1 Thu Apr 04 03:26:19 UTC 2024 x8", "coreboot"),
        ("coreboot-e6103af7 Mon Sep 12 14:38:59 UTC 2022 smm starting (log level: 8)...", ""),
        ("PMUFW:\tv1.1", ""),
        ("U-Boot code: 17800000 -> 178637C8  BSS: -> 178A8BC0", ""),
    ],
)
def test_a_vendors_words_are_known_and_others_words_are_not(line: str, name: str) -> None:
    match = re.match(WHICH, line)
    assert (banner_of(match).milestone if match else "") == name
    assert bool(re.match(ANY, line)) == bool(name)


def test_every_stage_of_the_table_is_tried() -> None:
    assert set(FIRST_LINES) == {banner.milestone for banner in BANNERS}


@pytest.mark.parametrize(
    "chain",
    [
        ["ddr-init", "tpl", "spl", "bl31", "bootloader"],
        ["amlogic-bl1", "bl2", "bl31", "bootloader"],
        ["boot0", "bl31", "bootloader"],
        ["preloader", "bl31", "bootloader"],
        ["xbl", "bootloader"],
        ["fsbl", "bl31", "bootloader"],
        ["spl", "opensbi", "bootloader"],
        ["rpi-eeprom", "rpi-firmware", "bl31", "uefi", "grub"],
        ["coreboot", "seabios", "grub"],
        ["bl1", "bl2", "bl31", "op-tee", "bootloader", "xen"],
    ],
)
def test_a_chain_is_told_in_its_order(chain: list[str]) -> None:
    found = boot([*(FIRST_LINES[name] for name in chain), "Starting kernel ...", ARM64, *LATER])
    assert phases(found) == [*chain, "early-kernel", "kernel", "init", "application"]
    assert [name for name in found.milestones() if name in chain] == chain


def test_what_one_stage_says_again_begins_nothing() -> None:
    """The first stage of TF-A speaks again between the others."""
    lines = [
        "NOTICE:  Booting Trusted Firmware",
        "NOTICE:  BL1: v2.10.0(release):v2.10.0",
        "NOTICE:  BL1: Built : 16:09:05, Feb  9 2024",
        "NOTICE:  BL1: Booting BL2",
        "NOTICE:  BL2: v2.10.0(release):v2.10.0",
        "NOTICE:  BL1: Booting BL31",
        "NOTICE:  BL31: v2.10.0(release):v2.10.0",
        FIRST_LINES["bootloader"],
        "Starting kernel ...",
        ARM64,
        *LATER,
    ]
    assert phases(boot(lines)) == [
        "bl1", "bl2", "bl31", "bootloader", "early-kernel", "kernel", "init", "application",
    ]  # fmt: skip


@pytest.mark.parametrize("second", ["(Aug 03 2023 - 00:09:41 +0200)", "(Aug 03 2023 - 00:09:14 +0200)"])
def test_two_first_stages_with_the_monitor_between_are_one_boot(second: str) -> None:
    """TI's K3 chips run an SPL on each kind of core; reproducible builds date both alike."""
    lines = [
        "U-Boot SPL 2023.10 (Aug 03 2023 - 00:09:14 +0200)",
        "Starting ATF on ARM64 core...",
        FIRST_LINES["bl31"],
        f"U-Boot SPL 2023.10 {second}",
        "U-Boot 2023.10 (Aug 03 2023 - 00:09:41 +0200)",
        "Starting kernel ...",
        ARM64,
        *LATER,
    ]
    found = boot(lines)
    assert phases(found)[:4] == ["spl", "bl31", "spl-2", "bootloader"]
    assert found.milestones()["kernel-entry"] == 600_000_000


def test_a_boot_loader_that_starts_another_one_is_one_boot() -> None:
    lines = [FIRST_LINES["bootloader"], "U-Boot 2024.01 (Jan 08 2024)", "Starting kernel ...", ARM64, *LATER]
    assert phases(boot(lines))[0] == "bootloader"


@pytest.mark.parametrize(
    "lines",
    [
        [FIRST_LINES["spl"], FIRST_LINES["bootloader"]] * 2,
        [FIRST_LINES["bootloader"], "resetting ..."] * 2,
        [FIRST_LINES["bootloader"], "resetting ...", FIRST_LINES["spl"], FIRST_LINES["bootloader"]],
        [FIRST_LINES["opensbi"], FIRST_LINES["bootloader"]] * 2,
        [FIRST_LINES["bl1"], FIRST_LINES["bl2"], "panic", FIRST_LINES["bl1"], FIRST_LINES["bl2"]],
        [ARM64, *LATER, FIRST_LINES["bl31"], FIRST_LINES["bootloader"], ARM64, *LATER],
    ],
)
def test_a_board_that_starts_again_is_two_boots(lines: list[str]) -> None:
    assert imported(stamped(lines)).boots == 2


def test_a_quiet_kernel_is_not_split() -> None:
    found = boot([FIRST_LINES["bootloader"], "Starting kernel ...", "board login:"])
    assert phases(found) == ["bootloader", "kernel and user space (not split: quiet)", "application"]


def test_a_boot_loader_may_put_its_own_time_before_its_lines() -> None:
    """Allwinner's, which counts seconds."""
    found = boot(
        ["[21]HELLO! BOOT0 is starting!", FIRST_LINES["bootloader"], "[02.316]Starting kernel ...", ARM64]
    )
    assert list(found.milestones()) == ["boot0", "bootloader", "kernel-start", "kernel-entry"]


@pytest.mark.parametrize(
    ("line", "name"),
    [
        (ARM64, "early-kernel"),
        ("[    0.000000] Linux version 6.1.0 (a@b) (riscv64-linux-gnu-gcc 12) #1 SMP", "early-kernel"),
        ("[    0.000000] Booting Linux on physical CPU 0x0", "decompress+early-kernel"),
    ],
)
def test_an_image_that_is_started_as_it_is_has_no_decompression(line: str, name: str) -> None:
    assert name in phases(boot([FIRST_LINES["bootloader"], "Starting kernel ...", line, *LATER]))


def test_a_kernel_whose_console_came_late_is_dated_from_its_own_stamps() -> None:
    """An arm64 kernel that wrote its first lines 2 s before its console was there."""
    kernel = [(5_000 + n, n * 10, f"line {n}") for n in range(1, 10)]
    kernel += [(5_000 + n, 2_000 + n, f"line {n}") for n in range(10, 60)]
    log = [(0, FIRST_LINES["bootloader"]), (2_500, "Starting kernel ..."), (5_000, ARM64)]
    log += [(at_ms, f"[    {us // 1000}.{us % 1000:03}000] {words}") for at_ms, us, words in kernel]
    text = "".join(f"[{at / 1000:.6f} 0.000100] {words}\n" for at, words in log)
    found = imported(text.encode()).trace(1)
    point = next(p for p in found.points if p.name == "kernel-entry")
    assert abs(point.at_ns - 3_000_000_000) <= point.error_ns < 10_000_000
    assert phases(found) == ["bootloader", "early-kernel", "kernel"]
    assert found.spans("phase")[2].start_ns == point.at_ns


# ---- the end ----


def test_what_comes_after_the_end_is_in_no_phase() -> None:
    lines = [ARM64, *LATER, *(f"[   {n}.000000] eth0: link is up" for n in range(10, 40))]
    found = boot(lines)
    assert found.total_ns == found.milestones()["login"] == 200_000_000
    assert max(span.end_ns for span in found.spans("phase")) == 200_000_000
    assert "the boot ended at 0.200000 s; what follows, up to 3.200000 s, is not part of it" in found.notes


def test_after_the_end_nothing_is_a_silence() -> None:
    lines = [(0, ARM64), (1_000, LATER[0]), (3_000, LATER[1]), (90_000, "usb 1-1: new device")]
    found = imported("".join(f"[{ms / 1000:.6f} 0.000100] {line}\n" for ms, line in lines).encode())
    gaps = quiet(found, 1, found.trace(1), 5)
    assert [gap.duration_ns for gap in gaps] == [2_000_000_000, 1_000_000_000]


def test_lines_one_second_apart_by_a_clock_of_seconds_are_no_silence() -> None:
    rows = ((1, "kernel: Linux version 6.1.0 (a@b) (gcc) #1"), (2, "sh[2]: a"), (5, "sh[2]: b"))
    found = imported("".join(f"Feb 08 10:00:0{at} board {row}\n" for at, row in rows).encode())
    assert [gap.duration_ns for gap in quiet(found, 1, found.trace(1), 5)] == [3_000_000_000]


def test_systemd_says_itself_when_it_is_through() -> None:
    end = "[    4.500000] systemd[1]: Startup finished in 1.2s (kernel) + 3.3s (userspace) = 4.5s."
    found = boot([ARM64, *LATER, "[  OK  ] Reached target Multi-User System.", end, "later", "later still"])
    assert found.total_ns == found.milestones()["systemd-finished"] == 400_000_000
    assert found.milestones()["default-target"] == 300_000_000


def test_the_users_own_text_ends_the_boot_later_than_a_login() -> None:
    found = boot([ARM64, *LATER, "app: first frame", "app: second frame"], frame="first frame")
    assert found.total_ns == found.milestones()["frame"] == 300_000_000


def test_a_kernel_log_of_an_hour_is_a_boot_of_seconds() -> None:
    lines = [
        "[    0.000000] Linux version 6.1.0 (a@b) (gcc) #1",
        "[    1.500000] Run /sbin/init as init process",
        "[    3.250000] eth0: link is up",
        "[ 3600.000000] usb 1-1: new high-speed USB device number 2",
    ]
    found = imported("\n".join([*lines, ""]).encode()).trace(1)
    assert found.total_ns == 3_250_000_000
    assert any(note.startswith("the boot ended at 3.250000 s") for note in found.notes)


def test_an_initramfs_ends_where_the_root_is_switched() -> None:
    lines = [ARM64, "[    1.000000] Run /init as init process", "Switching root", *LATER[1:]]
    assert phases(boot(lines)) == ["kernel", "initramfs", "init", "application"]
