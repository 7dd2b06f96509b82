# SPDX-License-Identifier: Apache-2.0
"""U-Boot, and its first stage, the SPL."""

from __future__ import annotations

import re

from bootscope.loaders.model import (
    KERNEL,
    LOAD,
    ROM,
    Announced,
    Banner,
    Cures,
    Hooked,
    ImageLines,
    Loader,
    Order,
    Program,
    Settings,
    Stage,
)

_FUNCTIONS = {
    Hooked.DELAY: "udelay",
    Hooked.INITCALL: "initcall_run_list",
    # struct udevice of the driver model begins with the pointers to its driver and its name.
    Hooked.PROBE: "device_probe",
}
SPL = Program(
    name="spl",
    title="SPL",
    phrase="the SPL",
    symbols="u-boot-spl",
    symbols_file="u-boot-spl.map",
    code="u-boot-spl-program",
    code_file="u-boot-spl.elf",
    functions=_FUNCTIONS,
    linked="spl/u-boot-spl",
)
PROPER = Program(
    name="uboot",
    title="U-Boot",
    phrase="U-Boot",
    symbols="u-boot",
    symbols_file="u-boot.map",
    code="u-boot-program",
    code_file="u-boot.elf",
    # It relocates itself to the end of memory.
    functions={Hooked.RELOCATE: "relocate_code", **_FUNCTIONS, Hooked.COMMAND: "cmd_process"},
    linked="u-boot",
)
BANNERS = (
    Banner(r"U-Boot TPL \d", "tpl", Order.SECOND),
    Banner(r"U-Boot VPL \d", "vpl", Order.SECOND),
    Banner(r"U-Boot SPL \d", "spl", Order.EARLY_LOADER, "U-Boot "),
    Banner(r"U-Boot (?:\d|[\w.-]{1,60} \([A-Z][a-z]{2} )", "bootloader", Order.LOADER, "U-Boot "),
    Banner(r"U-boot\(", "bootloader", Order.LOADER),
)
HANDOVER = r"(?:\[\d{2,5}\.\d{3}\])?Starting kernel \.\.\."
"""Some vendors' U-Boot prints its own time before each line."""
RESETS = r"resetting \.\.\.|Resetting on cold boot"
"""Its lines before it resets the chip."""
VERSION_GOES_ON = r"\S{0,80}(?:gcc|clang)\b"
"""What its command `version` prints after the text that is also its banner: its compiler."""
COUNTDOWN = r"Hit (?:any )?key to stop autoboot|[Aa]utoboot in \d+ second"
COUNTDOWN_SECONDS = r"[Aa]utoboot:?\s+(?:in )?(\d{1,3})"
PROMPT = r"=>|U-Boot>|[A-Za-z0-9_-]{1,20} ?(?:=>|#>)"
OWN_WORDS = r"Hit any key|## "
_LATE_NS = 100_000_000
_IMAGES = ImageLines(
    header="## Booting kernel from Legacy Image",
    tree="## Flattened Device Tree",
    moves="   Loading Kernel Image",
    starts="Starting kernel",
    checks=("image_check_dcrc", "memmove_wd"),
    # For bootz and bootm, with the Cubieboard's addresses.
    plain="Kernel image @ 0x42000000 [ 0x000000 - 0x54a300 ]\r\n",
    headed=(
        "## Booting kernel from Legacy Image at 42000000 ...\r\n",
        "   Image Name:   Linux-6.12\r\n",
        "   Image Type:   ARM Linux Kernel Image (uncompressed)\r\n",
        "   Data Size:    5546752 Bytes = 5.3 MiB\r\n",
        "   Load Address: 41000000\r\n",
        "   Entry Point:  41000000\r\n",
        "   Verifying Checksum ... OK\r\n",
        "   Loading Kernel Image to 41000000\r\n",
    ),
)
_LOADS_KERNEL = re.compile(r"^load .*\{kernel_address\}.*\n", re.MULTILINE)


def with_unpacking(script: str, address: int) -> str:
    """A script with which `booti` can unpack the kernel that it loads, temporarily to `address`: unchanged if
    it can already, empty where it does not load a kernel in that way."""
    found = _LOADS_KERNEL.search(script)
    if not found or "booti" not in script:
        return ""
    if "kernel_comp_addr_r" in script:
        return script
    told = f"setenv kernel_comp_addr_r {address:#x}\nsetenv kernel_comp_size ${{filesize}}\n"
    return script[: found.end()] + told + script[found.end() :]


UBOOT = Loader(
    name="u-boot",
    title="U-Boot",
    tree="uboot",
    objects="u-boot-objects",
    config="u-boot-config",
    countdown=r"abortboot|autoboot|bootdelay",
    clocks=("get_ticks", "get_timer", "get_timer_us", "timer_get_us", "get_timer_masked"),
    bus_resets=("twsi_i2c_init", "twsi_reset"),  # the compiler inlines the second into the first
    card_idle="mmc_go_idle",
    script_commands=("source",),
    boot_commands=("bootz", "bootm", "booti", "boot", "bootelf", "bootefi"),
    first_boots_title="Falcon mode",
    settings=Settings(
        commands_variable="bootcmd",
        delay_variable="bootdelay",
        delay="BOOTDELAY",
        silent_variable="silent",
        silent="SILENT_CONSOLE",
        rate="BAUDRATE",
        first_boots="SPL_OS_BOOT",
    ),
    images=_IMAGES,
    announced=(
        Announced("spl", BANNERS[2].pattern, 0, _LATE_NS, "the SPL prints late"),
        Announced("bootloader", f"^{BANNERS[3].pattern}", 0, _LATE_NS, "U-Boot prints late"),
        Announced(
            "decompress", f"^{HANDOVER}", _LATE_NS, 0, "after the message U-Boot still shuts down its devices"
        ),
    ),
    cures=Cures(
        trim=("uboot-trim", "falcon-fat", "falcon-raw-mmc"),
        countdown=("uboot-bootdelay",),
        silent=("uboot-silent",),
        silent_words="it silences Linux too, unless CONFIG_SILENT_U_BOOT_ONLY=y",
        look="U-Boot's bootstage shows what runs there",
    ),
    stages=(
        ROM,
        Stage("spl", SPL.hook(Hooked.START), "spl", SPL),
        Stage("bootloader", PROPER.hook(Hooked.START), "bootloader", PROPER),
        Stage(LOAD, program=PROPER),
        *KERNEL,
    ),
    unpacking=with_unpacking,
)
