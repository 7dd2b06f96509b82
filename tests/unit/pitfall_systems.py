# SPDX-License-Identifier: Apache-2.0
"""For every pitfall of kernel, file system and userland a system that is in it, and one that is not."""

from __future__ import annotations

from bootscope.inventory.inventory import Image, Program

from .pitfall_words import (
    CONSOLE,
    DYNAMIC,
    QUIET_SCRIPT,
    RC,
    RCS,
    SOURCED,
    STARTS,
    STATIC,
    ZIMAGE,
    Given,
    script,
)

KERNEL: dict[str, tuple[Given, Given, str]] = {
    "double-compression": (
        {"kernel": 'INITRAMFS_SOURCE="root" INITRAMFS_COMPRESSION_GZIP KERNEL_XZ'},
        {"kernel": 'INITRAMFS_SOURCE="root" INITRAMFS_COMPRESSION_NONE KERNEL_XZ'},
        "gzip in a kernel with xz",
    ),
    "gpl-builtin-initramfs": (
        {"kernel": 'INITRAMFS_SOURCE="../root.list"'},
        {"kernel": 'INITRAMFS_SOURCE=""'},
        "../root.list",
    ),
    "xip-not-a-win": ({"kernel": "XIP_KERNEL"}, {"kernel": "XIP_KERNEL=n"}, "XIP_KERNEL"),
    "smp-on-up": (
        {"kernel": "SMP", "log": "[    0.100000] smp: Brought up 1 node, 1 CPU"},
        {"kernel": "SMP", "log": "[    0.100000] smp: Brought up 1 node, 4 CPUs"},
        "one processor",
    ),
    "os-slower": ({"kernel": "CC_OPTIMIZE_FOR_SIZE"}, {"kernel": ""}, "FOR_SIZE"),
    "lpj-mismatch": (
        {"command_line": "lpj=2000000", "log": "Calibrating delay loop... 996.14 BogoMIPS (lpj=4980736)"},
        {"command_line": "lpj=4980000", "log": "Calibrating delay loop... 996.14 BogoMIPS (lpj=4980736)"},
        "found 4980736",
    ),
    "defconfig-not-minimal": (
        {"kernel": "ARCH_SUNXI MACH_SUN4I MACH_SUN7I"},
        {"kernel": "ARCH_SUNXI MACH_SUN4I MACH_SUN7I=n SOC_BUS"},
        "2 chips",
    ),
    "tracing-left-on": (
        {"kernel": "FTRACE FUNCTION_TRACER"},
        {"kernel": "FTRACE FUNCTION_TRACER=n"},
        "CONFIG_FUNCTION_TRACER=y",
    ),
    "kallsyms-removed-then-debug": (
        {"kernel": "KALLSYMS=n", "command_line": "initcall_debug"},
        {"kernel": "KALLSYMS", "command_line": "initcall_debug"},
        "KALLSYMS=n",
    ),
    "proc-removed": (
        {"kernel": "PROC_FS=n", "scripts": {RC: "mount -t proc proc /proc\n"}},
        {"kernel": "PROC_FS"},
        "mount -t proc",
    ),
    "appended-dtb-leftover": (
        {"kernel": "ARM_APPENDED_DTB", "images": {"zImage": ZIMAGE}},
        {"kernel": "ARM_APPENDED_DTB", "images": {"zImage": Image("zImage", 9, appended=True)}},
        "no device tree behind",
    ),
    "rootfstype-missing": ({"command_line": "root=PARTUUID=1-2 rw"}, CONSOLE, "PARTUUID"),
}

FILESYSTEM: dict[str, tuple[Given, Given, str]] = {
    "jffs2-no-summary": (
        {"kernel": "JFFS2_FS", "command_line": "rootfstype=jffs2"},
        {"kernel": "JFFS2_FS JFFS2_SUMMARY", "command_line": "rootfstype=jffs2"},
        "JFFS2_SUMMARY=n",
    ),
    "jffs2-big": (
        {"command_line": "root=/dev/mtdblock1 rootfstype=jffs2 mtdparts=nand:1M(boot),64M(root)"},
        {"command_line": "root=/dev/mtdblock1 rootfstype=jffs2 mtdparts=nand:1M(boot),8M(root)"},
        "root, 67.1 MB",
    ),
    "ubifs-small": (
        {"log": "[    1.000000] ubi0: good PEBs: 60, bad PEBs: 0, corrupted PEBs: 0"},
        {"log": "[    1.000000] ubi0: good PEBs: 2048, bad PEBs: 0, corrupted PEBs: 0"},
        "60 blocks, too few for a fastmap",
    ),
    "fastmap-config-name": ({"kernel": "UBI_FASTMAP"}, {"kernel": "MTD_UBI_FASTMAP"}, "CONFIG_UBI_FASTMAP"),
    "fastmap-unclean": (
        {"kernel": "MTD_UBI_FASTMAP", "log": "[    1.000000] ubi0: scanning is finished"},
        {"kernel": "MTD_UBI_FASTMAP", "log": "[    1.000000] ubi0: attached by fastmap"},
        "ubi0 was attached",
    ),
    "fastmap-param-removed": (
        {"kernel": "MTD_UBI_FASTMAP", "command_line": "ubi.mtd=1"},
        {"kernel": "MTD_UBI_FASTMAP", "command_line": "ubi.mtd=1 ubi.fm_autoconvert=1"},
        "ubi.fm_autoconvert",
    ),
    "btrfs-root": (
        {
            "kernel": "BTRFS_FS",
            "log": ["[    0.200000] raid6: neonx4   gen()  1000 MB/s", "[    0.300000] xor: measuring"],
        },
        {"kernel": "BTRFS_FS=m"},
        "2 lines",
    ),
    "static-dev-in-initramfs": (
        {"files": {"/init": "program"}, "settings": {"rootfs.filesystem": "initramfs"}},
        {
            "files": {"/init": "program", "/dev/console": "device"},
            "settings": {"rootfs.filesystem": "initramfs"},
        },
        "/dev/console",
    ),
}

USERLAND: dict[str, tuple[Given, Given, str]] = {
    "lgpl-static": (
        {"programs": {"/usr/bin/app": STATIC}},
        {"programs": {"/bin/busybox": STATIC, "/usr/bin/app": Program(True, "musl", 9, True)}},
        "/usr/bin/app (glibc)",
    ),
    "static-size-explosion": (
        {"programs": {f"/bin/{name}": STATIC for name in "abc"}},
        {"programs": {"/bin/a": STATIC, "/bin/b": STATIC, "/bin/c": DYNAMIC}},
        "3 static programs, 2.7 MB",
    ),
    "sstrip-breaks": (
        {"programs": {"/bin/a": Program(False, "", 9, False)}},
        {"programs": {"/bin/a": DYNAMIC}},
        "/bin/a",
    ),
    "udev-present": (
        {"files": {"/etc/init.d/S10udev": "program"}},
        {"files": {"/sbin/udevadm": "-> /bin/busybox"}},
        "S10udev",
    ),
    "network-twice": (
        {"log": "IP-Config: Complete:\n[  OK  ] Started Network Manager."},
        {"log": "         Starting Network Manager...\n         Starting Network Manager Wait Online..."},
        "the kernel (ip=), NetworkManager",
    ),
    "useless-fork": (
        script("v=`cat /proc/version | cut -d' ' -f3`"),
        script('cat "$seed" > /dev/urandom; read -r v < /proc/version'),
        "cat /proc/version",
    ),
    "many-shells": (
        {"files": STARTS, "scripts": RCS},
        {"files": STARTS, "scripts": SOURCED},
        "10 start scripts",
    ),
    "app-as-init": (
        {"command_line": "init=/usr/bin/testcard"},
        {"command_line": "init=/linuxrc.real", "files": {"/linuxrc.real": "-> /bin/busybox"}},
        "init=/usr/bin/testcard",
    ),
    "upstart-small": (
        {"log": ["Memory: 50000K/65536K available (x)", "systemd[1]: Started x"]},
        {"log": ["Memory: 900000K/1048576K available (x)", "systemd[1]: Started x"]},
        "systemd with 67.1 MB",
    ),
    "fbv-slow": (script("fbv -d 1 /splash.png &"), QUIET_SCRIPT, "fbv -d 1"),
}
