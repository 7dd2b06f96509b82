# SPDX-License-Identifier: Apache-2.0
"""A seed of random numbers in a sector of the card: what the image has there, and what the small first
program does with it, compiled for this computer and run on files."""

from __future__ import annotations

import subprocess
from pathlib import Path

import msgspec
import pytest

from bootscope.builder.steps import seed_sector, small_init
from bootscope.core.errors import ToolError, UserError
from bootscope.devices.model import SECTOR_BYTES
from bootscope.inventory.inventory import Absent
from bootscope.inventory.root_disk import root_disk
from bootscope.system.load import check_system, load_system
from bootscope.system.model import Card, System
from bootscope.system.small_init import GLIBC, SmallInit
from tests.unit.known_builders import inventory_of

PLACE = 3
SEED = slice(len(seed_sector.MARK), len(seed_sector.MARK) + seed_sector.SEED_BYTES)
CREDITED = r"""
#include <stdio.h>
int __wrap_ioctl(int file, unsigned long what, const int *credit)
{
	if (file < 0)
		return -1;
	dprintf(2, "%lx %d bits", what & 0xffff, credit[0]);
	for (int at = 0; at < credit[1]; at++)
		dprintf(2, " %02x", ((const unsigned char *)(credit + 2))[at]);
	return dprintf(2, "\n") < 0;
}
"""


def first_program(tmp_path: Path, card: Path) -> Path:
    """The program with the card in a file; what it would tell the kernel's generator it prints."""
    init = SmallInit(path="/init", command="/bin/echo runs", seed=f"/dev/card {PLACE}", libc=GLIBC)
    (tmp_path / "plan.h").write_text(small_init.text_of(init).replace("/dev/card", str(card)))
    (tmp_path / "credited.c").write_text(CREDITED)
    options = ["-O2", "-Wall", "-Wextra", "-Werror", "-Wl,--wrap=ioctl", f"-I{tmp_path}"]
    options += ["-o", str(tmp_path / "init")]
    subprocess.run(["gcc", *options, small_init.SOURCE, tmp_path / "credited.c"], check=True)
    return tmp_path / "init"


def card_with(tmp_path: Path, sector: bytes) -> Path:
    card = tmp_path / "card"
    card.write_bytes(b"\xaa" * SECTOR_BYTES * PLACE + sector + b"\xbb" * SECTOR_BYTES)
    return card


def sector_of(card: Path) -> bytes:
    return card.read_bytes()[SECTOR_BYTES * PLACE :][:SECTOR_BYTES]


def run(program: Path) -> list[str]:
    done = subprocess.run([program], capture_output=True, check=True, text=True)
    assert done.stdout == "runs\n"
    return done.stderr.splitlines()


def test_a_seed_is_credited_once_and_renewed(tmp_path: Path) -> None:
    card = card_with(tmp_path, seed_sector.sector(left=True))
    program, before = first_program(tmp_path, card), card.read_bytes()
    (told,) = run(program)
    assert told == "5203 256 bits " + before[SECTOR_BYTES * PLACE :][SEED].hex(" ")
    after = card.read_bytes()
    assert sector_of(card)[SEED] not in (bytes(seed_sector.SEED_BYTES), before[SECTOR_BYTES * PLACE :][SEED])
    # Nothing else of the card has changed.
    renewed = SECTOR_BYTES * PLACE + SEED.start, SECTOR_BYTES * PLACE + SEED.stop
    assert after[: renewed[0]] == before[: renewed[0]]
    assert after[renewed[1] :] == before[renewed[1] :]
    assert run(program) == ["5203 256 bits " + after[SECTOR_BYTES * PLACE :][SEED].hex(" ")]


def test_the_first_boot_credits_nothing_and_leaves_a_seed(tmp_path: Path) -> None:
    card = card_with(tmp_path, seed_sector.sector(left=False))
    assert run(first_program(tmp_path, card)) == []
    assert any(sector_of(card)[SEED])


def test_a_sector_without_the_mark_stays_as_it_is(tmp_path: Path) -> None:
    card = card_with(tmp_path, b"a loader".ljust(SECTOR_BYTES, b"\xcc"))
    before = card.read_bytes()
    assert run(first_program(tmp_path, card)) == [f"small-init: seed: no seed's place on {card}"]
    assert card.read_bytes() == before


def test_without_the_card_the_program_is_run_all_the_same(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    assert run(first_program(tmp_path, gone)) == [f"small-init: seed: cannot open {gone}"]


def test_the_image_has_the_sector_where_nothing_else_lies(tmp_path: Path) -> None:
    card = msgspec.structs.replace(load_system("stock").system.card, seed_sector=PLACE)
    image = tmp_path / "image"
    image.write_bytes(bytes(SECTOR_BYTES * 8))
    (extent,) = seed_sector.put(image, card)
    assert (extent.sector, extent.sectors) == (PLACE, 1)
    assert sector_of(image) == seed_sector.MARK.ljust(SECTOR_BYTES, b"\0")
    with pytest.raises(ToolError, match="the boot loader lies in sector 3"):
        seed_sector.put(image, card)
    assert seed_sector.put(image, msgspec.structs.replace(card, seed_sector=0)) == []


@pytest.mark.parametrize("sector", [-1, 16, 2048])
def test_a_place_inside_of_something_else_is_refused(sector: int) -> None:
    loaded = load_system("stock")
    card = msgspec.structs.replace(loaded.system.card, seed_sector=sector)
    with pytest.raises(UserError, match=r"card\.seed_sector"):
        check_system(msgspec.structs.replace(loaded.system, card=card), loaded.path)


def test_two_names_of_the_sector_must_be_the_same() -> None:
    loaded = load_system("stock")
    init = SmallInit(path="/init", command="/bin/true", seed="/dev/mmcblk0 2046")
    system = msgspec.structs.replace(loaded.system, small_init=init)
    check_system(msgspec.structs.replace(system, card=at_sector(loaded.system, 2046)), loaded.path)
    with pytest.raises(UserError, match=r"card\.seed_sector: expected 2046, as small_init\.seed has it"):
        check_system(msgspec.structs.replace(system, card=at_sector(loaded.system, 2045)), loaded.path)


def at_sector(system: System, sector: int) -> Card:
    return msgspec.structs.replace(system.card, seed_sector=sector)


@pytest.mark.parametrize(
    ("root", "disk"),
    [
        ("/dev/mmcblk0p2", "/dev/mmcblk0"),
        ("/dev/nvme0n1p1", "/dev/nvme0n1"),
        ("/dev/sda2", "/dev/sda"),
        ("/dev/vdb1", "/dev/vdb"),
        ("/dev/ubiblock0_0", ""),
        ("PARTUUID=1234-02", ""),
        ("/dev/mmcblk0", ""),
    ],
)
def test_the_disk_is_that_of_the_root(root: str, disk: str) -> None:
    known = inventory_of(command_line=f"root={root} rw")
    if disk:
        assert root_disk(known) == disk
    else:
        with pytest.raises(Absent):
            root_disk(known)
