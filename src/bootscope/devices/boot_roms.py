# SPDX-License-Identifier: Apache-2.0
"""What boot ROMs expect on a card, and where: for more chips than can be emulated here.

Sources: the reference manuals of i.MX (image vector table, container), Rockchip's wiki (idbloader), ST's wiki
(header of the first stage), AM335x's manual (MLO, configuration header).
"""

from __future__ import annotations

from collections.abc import Callable

from bootscope.devices import sunxi_boot_rom


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
"""Boot ROMs look no further than this."""


def first_stages(head: bytes) -> list[tuple[str, int]]:
    """(for which chip, where it begins) of the first stages in the first ROM_BYTES of a card."""
    return [(chip, at) for chip, places, fits in _ROMS for at in places if fits(head[at : at + 64])]
