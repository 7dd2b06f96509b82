# SPDX-License-Identifier: Apache-2.0
"""For every pitfall a system that is in it, and one that is not: what is known, and a word of the evidence.

Those that need a recording are in test_pitfalls_recorded.py.
"""

from __future__ import annotations

from bootscope.inventory.inventory import Image
from bootscope.readers.base import END_OF_LINE, FIRST_BYTE, WHEN_LOGGED

from .known_builders import timed
from .pitfall_systems import FILESYSTEM, KERNEL, USERLAND
from .pitfall_words import (
    BOOTM,
    BOOTZ,
    BURST,
    CONSOLE,
    FALCON,
    LINUX,
    PACED,
    QUIET_SCRIPT,
    RAW,
    RAW_KERNEL,
    RC,
    ZIMAGE,
    Given,
    script,
)

MEASURING: dict[str, tuple[Given, Given, str]] = {
    "grabserial-first-char": (
        {"log": timed([(0, "a")], stamp=FIRST_BYTE)},
        {"log": timed([(0, "a")], stamp=END_OF_LINE)},
        "first character",
    ),
    "serialchrono-end-of-line": (
        {"log": timed([(0, "a")], stamp=END_OF_LINE)},
        {"log": timed([(0, "a")], stamp=WHEN_LOGGED)},
        "end of each line",
    ),
    "grabserial-regex": (
        {"log": timed([(0, "a")], tool="grabserial")},
        {"log": timed([(0, "a")], tool="ts")},
        "grabserial",
    ),
    "usb-serial-on-target-host-port": (
        {"command_line": "console=tty0 console=ttyUSB0,115200"},
        {"command_line": "console=ttyS0,115200 foo=ttyUSB0"},
        "console=ttyUSB0",
    ),
    "printk-burst": ({"log": timed(BURST)}, {"log": timed(PACED)}, "40 lines"),
    "printk-zero-stamps": (
        {"log": [f"[    0.000000] line {n}" for n in range(9)]},
        {"log": [f"[    0.{n:06}] line {n}" for n in range(1, 9)]},
        "9 lines",
    ),
    "printk-coarse-clock": (
        {"log": [f"[    {n // 100}.{n % 100:02}0000] line" for n in range(1, 40)]},
        {"log": [f"[    {n // 100}.{n * n % 100:02}{n * n:04}] line" for n in range(1, 40)]},
        "10.0 ms",
    ),
    "initcall-debug-slows": (
        {"log": [f"[    1.0000{n:02}] initcall f{n}+0x0/0x20 returned 0 after 3 usecs" for n in range(50)]},
        {"log": [LINUX], "command_line": "quiet"},
        "50 lines",
    ),
    "log-buffer-overflow": (
        {"log": ["[    2.345678] usb 1-1: new device", "[    2.400000] init"]},
        {"log": [LINUX, "[    0.100000] x"]},
        "2.346 s",
    ),
    "bootgraph-needs": (
        {"command_line": "initcall_debug", "kernel": "PRINTK_TIME=n KALLSYMS"},
        {"command_line": "initcall_debug printk.time=1", "kernel": "PRINTK_TIME=n KALLSYMS"},
        "CONFIG_PRINTK_TIME",
    ),
    "bootgraph-names": (
        {"log": ["[    1.000000] initcall sun4i_mmc_driver_init+0x0/0x20 returned 0 after 3 usecs"]},
        {"log": ["[    1.000000] initcall devtmpfs_init+0x0/0x20 returned 0 after 3 usecs"]},
        "sun4i_mmc_driver_init",
    ),
    "trace-not-init": (
        {"command_line": "init=/usr/bin/strace"},
        {"command_line": "init=/sbin/init", "scripts": {RC: "#!/bin/sh\nstrace -o x /usr/bin/app\n"}},
        "strace is process 1",
    ),
    "ltrace-libc": (
        {"files": {"/usr/bin/ltrace": "program", "/lib/ld-musl-armhf.so.1": "-> libc.so"}},
        {"files": {"/usr/bin/ltrace": "program", "/lib/ld-linux-armhf.so.3": "program"}},
        "/usr/bin/ltrace with /lib/ld-musl",
    ),
    "valgrind-100x": (script("valgrind --tool=massif /usr/bin/app &"), QUIET_SCRIPT, "valgrind --tool"),
    "tracer-inflation": (script("exec strace -f -o /tmp/x /usr/bin/app"), QUIET_SCRIPT, "strace -f"),
    "rw-root-fsck-jitter": (
        {"command_line": "root=/dev/mmcblk0p2 rootfstype=ext4 rw"},
        {"command_line": "root=/dev/mmcblk0p2 rootfstype=ext4 rw ro"},
        "ext4, mounted rw",
    ),
    "network-jitter": (
        {"commands": "tftpboot 0x42000000 zImage; bootz 0x42000000"},
        {"commands": BOOTZ + "tftpboot 0x42000000 rescue", "command_line": "ip=off"},
        "tftpboot",
    ),
    "bootchart-package-confusion": (
        {"files": {"/sbin/bootchartd": "program 00"}},
        {"files": {"/sbin/bootchartd": "-> /bin/busybox"}},
        "/sbin/bootchartd",
    ),
    "printk-caller": ({"kernel": "PRINTK_CALLER"}, {"kernel": "PRINTK_CALLER=n"}, "PRINTK_CALLER"),
    "uart-not-modelled": (
        {"log": "[    0.000000] Machine model: linux,dummy-virt"},
        {"log": "[    0.000000] Machine model: Cubietech Cubieboard"},
        "linux,dummy-virt",
    ),
    "icount-vs-throttle": (
        {"emulator": "qemu-system-arm -icount shift=1 -drive file=a,throttling.bps-total=1000"},
        {"emulator": "qemu-system-arm -icount shift=1 -drive file=a"},
        "throttling.bps-total",
    ),
    "lpj-missing": (
        {"log": [LINUX, "[    0.001000] Calibrating delay loop... 1 BogoMIPS (lpj=5)", "[    0.041000] b"]},
        {"log": [LINUX, "[    0.001000] Calibrating delay loop (skipped) preset value.. (lpj=5)"]},
        "40.0 ms",
    ),
}

METHOD: dict[str, tuple[Given, Given, str]] = {
    "quiet-too-early": (
        {"command_line": "quiet", "environment": {"bootdelay": "3"}, "uboot": "BOOTDELAY=3"},
        {"command_line": "quiet", "environment": {"bootdelay": "-2"}, "uboot": "BOOTDELAY=-2"},
        "quiet, but the system still has uboot-bootdelay (3.000 s)",
    ),
    "three-runs": (
        {"log": timed([(0, "a")], boots=2)},
        {"log": timed([(0, "a")], boots=3)},
        "2 boots",
    ),
    "best-vs-average": ({"log": timed([(0, "a")], boots=5)}, {"log": timed([(0, "a")])}, "5 boots"),
    "unfair-reference": ({"uboot": FALCON}, {"uboot": "SPL"}, "SPL starts Linux"),
    "unit-typo": (
        {"log": "5546752 bytes read in 1 ms (5.2 GiB/s)"},
        {"log": "5546752 bytes read in 491 ms (10.8 MiB/s)"},
        "5.5 GB/s is more",
    ),
    "failure-modes": (
        {"command_line": "lpj=5000 init=/usr/bin/app"},
        {"command_line": "console=ttyS0"},
        "lpj=5000",
    ),
    "runtime-not-only-boot": (
        {"kernel": "CC_OPTIMIZE_FOR_SIZE"},
        {"kernel": "CC_OPTIMIZE_FOR_SIZE=n", **CONSOLE},
        "CC_OPTIMIZE_FOR_SIZE",
    ),
}

BOOTLOADER: dict[str, tuple[Given, Given, str]] = {
    "silent-uboot-kills-kernel-console": (
        {"uboot": "SILENT_CONSOLE SILENT_U_BOOT_ONLY=n", "environment": {"silent": "1"}},
        {"uboot": "SILENT_CONSOLE", "environment": {"silent": "1", "silent_linux": "no"}},
        "silent is set",
    ),
    "bootm-slower-than-bootz": ({"commands": BOOTM}, {"commands": BOOTZ}, "bootm of uImage"),
    "zimage-overlap": (
        {"commands": BOOTZ.replace("0x42000000", "0x40a00000"), "images": {"zImage": ZIMAGE}},
        {"commands": BOOTZ, "images": {"zImage": ZIMAGE}},
        "10.5 MB above the start of memory",
    ),
    "memmove-vs-overlap-conflict": (
        {"images": {"uImage": Image("uImage", 5_000_000, 0, 0x20008000, "zImage")}},
        {"images": {"uImage": Image("uImage", 5_000_000, 0, 0x21000000, "zImage")}},
        "0x20008000",
    ),
    "uimage-memmove": (
        {
            "log": timed(
                [(0, "U-Boot 2025.01"), (9, "   Loading Kernel Image to 1"), (49, "Starting kernel ...")]
            )
        },
        {"log": timed([(0, "U-Boot 2025.01"), (9, "   XIP Kernel Image"), (49, "Starting kernel ...")])},
        "40.0 ms",
    ),
    "crc-check": (
        {
            "log": timed(
                [(0, "U-Boot 2025.01"), (9, "   Verifying Checksum ... OK"), (509, "Starting kernel ...")]
            )
        },
        {"environment": {"bootcmd": BOOTM, "verify": "no"}},
        "500.0 ms",
    ),
    "bootdelay": ({"environment": {"bootdelay": "2"}}, {"environment": {"bootdelay": "0"}}, "2.000 s"),
    "zero-bootdelay-lockout": (
        {"uboot": "BOOTDELAY=-2"},
        {"uboot": "BOOTDELAY=-2 BOOTCOUNT_LIMIT"},
        "the boot delay is -2",
    ),
    "over-read-kernel": (
        {"commands": "mmc read 0x42000000 0x800 0x8000; bootz 0x42000000", "images": {"zImage": ZIMAGE}},
        {"commands": "mmc read 0x42000000 0x800 0x2625; bootz 0x42000000", "images": {"zImage": ZIMAGE}},
        "16.8 MB for a kernel of 5.0 MB",
    ),
    "nested-scripts": (
        {
            "environment": {
                "bootcmd": "run a",
                "a": "run b_${x}",
                "b_1": "if run c; then echo; fi",
                "c": "run a",
            }
        },
        {"environment": {"bootcmd": "run a; run b", "a": BOOTZ, "b": BOOTZ}},
        "a > b_1 > c",
    ),
    "noisy-bootargs": (
        {"command_line": "console=ttyS0,57600 earlyprintk debug"},
        CONSOLE,
        "earlyprintk, debug, a console of 57600 baud",
    ),
    "missing-file-in-fatload": (
        {"commands": "fatload mmc 0:1 0x42000000 zImage; fatload mmc 0:1 0x43000000; bootz 0x42000000"},
        {"commands": "setenv bootfile a; fatload mmc 0:1 0x43000000"},
        "0x43000000 names no file",
    ),
    "uncompressed-needs-bootm": (
        {"commands": BOOTZ.replace("zImage", "Image")},
        {"commands": BOOTZ},
        "bootz of Image",
    ),
    "skip-bootloader-not-always": (
        {"uboot": f"{FALCON} SPL_SYS_DCACHE_OFF"},
        {"uboot": f"{FALCON} SPL_SYS_DCACHE_OFF=n"},
        "SPL_SYS_DCACHE_OFF",
    ),
}

FALCON_MODE: dict[str, tuple[Given, Given, str]] = {
    "falcon-spl-size": (
        {"uboot": "SPL_OS_BOOT SPL_SIZE_LIMIT=0x0"},
        {"uboot": "SPL_OS_BOOT SPL_SIZE_LIMIT=0x0 SPL_MAX_SIZE=0x5fa0"},
        "neither",
    ),
    "falcon-sectors-not-bytes": (
        {"environment": {"keep": "load mmc 0:1 ${a} uImage; mmc write ${a} 0x1000 ${filesize}"}},
        {"environment": {"keep": "mmc write ${a} 0x1000 ${sectors}; mmc write ${a} 100 200"}},
        "filesize is in bytes",
    ),
    "falcon-args-size": (
        {
            "uboot": f"{RAW_KERNEL} SYS_MMCSD_RAW_MODE_ARGS_SECTORS=0x38",
            "images": {"dtb": Image("dtb", 52_000)},
        },
        {"uboot": RAW_KERNEL, "images": {"dtb": Image("dtb", 52_000)}},
        "room for 28.7 kB",
    ),
    "falcon-layout-overlap": (
        {"uboot": f"{FALCON} {RAW} SYS_MMCSD_RAW_MODE_KERNEL_SECTOR=0x2080"},
        {"uboot": RAW_KERNEL},
        "the device tree (sectors 0x2000 + 0x100) and the kernel",
    ),
    "falcon-comment-wrong": ({"uboot": RAW_KERNEL}, {"uboot": "SPL"}, "0x2000 = 4,096 KiB"),
    "falcon-spl-on-fat": (
        {"uboot": f'{FALCON} ARCH_AT91 SYS_SOC="at91"'},
        {"uboot": f'{FALCON} SYS_SOC="sunxi"'},
        "an SPL for at91",
    ),
    "raw-offset-alignment": (
        {"uboot": f"{FALCON} SYS_MMCSD_RAW_MODE_ARGS_SECTOR=0x100"},
        {"uboot": RAW_KERNEL},
        "131.1 kB into a unit",
    ),
    "falcon-stale-args": (
        {"uboot": FALCON, "log": "Kernel command line: a b", "environment": {"bootargs": "a c"}},
        {"uboot": FALCON, "log": "Kernel command line: a c", "environment": {"bootargs": "a c"}},
        "b, c",
    ),
    "falcon-kernel-depends-on-uboot": ({"uboot": FALCON}, {"uboot": "SPL"}, "SPL starts Linux"),
    "falcon-no-decompression": (
        {"uboot": f"{FALCON} ARM64", "images": {"Image.gz": Image("compressed", 9_000_000)}},
        {"uboot": f"{FALCON} ARM64 SPL_GZIP", "images": {"Image.gz": Image("compressed", 9_000_000)}},
        "Image.gz is compressed",
    ),
    "falcon-ab-updates": (
        {"uboot": FALCON, "environment": {"BOOT_ORDER": "A B"}},
        {"uboot": FALCON, "files": {"/usr/bin/raucous": "program"}},
        "BOOT_ORDER",
    ),
    "falcon-fallback-exists": (
        {"uboot": FALCON},
        {"uboot": FALCON, "built": {"uboot.falcon": "True"}},
        "SPL starts Linux",
    ),
}

CASES = {**MEASURING, **METHOD, **BOOTLOADER, **FALCON_MODE, **KERNEL, **FILESYSTEM, **USERLAND}
