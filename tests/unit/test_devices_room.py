# SPDX-License-Identifier: Apache-2.0
"""What is known of a device is known in its file: nothing outside `devices/` has its words."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import msgspec
import pytest

from bootscope.devices import sd_card, sunxi_boot_rom
from bootscope.devices.model import Console, Media, Storage
from bootscope.devices.registry import AnyDevice

from .builders import ROOT, board

SOURCES = ROOT / "src/bootscope"
WORDS = {
    "a system on chip": r"[Ss]unxi(?!_boot_rom)|SUNXI|[Aa]llwinner|eGON",
    "a controller": r"16550|[Pp][Ll]011|[Ss][Dd][Hh][Cc][Ii]|\bpio\b",
    "a card": r"[Mm][Mm][Cc]",
    "a register": r"(?i)divisor|loopback|byte_count\b",
    "a setting": r"(?<!trace_)\bclock_hz|register_bytes|default_baud",
    "QEMU's arguments": r"\bif=(?:sd|none|mtd|pflash|virtio)|[\"']-(?:serial|drive)\b",
}
NETWORK = "the network that a computer has with itself"
CORE = "the clock of a core, not of a device"
LINUX = "a name that Linux has for all disks"
ALLOWED = {
    ("artefacts/loader.py", "a card"): "a command of U-Boot, one of all that a script may have",
    ("audit/pitfalls/checks/kernel.py", "a card"): LINUX,
    ("audit/pitfalls/checks/kernel.py", "a system on chip"): "Linux's names of all families of chips",
    ("inventory/loader_script.py", "a card"): "says by an example what the field holds",
    ("inventory/root_disk.py", "a card"): LINUX,
    ("loaders/uboot.py", "a card"): "the id of a technique",
    ("readers/bootchart_load.py", "a card"): LINUX,
    ("cli/serve.py", "a register"): NETWORK,
    ("cores/changes.py", "a setting"): CORE,
    ("cores/price.py", "a setting"): CORE,
    ("cores/profile.py", "a setting"): CORE,
    ("posting/http.py", "a register"): NETWORK,
    ("serve/guard.py", "a register"): NETWORK,
    ("serve/place.py", "a register"): NETWORK,
    ("published/decompressors.py", "a system on chip"): "configurations that published kernels had",
    ("trim/devices.py", "a card"): "a property that device trees have",
}


def lines_with(path: Path, what: str) -> list[str]:
    lines = enumerate(path.read_text().splitlines(), 1)
    return [f"{path}:{number}: {line.strip()}" for number, line in lines if re.search(WORDS[what], line)]


@pytest.mark.parametrize("what", WORDS)
def test_nothing_else_knows(what: str) -> None:
    found: list[str] = []
    for path in sorted(SOURCES.rglob("*.py")):
        name = path.relative_to(SOURCES).as_posix()
        if not name.startswith("devices/") and (name, what) not in ALLOWED:
            found += lines_with(path, what)
    assert not found, "\n".join(found)


@pytest.mark.parametrize("what", WORDS)
def test_the_words_are_those_of_devices(what: str) -> None:
    assert any(lines_with(path, what) for path in (SOURCES / "devices").glob("*.py"))


@pytest.mark.parametrize("place", ALLOWED)
def test_an_exception_is_still_one(place: tuple[str, str]) -> None:
    name, what = place
    assert lines_with(SOURCES / name, what)


@pytest.mark.parametrize("kind", get_args(AnyDevice))
def test_a_kind_is_told_apart_and_documented(kind: type[msgspec.Struct]) -> None:
    config = kind.__struct_config__
    assert config.tag_field == "kind"
    assert f"| `{config.tag}` |" in (ROOT / "docs/boards.md").read_text()


def test_a_device_says_itself_what_it_can_be() -> None:
    devices = board().devices
    assert [name for name, device in devices.items() if isinstance(device, Console)] == ["uart0"]
    assert [name for name, device in devices.items() if isinstance(device, Storage)] == ["mmc0"]


def test_what_qemu_is_told_of_the_devices() -> None:
    machine = board()
    assert machine.console_called("uart0").qemu_arguments() == ("-serial", "null")
    drive = "file=/a,,b/sd.img,format=raw,if=sd,snapshot=on"
    assert machine.storage_device.qemu_arguments(Media(Path("/a,b/sd.img"))) == ("-drive", drive)


@pytest.mark.parametrize(("size", "fits"), [(1 << 20, True), (3 << 20, False), (1 << 19, False), (0, False)])
def test_the_size_of_a_card(size: int, fits: bool) -> None:
    assert sd_card.fits(size) is fits


def test_the_first_stage_says_its_own_length() -> None:
    image = bytearray(4096)
    image[4:12], image[16:20] = b"eGON.BT0", (1024).to_bytes(4, "little")
    assert sunxi_boot_rom.first_stage(bytes(image)) == bytes(image[:1024])
    assert sunxi_boot_rom.first_stage(bytes(4096)) is None
    assert sunxi_boot_rom.first_stage(b"") is None


def test_a_rate_that_the_clock_cannot_make_exactly() -> None:
    byte_ns, real = board().console_called("uart0").at_rate(921_600)
    assert (byte_ns, real) == (10 * 16 * 2 * 1_000_000_000 // 24_000_000, 750_000)
