# SPDX-License-Identifier: Apache-2.0
"""`apply` after `apply`: the tree was built with the words of an earlier run, and others are wanted now."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bootscope.kbuild import kconfig

from . import tree_builders as trees
from .conftest import Command

OWN = "console=ttyS0,115200 root=/dev/mmcblk0p1 rootwait"
MENU, KERNEL = "target/boot/extlinux/extlinux.conf", "build/linux-6.12.1/.config"
OVERLAY = "rootfs-overlay/boot/extlinux/extlinux.conf"


class Applied:
    """A tree of Buildroot, and the folder that changes for it are written to."""

    def __init__(self, main_here: Command, folder: Path) -> None:
        self._main, self.ext = main_here, folder / "ext"
        self.tree, self.board = trees.buildroot(folder / "out"), folder / "ext/board/fast"
        self.import_tree()

    def import_tree(self) -> None:
        done = self._main("system", "import", self.tree, "--as", "mine")
        assert done.returncode == 0, done.stderr

    def apply(self, *names: str) -> str:
        words = ("--to", "buildroot", self.ext, "--name", "fast", "--system", "mine")
        done = self._main("apply", *names, *words)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def build(self) -> None:
        """What Buildroot does with the folder, as far as the command line is concerned; then an import."""
        fragment = self.board / "linux.fragment"
        kernel = self.tree / KERNEL
        old = "".join(line for line in kernel.read_text().splitlines(True) if "CMDLINE" not in line)
        kernel.write_text(old + (fragment.read_text() if fragment.exists() else ""))
        if (self.board / OVERLAY).exists():
            self.menu = (self.board / OVERLAY).read_text()
        self.import_tree()

    @property
    def menu(self) -> str:
        return (self.tree / MENU).read_text()

    @menu.setter
    def menu(self, text: str) -> None:
        (self.tree / MENU).write_text(text)

    @property
    def compiled_in(self) -> str:
        fragment = kconfig.parse((self.board / "linux.fragment").read_text())
        return fragment["CMDLINE"].strip('"')


@pytest.fixture
def applied(main_here: Command, tmp_path: Path) -> Applied:
    return Applied(main_here, tmp_path)


def test_a_frozen_command_line_has_no_words_of_an_earlier_run(applied: Applied) -> None:
    applied.apply("kernel-quiet")
    applied.build()
    assert "rootwait quiet" in applied.menu
    applied.apply("kernel-cmdline-frozen")
    assert applied.compiled_in == OWN
    # The root file system, too, gets the menu that it had.
    assert (applied.board / OVERLAY).read_text() == trees.EXTLINUX
    applied.build()
    applied.apply("kernel-cmdline-frozen", "kernel-printk-diet")
    assert applied.compiled_in == f"{OWN} loglevel=1"


def test_a_line_that_an_earlier_run_froze_was_in_the_menu(applied: Applied) -> None:
    """The text of the menu was taken for the command line."""
    applied.apply("kernel-cmdline-frozen", "kernel-quiet")
    applied.build()
    applied.apply("kernel-cmdline-frozen")
    assert applied.compiled_in == OWN
    applied.build()
    applied.apply("kernel-quiet")
    # It is not compiled in any more, so the word must be in the menu.
    assert not (applied.board / "linux.fragment").exists()
    assert f"append {OWN} quiet\n" in (applied.board / OVERLAY).read_text()


def test_a_run_that_was_never_built_changes_nothing(applied: Applied) -> None:
    applied.apply("kernel-quiet")
    applied.build()
    applied.apply("kernel-printk-diet")
    out = applied.apply("uboot-bootdelay", "kernel-cmdline-frozen")
    assert applied.compiled_in == OWN
    assert "quiet" not in out
    assert (applied.board / OVERLAY).read_text() == trees.EXTLINUX


def test_entries_of_a_menu_that_became_the_same_get_their_own_lines_back(applied: Applied) -> None:
    menu = trees.EXTLINUX + trees.EXTLINUX.replace("linux", "loud").replace("rootwait", "rootwait quiet")
    applied.menu = menu
    applied.import_tree()
    applied.apply("kernel-quiet")
    applied.build()
    assert applied.menu.count(f"append {OWN} quiet\n") == 2
    applied.apply("uboot-bootdelay")
    assert (applied.board / OVERLAY).read_text() == menu


def test_lines_of_a_menu_that_its_owner_edited_since(applied: Applied) -> None:
    applied.apply("kernel-quiet")
    applied.build()
    applied.menu = "timeout 10\n" + applied.menu
    applied.apply("uboot-bootdelay")
    assert (applied.board / OVERLAY).read_text() == "timeout 10\n" + trees.EXTLINUX


def test_a_kernel_whose_fragment_is_gone_is_configured_again(applied: Applied) -> None:
    applied.apply("kernel-no-smp")
    assert "linux-reconfigure uboot-reconfigure all" in applied.apply("uboot-bootdelay")
    assert "make O=OUTPUT uboot-reconfigure all" in applied.apply("uboot-bootdelay").replace(
        str(applied.tree), "OUTPUT"
    )


def test_words_for_grub_of_openwrt(main_here: Command, tmp_path: Path) -> None:
    line = 'CONFIG_GRUB_BOOTOPTS="panic=3'
    folder = trees.put(tmp_path / "top", {".config": f'# OpenWrt Configuration\n{line}"\n'})
    words = ("--to", "openwrt", folder, "--name", "fast")
    main_here("apply", "kernel-quiet", *words)
    lines = (folder / "fast.config").read_text()
    assert f'{line} quiet"' in lines
    (folder / ".config").write_text(f"# OpenWrt Configuration\n{lines}")
    done = main_here("apply", "kernel-printk-diet", *words)
    assert f'{line} loglevel=1"' in (folder / "fast.config").read_text()
    assert "keeps the words of an earlier run" not in done.stdout


def yocto_with(tree: Path, words: str) -> None:
    """The tree as Yocto builds it with words for the command line."""
    for conf in (tree / "tmp/deploy/images/qemuarm").glob("*-2026*.qemuboot.conf"):
        conf.write_text(trees.QEMUBOOT % f"swiotlb=0{words}")


def openwrt_with(tree: Path, words: str) -> None:
    """The tree with words in the command line that is compiled in."""
    kernel = tree / "build_dir/target-arm/linux-armsr_armv7/linux-6.6.1/.config"
    old = "".join(line for line in kernel.read_text().splitlines(True) if "CMDLINE" not in line)
    kernel.write_text(f'{old}CONFIG_CMDLINE="console=ttyAMA0{words}"\n')


@pytest.mark.parametrize(
    ("kind", "make", "built_with", "fragment"),
    [
        ("yocto", trees.yocto, yocto_with, "recipes-kernel/linux/files/linux/fast.cfg"),
        ("openwrt", trees.openwrt, openwrt_with, "env/kernel-config"),
        ("files", trees.openwrt, openwrt_with, "kernel.config"),
    ],
)
def test_frozen_lines_of_other_trees(
    main_here: Command,
    tmp_path: Path,
    kind: str,
    make: Callable[[Path], Path],
    built_with: Callable[[Path, str], None],
    fragment: str,
) -> None:
    tree = make(tmp_path / "tree")
    folder = tree if kind == "openwrt" else tmp_path / "changes"
    words = ("--to", kind, folder, "--name", "fast", "--system", "mine")

    def frozen() -> str:
        done = main_here("apply", "kernel-cmdline-frozen", *words)
        assert done.returncode == 0, done.stderr
        return kconfig.parse((folder / fragment).read_text())["CMDLINE"]

    built_with(tree, "")
    main_here("system", "import", tree, "--as", "mine")
    own = frozen()
    assert own != '""'
    main_here("apply", "kernel-quiet", *words)
    built_with(tree, " quiet")
    main_here("system", "import", tree, "--as", "mine")
    assert frozen() == own
