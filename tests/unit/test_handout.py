# SPDX-License-Identifier: Apache-2.0
"""Changes as files: what a person would have written by hand, and nothing outside of the folder."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from bootscope.changes.change_files import files, write
from bootscope.core.errors import UserError
from bootscope.kbuild import kconfig
from bootscope.system.changes import Change, apply
from bootscope.system.load import load_system

CHANGES = {
    "kernel-no-smp": Change(kernel={"SMP": False, "LOG_BUF_SHIFT": 14}),
    "uboot-bootdelay": Change(uboot={"BOOTDELAY": 0, "PREBOOT": ""}),
    "kernel-quiet": Change(command_line=("quiet",), command_line_drop=("rootwait",)),
    "init-app-first": Change(
        write={"/etc/init.d/S00app": "#!/bin/sh\napp &\n", "/etc/note": "text\n"},
        link={"/sbin/first": "/bin/busybox"},
        remove=("/etc/init.d/S99*",),
    ),
    "app-static-link": Change(compiler_options=("-static",)),
    "fs-ext-choice": Change(settings={"rootfs.filesystem": "ext2"}),
}


def made(tmp_path: Path) -> Path:
    system = apply(load_system("stock").system, CHANGES)
    names = write(tmp_path / "out", system, CHANGES)
    assert names == sorted(names)
    return tmp_path / "out"


def test_every_change_has_its_place(tmp_path: Path) -> None:
    out = made(tmp_path)
    assert kconfig.parse((out / "kernel.config").read_text()) == {"SMP": "n", "LOG_BUF_SHIFT": "14"}
    assert kconfig.parse((out / "uboot.config").read_text()) == {"BOOTDELAY": "0", "PREBOOT": '""'}
    assert not (out / "busybox.config").exists()
    words = (out / "command-line.txt").read_text().split()
    assert "quiet" in words
    assert "rootwait" not in words
    assert (out / "rootfs-remove.txt").read_text() == "/etc/init.d/S99*\n"
    assert (out / "rootfs/etc/init.d/S00app").stat().st_mode & 0o777 == 0o755
    assert (out / "rootfs/etc/note").stat().st_mode & 0o777 == 0o644
    assert (out / "rootfs/sbin/first").readlink() == Path("/bin/busybox")
    settings = tomllib.loads((out / "settings.toml").read_text())
    assert settings["rootfs"]["filesystem"] == "ext2"
    assert settings["application"]["compiler_options"][-1] == "-static"


def test_the_readme_names_the_techniques_and_what_they_take_away(tmp_path: Path) -> None:
    text = (made(tmp_path) / "README.md").read_text()
    assert all(f"- {name}: " in text for name in CHANGES)
    assert "removes: measuring, console" in text


def test_without_changes_there_is_only_a_readme() -> None:
    assert list(files(load_system("stock").system, {})) == ["README.md"]


def test_a_folder_with_something_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").write_text("mine")
    with pytest.raises(UserError, match="already exists"):
        made(tmp_path)
    assert [p.name for p in (tmp_path / "out").iterdir()] == ["mine"]


def test_nothing_is_written_outside(tmp_path: Path) -> None:
    system = load_system("stock").system
    for change in (Change(write={"/../../x": "x"}), Change(link={"../x": "y"})):
        with pytest.raises(UserError, match="is not a valid path"):
            write(tmp_path / "out", system, {"kernel-quiet": change})
    assert list(tmp_path.iterdir()) == []


def test_wishes_give_way_to_what_others_want() -> None:
    changes = {
        "kernel-allnoconfig-up": Change(kernel_wishes={"MMC": True, "NET": True}),
        "kernel-no-net": Change(kernel={"NET": False}),
    }
    found = files(apply(load_system("stock").system, changes), changes)
    assert kconfig.parse(found["kernel.config"]) == {"MMC": "y", "NET": "n"}
