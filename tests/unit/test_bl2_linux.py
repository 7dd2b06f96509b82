# SPDX-License-Identifier: Apache-2.0
"""Linux started by what comes before U-Boot: BL2 of Trusted Firmware-A, and OpenSBI from a FIT."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from bootscope.boards.profile import load_board
from bootscope.builder.plan import steps_of
from bootscope.builder.sources import Resolved
from bootscope.builder.steps import bl2_linux, falcon, fit
from bootscope.core.errors import ToolError, UserError
from bootscope.system.changes import Change, apply
from bootscope.system.load import LoadedSystem, load_system
from bootscope.system.model import System
from bootscope.techniques.model import techniques

SECTOR = 194560
FALCON = Change(settings={"uboot.falcon": True, "card.raw_sector": SECTOR, "initramfs": "none"})
BOARD = load_board("virt-arm64")
DEFINITIONS = """\
#define PLAT_PHY_ADDR_SPACE_SIZE	(1ULL << 32)
#define PLAT_VIRT_ADDR_SPACE_SIZE	(1ULL << 32)
#define MAX_MMAP_REGIONS		(13 + MAX_MMAP_REGIONS_SPMC)
#define MAX_XLAT_TABLES			(6 + MAX_XLAT_TABLES_SPMC)
#define MAX_IO_DEVICES			4
"""


def changed(change: Change, name: str = "debian-arm64") -> System:
    return apply(load_system(name).system, {"falcon": FALCON, "more": change})


def steps(system: System) -> list[str]:
    loaded = LoadedSystem(system, load_system("debian-arm64").path)
    there = {name: Resolved("", "0" * 64, "", "") for name in system.sources}
    return [step.name for step in steps_of(loaded, there)]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """The two files of the platform that are changed."""
    (tmp_path / "plat/qemu/qemu/include").mkdir(parents=True)
    (tmp_path / "plat/qemu/qemu/platform.mk").write_text("BL2_SOURCES += plat/qemu/common/qemu_bl2_setup.c\n")
    (tmp_path / "plat/qemu/qemu/include/platform_def.h").write_text(DEFINITIONS)
    return tmp_path


def test_bl2_is_told_where_the_kernel_is_and_what_it_is_told() -> None:
    told = bl2_linux.header(changed(Change(command_line=('a="b\\c"',))), BOARD)
    found = dict(line.removeprefix("#define ").split(" ", 1) for line in told.splitlines())
    assert int(found["LINUX_SECTOR"].removesuffix("ULL"), 16) == SECTOR + falcon.ARGUMENT_SECTORS
    assert found["CARD_BASE"] == "0x10000000ULL"
    assert found["CONFIG_SPACE"] == "0x4010000000ULL"
    assert found["FRAMEBUFFER_WIDTH"] == "0x320ULL"
    assert found["BOOTARGS"].endswith('a=\\"b\\\\c\\""')


def test_a_system_without_a_picture_has_no_frame_buffer_in_its_device_tree() -> None:
    system = msgspec.structs.replace(changed(Change()), framebuffer=None)
    assert "FRAMEBUFFER" not in bl2_linux.header(system, BOARD)
    (linux,) = (path for path in bl2_linux.SOURCES if path.name == "linux.c")
    assert "#ifdef FRAMEBUFFER_ADDRESS" in linux.read_text()


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"card.raw_sector": 0}, "BL2 takes the kernel out of sectors"),
        ({"kernel.packed": "gzip"}, "packed by lz4 or not at all"),
        ({"initramfs.place": "external"}, "BL2 loads no initramfs"),
    ],
)
def test_what_bl2_cannot_do_is_refused(settings: dict[str, str | int], said: str) -> None:
    system = apply(changed(Change()), {"it": Change(settings=dict(settings))})
    with pytest.raises(UserError, match=said):
        bl2_linux.header(system, BOARD)


def test_a_command_line_that_no_header_can_hold_is_refused() -> None:
    with pytest.raises(UserError, match="printable ASCII"):
        bl2_linux.header(changed(Change(command_line=("a=\n#include",))), BOARD)


def test_a_board_without_the_controller_is_refused() -> None:
    with pytest.raises(UserError, match="cubieboard has none"):
        bl2_linux.header(changed(Change()), load_board("cubieboard"))


def test_the_platform_gets_our_files_and_room_for_them(tree: Path) -> None:
    found = bl2_linux.files(tree, "#define LINUX_SECTOR 1\n")
    makefile = found["plat/qemu/qemu/platform.mk"]
    assert makefile.startswith("BL2_SOURCES += plat/qemu/common/qemu_bl2_setup.c\n")
    assert "BL2_SOURCES += plat/qemu/common/linux.c\n" in makefile
    assert {f"plat/qemu/common/{name}" for name in ("linux.c", "lz4.h", "sd_card.h")} <= found.keys()
    definitions = found["plat/qemu/qemu/include/platform_def.h"]
    assert re.findall(r"1ULL << (\d+)", definitions) == ["39", "39"]
    assert definitions.endswith("#define MAX_IO_DEVICES			4\n")
    assert found["plat/qemu/common/linux.h"] == "#define LINUX_SECTOR 1\n"


def test_another_tree_is_told_by_what_it_lacks(tree: Path) -> None:
    path = tree / "plat/qemu/qemu/include/platform_def.h"
    path.write_text(DEFINITIONS.replace("MAX_XLAT_TABLES	", "OTHER_TABLES"))
    with pytest.raises(ToolError, match="has no MAX_XLAT_TABLES"):
        bl2_linux.files(tree, "")


def test_a_kernel_of_ones_own_is_built_from_its_sources() -> None:
    recipe = techniques()["kernel-build-own"].recipes["virt-arm64"]
    base = load_system("debian-arm64").system
    assert "unpack-linux" not in steps(base)
    own = apply(base, {"own": recipe.change})
    assert own.initramfs is None
    names = steps(own)
    assert names.index("unpack-linux") < names.index("kernel")
    assert "initramfs" not in names and "device-tree" not in names
    assert apply(own, {"more": Change(kernel={"NET": False})}).kernel.config == {"NET": False}
    with pytest.raises(UserError, match="more configures busybox, which debian-arm64 takes prebuilt"):
        apply(own, {"more": Change(busybox={"ASH": False})})


def test_what_makes_the_kernel_ones_own_may_come_with_what_configures_it() -> None:
    recipe = techniques()["kernel-build-own"].recipes["virt-arm64"]
    both = {"off": Change(kernel={"NET": False}), "own": recipe.change}
    assert apply(load_system("debian-arm64").system, both).kernel.config == {"NET": False}


@pytest.mark.parametrize(
    ("name", "beside"), [("stock", False), ("debian-arm64", True), ("debian-amd64", True)]
)
def test_other_firmware_is_another_build(name: str, beside: bool) -> None:
    """A build is called after its card, which does not hold what lies in flash."""
    loaded = load_system(name)
    there = {source: Resolved("", "0" * 64, "", "") for source in loaded.system.sources}
    card = next(step for step in steps_of(loaded, there) if step.name == "card")
    assert ("firmware" in card.needs) == beside


def test_the_spl_of_another_board_is_left_alone() -> None:
    assert falcon.by_spl(apply(load_system("stock").system, {"it": Change(settings={"uboot.falcon": True})}))
    system = changed(Change())
    assert not falcon.by_spl(system)
    assert not fit.wanted(system)
    assert "falcon" not in steps(system)


def test_opensbi_takes_a_kernel_that_the_spl_can_unpack() -> None:
    system = changed(Change(settings={"kernel.packed": "lz4"}), "debian-riscv64")
    assert fit.wanted(system)
    assert not falcon.by_spl(system)
    with pytest.raises(UserError, match="none or gzip"):
        fit.check(system.kernel)
