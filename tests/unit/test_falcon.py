# SPDX-License-Identifier: Apache-2.0
"""Falcon mode: what is added to U-Boot and its configuration, and where it may lie on the card."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from bootscope.builder.cache import Cache
from bootscope.builder.plan import outlook
from bootscope.builder.step import Context
from bootscope.builder.steps import falcon, loader_tree
from bootscope.cli.progress import progress
from bootscope.core.errors import UserError
from bootscope.system.changes import Change, apply
from bootscope.system.load import LoadedSystem, check_system, load_system

RAW_SECTOR = 198_656
FALCON = Change(settings={"uboot.falcon": True, "card.raw_sector": RAW_SECTOR})


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """What of U-Boot's tree counts here, with a link as trees have them."""
    board = tmp_path / "u-boot" / "board" / "sunxi"
    board.mkdir(parents=True)
    (board / "Makefile").write_text("obj-y\t+= board.o\n")
    (board / "board.c").write_text("int board;\n")
    (board / "link.c").symlink_to("board.c")
    return tmp_path / "u-boot"


def context(tmp_path: Path) -> Context:
    for name in ("scratch", "out"):
        (tmp_path / name).mkdir()
    return Context(
        {}, tmp_path / "scratch", tmp_path / "out", Cache(tmp_path / "cache"), progress(quiet=True), 1, False
    )


def test_the_tree_stays_as_it_was(tmp_path: Path, tree: Path) -> None:
    before = {path: path.read_text() for path in tree.rglob("*.*")}
    view = tmp_path / "view"
    loader_tree.write(apply(load_system("stock").system, {"falcon": FALCON}), tree, view)
    assert {path: path.read_text() for path in tree.rglob("*.*")} == before
    assert (tree / "board/sunxi/Makefile").read_text() == "obj-y\t+= board.o\n"
    made = (view / "board/sunxi/Makefile").read_text()
    assert made.startswith("obj-y\t+= board.o\n")
    assert "obj-y += falcon.o" in made
    assert "spl_start_uboot" in (view / "board/sunxi/falcon.c").read_text()
    for name in ("board.c", "link.c"):
        assert (view / "board/sunxi" / name).read_text() == "int board;\n"


_DECIDES = (
    "#if defined(CONFIG_SPL_FS_FAT)\n\treturn MMCSD_MODE_FS;\n#else\n\treturn MMCSD_MODE_RAW;\n#endif\n"
)


def test_an_spl_that_finds_u_boot_in_files_looks_into_sectors_first(tmp_path: Path, tree: Path) -> None:
    system = apply(load_system("stock-zynq").system, {"falcon": FALCON})
    with pytest.raises(UserError, match=r"card\.raw_sector cannot be had: common/spl/spl_mmc\.c"):
        loader_tree.write(system, tree, tmp_path / "refused")
    (tree / "common/spl").mkdir(parents=True)
    (tree / "common/spl/spl_mmc.c").write_text(_DECIDES)
    loader_tree.write(system, tree, tmp_path / "view")
    changed = (tmp_path / "view/common/spl/spl_mmc.c").read_text()
    assert changed == _DECIDES.replace("_FS;", "_RAW;")
    assert falcon.symbols(system.card, system.kernel)["SPL_RAW_IMAGE_SUPPORT"] is False
    # From files of the card, or where the boot loader is in sectors itself, nothing is to be changed.
    for name, change in (("stock-zynq", {"uboot.falcon": True}), ("stock", FALCON.settings)):
        other = apply(load_system(name).system, {"falcon": Change(settings=dict(change))})
        loader_tree.write(other, tree, tmp_path / name)
        assert (tmp_path / name / "common/spl/spl_mmc.c").read_text() == _DECIDES
        assert "SPL_RAW_IMAGE_SUPPORT" not in falcon.symbols(other.card, other.kernel)


def test_the_configuration_says_what_lies_where() -> None:
    system = apply(load_system("stock").system, {"falcon": FALCON})
    symbols = falcon.symbols(system.card, system.kernel)
    kernel = RAW_SECTOR + falcon.ARGUMENT_SECTORS
    assert symbols["SYS_MMCSD_RAW_MODE_ARGS_SECTOR"] == hex(RAW_SECTOR)
    assert symbols["SYS_MMCSD_RAW_MODE_KERNEL_SECTOR"] == hex(kernel)
    assert symbols["SYS_LOAD_ADDR"] == hex(system.kernel.load_address)


def test_the_spl_reads_as_much_of_the_arguments_as_it_is_told() -> None:
    for sectors, read in ((0, falcon.ARGUMENT_SECTORS), (64, 64)):
        exact = Change(settings={"card.argument_sectors": sectors})
        system = apply(load_system("stock").system, {"falcon": FALCON, "exact": exact})
        symbols = falcon.symbols(system.card, system.kernel)
        assert symbols["SYS_MMCSD_RAW_MODE_ARGS_SECTORS"] == hex(read)
        # The kernel stays where it was.
        assert symbols["SYS_MMCSD_RAW_MODE_KERNEL_SECTOR"] == hex(RAW_SECTOR + falcon.ARGUMENT_SECTORS)
    more = Change(settings={"card.argument_sectors": falcon.ARGUMENT_SECTORS + 1})
    with pytest.raises(UserError, match=r"card\.argument_sectors"):
        check_system(apply(load_system("stock").system, {"more": more}), load_system("stock").path)


def test_only_a_falcon_system_has_its_step(tmp_path: Path) -> None:
    loaded = load_system("stock")
    changed = LoadedSystem(apply(loaded.system, {"falcon": FALCON}), loaded.path)
    cache = Cache(tmp_path / "cache")
    assert "falcon" not in [step.name for step in outlook(loaded, cache).planned()]
    steps = {step.name: step.needs for step in outlook(changed, cache).planned()}
    assert "falcon" in steps["card"]


@pytest.mark.parametrize("sector", [1, 198_655, 262_144])
def test_the_raw_area_lies_after_the_partitions_and_inside_the_card(tmp_path: Path, sector: int) -> None:
    stock = load_system("stock").path.read_text()
    for folder in ("app", "rootfs"):
        (tmp_path / "stock" / folder).mkdir(parents=True)
    (tmp_path / "stock" / "app" / "main.c").write_text("int main(void) { return 0; }\n")
    changed = stock.replace("root_sectors = 131072", f"root_sectors = 131072\nraw_sector = {sector}")
    (tmp_path / "mine.toml").write_text(changed)
    with pytest.raises(UserError, match=r"card\.raw_sector: expected 198656 or more"):
        load_system(str(tmp_path / "mine.toml"))


def test_a_card_without_a_raw_area_is_called_what_it_was() -> None:
    """The name of a build does not change with settings that it does not use."""
    card = load_system("stock").system.card
    assert "raw_sector" not in msgspec.to_builtins(card)
