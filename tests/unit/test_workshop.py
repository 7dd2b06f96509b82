# SPDX-License-Identifier: Apache-2.0
"""A user's tree while changes are tried in it: which images are in the tree, and which are on the board."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from bootscope.builder.cache import Cache
from bootscope.buildtrees.importing import Wish, import_tree
from bootscope.buildtrees.model import Trial
from bootscope.buildtrees.products import Keeper
from bootscope.buildtrees.variants import Variants
from bootscope.buildtrees.workshop import Workshop

from . import tree_builders as trees

IMAGE = "images/card.img"
DELAY, SMP = "uboot-bootdelay", "kernel-no-smp"
WRITES = {DELAY: "CONFIG_BOOTDELAY=0", SMP: "# CONFIG_SMP is not set"}
BUILD = f"""#!/bin/sh
set -e
echo "$BOOTSCOPE_VARIANT" >> builds
mkdir -p images
cat u-boot/.config > {IMAGE}
cat "$BOOTSCOPE_CHANGES"/*.config >> {IMAGE} 2>/dev/null || true
"""


@dataclass
class Desk:
    """A user's tree and board: `board` is the file that it boots."""

    folder: Path
    board: Path
    trial: Trial = field(default_factory=lambda: Trial(products=(IMAGE,)))
    told: list[str] = field(default_factory=list)

    def script(self, text: str, name: str = "build.sh") -> None:
        """Writes a script of the user's; build.sh builds the tree."""
        (self.folder / name).write_text(text)
        (self.folder / name).chmod(0o755)

    def shop(self, brings: Callable[[], None] | None = None) -> Workshop:
        """The tree as a new call of bootscope opens it."""
        tree = import_tree("mine", self.folder, Wish(build=("./build.sh",), trial=self.trial))
        keeper = Keeper(Cache(self.folder.parent / "cache"), tree)
        return Workshop(tree, Variants(tree, lambda name: (), {}), keeper, self.told.append, brings)

    @property
    def builds(self) -> int:
        """How many builds there were."""
        return len((self.folder / "builds").read_text().split())

    @property
    def boots(self) -> list[str]:
        """The techniques in what the board boots."""
        return [spec for spec, text in WRITES.items() if text in self.board.read_text()]


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """A tree that builds."""
    monkeypatch.setenv("BOOTSCOPE_STORE", str(tmp_path / "store"))
    made = Desk(trees.bare(tmp_path / "tree"), tmp_path / "board")
    made.script(BUILD)
    return made


# ---- what is on the board ----


def by_the_build(desk: Desk, products: tuple[str, ...]) -> Workshop:
    """The build script copies the image to where the board boots it."""
    desk.script(f"{BUILD}cp {IMAGE} {desk.board}\n")
    desk.trial = Trial(products=products)
    return desk.shop()


def from_the_tree(desk: Desk, products: tuple[str, ...]) -> Workshop:
    """The board boots the image in the tree."""
    desk.board, desk.trial = desk.folder / IMAGE, Trial(products=products)
    return desk.shop()


def from_the_tree_with_a_command(desk: Desk, products: tuple[str, ...]) -> Workshop:
    """The same, and a command tells the server of it."""
    desk.board, desk.trial = desk.folder / IMAGE, Trial(products=products, deploy=("true",))
    return desk.shop()


def by_a_command(desk: Desk, products: tuple[str, ...]) -> Workshop:
    """A command copies the image."""
    desk.trial = Trial(products=products, deploy=("cp", IMAGE, str(desk.board)))
    return desk.shop()


def by_a_farm(desk: Desk, products: tuple[str, ...]) -> Workshop:
    """The strategy of a farm copies the image."""
    desk.trial = Trial(products=products)

    def brings() -> None:
        desk.board.write_bytes((desk.folder / IMAGE).read_bytes())

    return desk.shop(brings)


@pytest.mark.parametrize("products", [(IMAGE,), ()])
@pytest.mark.parametrize(
    "set_up", [by_the_build, from_the_tree, from_the_tree_with_a_command, by_a_command, by_a_farm]
)
def test_the_board_boots_the_variant_that_was_deployed(
    desk: Desk, set_up: Callable[[Desk, tuple[str, ...]], Workshop], products: tuple[str, ...]
) -> None:
    shop = set_up(desk, products)
    base, one, other = shop.variants.base, shop.variants.of([DELAY]), shop.variants.of([SMP])
    if products:
        shop.make(one)
    for variant in (base, one, base, base):
        shop.deploy(variant)
        assert desk.boots == list(variant.specs)
    # A variant that is built only to be compared must not stay in the place of the one on the board.
    shop.make(other)
    for variant in (base, other):
        shop.deploy(variant)
        assert desk.boots == list(variant.specs)
    # A later run knows the images of the variants without a build.
    again = set_up(desk, products)
    for variant in (one, base):
        again.deploy(variant)
        assert desk.boots == list(variant.specs)
    again.deploy(one)
    again.back()
    assert desk.boots == []
    assert not any("could not be restored" in line for line in desk.told)


def test_images_are_put_back_without_a_build_where_something_deploys_them(desk: Desk) -> None:
    shop = by_a_command(desk, (IMAGE,))
    variants = [shop.variants.base, shop.variants.of([DELAY])]
    for variant in variants * 3:
        shop.deploy(variant)
    assert desk.builds == 2


def test_where_only_builds_deploy_a_build_is_the_time_that_it_takes(desk: Desk) -> None:
    shop = by_the_build(desk, (IMAGE,))
    base = shop.variants.base
    shop.make(base)
    # How often variants take turns depends on it, also where the board has the variant already.
    assert shop.deploy(base) == shop.deploy(base) > 0
    assert desk.builds == 1
    shop = by_a_command(desk, (IMAGE,))
    assert shop.deploy(base) > 0
    assert shop.deploy(base) == 0
