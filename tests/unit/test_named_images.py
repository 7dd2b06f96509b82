# SPDX-License-Identifier: Apache-2.0
"""Images that are built already as systems with a name: imported, shown, forgotten; what is refused."""

from __future__ import annotations

import hashlib
from pathlib import Path

import msgspec
import pytest

from bootscope.boards.profile import load_board
from bootscope.bootimage.understand import open_image
from bootscope.changes.on_image import needs_build
from bootscope.core.errors import UserError
from bootscope.imageboot import given
from bootscope.imageboot.subject import Wish
from bootscope.imageedit.edits import edits
from bootscope.imageedit.system import system_of
from bootscope.imageedit.variant import changed
from bootscope.system.changes import Change, apply
from bootscope.system.model import System
from bootscope.techniques.model import techniques
from tests.command import Bootscope
from tests.unit.image_builders import arm64_image, bzimage, card, cpio, ext4, root_folder

BOARD = "virt-arm64"
QUIET = Change(command_line=("quiet",), command_line_drop=("console",))
UNIT = Change(write={"/etc/new": "text\n"}, remove=("/boot",))


@pytest.fixture
def bootscope(tmp_path: Path) -> Bootscope:
    return Bootscope(tmp_path / "store", tmp_path / "cache")


def refused(bootscope: Bootscope, *arguments: str | Path) -> str:
    done = bootscope.run(*arguments)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    return " ".join(done.stderr.split())


def test_an_image_gets_a_name_and_loses_it_again(bootscope: Bootscope, tmp_path: Path) -> None:
    path = card(tmp_path)
    told = bootscope.json("system", "import", path, "--board", BOARD, "--as", "mine", "--until", "init")
    assert told["made_by"] == "image"
    assert told["files"] == [str(path)]
    assert bootscope.json("system", "show", "mine")["until"] == "init"
    assert [row["name"] for row in bootscope.json("system", "list")["systems"]] == ["mine"]
    assert "mine" in bootscope.run("system", "list").stdout
    assert "nothing of it is built here" in refused(bootscope, "build", "mine")
    assert "is in the record of mine" in refused(bootscope, "record", "mine", "--append", "x")
    gone = bootscope.json("system", "rm", "mine")
    assert (gone["kind"], gone["name"]) == ("system-rm", "mine")
    assert bootscope.json("system", "list")["systems"] == []


def test_several_files_are_one_image(bootscope: Bootscope, tmp_path: Path) -> None:
    kernel, early = tmp_path / "Image", tmp_path / "initrd"
    kernel.write_bytes(arm64_image())
    early.write_bytes(cpio({"init": b"#!/bin/sh\n"}))
    told = bootscope.json("system", "import", kernel, early, "--board", BOARD, "-o", tmp_path / "x.toml")
    assert told["files"] == [str(kernel), str(early)]
    assert any("initramfs: initrd" in line for line in told["taken"])


def test_what_is_no_image_for_the_board(bootscope: Bootscope, tmp_path: Path) -> None:
    path = tmp_path / "vmlinuz"
    path.write_bytes(bzimage(b"Linux version 6.1 (x) #1\n\0"))
    assert "the image is for x86-64" in refused(bootscope, "system", "import", path, "--board", BOARD)
    assert "name the emulated board" in refused(bootscope, "system", "import", path)
    assert not list(bootscope.store.glob("images/*"))


def test_options_that_are_for_builds(bootscope: Bootscope, tmp_path: Path) -> None:
    path = card(tmp_path)
    said = refused(bootscope, "system", "import", path, "--board", BOARD, "--deploy", "x")
    assert "--deploy is for the folder of a build" in said
    said = refused(bootscope, "system", "import", tmp_path, "--append", "x")
    assert "--append is for an image" in said
    assert "--board is for an image" in refused(bootscope, "audit", "--board", BOARD)


# ---- changes ----


def changed_card(path: Path, tmp_path: Path, change: Change) -> Path:
    """A card with a change, and the original as it was."""
    before = hashlib.sha256(path.read_bytes()).hexdigest()
    folder = tmp_path / "out"
    folder.mkdir()
    board = load_board(BOARD)
    with open_image([str(path)]) as image:
        got = given.of_image(image, board, "", tmp_path)
        base = system_of(image, got, board, "mine")
        made = changed(image, got, board.arch, Wish(), edits(base, apply(base, {"x": change})), folder)
    assert hashlib.sha256(path.read_bytes()).hexdigest() == before
    assert made.wish.command_line is not None
    return made.files[0]


@pytest.mark.parametrize("label", ["gpt", "dos"])
def test_a_card_is_changed_on_a_copy(tmp_path: Path, label: str) -> None:
    path = card(tmp_path, label)
    both = msgspec.structs.replace(QUIET, write=UNIT.write, remove=UNIT.remove)
    new = changed_card(path, tmp_path, both)
    # A copy of the GPT lies at the end.
    assert new.read_bytes()[: 1 << 20] == path.read_bytes()[: 1 << 20]
    assert new.read_bytes()[-33 * 512 :] == path.read_bytes()[-33 * 512 :]
    with open_image([str(new)]) as image:
        assert image.understood.command_line == "root=/dev/vda2 quiet"
        files = image.files["partition 2"]
        assert files.text("/etc/new") == "text\n"
        assert files.find("/boot") is None


def test_the_initramfs_on_a_card(tmp_path: Path) -> None:
    path = card(tmp_path)
    change = Change(settings={"initramfs.compression": "xz", "initramfs.files": {"/init": "#!/bin/sh\nx\n"}})
    with open_image([str(changed_card(path, tmp_path, change))]) as image:
        assert [part.compression for part in image.understood.initramfs[0].parts] == ["xz"]
        early = image.early_files()
        assert early
        assert early.text("/init") == "#!/bin/sh\nx\n"


def test_loose_files_are_changed_each(tmp_path: Path) -> None:
    kernel, early = tmp_path / "Image", tmp_path / "initrd"
    kernel.write_bytes(arm64_image())
    early.write_bytes(cpio({"init": b"#!/bin/sh\n"}))
    root = ext4(tmp_path / "root.ext4", root_folder(tmp_path / "root"), 8)
    folder, work, board = tmp_path / "out", tmp_path / "work", load_board(BOARD)
    folder.mkdir()
    work.mkdir()
    with open_image([str(kernel), str(early), str(root)]) as image:
        got = given.of_image(image, board, "", work)
        base = system_of(image, got, board, "mine")
        made = changed(image, got, board.arch, Wish(), edits(base, apply(base, {"x": UNIT})), folder)
    with open_image([str(path) for path in made.files]) as image:
        assert image.files[image.understood.roots[0].place.volume].text("/etc/new") == "text\n"
        assert image.kernel()


# ---- what needs the build ----


def a_system(tmp_path: Path) -> System:
    board = load_board(BOARD)
    with open_image([str(card(tmp_path))]) as image:
        return system_of(image, given.of_image(image, board, "", tmp_path), board, "mine", "/bin/busybox")


def test_what_needs_the_build_is_refused_and_told(tmp_path: Path) -> None:
    base = a_system(tmp_path)
    for change in (
        Change(settings={"rootfs.filesystem": "erofs"}),
        Change(settings={"initramfs.place": "built-in"}),
        Change(compiler_options=("-static",)),
    ):
        assert needs_build(change).startswith("it needs the build")
        with pytest.raises(UserError, match="needs the build"):
            edits(base, apply(base, {"x": change}))
    assert needs_build(Change(kernel={"SMP": False})) == "it needs the build: another kernel"
    assert not needs_build(QUIET)
    assert not edits(base, base)


def test_many_techniques_are_made_on_an_image() -> None:
    recipes = [recipe for technique in techniques().values() for recipe in technique.recipes.values()]
    here = [recipe for recipe in recipes if not needs_build(recipe.change)]
    assert 40 <= len(here) < len(recipes) // 2
