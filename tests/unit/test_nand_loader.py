# SPDX-License-Identifier: Apache-2.0
"""A NAND chip that U-Boot's SPL boots from: what U-Boot gets, what lies in the chip, what is refused."""

from __future__ import annotations

import random
from pathlib import Path

import msgspec
import pytest

from bootscope.boards.profile import load_board
from bootscope.builder.cache import Cache
from bootscope.builder.nand import array, hamming
from bootscope.builder.plan import outlook
from bootscope.builder.progress import Progress
from bootscope.builder.step import Context
from bootscope.builder.steps import configure, loader_tree, nand_flash, nand_loader, payload, rootfs
from bootscope.changes.experiment import with_bases, with_techniques
from bootscope.core.errors import ToolError, UserError
from bootscope.system.changes import Change, apply
from bootscope.system.load import LoadedSystem, check_system, load_system
from bootscope.system.model import System
from bootscope.system.nand import ARGUMENT_BYTES, Nand

from .test_nand import segments

TECHNIQUE = "falcon-raw-nand"
END = "#endif /* _SUNXI_COMMON_CONFIG_H */"


def base() -> LoadedSystem:
    return with_bases(load_system("stock-nand"), [TECHNIQUE])


def falcon() -> LoadedSystem:
    return with_techniques(base(), [TECHNIQUE])


def chip(system: System) -> Nand:
    assert isinstance(system.nand, Nand)
    return system.nand


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """What of U-Boot's tree counts here."""
    for name, text in (
        ("drivers/mtd/nand/raw/Kconfig", "config MTD_RAW_NAND\n"),
        ("drivers/mtd/nand/raw/Makefile", "obj-y += nand.o\n"),
        ("include/configs/sunxi-common.h", f"#define CFG_ONE 1\n\n{END}\n"),
        ("board/sunxi/Makefile", "obj-y\t+= board.o\n"),
    ):
        path = tmp_path / "u-boot" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "u-boot"


# ---- U-Boot ----


def test_other_systems_have_uboot_as_it_was() -> None:
    system = load_system("stock-nand").system
    assert loader_tree.source_of(system) == "uboot"
    assert configure.wanted(system, "uboot") == system.uboot.config
    assert nand_loader.needs(system) == ()


def test_the_tree_has_the_driver_and_where_the_codes_lie(tmp_path: Path, tree: Path) -> None:
    view = tmp_path / "view"
    loader_tree.write(base().system, tree, view)
    folder = view / "drivers/mtd/nand/raw"
    assert (folder / "Makefile").read_text().endswith("obj-$(CONFIG_NAND_BOOTSCOPE) += bootscope_nand.o\n")
    assert "config NAND_BOOTSCOPE_CYCLE_NS" in (folder / "Kconfig").read_text()
    assert "board_nand_init" in (folder / "bootscope_nand.c").read_text()
    constants = (view / "include/configs/sunxi-common.h").read_text()
    assert constants.startswith("#define CFG_ONE 1\n")
    assert constants.endswith(f"{END}\n")
    assert "#define CFG_SYS_NAND_BASE 0x60000000\n" in constants
    places = constants.split("ECCPOS { ")[1].split(" }")[0].split(", ")
    pages = [hamming.spare(random.Random(seed).randbytes(2048), 64) for seed in range(64)]
    used = {at for spare in pages for at, byte in enumerate(spare) if byte != 0xFF}
    assert [int(place) for place in places] == sorted(used)
    assert not (view / "board/sunxi/falcon.c").exists()


def test_falcon_mode_has_the_driver_too(tmp_path: Path, tree: Path) -> None:
    view = tmp_path / "view"
    loader_tree.write(falcon().system, tree, view)
    assert (view / "board/sunxi/falcon.c").exists()
    assert (view / "drivers/mtd/nand/raw/bootscope_nand.c").exists()


def test_a_tree_of_other_boards(tmp_path: Path, tree: Path) -> None:
    (tree / "include/configs/sunxi-common.h").write_text("#define CFG_ONE 1\n")
    with pytest.raises(ToolError, match=r"sunxi-common\.h that ends as expected"):
        loader_tree.write(base().system, tree, tmp_path / "view")


def test_the_configuration_says_what_lies_where() -> None:
    system = falcon().system
    symbols, nand = configure.wanted(system, "uboot"), chip(system)
    assert symbols["SYS_NAND_U_BOOT_OFFS"] == hex(nand.partitions["uboot"][0] * 131072)
    assert symbols["SYS_NAND_SPL_KERNEL_OFFS"] == hex(nand.partitions["kernel"][0] * 131072)
    assert symbols["CMD_SPL_NAND_OFS"] == hex(nand.partitions["device_tree"][0] * 131072)
    assert symbols["NAND_BOOTSCOPE_IDENTITY"] == "0x2cda801550"
    assert symbols["NAND_SUNXI"] is False
    assert symbols["SPL_OS_BOOT"] is True
    assert "SPL_FALCON_BOOT_MMCSD" not in symbols
    assert "SPL_OS_BOOT" not in configure.wanted(base().system, "uboot")


# ---- the chip, and the card ----


def test_the_steps(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    before = {step.name: step for step in outlook(base(), cache).planned()}
    after = {step.name: step for step in outlook(falcon(), cache).planned()}
    assert before["nand"].needs == ("rootfs", "uboot", "device-tree", "kernel")
    assert after["nand"].needs == ("rootfs", "uboot", "falcon", "payload")
    assert before["uboot"].needs == ("unpack-uboot-nand",)
    assert after["uboot"].needs == ("unpack-uboot-nand-falcon",)


def content(tmp_path: Path, system: System, tree_bytes: int = 9) -> Path:
    """The chip with files of a few blocks in the place of what is built."""
    files = {
        f"rootfs/{rootfs.IMAGE}": b"r" * 9,
        "uboot/u-boot.img": b"u" * 131072 + b"v",
        "falcon/falcon.dtb": b"t" * tree_bytes,
        f"payload/{payload.IMAGE}": b"k" * 131072 + b"l" * 131072,
    }
    for name, data in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(data)
    for name in ("scratch", "out"):
        (tmp_path / name).mkdir()
    results = {name.partition("/")[0]: (tmp_path / name).parent for name in files}
    step = nand_flash.steps(system, chip(system), load_board("cubieboard"))[0]
    places = (results, tmp_path / "scratch", tmp_path / "out")
    step.work(Context(*places, Cache(tmp_path / "cache"), Progress(), 1, False))
    return tmp_path / "out" / nand_flash.IMAGE


def test_what_lies_in_the_chip_goes_round_bad_blocks(tmp_path: Path) -> None:
    system = falcon().system
    nand = msgspec.structs.replace(chip(system), bad_blocks=(0, 21))
    system = msgspec.structs.replace(system, nand=nand)
    first: dict[int, int] = {}
    for place, data in segments(content(tmp_path, system)):
        for at in range(0, len(data), nand.raw_block_bytes):
            block, rest = divmod(place - nand.address + at, nand.raw_block_bytes)
            if not rest:
                first[block] = 255 - data[at]
    assert {block: chr(byte) for block, byte in first.items() if block < 96 and byte != 0xFF} == {
        1: "u", 2: "v", 16: "t", 20: "k", 22: "l",
    }  # fmt: skip
    assert array.MARK == 0


def test_a_device_tree_that_the_spl_would_cut_off(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="device tree has 65,537 bytes, the SPL reads 65,536"):
        content(tmp_path, falcon().system, ARGUMENT_BYTES + 1)


def test_a_loader_that_does_not_fit_its_blocks(tmp_path: Path) -> None:
    told = Change(settings={"nand.partitions.uboot": (0, 1)})
    with pytest.raises(ToolError, match=r"u-boot.img takes 2 erase blocks, the partition 'uboot' has 1 good"):
        content(tmp_path, apply(falcon().system, {"it": told}))


def test_the_script_is_told_places_and_sizes() -> None:
    script = nand_loader.put_in(
        "nand read 1 {nand_kernel}\nnand read 2 {nand_device_tree}", base().system,
        lambda name: {"kernel": 0x1234, "device_tree": 0x56}[name],
    )  # fmt: skip
    assert script == "nand read 1 0x280000 0x1234\nnand read 2 0x200000 0x56"
    other = load_system("stock-nand").system
    assert nand_loader.put_in("{nand_kernel}", other, len) == "{nand_kernel}"


# ---- what is refused ----


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"kernel.uimage_address": 0}, "only with the header of a uImage"),
        ({"card.raw_sector": 198656}, "the kernel is on the card"),
    ],
)
def test_a_falcon_mode_that_cannot_be_had(settings: dict[str, int], told: str) -> None:
    system = apply(falcon().system, {"it": Change(settings={**settings})})
    with pytest.raises(UserError, match=told):
        nand_flash.check(system, chip(system), load_board("cubieboard"))


@pytest.mark.parametrize("gone", ["uboot", "device_tree"])
def test_partitions_that_need_each_other(gone: str) -> None:
    system = base().system
    nand = chip(system)
    left = {name: place for name, place in nand.partitions.items() if name != gone}
    other = msgspec.structs.replace(system, nand=msgspec.structs.replace(nand, partitions=left))
    with pytest.raises(UserError, match=r"nand\.partitions\.kernel"):
        check_system(other, Path("it.toml"))
