# SPDX-License-Identifier: Apache-2.0
"""Boot loaders and firmware in images, recognised by the version text in their programs.

Sources: U-Boot include/version.h and common/spl (its version text, in each stage); TF-A
include/tools_share/firmware_image_package.h (FIP) and its version text; OpenSBI lib/sbi/sbi_init.c; barebox
and GRUB by their version texts; systemd src/boot/boot.c (the marks LoaderInfo).
"""

from __future__ import annotations

import re
from dataclasses import dataclass


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
"""Programs that assemble their version text at run time: the version is unknown."""
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
"""The order in which they run where there are several; others run last."""


def order(what: str) -> int:
    """The position of a program in the order in which they run."""
    return _ORDER.index(what) if what in _ORDER else len(_ORDER)


@dataclass(frozen=True)
class Program:
    """A boot loader that was found: its name, its version (empty if unknown), its offset in the searched
    data; `place`, in words, if it is where a boot ROM looks for it."""

    what: str
    version: str
    at_bytes: int
    place: str = ""


def named_in(data: bytes, at: int = 0) -> list[Program]:
    """The programs with texts in data that begin at offset `at`, each version once, in order."""
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
