# SPDX-License-Identifier: Apache-2.0
"""More ways to be in a pitfall, and what only looks like one."""

from __future__ import annotations

from bootscope.inventory.inventory import Image

from .known_builders import log_of, timed
from .pitfall_words import BOOTM, BOOTZ, FALCON, LINUX, RAW_KERNEL, RC, RCS, STARTS, Given

ALSO_IN: list[tuple[str, Given, str]] = [
    (
        "log-buffer-overflow",
        {"log": [LINUX, "[    1.000000] ** 12 printk messages dropped **"]},
        "12 messages",
    ),
    ("log-buffer-overflow", {"kernel": "LOG_BUF_SHIFT=14", "command_line": "initcall_debug"}, "16 KiB"),
    ("bootgraph-needs", {"log": "initcall foo+0x0/0x8 returned 0 after 3 usecs"}, "1 initcall lines without"),
    ("initcall-debug-slows", {"command_line": "initcall_debug quiet"}, "on the command line"),
    (
        "rw-root-fsck-jitter",
        {"log": "[    1.000000] EXT4-fs (mmcblk0p2): recovery complete"},
        "recovery complete",
    ),
    ("network-jitter", {"command_line": "root=/dev/nfs ip=dhcp"}, "root=/dev/nfs, ip=dhcp"),
    ("silent-uboot-kills-kernel-console", {"uboot": "SILENT_CONSOLE"}, "once silent is set"),
    (
        "bootm-slower-than-bootz",
        {
            "environment": {"bootcmd": "load mmc 0 0x82000000 k; bootm 0x82000000"},
            "images": {"k": Image("uImage", 9, 0, 0x80008000, "zImage")},
        },
        "bootm of k",
    ),
    ("zimage-overlap", {"commands": "load mmc 0 40008000 zImage; bootz 40008000"}, "32.8 kB above"),
    ("crc-check", {"environment": {"bootcmd": BOOTM}}, "verify is not no"),
    ("bootdelay", {"log": "Hit any key to stop autoboot:  3  2  1  0"}, "3.000 s"),
    ("zero-bootdelay-lockout", {"environment": {"bootdelay": "-2"}}, "-2"),
    (
        "falcon-sectors-not-bytes",
        {
            "environment": {"a": "mmc write 42000000 700 5000"},
            "settings": {"card.boot_sector": "2048", "card.boot_sectors": "65536"},
        },
        "the boot partition",
    ),
    ("falcon-sectors-not-bytes", {"commands": "mmc write 42000000 100 00548000"}, "2.8 GB"),
    (
        "falcon-args-size",
        {"uboot": f"{FALCON} CMD_SPL_WRITE_SIZE=0x2000", "images": {"x": Image("dtb", 9_000)}},
        "room for 8.2 kB",
    ),
    (
        "falcon-layout-overlap",
        {"uboot": RAW_KERNEL, "settings": {"card.root_sector": "16384", "card.root_sectors": "100"}},
        "the root partition",
    ),
    (
        "raw-offset-alignment",
        {
            "environment": {"a": "nand read 0x21000000 0x30000 0x500000"},
            "log": "256 MiB, SLC, erase size: 128 KiB",
        },
        "128 KiB",
    ),
    (
        "skip-bootloader-not-always",
        {"log": ["AT91Bootstrap 4.0.1", "[    0.000000] Booting Linux on physical CPU 0x0"]},
        "AT91Bootstrap",
    ),
    ("kallsyms-removed-then-debug", {"log": "[    1.000000] calling  0xc0900000 @ 1"}, "0xc0900000"),
    ("defconfig-not-minimal", {"kernel": "ARCH_MXC ARCH_SUNXI ARCH_OMAP2PLUS"}, "3 families"),
    ("appended-dtb-leftover", {"kernel": "ARM_APPENDED_DTB", "commands": BOOTZ}, "passes a device tree"),
    (
        "jffs2-big",
        {
            "command_line": "root=mtd:root rootfstype=jffs2",
            "log": '0x000000000000-0x000000100000 : "boot"\n0x000000100000-0x000008100000 : "root"',
        },
        "134.2 MB",
    ),
    ("udev-present", {"log": "[    3.000000] udevd[123]: starting version 3.2"}, "the log says"),
    (
        "lgpl-static",
        {"built": {"application.compiler_options": "('-O2', '-static')"}},
        "statically with glibc",
    ),
    ("unit-typo", {"log": "5546752 bytes read in 0 ms"}, "more than 0 ms"),
    ("unit-typo", {"log": "5546752 bytes read in 491 ms (108 MiB/s)"}, "11.3 MB/s"),
    (
        "upstart-small",
        {"log": "Memory: 1K/65536K available (x)", "files": {"/sbin/init": "-> /sbin/upstart"}},
        "upstart with",
    ),
    ("valgrind-100x", {"command_line": "init=/usr/bin/valgrind"}, "process 1"),
]

NOT_IN: list[tuple[str, Given]] = [
    ("useless-fork", {"scripts": {"/etc/init.d/rcK": "#!/bin/sh\nfor s in `cat list | sort`; do :; done\n"}}),
    ("useless-fork", {"scripts": {"/usr/bin/tool": "#!/bin/sh\nx=$(cat /etc/x)\n"}}),
    ("many-shells", {"files": STARTS, "scripts": RCS, "command_line": "init=/usr/bin/app"}),
    ("nested-scripts", {"environment": {"bootcmd": "run a", "a": "run a"}}),
    (
        "nested-scripts",
        {"environment": {"bootcmd": "run a", "a": "run b", "b": "run c", "c": ""}, "uboot": FALCON},
    ),
    ("rw-root-fsck-jitter", {"command_line": "rootfstype=squashfs rw"}),
    ("printk-burst", {"log": timed([(n, f"[    0.{n:06}] x") for n in range(9)])}),
    ("log-buffer-overflow", {"log": timed([(0, "[    2.000000] cut off at the host")])}),
    (
        "zero-bootdelay-lockout",
        {"environment": {"bootdelay": "-2", "bootcmd": "if gpio input 3; then run x; fi"}},
    ),
    ("rootfstype-missing", {"command_line": "root=/dev/nfs"}),
    ("crc-check", {"environment": {"x": "y"}, "commands": f"setenv verify no\n{BOOTM}"}),
    (
        "lgpl-static",
        {"built": {"application.compiler_options": "('-static',)", "application.libc": "musl"}},
    ),
    ("tracer-inflation", {"scripts": {RC: "#!/bin/sh\n  # strace /usr/bin/app\n"}}),
    ("app-as-init", {"command_line": "init=/etc/boot.sh"}),
    (
        "static-dev-in-initramfs",
        {
            "files": {"/init": "x"},
            "settings": {"rootfs.filesystem": "initramfs"},
            "scripts": {"/init": "#!/bin/sh\nmount -t devtmpfs none /dev\n"},
        },
    ),
    ("static-dev-in-initramfs", {"files": {"/sbin/init": "x"}, "settings": {"rootfs.filesystem": "ext4"}}),
    ("unit-typo", {"log": log_of(f"{'9' * 400} bytes read in 1 ms")}),
]
