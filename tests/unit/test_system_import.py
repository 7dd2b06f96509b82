# SPDX-License-Identifier: Apache-2.0
"""`system import`, and what audit and build make of what it found."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Any

import pytest

from bootscope.buildtrees import keep
from bootscope.buildtrees.importing import Wish, import_tree
from bootscope.buildtrees.model import Tree
from bootscope.core.errors import UserError

from . import artefact_builders as made
from . import tree_builders as trees
from .conftest import Command, Done
from .test_cli_verbs import json_of
from .test_lab_cli import refused


def found(folder: Path, **wish: Any) -> Tree:
    return import_tree("mine", folder, Wish(**wish))


def paths(tree: Tree, role: str) -> list[str]:
    return [a.path for a in tree.artefacts if a.role == role]


# ---- what is recognised ----


def test_an_output_folder_of_buildroot(tmp_path: Path) -> None:
    tree = found(trees.buildroot(tmp_path))
    assert tree.made_by == "buildroot"
    assert paths(tree, "kernel-config") == ["build/linux-6.12.1/.config"]
    assert paths(tree, "uboot-config") == ["build/uboot-2025.01/.config"]
    assert paths(tree, "busybox-config") == ["build/busybox-1.37.0/.config"]
    assert paths(tree, "kernel-image") == ["images/zImage"]
    assert paths(tree, "kernel-elf") == ["build/linux-6.12.1/vmlinux"]
    assert paths(tree, "rootfs-folder") == ["target"]
    assert paths(tree, "initramfs") == ["images/rootfs.cpio"]
    assert tree.toolchain_prefix == "host/bin/arm-buildroot-linux-gnueabihf-"
    assert tree.versions["buildroot"] == "2026.08"
    assert tree.versions["kernel"] == "6.12.1"


def test_the_device_tree_is_the_one_that_the_configuration_names(tmp_path: Path) -> None:
    assert paths(found(trees.buildroot(tmp_path)), "device-tree") == ["images/board.dtb"]


def test_of_several_device_trees_none_is_guessed(tmp_path: Path) -> None:
    trees.put(trees.bare(tmp_path), {"linux/arch/arm/boot/dts/other.dtb": made.dtb(300)})
    tree = found(tmp_path)
    assert paths(tree, "device-tree") == []
    assert "2 of them" in tree.missing["device tree"]


def test_buildroot_that_is_built_in_its_own_folder(tmp_path: Path) -> None:
    trees.buildroot(tmp_path / "output")
    (tmp_path / "output/.config").rename(tmp_path / ".config")
    for named in (tmp_path, tmp_path / "output"):
        assert paths(found(named), "kernel-image") == ["output/images/zImage"]


def test_buildroot_that_was_only_configured_says_what_is_missing(tmp_path: Path) -> None:
    tree = found(trees.put(tmp_path, {".config": trees.BR2_CONFIG}))
    assert {"kernel image", "kernel configuration", "BusyBox configuration"} <= tree.missing.keys()
    assert "build/linux-6.12.1/.config" in tree.missing["kernel configuration"]
    assert any("no kernel has been built" in note for note in tree.notes)


def test_a_build_folder_of_yocto(tmp_path: Path) -> None:
    tree = found(trees.yocto(tmp_path))
    deploy = "tmp/deploy/images/qemuarm/"
    assert (tree.made_by, tree.machine) == ("yocto", "qemuarm")
    assert paths(tree, "kernel-image") == [f"{deploy}zImage"]
    assert paths(tree, "initramfs") == [f"{deploy}core-image-minimal-qemuarm.rootfs.cpio.gz"]
    assert paths(tree, "packages") == [f"{deploy}core-image-minimal-qemuarm.rootfs.manifest"]
    assert len(paths(tree, "kernel-config")) == 1
    assert tree.command_line == "vmalloc=256 console=ttyAMA0 swiotlb=0"
    assert "runqemu adds" in tree.command_line_from
    assert tree.versions["series"] == "scarthgap"


def test_a_deploy_folder_alone_says_that_work_folders_are_missing(tmp_path: Path) -> None:
    tree = found(trees.yocto(tmp_path) / "tmp/deploy/images/qemuarm")
    assert paths(tree, "kernel-image") == ["zImage"]
    assert "give the build folder, not the deploy folder" in tree.missing["kernel configuration"]


def test_of_several_machines_one_must_be_chosen(tmp_path: Path) -> None:
    trees.yocto(tmp_path)
    trees.put(tmp_path, {"tmp/deploy/images/other/x.rootfs.manifest": ""})
    with pytest.raises(UserError, match="several machines: other, qemuarm"):
        found(tmp_path)
    assert found(tmp_path, machine="qemuarm").machine == "qemuarm"
    with pytest.raises(UserError, match="nothing was deployed for the machine third"):
        found(tmp_path, machine="third")


def test_of_several_images_the_newest_is_taken_and_that_is_said(tmp_path: Path) -> None:
    trees.yocto(tmp_path)
    deploy = tmp_path / "tmp/deploy/images/qemuarm"
    trees.put(
        deploy,
        {
            "big-qemuarm.rootfs-1.testdata.json": "{}",
            "big-qemuarm.rootfs.testdata.json": "-> big-qemuarm.rootfs-1.testdata.json",
        },
    )
    trees.newer(deploy / "big-qemuarm.rootfs-1.testdata.json")
    tree = found(tmp_path)
    assert tree.image == "big-qemuarm.rootfs"
    assert any("core-image-minimal-qemuarm.rootfs (--image chooses)" in note for note in tree.notes)
    assert found(tmp_path, image="core-image-minimal").image == "core-image-minimal"


def test_the_top_folder_of_openwrt(tmp_path: Path) -> None:
    tree = found(trees.openwrt(tmp_path))
    at = "bin/targets/armsr/armv7/openwrt-24.10-armsr-armv7-generic"
    assert (tree.made_by, tree.machine, tree.image) == ("openwrt", "armsr/armv7", "generic")
    assert paths(tree, "disk-image") == [f"{at}-squashfs-combined.img.gz"]
    assert paths(tree, "kernel-image") == [f"{at}-kernel.bin"]
    assert paths(tree, "kernel-config") == ["build_dir/target-arm/linux-armsr_armv7/linux-6.6.1/.config"]
    assert paths(tree, "rootfs-folder") == ["build_dir/target-arm/root-armsr"]
    assert tree.versions["openwrt"] == "24.10.0 r1-abc"


def test_the_top_folder_of_openwrt_before_anything_is_built(tmp_path: Path) -> None:
    config = '# OpenWrt Configuration\nCONFIG_TARGET_BOARD="sunxi"\nCONFIG_TARGET_SUBTARGET="cortexa8"\n'
    tree = found(trees.put(tmp_path, {".config": config}))
    assert (tree.made_by, tree.machine) == ("openwrt", "sunxi/cortexa8")
    assert tree.first("build-config")


def test_a_name_in_profiles_json_leads_nowhere_else(tmp_path: Path) -> None:
    tree = found(trees.openwrt(tmp_path))
    assert not any("secret" in a.path for a in tree.artefacts)


def test_plain_trees_beside_each_other(tmp_path: Path) -> None:
    tree = found(trees.bare(tmp_path))
    assert tree.made_by == "bare"
    assert paths(tree, "kernel-image") == ["linux/arch/arm/boot/zImage"]
    assert paths(tree, "device-tree") == ["linux/arch/arm/boot/dts/board.dtb"]
    assert paths(tree, "spl-image") == ["u-boot/spl/u-boot-spl.bin"]
    assert tree.command_line == "console=ttyS0 root=/dev/ram0"
    assert tree.command_line_from == "bootargs of U-Boot"


# ---- the command line ----


def test_the_command_line_of_a_boot_menu_wins_over_u_boots_environment(tmp_path: Path) -> None:
    tree = found(trees.buildroot(tmp_path))
    assert tree.command_line == "console=ttyS0,115200 root=/dev/mmcblk0p1 rootwait"
    assert tree.command_line_from == "target/boot/extlinux/extlinux.conf"


def test_the_emulators_command_line_wins_over_a_boot_menu(tmp_path: Path) -> None:
    command = "exec qemu-system-arm -M x \\\n  -append 'rootwait root=/dev/vda quiet' \"$@\""
    script = f"#!/bin/sh\n# starts it\n{command}\n"
    tree = found(trees.put(trees.buildroot(tmp_path), {"images/start-qemu.sh": script}))
    assert tree.command_line == "rootwait root=/dev/vda quiet"


@pytest.mark.parametrize(
    ("symbols", "words"),
    [
        ("CONFIG_CMDLINE_FORCE=y\n", "own=1"),
        ("CONFIG_CMDLINE_EXTEND=y\n", "console=ttyS0,115200 root=/dev/mmcblk0p1 rootwait own=1"),
        ("", "console=ttyS0,115200 root=/dev/mmcblk0p1 rootwait"),
    ],
)
def test_a_command_line_of_the_kernels_own(tmp_path: Path, symbols: str, words: str) -> None:
    config = made.KERNEL_CONFIG + 'CONFIG_CMDLINE="own=1"\n' + symbols
    assert (
        found(trees.put(trees.buildroot(tmp_path), {"build/linux-6.12.1/.config": config})).command_line
        == words
    )


# ---- the record ----


def test_a_record_is_what_it_was_when_it_is_read_again(tmp_path: Path) -> None:
    tree = found(trees.buildroot(tmp_path / 'a "strange"\x7f name'), build=())
    keep.write(tree, tmp_path / "mine.toml")
    assert keep.load_tree(str(tmp_path / "mine.toml"))[0] == tree


@pytest.mark.parametrize("path", ["/etc/passwd", "../x", "a/../../x"])
def test_a_record_whose_paths_lead_out_is_refused(tmp_path: Path, path: str) -> None:
    keep.write(found(trees.buildroot(tmp_path / "out")), tmp_path / "mine.toml")
    text = (tmp_path / "mine.toml").read_text().replace("images/zImage", path)
    (tmp_path / "mine.toml").write_text(text)
    with pytest.raises(UserError, match="leads out of the tree's folder"):
        keep.load_tree(str(tmp_path / "mine.toml"))


# ---- the verbs ----


def test_import_then_audit_then_forget(main_here: Command, tmp_path: Path) -> None:
    folder = trees.buildroot(tmp_path / "out")
    done = main_here("system", "import", folder, "--as", "gateway")
    assert done.returncode == 0, done.stderr
    assert "gateway: Buildroot 2026.08, imported" in done.stdout
    assert "build command: none" in done.stdout
    audit = json_of(main_here("audit", "gateway", "--json"), "audit")
    assert audit["boot"] is None
    techniques = {f["technique"] for f in audit["techniques"]}
    assert {"kernel-no-modules", "uboot-bootdelay"} <= techniques
    kinds = {f["kind"] for f in audit["files"]}
    assert {"kernel configuration", "kernel command line", "U-Boot environment", "root file system"} <= kinds
    assert "gateway" in main_here("system", "list").stdout
    assert json_of(main_here("system", "rm", "gateway", "--json"), "system-rm")["name"] == "gateway"
    assert (folder / "images/zImage").exists()
    refused(main_here("system", "show", "gateway"), "unknown imported system 'gateway'")


def test_a_record_of_the_users_own_place(main_here: Command, tmp_path: Path) -> None:
    folder = trees.buildroot(tmp_path / "out")
    assert main_here("system", "import", folder, "-o", "here.toml").returncode == 0
    assert tomllib.loads((tmp_path / "here.toml").read_text())["kind"] == "tree"
    assert json_of(main_here("audit", "here.toml", "--json"), "audit")["techniques"]
    document = json_of(main_here("system", "show", "here.toml", "--json"), "system")
    assert (document["made_by"], document["folder"]) == ("buildroot", str(folder))


def test_a_tree_names_no_emulated_board(main_here: Command, tmp_path: Path) -> None:
    main_here("system", "import", trees.buildroot(tmp_path / "out"), "--as", "gateway")
    refused(main_here("record", "gateway"), "name the board that the image is to boot on", "--board")


def test_names_that_cannot_be(main_here: Command, tmp_path: Path) -> None:
    folder = trees.buildroot(tmp_path / "out")
    refused(
        main_here("system", "import", folder, "--as", "stock"), "'stock' is the name of a built-in system"
    )
    refused(main_here("system", "import", folder, "--as", "../x"), "'../x' is not a valid name")
    main_here("system", "import", folder, "--as", "one")
    other = trees.bare(tmp_path / "bare")
    refused(main_here("system", "import", other, "--as", "one"), "one is already the name of", "--as")
    refused(main_here("system", "import"), "system import needs a folder")
    refused(main_here("system", "import", tmp_path / "nowhere"), "cannot read")


@pytest.fixture
def built(main_here: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """Imports a tree with a command, and builds it."""
    monkeypatch.setenv("PATH", os.defpath)

    def run(command: str, *options: str) -> Done:
        folder = trees.buildroot(tmp_path / "out") if not (tmp_path / "out").exists() else tmp_path / "out"
        done = main_here("system", "import", folder, "--as", "gateway", "--build", command, *options)
        assert done.returncode == 0, done.stderr
        return main_here("build", "gateway")

    return run


def test_a_build_runs_the_owners_command_and_reads_what_came_out(built: Command, main_here: Command) -> None:
    done = built("cp images/u-boot.bin images/boot.scr")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "new: images/boot.scr\n"
    done = main_here("build", "gateway")
    assert done.stdout == "nothing has changed\n"


def test_a_command_is_given_to_no_shell_unless_asked(built: Command, tmp_path: Path) -> None:
    assert built("touch images/a;b $HOME").returncode == 0
    assert (tmp_path / "out/images/a;b").exists()
    assert (tmp_path / "out/$HOME").exists()
    assert built("touch one; touch two", "--shell").returncode == 0
    assert (tmp_path / "out/one").exists()
    assert (tmp_path / "out/two").exists()


def test_a_build_that_fails_is_a_failure_of_a_tool(built: Command) -> None:
    done = built("sh -c 'echo cannot find the compiler; exit 7'")
    assert done.returncode == 3
    assert "sh failed (status 7)" in done.stderr
    assert "cannot find the compiler" in done.stderr
    assert "full log: " in done.stderr


def test_without_a_command_nothing_is_built(main_here: Command, tmp_path: Path) -> None:
    main_here("system", "import", trees.buildroot(tmp_path / "out"), "--as", "gateway")
    refused(main_here("build", "gateway"), "no build command is configured for gateway", "--build")


def test_a_command_that_is_none(main_here: Command, tmp_path: Path) -> None:
    folder = trees.buildroot(tmp_path / "out")
    refused(main_here("system", "import", folder, "--build", "'"), "--build: No closing quotation")
    refused(main_here("system", "import", folder, "--build", " "), "--build: expected a command")
    refused(main_here("system", "import", folder, "--shell"), "--shell is for the commands of --build")
