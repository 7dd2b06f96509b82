# SPDX-License-Identifier: Apache-2.0
"""Changes as files: what a person would have written by hand, and nothing outside of the folder."""

from __future__ import annotations

import tomllib
from pathlib import Path

import msgspec
import pytest

from bootscope.buildtrees.changeset import read_folder
from bootscope.changes.change_files import files, write
from bootscope.core.errors import UserError
from bootscope.kbuild import kconfig
from bootscope.system.changes import SAME, Change, apply
from bootscope.system.load import load_system
from bootscope.system.model import System
from bootscope.techniques.model import techniques

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


RECIPES = {
    f"{technique.id}={name}": recipe.change
    for technique in techniques().values()
    for name, recipe in technique.recipes.items()
}
PLAYER = load_system("stock-player").system
"""A system that has all lists to which recipes add."""


def with_lists(change: Change) -> System:
    """The system with those parts of a change that are written as whole lists."""
    lists = {k: v for k, v in change.settings.items() if isinstance(v, tuple) and SAME in v}
    options = Change(
        compiler_options=change.compiler_options, compiler_options_drop=change.compiler_options_drop
    )
    return apply(PLAYER, {"it": msgspec.structs.replace(options, settings=lists)})


def as_read(change: Change, system: System) -> Change:
    """A change as its files have it: without wishes, with paths from the root and with whole lists."""
    options = change.compiler_options or change.compiler_options_drop
    configured = msgspec.to_builtins(system)["application"]["configured"]["options"]
    lists = {k: tuple(configured) for k, v in change.settings.items() if isinstance(v, tuple) and SAME in v}
    return msgspec.structs.replace(
        change,
        kernel=change.symbols("kernel"),
        kernel_wishes={},
        write={f"/{path.lstrip('/')}": text for path, text in change.write.items()},
        link={f"/{path.lstrip('/')}": target for path, target in change.link.items()},
        compiler_options=system.application.compiler_options if options else (),
        compiler_options_drop=(),
        settings={**change.settings, **lists},
    )


@pytest.mark.parametrize("spec", RECIPES)
def test_every_recipe_is_read_from_its_files_as_it_was(tmp_path: Path, spec: str) -> None:
    change = RECIPES[spec]
    system = with_lists(change)
    write(tmp_path / "out", system, {spec: change})
    found, about, _ = read_folder(tmp_path / "out")
    assert found == as_read(change, system)
    assert about[0].startswith(f"{spec}: ")


@pytest.mark.parametrize("again", [False, True])
def test_a_section_that_one_change_removes_and_another_one_sets(tmp_path: Path, again: bool) -> None:
    packed = Change(settings={"initramfs.place": "external", "initramfs.compression": "lz4"})
    none = Change(settings={"initramfs": "none"})
    changes = {"kernel-build-own": none, "initramfs-external": packed}
    changes = changes if again else dict(reversed(changes.items()))
    write(tmp_path / "out", apply(load_system("stock").system, changes), changes)
    assert read_folder(tmp_path / "out")[0] == (packed if again else none)
