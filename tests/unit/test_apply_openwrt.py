# SPDX-License-Identifier: Apache-2.0
"""`apply --to openwrt`: what OpenWrt's own makefiles do with files, kernel configuration and .config."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from bootscope.buildtrees.applying import WRITERS, target_for
from bootscope.buildtrees.changeset import ChangeSet
from bootscope.buildtrees.importing import Wish, import_tree
from bootscope.buildtrees.model import Trial
from bootscope.buildtrees.output import Output
from bootscope.buildtrees.variants import Variants
from bootscope.kbuild import kconfig
from bootscope.system.changes import Change
from bootscope.system.model import Symbols

from . import tree_builders as trees
from .conftest import Command
from .test_cli_verbs import json_of

MENU = "config KERNEL_KALLSYMS\n\tbool\n\n\tconfig KERNEL_DEBUG_FS\n\t\tbool\n"
BOARD = 'CONFIG_TARGET_BOARD="sunxi"\n'
CONFIG = "# OpenWrt Configuration\n" + BOARD
GRUB = 'CONFIG_GRUB_BOOTOPTS="panic=3 debug"\n'
QUIET = Change(command_line=("quiet", "panic=9"), command_line_drop=("debug",))


def sources(folder: Path, config: str = CONFIG) -> Path:
    """The top folder of OpenWrt's sources, as far as it is read."""
    return trees.put(
        folder,
        {
            ".config": config,
            "config/Config-kernel.in": MENU,
            "package/boot/uboot-sunxi/Makefile": "include u-boot.mk\n",
            "package/boot/uboot-sunxi/uEnv-default.txt": "setenv bootargs console=ttyS0\n",
            "package/boot/uboot-sunxi/patches/1.patch": "bootargs\n",
            "target/linux/sunxi/image/Makefile": "all:\n",
        },
    )


def output(change: Change, folder: Path | None = None) -> Output:
    target = target_for("fast", None, Trial(), "openwrt", folder)
    return WRITERS["openwrt"](ChangeSet(("a: b",), change), target)


def lines(out: Output) -> list[str]:
    return out.files.get("fast.config", "").splitlines()


def test_kernel_symbols_of_openwrts_own_menu_are_set_there_too(tmp_path: Path) -> None:
    change = Change(kernel={"KALLSYMS": False, "SMP": False}, kernel_wishes={"DEBUG_FS": False, "PM": False})
    out = output(change, sources(tmp_path))
    wanted = {"KALLSYMS": "n", "SMP": "n", "DEBUG_FS": "n", "PM": "n"}
    assert kconfig.parse(out.files["env/kernel-config"]) == wanted
    assert set(lines(out)) == {
        "# CONFIG_KERNEL_KALLSYMS is not set",
        "# CONFIG_KERNEL_DEBUG_FS is not set",
    }
    # Where nobody knows what the menu has, all are written: OpenWrt drops those that it does not know.
    assert "# CONFIG_KERNEL_SMP is not set" in lines(output(change))


def test_what_openwrt_did_not_take_can_be_seen(tmp_path: Path) -> None:
    folder = sources(tmp_path)
    out = output(Change(kernel={"KALLSYMS": False}, busybox={"ASH": True}), folder)
    (check,) = [line for line in out.use if "grep" in line]
    (folder / "fast.config").write_text(out.files["fast.config"])
    (folder / ".config").write_text("CONFIG_BUSYBOX_CUSTOM=y\n# CONFIG_KERNEL_KALLSYMS is not set\n")
    done = subprocess.run(["sh", "-c", check], cwd=folder, capture_output=True, text=True, check=False)
    assert done.stdout == "CONFIG_BUSYBOX_CONFIG_ASH=y\n"


def test_what_an_earlier_run_put_into_the_configuration_is_forgotten(tmp_path: Path) -> None:
    folder = sources(tmp_path)
    before = output(Change(kernel={"KALLSYMS": False}, busybox={"ASH": True, "CAT": False}), folder)
    (folder / "fast.config").write_text(before.files["fast.config"])
    with (folder / ".config").open("a") as config:
        config.write(before.files["fast.config"])
        config.write("CONFIG_BUSYBOX_CONFIG_ASH_ECHO=y\n")
    out = output(Change(busybox={"ASH": True}), folder)
    (forget,) = [line for line in out.use if line.startswith("    sed ")]
    subprocess.run(["sh", "-c", forget], cwd=folder, check=True)
    left = (folder / ".config").read_text().splitlines()
    assert left[-3:] == [
        "CONFIG_BUSYBOX_CUSTOM=y",
        "CONFIG_BUSYBOX_CONFIG_ASH=y",
        "CONFIG_BUSYBOX_CONFIG_ASH_ECHO=y",
    ]
    assert out.use.index(forget) < out.use.index("    make defconfig")
    assert not [line for line in output(Change(busybox={"ASH": True})).use if "sed" in line]


def test_nothing_left_for_the_configuration_is_forgotten_as_well(tmp_path: Path) -> None:
    folder = sources(tmp_path)
    (folder / "fast.config").write_text("CONFIG_TARGET_ROOTFS_SQUASHFS=y\n")
    out = output(Change(kernel={"SMP": False}), folder)
    assert lines(out) == []
    assert any("CONFIG_(TARGET_ROOTFS_SQUASHFS)[= ]/d" in line for line in out.use)
    assert "    make defconfig" in out.use
    assert not any("grep" in line for line in out.use)


def test_words_of_the_command_line_where_grub_has_them(tmp_path: Path) -> None:
    folder = sources(tmp_path, CONFIG + GRUB)
    out = output(QUIET, folder)
    assert 'CONFIG_GRUB_BOOTOPTS="panic=9 quiet"' in lines(out)
    assert not any("add to the kernel's command line" in line for line in out.by_hand)
    assert "remove from the kernel's command line: debug" in out.by_hand
    (folder / "fast.config").write_text(out.files["fast.config"])
    assert any("keeps the words of an earlier run" in line for line in output(QUIET, folder).by_hand)
    # A word that Kconfig would read differently is left to a person.
    assert lines(output(Change(command_line=('a="b"',)), folder)) == []


def test_words_of_the_command_line_elsewhere_are_left_to_a_person_who_is_told_where(tmp_path: Path) -> None:
    out = output(QUIET, sources(tmp_path))
    assert lines(out) == []
    assert "add to the kernel's command line: quiet panic=9" in out.by_hand
    (where,) = [line for line in out.by_hand if "OpenWrt has the command line" in line]
    assert where.endswith("; here package/boot/uboot-sunxi/uEnv-default.txt mention it")
    odd = sources(tmp_path / "odd", CONFIG.replace("sunxi", "../../*"))
    assert not any("mention it" in line for line in output(QUIET, odd).by_hand)


def test_uboots_options_are_words_for_its_makefile(tmp_path: Path) -> None:
    options: Symbols = {
        "BOOTDELAY": 0,
        "CMD_NET": False,
        "SPL_OS_BOOT": True,
        "PREBOOT": 'echo "$a" #b',
    }
    change = Change(uboot=options)
    (line,) = [text for text in output(change, sources(tmp_path)).by_hand if "U-Boot" in text]
    package, _, assignment = line.partition("/Makefile: ")
    assert package.endswith("package/boot/uboot-sunxi")
    # Make and its shell give the words back as they were.
    makefile = f"{assignment}\nall:\n\t@printf '%s|' $(UBOOT_CUSTOMIZE_CONFIG)\n"
    done = subprocess.run(["make", "-sf", "-"], input=makefile, capture_output=True, text=True, check=True)
    assert done.stdout.split("|")[:-1] == [
        *("--set-val", "BOOTDELAY", "0", "--disable", "CMD_NET"),
        *("--enable", "SPL_OS_BOOT", "--set-str", "PREBOOT", 'echo "$a" #b'),
    ]
    (line,) = [text for text in output(change).by_hand if "U-Boot" in text]
    assert "package/boot/uboot-.../Makefile" in line


def test_files_that_openwrt_does_not_keep_are_not_written(tmp_path: Path) -> None:
    write = dict.fromkeys(("/var/a", "/tmp/b", "/boot/c", "/etc/d"), "x\n")
    change = Change(write=write, link={"/boot/e": "c"})
    out = output(change, sources(tmp_path))
    assert {path for path in out.files if path.startswith("files/")} == {"files/etc/d"}
    assert out.links == {}
    assert [line.partition(":")[0] for line in out.lost] == ["/boot/c", "/boot/e", "/tmp/b", "/var/a"]
    kept = sources(tmp_path / "kept", CONFIG + "CONFIG_TARGET_ROOTFS_PERSIST_VAR=y\n")
    assert "files/var/a" in output(change, kept).files


@pytest.mark.parametrize("path", ["/etc/init.d/rcS", "/etc/inittab", "/etc/fstab"])
def test_start_scripts_of_another_init_are_told_apart(path: str) -> None:
    assert any("rc.common" in line for line in output(Change(write={path: "x\n"})).by_hand)
    assert not any("rc.common" in line for line in output(Change(write={"/etc/x": ""})).by_hand)


def test_a_variant_of_a_tree_knows_its_menu_and_takes_nothing_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BOOTSCOPE_STORE", str(tmp_path / "store"))
    folder = trees.openwrt(tmp_path / "tree")
    trees.put(folder, {"config/Config-kernel.in": MENU, "trial.config": "CONFIG_BUSYBOX_CUSTOM=y\n"})
    variants = Variants(import_tree("mine", folder, Wish()), lambda name: (), {})
    made = variants.of(["kernel-no-kallsyms-debug"]).output
    assert "# CONFIG_KERNEL_KALLSYMS is not set" in made.files["trial.config"]
    assert not any("sed" in line for line in made.use)


def test_apply_reads_the_folder_that_it_writes_to(tmp_path: Path, main_here: Command) -> None:
    folder = sources(tmp_path / "openwrt")
    rest = ("uboot-bootdelay", "--name", "fast", "--to", "openwrt", folder, "--json")
    told = json_of(main_here("apply", "kernel-no-kallsyms-debug", *rest), "apply")
    assert {"fast.config", "env/kernel-config"} <= set(told["files"])
    assert any("package/boot/uboot-sunxi/Makefile" in line for line in told["by_hand"])
    assert json_of(main_here("apply", "kernel-no-kallsyms-debug", *rest), "apply")["changed"] == []
    told = json_of(main_here("apply", *rest), "apply")
    assert {c["path"] for c in told["changed"] if c["gone"]} == {"env/kernel-config", "fast.config"}
    assert any("CONFIG_(KERNEL_KALLSYMS|KERNEL_DEBUG_FS)[= ]/d" in line for line in told["use"])
    assert not (folder / "env").exists()
