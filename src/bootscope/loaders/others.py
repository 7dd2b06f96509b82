# SPDX-License-Identifier: Apache-2.0
"""Programs before Linux that bootscope cannot boot yet, and recognises by their console output.

A pattern matches a program's first line, including the program's own kind of time stamp. Names are those in
the makers' documents.
"""

from __future__ import annotations

from bootscope.loaders.model import Banner, Order

_COUNTED = r"(?:\[ {0,8}\d{1,8}(?:\.\d{1,9})?\] {0,2})?"
"""A count of milliseconds or seconds that some vendors print before each line."""

FIRST = (
    Banner(
        r"RomBOOT\b|F0: [0-9A-F]{4} [0-9A-F]{4}|BootROM (?:- )?\d\.\d|Bootrom start|ROM VER: \d",
        "rom",
        Order.FIRST,
    ),
    Banner(r"--== Welcome to Hostboot ", "hostboot", Order.FIRST),
    Banner(r"RPi: BOOT(?:LOADER|SYS) |Raspberry Pi Bootcode", "rpi-eeprom", Order.FIRST),
    Banner(r"MESS:\d\d:\d\d:", "rpi-firmware", Order.SECOND),
    Banner(r"[A-Z0-9]{2,5}:(?:BL\d?:[0-9a-f]{6}[:;]|A;SVN:)", "amlogic-bl1", Order.FIRST),
    Banner(r"BL2E? Built ?: ?\d", "bl2", Order.SECOND),
    Banner(rf"{_COUNTED}HELLO! S?BOOT0? is starting", "boot0", Order.FIRST),
    Banner(r"DDR (?:[Vv]ersion )?V?\d{1,2}\.\d|DDR [0-9a-f]{7,10} \S{1,20} \d\d/", "ddr-init", Order.FIRST),
    Banner(r"Boot1(?: Release Time|: Release)", "miniloader", Order.EARLY_LOADER),
    Banner(rf"{_COUNTED}(?:Preloader (?:Start|Build)|\[PLFM\])|preloader_v\.\d", "preloader", Order.FIRST),
    Banner(r"[A-Z]{2}\d{4,6} at .{20,40} version \S{1,12} free bootbase", "bootbase", Order.FIRST),
    Banner(r"IPL(?:_CUST)? g[0-9a-f]{7}", "ipl", Order.FIRST),
    Banner(rf"{_COUNTED}\[(?:L4T )?TegraBoot\] \(version", "tegraboot", Order.FIRST),
    Banner(r"Format: Log Type - Time\(microsec\)|[SB] - QC_IMAGE_VERSION_STRING=", "xbl", Order.FIRST),
    Banner(r"Xilinx .{0,20}First Stage Boot Loader|Zynq MP First Stage", "fsbl", Order.SECOND),
    Banner(r"PMU Firmware \d", "pmufw", Order.FIRST),
    Banner(rf"{_COUNTED}(?:Xilinx|AMD) .{{0,40}}Platform Loader and Manager", "plm", Order.FIRST),
    Banner(
        r"(?: ?\[[A-Z]{4,8} ?\] {1,2})?"
        r"coreboot-\S{1,60} "
        r"(?:.{0,60}(?:block|stage)|[A-Z][a-z]{2} [A-Z][a-z]{2} \d\d [\d:]{8} UTC \d{4} (?!smm))",
        "coreboot",
        Order.FIRST,
    ),
    Banner(r"=* ?(?:Intel )?Slim Bootloader\b", "slim-bootloader", Order.FIRST),
    Banner(r"SeaBIOS \(version ", "seabios", Order.SECOND),
    Banner(r"AT91Bootstrap ", "at91bootstrap", Order.EARLY_LOADER),
    Banner(r"\[ {0,8}\d{1,8}\.\d{9},\d\] (?:OPAL|SkiBoot)", "skiboot", Order.SECOND),
)
SECURE = (
    Banner(r"NOTICE: {1,4}(?:BL1: \S{0,40}v\d|Booting Trusted Firmware)", "bl1", Order.FIRST),
    Banner(r"(?:NOTICE: {1,4})?BL2: \S{0,40}v\d", "bl2", Order.SECOND),
    Banner(
        r"(?:\d{0,2}NOTICE: {1,4})?BL3-?1: (?:\S{0,60}(?:v\d|\((?:release|debug))|Built : )",
        "bl31",
        Order.SECURE,
    ),
    Banner(r"[IMD]/TC: {1,3}(?:[\d?-]{1,4} {1,3}){0,2}OP-TEE version", "op-tee", Order.SECURE),
    Banner(r"OpenSBI (?:[\w.-]{1,40}-)?[vV]\d", "opensbi", Order.SECURE),
    Banner(r"bbl loader", "bbl", Order.SECURE),
)
LOADERS = (
    Banner(r"barebox \d", "bootloader", Order.LOADER, "barebox "),
    Banner(
        r"(?:CFE (?:version )?\d|RedBoot\(tm\)|PMON\b.{0,40}version|Breed \d|ADAM2 Revision \d"
        r"|Fastboot \d\.\d\.\d \()",
        "bootloader",
        Order.LOADER,
    ),
    Banner(rf"(?:{_COUNTED}){{2}}welcome to lk|\[bootloader\] \(built on", "bootloader", Order.LOADER),
    Banner(r"\(AVM\) EVA Revision: |-{2,4}Realtek RTL\w{1,10} boot code at ", "bootloader", Order.LOADER),
    Banner(r"Starting depthcharge on ", "depthcharge", Order.LOADER),
    Banner(
        r"UEFI [Ff]irmware \(version|Tianocore/EDK2 firmware|BdsDxe: |EDK II\b|Loading PEIM at 0x",
        "uefi",
        Order.LOADER,
    ),
    Banner(r"GNU GRUB  version|Welcome to GRUB!", "grub", Order.SYSTEM),
    Banner(r"(?:SYS|ISO|PXE|EXT)LINUX \d", "syslinux", Order.SYSTEM),
    Banner(r"iPXE \d", "ipxe", Order.SYSTEM),
    Banner(r"(?:\(XEN\) )?Xen version \d\S{0,40} \(| Xen \d\.\d", "xen", Order.SYSTEM),
    Banner(r"EFI stub: ", "efi-stub", Order.SYSTEM),
)
BANNERS = (*FIRST, *SECURE, *LOADERS)
HANDOVER = r"(?:[A-Z]{3} )?Now booting linux kernel:"
"""RedBoot's last line, in its ports for ARM and MIPS, with a maker's prefix."""
HANDED_OVER = r"Jumping to boot code at "
"""coreboot's last line before its payload runs."""
BAREBOX_PROMPT = r"barebox@.{1,80}:/ ?#?"
GRUB_PROMPT = r"grub>"
