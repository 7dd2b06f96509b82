# SPDX-License-Identifier: Apache-2.0
"""Boot loaders and firmware in images: by the version that a program of theirs holds, and by what a boot ROM
wants to find at a place of a card.

Sources: U-Boot include/version.h and common/spl (its version text, in each stage), doc/board/*; TF-A
include/tools_share/firmware_image_package.h (FIP) and its version text; OpenSBI lib/sbi/sbi_init.c; barebox
and GRUB by their version texts; systemd src/boot/boot.c (the marks LoaderInfo); the reference manuals of i.MX
(image vector table), Rockchip's wiki (idbloader), STM32MP (header of the first stage).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from bootscope.devices import sunxi_boot_rom


@dataclass(frozen=True)
class Marked:
    """A text in a program: the first group of `pattern` is its version; `what` is the program's name."""

    what: str
    pattern: re.Pattern[bytes]


_TFA_TEXT = rb"(v\d+\.\d+(?:\.\d+)?(?:-[\w.]{1,20})?\((?:release|debug)\)(?::[\x21-\x7e]{1,60})?):?\0"
UBOOT, UBOOT_SPL, TFA, OPENSBI = "U-Boot", "U-Boot SPL", "TF-A", "OpenSBI"
TEXTS = (
    Marked("U-Boot TPL", re.compile(rb"U-Boot TPL (20\d\d\.\d\d[\x21-\x7e]{0,60})")),
    Marked(UBOOT_SPL, re.compile(rb"U-Boot SPL (20\d\d\.\d\d[\x21-\x7e]{0,60})")),
    Marked(UBOOT, re.compile(rb"U-Boot (20\d\d\.\d\d[\x21-\x7e]{0,60})")),
    Marked(TFA, re.compile(_TFA_TEXT)),
    Marked(OPENSBI, re.compile(rb"OpenSBI (v\d+\.\d+[\x21-\x7e]{0,40})")),
    Marked("barebox", re.compile(rb"barebox (20\d\d\.\d\d\.\d[\x21-\x7e]{0,40})")),
    Marked("systemd-boot", re.compile(rb"#### LoaderInfo: systemd-boot (\d[\x21-\x7e]{0,40}) ####")),
    Marked("systemd-stub", re.compile(rb"#### LoaderInfo: systemd-stub (\d[\x21-\x7e]{0,40}) ####")),
    Marked("GRUB", re.compile(rb"GNU GRUB  version %s\0[\x00-\x7e]{0,400}?(\d\.\d\d[\x21-\x7e]{0,30})\0")),
    Marked("OP-TEE", re.compile(rb"OP-TEE version: (\d+\.\d+\.\d+[\x21-\x7e]{0,30})")),
    Marked("SeaBIOS", re.compile(rb"SeaBIOS \(version (\d[\x21-\x7e]{0,40})\)")),
)
_NO_VERSION = ((OPENSBI, b"OpenSBI v%d.%d"), ("GRUB", b"GNU GRUB  version %s"))
"""Programs that put their version together as they run: it is not known."""
_FIP = b"\x01\x00\x64\xaa"
LOADED_BY_EFI = ("systemd-boot", "systemd-stub", "GRUB")
_ORDER = (
    "U-Boot TPL",
    UBOOT_SPL,
    TFA,
    "OP-TEE",
    OPENSBI,
    "SeaBIOS",
    UBOOT,
    "barebox",
    "GRUB",
    "systemd-boot",
)
"""In which order they run where several are there; what is not in it runs last."""


def order(what: str) -> int:
    """The place of a program in the order in which they run."""
    return _ORDER.index(what) if what in _ORDER else len(_ORDER)


@dataclass(frozen=True)
class Program:
    """A boot loader that was found: its name, its version (empty where it does not say it), where it stands
    in what was searched; `place` in words where a boot ROM looks for it there."""

    what: str
    version: str
    at_bytes: int
    place: str = ""


def named_in(data: bytes, at: int = 0) -> list[Program]:
    """The programs whose texts are in some data that begin at a place, each version once, in order."""
    found: dict[tuple[str, str], Program] = {}
    for mark in TEXTS:
        for match in mark.pattern.finditer(data):
            version = match[1].decode("ascii").rstrip()
            found.setdefault((mark.what, version), Program(mark.what, version, at + match.start()))
    for what, text in _NO_VERSION:
        place = data.find(text)
        if place >= 0 and not any(name == what for name, _ in found):
            found[what, ""] = Program(what, "", at + place)
    if (fip := data.find(_FIP)) >= 0 and not fip % 512:
        found["FIP", ""] = Program("FIP (TF-A's package of images)", "", at + fip)
    return sorted(found.values(), key=lambda program: program.at_bytes)


def _ivt(data: bytes) -> bool:
    """Whether an image vector table of i.MX begins here: a tag, a length of 32 bytes, a version."""
    return data[:3] == b"\xd1\x00\x20" and data[3:4] in (b"\x40", b"\x41", b"\x42", b"\x43")


def _container(data: bytes) -> bool:
    """Whether a container header of i.MX 8 (ULP, X) begins here: version, length, tag."""
    return data[:1] == b"\x00" and data[3:4] == b"\x87" and 0 < int.from_bytes(data[1:3], "little") < 0x2000


def _allwinner(data: bytes) -> bool:
    return sunxi_boot_rom.first_stage(data) is not None


_ROCKCHIP = (b"RKNS", b"\x3b\x8c\xdc\xfc")
_ROMS: tuple[tuple[str, tuple[int, ...], Callable[[bytes], bool]], ...] = (
    (sunxi_boot_rom.TITLE, (0x2000, 0x20000), _allwinner),
    ("an i.MX SoC (image vector table)", (0x400, 0x8000, 0x8400), _ivt),
    ("an i.MX 8 SoC (container)", (0x400, 0x8000, 0x8400), _container),
    ("a Rockchip SoC (idbloader)", (0x8000,), lambda d: d[:4] in _ROCKCHIP),
    ("an STM32MP SoC", (0x4400, 0x44400), lambda d: d[:4] == b"STM2"),
    ("an AM33xx SoC (MLO)", (0x0, 0x20000), lambda d: d[20:30] == b"CHSETTINGS"),
)
ROM_BYTES = 0x50000
"""As far as the places go that a boot ROM looks at."""


def for_boot_roms(head: bytes) -> list[Program]:
    """First stages where boot ROMs look for them, in the first ROM_BYTES of a card."""
    return [
        Program(f"first stage for {what}", "", at, "where its boot ROM looks")
        for what, places, fits in _ROMS
        for at in places
        if fits(head[at : at + 64])
    ]
