# SPDX-License-Identifier: Apache-2.0
"""`apply`: changes as the users of other build systems write them, all of them or none."""

from __future__ import annotations

import os
import subprocess
from functools import partial
from pathlib import Path

import pytest

from bootscope.buildtrees import place
from bootscope.buildtrees.applying import WRITERS, target_for
from bootscope.buildtrees.changeset import ChangeSet, change_set, read_folder
from bootscope.buildtrees.importing import Wish, import_tree
from bootscope.buildtrees.model import Tree, Trial
from bootscope.buildtrees.output import Output
from bootscope.changes.change_files import write
from bootscope.core.errors import ToolError, UserError
from bootscope.kbuild import kconfig
from bootscope.search.journal import Journal
from bootscope.search.of_run import techniques_of_run
from bootscope.search.outcome import Outcome
from bootscope.system.changes import Change, apply
from bootscope.system.load import load_system

from . import tree_builders as trees
from .conftest import Command
from .test_cli_verbs import json_of
from .test_lab_cli import refused

CHANGE = Change(
    kernel={"SMP": False, "KERNEL_LZ4": True, "LOG_BUF_SHIFT": 14, "MODULES": False},
    uboot={"BOOTDELAY": 0, "PREBOOT": 'say "hi"'},
    busybox={"FEATURE_PREFER_APPLETS": True},
    command_line=("quiet", "loglevel=1"),
    command_line_drop=("rootwait",),
    write={"/etc/init.d/S00app": "#!/bin/sh\napp &\n", "/etc/note's": "text\n"},
    link={"/var/log": "/tmp"},
    remove=("/etc/init.d/S*", "/opt"),
    compiler_options=("-static",),
    settings={"rootfs.filesystem": "squashfs", "rootfs.options": ("-comp", "lz4"), "uboot.falcon": True},
)


def output(kind: str, change: Change = CHANGE, tree: Tree | None = None, series: str = "scarthgap") -> Output:
    target = target_for("fast", tree, Trial(series=series))
    return WRITERS[kind](ChangeSet(("a: b",), change), target)


def lines(out: Output, path: str) -> list[str]:
    return out.files[path].splitlines()


def imported(folder: Path) -> Tree:
    return import_tree("mine", trees.buildroot(folder), Wish())


# ---- Yocto, OpenWrt, files ----


def test_a_layer_for_yocto() -> None:
    out = output("yocto")
    layer = lines(out, "conf/layer.conf")
    assert 'LAYERSERIES_COMPAT_fast = "scarthgap"' in layer
    assert any("recipes-bsp/*/*.bbappend" in line for line in layer)
    assert 'SRC_URI += "file://fast.cfg"' in lines(out, "recipes-kernel/linux/linux-yocto_%.bbappend")
    assert kconfig.parse(out.files["recipes-bsp/u-boot/files/u-boot/fast.cfg"])["BOOTDELAY"] == "0"
    configuration = lines(out, "conf/fast.inc")
    assert {'IMAGE_FSTYPES += "squashfs-lz4"', 'APPEND:append = " quiet loglevel=1"'} <= set(configuration)
    assert 'IMAGE_CLASSES += "fast-rootfs"' in configuration
    assert "fast_rootfs () {" in out.files["classes/fast-rootfs.bbclass"]
    assert any("-static" in line for line in out.by_hand)


def test_a_series_must_be_known(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="which Yocto series"):
        output("yocto", series="")
    with pytest.raises(UserError, match="not a Yocto series"):
        output("yocto", series='x"')
    tree = import_tree("mine", trees.yocto(tmp_path), Wish())
    target = target_for("fast", tree, Trial())
    out = WRITERS["yocto"](ChangeSet(("a: b",), CHANGE), target)
    assert "recipes-kernel/linux/linux-mine_%.bbappend" in out.files
    assert 'LAYERSERIES_COMPAT_fast = "scarthgap"' in lines(out, "conf/layer.conf")


@pytest.mark.parametrize("word", ['x="${HOME}"', "a`b`", "x=$(y)"])
def test_words_that_bitbake_would_take_for_its_own_are_left_to_a_person(word: str) -> None:
    out = output("yocto", Change(command_line=(word,)))
    assert word not in out.files.get("conf/fast.inc", "")
    assert any(word in line for line in out.by_hand)
    with pytest.raises(UserError, match="a variable of bitbake"):
        output("yocto", Change(remove=("/${X}",)))


def test_files_for_openwrt() -> None:
    out = output("openwrt")
    assert kconfig.parse(out.files["env/kernel-config"])["SMP"] == "n"
    assert {"CONFIG_BUSYBOX_CUSTOM=y", "CONFIG_BUSYBOX_CONFIG_FEATURE_PREFER_APPLETS=y"} <= set(
        lines(out, "fast.config")
    )
    assert out.files["files/etc/note's"] == "text\n"
    assert out.links == {}
    assert any(line.startswith("/var/log: OpenWrt creates") for line in out.lost)
    assert any("cannot remove files" in line and "/etc/init.d/S*" in line for line in out.by_hand)
    assert any("--set-val BOOTDELAY 0" in line for line in out.by_hand)


@pytest.mark.parametrize("kind", ["buildroot", "files"])
def test_scripts_take_out_what_is_not_needed_and_nothing_else(tmp_path: Path, kind: str) -> None:
    out = output(kind)
    script = tmp_path / "script"
    script.write_text(out.files["board/fast/post-build.sh" if kind == "buildroot" else "rootfs.sh"])
    root = tmp_path / "a [strange] root"
    ours = dict.fromkeys(("etc/init.d/S00app", "etc/note's"), "ours")
    needed = dict.fromkeys(("etc/init.d/rcS", "other/etc/init.d/S1"), "")
    not_needed = ("etc/init.d/S10other", "opt/deep/er", "var/log/messages", "etc/init.d/S9/x")
    trees.put(root, {**ours, **needed, **dict.fromkeys(not_needed, "")})
    done = subprocess.run(
        ["/bin/sh", script, root],
        env={"TARGET_DIR": str(root), "PATH": os.defpath},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    left = {str(p.relative_to(root)) for p in root.rglob("*") if not p.is_dir() or p.is_symlink()}
    assert left == {*ours, *needed, "var/log"}
    assert (root / "var/log").readlink() == Path("/tmp")


def test_plain_files_say_what_to_do_with_them() -> None:
    out = output("files")
    assert {"kernel.config", "uboot.config", "busybox.config", "rootfs/etc/init.d/S00app"} <= out.files.keys()
    assert "merge_config.sh -m .config DIR/kernel.config" in out.files["README.md"]
    assert "add to the kernel's command line: quiet loglevel=1" in out.files["README.md"]


# ---- where changes come from ----


def test_a_folder_of_optimize_is_the_changes_that_made_it(tmp_path: Path) -> None:
    change = Change(
        kernel={"SMP": False, "LOG_BUF_SHIFT": 14},
        uboot={"BOOTDELAY": -2, "PREBOOT": 'a "b" \\ c'},
        command_line=("quiet",),
        command_line_drop=("rootwait",),
        write={"/etc/x": "y\n"},
        link={"/sbin/first": "/bin/busybox"},
        remove=("/etc/init.d/S99*",),
        settings={"rootfs.filesystem": "ext2"},
    )
    changes = {"kernel-no-smp": change}
    write(tmp_path / "out", apply(load_system("stock").system, changes), changes)
    found, about, whole = read_folder(tmp_path / "out")
    assert (found, whole) == (change, "")
    assert about[0].startswith("kernel-no-smp: ")


def test_a_folder_without_the_words_says_that_its_command_line_is_another_systems(tmp_path: Path) -> None:
    trees.put(tmp_path / "old", {"command-line.txt": "console=ttyS0 quiet\n"})
    found = change_set([str(tmp_path / "old")], {}, partial(techniques_of_run, tmp_path))
    assert found.command_line == "console=ttyS0 quiet"
    out = WRITERS["files"](found, target_for("fast", None, Trial()))
    assert any("compare it with yours" in line for line in out.by_hand)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["nonsense"], "unknown technique 'nonsense'"),
        (["kernel-compression"], "several recipes"),
        (["init-app-first"], "needs these values of your system: application_script, application, process"),
        (["./nowhere"], "not a folder of changes"),
        (["fs-squashfs-ro=lz4", "fs-ext-choice=ext2"], "exclude each other"),
    ],
)
def test_changes_that_are_none(tmp_path: Path, names: list[str], message: str) -> None:
    with pytest.raises(UserError, match=message):
        change_set(names, {}, partial(techniques_of_run, tmp_path))


def test_a_folder_and_a_technique_that_want_different_things(tmp_path: Path) -> None:
    trees.put(tmp_path / "mine", {"uboot.config": "CONFIG_BOOTDELAY=5\n"})
    with pytest.raises(UserError, match=r"set uboot\.config\.BOOTDELAY differently"):
        change_set([str(tmp_path / "mine"), "uboot-bootdelay"], {}, partial(techniques_of_run, tmp_path))


@pytest.mark.parametrize(
    "files",
    [
        {"command-line-words.txt": "+a b\n", "command-line.txt": "a b"},
        {"rootfs-remove.txt": "../../x\n", "rootfs/x": ""},
        {"rootfs/x": b"\xff\xfe"},
        {"settings.toml": "x = ["},
        {"kernel.config": "-> /etc/passwd"},
    ],
)
def test_a_damaged_folder_is_an_error_of_the_user(tmp_path: Path, files: dict[str, str | bytes]) -> None:
    with pytest.raises(UserError):
        change_set([str(trees.put(tmp_path / "bad", files))], {}, partial(techniques_of_run, tmp_path))


# ---- writing ----


def test_all_or_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trees.put(tmp_path, {"b": "mine\n"})
    out = Output(files={"a/x": "1\n", "b": "2\n", "c": "3\n"})
    real = Path.rename

    def failing(self: Path, target: Path) -> Path:
        if Path(target).name == "c":
            raise OSError(28, "No space left on device")
        return real(self, target)

    monkeypatch.setattr(Path, "rename", failing)
    with pytest.raises(ToolError, match="No space left"):
        place.place(tmp_path, out, "fast", force=True)
    assert {p.name: p.read_text() for p in tmp_path.iterdir()} == {"b": "mine\n"}


def test_nothing_is_overwritten_unless_asked(tmp_path: Path) -> None:
    trees.put(tmp_path, {"b": "mine\n"})
    out = Output(files={"a": "1\n", "b": "2\n"})
    with pytest.raises(UserError, match="already has different files with these names: b"):
        place.place(tmp_path, out, "fast", force=False)
    assert not (tmp_path / "a").exists()
    assert [d.path for d in place.place(tmp_path, out, "fast", force=True)] == ["a", "b"]
    assert (tmp_path / "b").read_text() == "2\n"
    assert place.place(tmp_path, out, "fast", force=False) == []


def test_what_an_earlier_run_wrote_may_be_changed_and_goes_when_it_is_not_wanted(tmp_path: Path) -> None:
    first = Output(files={"a/b/old": "1\n", "same": "2\n", "mine": "3\n"}, links={"a/link": "x"})
    place.place(tmp_path, first, "fast", force=False)
    (tmp_path / "mine").write_text("changed by hand\n")
    found = place.place(tmp_path, Output(files={"same": "other\n"}), "fast", force=False)
    assert [(d.path, d.new) for d in found] == [("a/b/old", None), ("a/link", None), ("same", "other\n")]
    assert {p.name for p in tmp_path.iterdir()} == {"same", "mine", ".bootscope-fast.json"}
    assert (tmp_path / "mine").read_text() == "changed by hand\n"


@pytest.mark.parametrize("text", ["{", '{"schema": 1, "files": {"../precious": "x", "": "y"}}', "[" * 9999])
def test_a_damaged_list_of_what_was_written_harms_nothing(tmp_path: Path, text: str) -> None:
    trees.put(tmp_path, {"precious": "x", "out/.bootscope-fast.json": text})
    place.place(tmp_path / "out", Output(files={"a": "1\n"}), "fast", force=False)
    assert (tmp_path / "precious").read_text() == "x"


def test_what_went_wrong_on_the_way_out_is_undone_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.place(tmp_path, Output(files={"a/x": "1\n", "z/y": "2\n"}), "fast", force=False)
    before = {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
    real = Path.rename

    def failing(self: Path, target: Path) -> Path:
        if self.name == "y":
            raise OSError(5, "Input/output error")
        return real(self, target)

    monkeypatch.setattr(Path, "rename", failing)
    with pytest.raises(ToolError, match="Input/output error"):
        place.place(tmp_path, Output(files={"new/file": "3\n"}), "fast", force=False)
    assert {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()} == before


def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    trees.put(
        tmp_path / "out", {"board": f"-> {tmp_path / 'elsewhere'}", "file": f"-> {tmp_path / 'precious'}"}
    )
    with pytest.raises(UserError, match="is a link: bootscope does not write through links"):
        place.place(tmp_path / "out", Output(files={"board/x": "1"}), "fast", force=True)
    place.place(tmp_path / "out", Output(files={"file": "1"}), "fast", force=True)
    assert not (tmp_path / "precious").exists()
    assert list((tmp_path / "elsewhere").iterdir()) == []


@pytest.mark.parametrize("path", ["../x", "/x", ""])
def test_paths_stay_inside(tmp_path: Path, path: str) -> None:
    with pytest.raises(UserError, match="leads out"):
        place.place(tmp_path / "out", Output(files={path: "x"}), "fast", force=True)


# ---- the verb ----


def test_the_changes_of_a_search_are_known_by_its_run(tmp_path: Path) -> None:
    journal = Journal(tmp_path, "mine")
    journal.add(Outcome(key="k", what=("kernel-quiet", "uboot-bootdelay"), run_id="20260101-000000-mine"))
    found = change_set(["20260101-000000-mine"], {}, partial(techniques_of_run, tmp_path))
    assert (found.change.command_line, found.change.uboot) == (("quiet",), {"BOOTDELAY": 0})
    assert [line.partition(":")[0] for line in found.about] == ["kernel-quiet", "uboot-bootdelay"]


def test_apply_writes_says_what_is_left_and_may_be_run_again(main_here: Command, tmp_path: Path) -> None:
    words = ("apply", "kernel-quiet", "uboot-bootdelay", "--to", "buildroot", "ext")
    dry = main_here(*words, "--dry-run")
    assert "+CONFIG_BOOTDELAY=0" in dry.stdout
    assert not (tmp_path / "ext").exists()
    done = main_here(*words)
    assert done.returncode == 0, done.stderr
    assert "by hand: add to the kernel's command line: quiet" in done.stdout
    assert (tmp_path / "ext/board/boot-time/uboot.fragment").read_text() == "CONFIG_BOOTDELAY=0\n"
    assert "everything is already in ext" in main_here(*words).stdout
    (tmp_path / "ext/README.md").write_text("my own words\n")
    refused(main_here(*words), "ext already has different files with these names: README.md", "--force")
    assert "overwritten: ext/README.md" in main_here(*words, "--force").stdout


def test_apply_as_json(main_here: Command) -> None:
    document = json_of(main_here("apply", "kernel-quiet", "--to", "files", "out", "--json"), "apply")
    assert document["written"] is True
    assert document["files"] == ["README.md", "command-line-words.txt"]
    assert document["by_hand"] == ["add to the kernel's command line: quiet"]


def test_apply_for_an_imported_tree_knows_its_command_line(main_here: Command, tmp_path: Path) -> None:
    main_here("system", "import", trees.bare(tmp_path / "bare"), "--as", "mine")
    done = main_here("apply", "kernel-quiet", "--to", "files", "out", "--system", "mine")
    assert "the full command line is then: console=ttyS0 root=/dev/ram0 quiet" in done.stdout


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--to", "nonsense", "out"], "unknown kind of tree 'nonsense'"),
        (["--to", "files", "out", "--name", "../x"], "--name: expected small letters"),
        (["--to", "files", "out", "--value", "x"], "--value: expected NAME=TEXT"),
        (["--to", "files", "out", "--system", "nonsense"], "unknown imported system 'nonsense'"),
        (["--to", "yocto", "out"], "which Yocto series"),
        (
            ["--to", "yocto", "out", "--series", "dunfell", "--kernel-recipe", "../x"],
            "'../x' is not a recipe name",
        ),
    ],
)
def test_options_that_cannot_be(main_here: Command, options: list[str], message: str) -> None:
    refused(main_here("apply", "kernel-quiet", *options), message)
