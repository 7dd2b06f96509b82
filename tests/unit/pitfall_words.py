# SPDX-License-Identifier: Apache-2.0
"""What the cases of pitfalls are made of."""

from __future__ import annotations

from typing import Any

from bootscope.inventory.inventory import Image, Program

Given = dict[str, Any]
LINUX = "[    0.000000] Linux version 6.12.1 (a@b) #1 SMP"
CONSOLE = {"command_line": "console=ttyS0,115200 root=/dev/mmcblk0p2 rootfstype=ext4 ro"}
FALCON = "SPL_OS_BOOT SPL_SIZE_LIMIT=0x8000"
RAW = "SYS_MMCSD_RAW_MODE_ARGS_SECTOR=0x2000 SYS_MMCSD_RAW_MODE_ARGS_SECTORS=0x100"
RAW_KERNEL = f"{FALCON} {RAW} SYS_MMCSD_RAW_MODE_KERNEL_SECTOR=0x4000"
ZIMAGE = Image("zImage", 5_000_000, 14_000_000)
BOOTZ = "load mmc 0:1 0x42000000 zImage\nload mmc 0:1 0x43000000 a.dtb\nbootz 0x42000000 - 0x43000000\n"
BOOTM = "load mmc 0:1 0x42000000 uImage\nbootm 0x42000000 - 0x43000000\n"
BURST = [(1000 + n * 5, f"[    0.{n:02}0000] {'x' * 40}") for n in range(40)]
PACED = [(1000 + n * 10, f"[    0.{n:02}0000] {'x' * 40}") for n in range(40)]
RC = "/etc/init.d/S10thing"
STARTS = {f"/etc/init.d/S{n}x": "program 0123456789abcdef" for n in range(10, 20)}
RCS = {"/etc/init.d/rcS": '#!/bin/sh\nfor s in /etc/init.d/S*; do\n  "$s" start\ndone\n'}
SOURCED = {"/etc/init.d/rcS": '#!/bin/sh\nfor s in /etc/init.d/S*; do\n  . "$s"\ndone\n'}
STATIC, DYNAMIC = Program(True, "glibc", 900_000, True), Program(False, "", 9_000, True)


def script(line: str) -> Given:
    """A start script with one line."""
    return {"scripts": {RC: f"#!/bin/sh\n# cat x | grep y; fbv; valgrind; ltrace\n{line}\n"}}


QUIET_SCRIPT = script('[ "$1" = start ] && hostname -F /etc/hostname')
