# SPDX-License-Identifier: Apache-2.0
"""Imported trees that changes are tried in: what their owner says, variants, images that are kept."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bootscope.builder.cache import Cache
from bootscope.builder.ids import tree_id
from bootscope.buildtrees import products
from bootscope.buildtrees.importing import Wish, import_tree
from bootscope.buildtrees.keep import load_tree
from bootscope.buildtrees.model import Trial
from bootscope.buildtrees.owner import changes_folder, command_environment, words
from bootscope.buildtrees.products import Keeper, missed
from bootscope.buildtrees.variants import Variants
from bootscope.capture.store import Store
from bootscope.core.errors import ToolError, UserError
from bootscope.search.board_bench import rounds_for
from bootscope.system.changes import Change

from . import tree_builders as trees
from .conftest import Command
from .real_boards import keep_measured
from .test_cli_verbs import json_of
from .test_lab_cli import refused

BOARD = ("--board", "serial:/dev/ttyUSB7")


# ---- what the owner says ----


def test_what_was_said_of_a_tree_stays_until_something_else_is_said(
    main_here: Command, tmp_path: Path
) -> None:
    folder = trees.bare(tmp_path / "bare")
    first = ("--build", "make -C 'a b'", "--deploy", "to-card -f", "--product", "*.img", "--product", "dtb")
    main_here("system", "import", folder, "--as", "mine", *first, *BOARD, "--works", "ping -c1 board")
    main_here("system", "import", folder, "--as", "mine", "--check", "true", "--changes", tmp_path / "own")
    done = main_here("system", "show", "mine")
    assert "deployed by: to-card -f" in done.stdout
    assert "tried on: serial:/dev/ttyUSB7" in done.stdout
    assert f"changes go to: {tmp_path / 'own'}" in done.stdout
    document = json_of(main_here("system", "show", "mine", "--json"), "system")
    assert document["build"] == ["make", "-C", "a b"]
    assert document["trial"] == {
        "board": "serial:/dev/ttyUSB7",
        "deploy": ["to-card", "-f"],
        "works": ["true"],
        "products": ["*.img", "dtb"],
        "changes": str(tmp_path / "own"),
    }
    refused(
        main_here("system", "import", folder, "--as", "mine", "--check", "a && b", "--shell"),
        "--shell applies to all commands: repeat --build and --deploy",
    )
    refused(main_here("system", "import", folder, "--as", "mine", "--deploy", " "), "--deploy: expected")
    refused(main_here("system", "import", folder, "--as", "mine", "--board", "x:y"), "cannot read x:y")


def test_commands_learn_by_their_environment(tmp_path: Path) -> None:
    trial = Trial(deploy=("cp $BOOTSCOPE_TREE/x y",), changes=str(tmp_path / "own"))
    tree = import_tree("mine", trees.bare(tmp_path / "bare"), Wish(shell=True, trial=trial))
    assert words(tree, tree.trial.deploy) == ["/bin/sh", "-c", "cp $BOOTSCOPE_TREE/x y"]
    assert command_environment(tree, "abc") == {
        "BOOTSCOPE_SYSTEM": "mine",
        "BOOTSCOPE_TREE": str(tmp_path / "bare"),
        "BOOTSCOPE_CHANGES": str(tmp_path / "own"),
        "BOOTSCOPE_VARIANT": "abc",
    }


def test_a_tree_without_board_or_command_says_so(main_here: Command, tmp_path: Path) -> None:
    folder = trees.bare(tmp_path / "bare")
    main_here("system", "import", folder, "--as", "mine")
    done = main_here("try", "uboot-bootdelay", "--system", "mine")
    refused(done, "no build command is configured for mine", "--build")
    main_here("system", "import", folder, "--as", "mine", "--build", "true")
    refused(main_here("try", "uboot-bootdelay", "--system", "mine"), "no board is configured for", "--board")
    done = main_here("try", "kernel-no-usb", "--system", "mine")
    refused(done, "kernel-no-usb does not apply to mine: already in effect", "--force")


def test_building_gives_the_command_changes_that_are_none(main_here: Command, tmp_path: Path) -> None:
    folder = trees.buildroot(tmp_path / "br")
    build = "/bin/sh -c '/bin/cat $BOOTSCOPE_CHANGES/external.desc > seen'"
    main_here("system", "import", folder, "--as", "mine", "--build", build, *BOARD)
    json_of(main_here("build", "mine", "--json"), "build")
    assert (folder / "seen").read_text().startswith("name: BOOTSCOPE_TRIAL")


# ---- variants ----


@pytest.mark.parametrize(
    ("make", "spec", "file"),
    [
        (trees.buildroot, "uboot-bootdelay", "board/trial/uboot.fragment"),
        (trees.yocto, "uboot-bootdelay", "recipes-bsp/u-boot/files/u-boot/trial.cfg"),
        (trees.openwrt, "kernel-no-smp", "env/kernel-config"),
        (trees.bare, "kernel-quiet", "command-line-words.txt"),
    ],
)
def test_a_variant_is_written_and_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Callable[[Path], Path], spec: str, file: str
) -> None:
    monkeypatch.setenv("BOOTSCOPE_STORE", str(tmp_path / "store"))
    tree = import_tree("mine", make(tmp_path / "tree"), Wish(trial=Trial(series="scarthgap")))
    variants = Variants(tree, lambda name: (), {})
    folder = variants.put(variants.base)
    assert folder == changes_folder(tree)
    before = tree_id(folder)
    variant = variants.of([spec])
    variants.put(variant)
    assert (folder / file).exists()
    assert variants.of([spec]).key == variant.key != variants.base.key
    variants.put(variants.base)
    assert not (folder / file).exists()
    assert tree_id(folder) == before


def test_a_tree_that_was_left_with_changes_is_no_base(tmp_path: Path) -> None:
    tree = import_tree("mine", trees.buildroot(tmp_path / "tree"), Wish())
    menu = tmp_path / "tree/target/boot/extlinux/extlinux.conf"
    Variants(tree, lambda name: (), {}).of(["kernel-quiet"])
    menu.write_text(menu.read_text().replace("rootwait", "rootwait quiet"))
    variants = Variants(tree, lambda name: (), {})
    with pytest.raises(UserError, match="has a different command line") as caught:
        variants.of(["uboot-bootdelay"])
    assert "bootscope build mine" in str(caught.value.hint)


def test_a_variant_freezes_the_command_line_that_it_boots_with(tmp_path: Path) -> None:
    tree = import_tree("mine", trees.buildroot(tmp_path / "tree"), Wish())
    variant = Variants(tree, lambda name: (), {}).of(["kernel-cmdline-frozen", "kernel-quiet"])
    assert variant.changes.change.kernel["CMDLINE"] == f"{tree.command_line} quiet"


def test_changes_that_a_build_did_not_take_are_named(tmp_path: Path) -> None:
    tree = import_tree("mine", trees.buildroot(tmp_path / "tree"), Wish())
    change = Change(uboot={"BOOTDELAY": 0, "NOT_THERE": False}, kernel={"NO_SUCH": True})
    of_kernel, of_uboot = missed(tree, change)
    assert of_kernel == (
        "built with the changes, build/linux-6.12.1/.config has CONFIG_NO_SUCH=n instead of y: "
        "does the build use these changes?"
    )
    assert "build/uboot-2025.01/.config has CONFIG_BOOTDELAY=2 instead of 0:" in of_uboot
    config = tmp_path / "tree/build/uboot-2025.01/.config"
    config.write_text(config.read_text().replace("BOOTDELAY=2", "BOOTDELAY=0"))
    assert missed(tree, change) == (of_kernel,)
    config.unlink()
    assert missed(tree, Change(uboot={"BOOTDELAY": 7})) == ()
    assert missed(tree, Change(busybox={f"S{n}": True for n in range(9)}))[0].count("instead of") == 4


def test_what_cannot_be_written_is_no_variant(tmp_path: Path) -> None:
    tree = import_tree("mine", trees.bare(tmp_path / "tree"), Wish())
    variants = Variants(tree, lambda name: (), {})
    with pytest.raises(
        UserError, match="nothing of hw-flash-sync-mode can be written for kernel and U-Boot trees"
    ):
        variants.of(["hw-flash-sync-mode"])
    with pytest.raises(UserError, match="two recipes of one technique"):
        variants.of(["kernel-compression=lz4", "kernel-compression=xz"])


def test_somebody_elses_file_in_the_way_is_not_overwritten(tmp_path: Path) -> None:
    own = tmp_path / "own"
    tree = import_tree("mine", trees.bare(tmp_path / "tree"), Wish(trial=Trial(changes=str(own))))
    variants = Variants(tree, lambda name: (), {})
    own.mkdir()
    (own / "uboot.config").write_text("mine\n")
    with pytest.raises(UserError, match=r"already has different files with these names: uboot\.config"):
        variants.put(variants.of(["uboot-bootdelay"]))
    assert (own / "uboot.config").read_text() == "mine\n"


# ---- images ----


def test_images_are_kept_and_put_back_through_links(tmp_path: Path) -> None:
    folder = trees.bare(tmp_path / "tree")
    (folder / "images").mkdir()
    real, link = folder / "images/card-1.img", folder / "images/card.img"
    real.write_text("one")
    link.symlink_to("card-1.img")
    tree = import_tree("mine", folder, Wish(build=("make",), trial=Trial(products=("images/card.img",))))
    keeper = Keeper(Cache(tmp_path / "cache"), tree)
    base = products.find_products(tree)
    assert base.sizes == {"images/card.img": 3}
    keys = {name: keeper.key(base, name) for name in ("base", "other")}
    keeper.keep(keys["base"], base)
    real.write_text("other")
    keeper.keep(keys["other"], products.find_products(tree))
    keeper.put_back(keys["base"])
    assert link.is_symlink()
    assert real.read_text() == "one"
    keeper.put_back(keys["other"])
    assert real.read_text() == "other"
    assert sorted(p.name for p in real.parent.iterdir()) == ["card-1.img", "card.img"]
    # Somebody who changed the tree has another base, and what was kept is of no use.
    assert keeper.known(keeper.key(products.find_products(tree), "other")) is None
    with pytest.raises(ToolError, match="no longer in the cache"):
        keeper.put_back("0" * 64)


@pytest.mark.parametrize("pattern", ["nothing/*.img", "/etc/passwd", "../*", "", "out/secret"])
def test_patterns_of_images_that_fit_nothing_in_the_tree(tmp_path: Path, pattern: str) -> None:
    folder = trees.bare(tmp_path / "tree")
    (tmp_path / "secret").write_text("s")
    (folder / "out").symlink_to(tmp_path)
    tree = import_tree("mine", folder, Wish(trial=Trial(products=(pattern,))))
    with pytest.raises(UserError, match=r"fits no file|leads out of"):
        products.find_products(tree)


# ---- turns, and logs ----


def test_the_longer_it_takes_the_fewer_turns() -> None:
    assert [rounds_for(s, 10) for s in (0.0, 9.9, 10.0, 59.0, 60.0, 900.0)] == [10, 10, 5, 5, 1, 1]
    assert rounds_for(30.0, 3) == 3


def test_a_boots_log_beside_an_imported_system(main_here: Command, tmp_path: Path) -> None:
    main_here("system", "import", trees.bare(tmp_path / "bare"), "--as", "mine")
    log = tmp_path / "boot.log"
    lines = ["[    0.000000] Booting Linux on physical CPU 0x0", "[    0.000000] Linux version 6.12.1 #1 SMP"]
    lines += [f"[    {n}.500000] driver {n} is there" for n in range(1, 9)]
    log.write_text("\n".join(lines) + "\n")
    alone = json_of(main_here("audit", "mine", "--json"), "audit")
    found = json_of(main_here("audit", "mine", log, "--json"), "audit")
    assert found["title"] == alone["title"]
    assert "no timing data: no boot was given" in alone["notes"]
    assert "no timing data: no boot was given" not in found["notes"]
    assert {f["kind"] for f in found["files"]} == {f["kind"] for f in alone["files"]} | {"log"}
    assert len(found["unknown"]) < len(alone["unknown"])

    # A boot that was recorded says the same as its console in a file.
    console = "\r\n".join(["U-Boot 2025.01 (Nov 22 2026)", *lines, "mine login: "]).encode()
    run = keep_measured(Store(tmp_path / "store"), [[(n * 86_806, b) for n, b in enumerate(console, 1)]])
    for name in (run, "last", f"{run}/1"):
        of_run = json_of(main_here("audit", "mine", name, "--json"), "audit")
        assert "no timing data: no boot was given" not in of_run["notes"]
        assert {f["technique"] for f in of_run["techniques"]} >= {f["technique"] for f in found["techniques"]}
    done = main_here("audit", "mine", "no-such-run")
    assert (done.returncode, "no-such-run" in done.stderr) == (2, True)


def test_the_record_of_a_tree_keeps_what_was_said(main_here: Command, tmp_path: Path) -> None:
    folder = trees.bare(tmp_path / "bare")
    main_here("system", "import", folder, "-o", tmp_path / "r.toml", "--as", "r", "--deploy", 'a "b"', *BOARD)
    tree = load_tree(str(tmp_path / "r.toml"))[0]
    assert tree.trial == Trial(board=BOARD[1], deploy=("a", "b"))
