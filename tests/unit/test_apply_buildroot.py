# SPDX-License-Identifier: Apache-2.0
"""`apply` for Buildroot: changes as its users write them."""

from __future__ import annotations

from pathlib import Path

import pytest

from bootscope.buildtrees.changeset import read_folder
from bootscope.buildtrees.importing import Wish, import_tree
from bootscope.kbuild import kconfig
from bootscope.system.changes import Change

from . import tree_builders as trees
from .conftest import Command
from .test_apply_trees import imported, lines, output

# ---- Buildroot ----


def test_a_tree_for_buildroot_names_all_its_parts() -> None:
    out = output("buildroot")
    assert lines(out, "external.desc")[0] == "name: BOOTSCOPE_FAST"
    at = "$(BR2_EXTERNAL_BOOTSCOPE_FAST_PATH)/board/fast"
    fragment = lines(out, "board/fast/buildroot.fragment")
    assert f'BR2_LINUX_KERNEL_CONFIG_FRAGMENT_FILES="{at}/linux.fragment"' in fragment
    assert f'BR2_TARGET_UBOOT_CONFIG_FRAGMENT_FILES="{at}/uboot.fragment"' in fragment
    assert f'BR2_PACKAGE_BUSYBOX_CONFIG_FRAGMENT_FILES="{at}/busybox.fragment"' in fragment
    assert f'BR2_ROOTFS_OVERLAY="{at}/rootfs-overlay"' in fragment
    assert f'BR2_ROOTFS_POST_BUILD_SCRIPT="{at}/post-build.sh"' in fragment
    assert kconfig.parse(out.files["board/fast/linux.fragment"])["SMP"] == "n"
    assert kconfig.parse(out.files["board/fast/uboot.fragment"])["PREBOOT"] == '"say \\"hi\\""'
    assert out.files["board/fast/rootfs-overlay/etc/init.d/S00app"].startswith("#!/bin/sh")


def test_what_buildroot_decides_itself_is_told_to_buildroot() -> None:
    out = output("buildroot")
    fragment = lines(out, "board/fast/buildroot.fragment")
    assert "BR2_LINUX_KERNEL_LZ4=y" in fragment
    assert {"BR2_TARGET_ROOTFS_SQUASHFS=y", "BR2_TARGET_ROOTFS_SQUASHFS4_LZ4=y"} <= set(fragment)
    assert "# BR2_TARGET_ROOTFS_SQUASHFS_EXTREME_COMP is not set" in fragment
    assert any(line.startswith("CONFIG_MODULES: Buildroot switches it on") for line in out.by_hand)
    assert any("uboot.falcon = True" in line for line in out.lost)


def test_the_size_of_squashfs_blocks_is_a_choice_of_buildroots() -> None:
    out = output("buildroot", Change(settings={"rootfs.block_bytes": 65536}))
    assert "BR2_TARGET_ROOTFS_SQUASHFS_BS_64K=y" in lines(out, "board/fast/buildroot.fragment")
    assert not out.lost


def test_a_file_system_that_buildroot_does_not_make_is_told() -> None:
    out = output("buildroot", Change(settings={"rootfs.filesystem": "ubifs"}))
    assert "rootfs.filesystem = ubifs" in out.lost
    assert not any(
        line.startswith("BR2_TARGET_ROOTFS") for line in lines(out, "board/fast/buildroot.fragment")
    )


def test_settings_outside_of_all_sections_are_told(tmp_path: Path) -> None:
    folder = trees.put(tmp_path / "mine", {"settings.toml": 'initramfs = "none"\ntoolchain = "newer"\n'})
    assert {"initramfs = none"} < set(output("buildroot", read_folder(folder)[0]).lost)


def test_lists_that_a_tree_has_are_kept(tmp_path: Path) -> None:
    out = output("buildroot", tree=imported(tmp_path))
    at = "$(BR2_EXTERNAL_BOOTSCOPE_FAST_PATH)/board/fast/rootfs-overlay"
    assert f'BR2_ROOTFS_OVERLAY="board/mine/overlay {at}"' in lines(out, "board/fast/buildroot.fragment")


def test_a_boot_menu_of_the_root_file_system_is_written_anew(tmp_path: Path) -> None:
    out = output("buildroot", tree=imported(tmp_path))
    menu = out.files["board/fast/rootfs-overlay/boot/extlinux/extlinux.conf"]
    assert menu == trees.EXTLINUX.replace(" rootwait", " quiet loglevel=1")
    assert not any("command line:" in line for line in out.by_hand)


def test_trees_that_are_used_already_stay(tmp_path: Path) -> None:
    folder = trees.buildroot(tmp_path)
    names = ("MINE", "BOOTSCOPE_FAST", "BOOTSCOPE_OTHER")
    old = "".join(f'BR2_EXTERNAL_{name}_PATH="/home/me/{name.lower()}"\n' for name in names)
    (folder / ".config").write_text(trees.BR2_CONFIG + old)
    out = output("buildroot", tree=import_tree("mine", folder, Wish()))
    assert "    make O=OUTPUT BR2_EXTERNAL=/home/me/mine:/home/me/bootscope_other:DIR olddefconfig" in out.use
    assert "    make O=OUTPUT linux-reconfigure uboot-reconfigure busybox-reconfigure all" in out.use


@pytest.mark.parametrize("first", [True, False])
def test_a_frozen_command_line_has_the_words_of_all_other_changes(
    main_here: Command, tmp_path: Path, first: bool
) -> None:
    main_here("system", "import", trees.buildroot(tmp_path / "out"), "--as", "mine")
    (tmp_path / "words").mkdir()
    (tmp_path / "words/command-line-words.txt").write_text("+loglevel=1\n-rootwait\n")
    (tmp_path / "words/command-line.txt").write_text("loglevel=1\n")
    others = ("kernel-quiet", "./words")
    names = ("kernel-cmdline-frozen", *others) if first else (*others, "kernel-cmdline-frozen")
    done = main_here("apply", *names, "--to", "buildroot", "ext", "--name", "fast", "--system", "mine")
    assert done.returncode == 0, done.stderr
    board = tmp_path / "ext/board/fast"
    menu = (board / "rootfs-overlay/boot/extlinux/extlinux.conf").read_text()
    kernel = kconfig.parse((board / "linux.fragment").read_text())
    assert kernel["CMDLINE_FORCE"] == "y"
    words = kernel["CMDLINE"].strip('"')
    assert sorted(words.split()) == ["console=ttyS0,115200", "loglevel=1", "quiet", "root=/dev/mmcblk0p1"]
    assert f"  append {words}\n" in menu


def test_what_an_earlier_run_set_is_taken_back(main_here: Command, tmp_path: Path) -> None:
    words = ("--to", "buildroot", "ext", "--name", "fast")
    main_here("system", "import", trees.buildroot(tmp_path / "out"), "--as", "mine")
    main_here("apply", "kernel-compression=lz4", "init-source-scripts", "--system", "mine", *words)
    fragment = tmp_path / "ext/board/fast/buildroot.fragment"
    assert "linux.fragment" in fragment.read_text()
    done = main_here("apply", "uboot-bootdelay", *words)
    assert 'BR2_LINUX_KERNEL_CONFIG_FRAGMENT_FILES=""' in fragment.read_text().splitlines()
    assert 'BR2_ROOTFS_OVERLAY="board/mine/overlay"' in fragment.read_text().splitlines()
    assert not (tmp_path / "ext/board/fast/linux.fragment").exists()
    assert "an earlier run set BR2_LINUX_KERNEL_LZ4=y, this one does not" in done.stdout
    again = fragment.read_text()
    main_here("apply", "uboot-bootdelay", *words)
    assert fragment.read_text() == again


@pytest.mark.parametrize("built_in", [False, True])
def test_words_of_an_earlier_run_go_when_they_are_not_wanted_any_more(
    main_here: Command, tmp_path: Path, built_in: bool
) -> None:
    folder = trees.buildroot(tmp_path / "out")
    menu, kernel = folder / "target/boot/extlinux/extlinux.conf", folder / "build/linux-6.12.1/.config"
    if built_in:
        menu.unlink()
        (folder / "build/uboot-2025.01/u-boot").unlink()
        kernel.write_text(kernel.read_text() + 'CONFIG_CMDLINE="root=/dev/mmcblk0p1 a=\\"b\\""\n')
    main_here("system", "import", folder, "--as", "mine")
    words = ("--to", "buildroot", "ext", "--name", "fast", "--system", "mine")
    main_here("apply", "kernel-quiet", *words)
    board = tmp_path / "ext/board/fast"
    # Built with it, and read again.
    if built_in:
        assert " quiet" in (board / "linux.fragment").read_text()
        kernel.write_text(kernel.read_text() + (board / "linux.fragment").read_text())
    else:
        menu.write_text((board / "rootfs-overlay/boot/extlinux/extlinux.conf").read_text())
        assert " quiet" in menu.read_text()
    main_here("system", "import", folder, "--as", "mine")
    main_here("apply", "kernel-printk-diet", *words)
    made = board / ("linux.fragment" if built_in else "rootfs-overlay/boot/extlinux/extlinux.conf")
    assert "loglevel=" in made.read_text()
    assert "quiet" not in made.read_text()


def test_paths_follow_a_root_with_all_below_usr(tmp_path: Path) -> None:
    folder = trees.buildroot(tmp_path)
    (folder / ".config").write_text(trees.BR2_CONFIG + "BR2_ROOTFS_MERGED_USR=y\n")
    change = Change(write={"/sbin/first": "#!/bin/sh\n", "/etc/x": "y"})
    out = output("buildroot", change, import_tree("mine", folder, Wish()))
    assert "board/fast/rootfs-overlay/usr/sbin/first" in out.files
    assert "board/fast/rootfs-overlay/etc/x" in out.files
