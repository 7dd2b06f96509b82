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
from bootscope.core.errors import ToolError

from . import tree_builders as trees

IMAGE = "images/card.img"
DELAY, SMP = "uboot-bootdelay", "kernel-no-smp"
WRITES = {DELAY: "CONFIG_BOOTDELAY=0", SMP: "# CONFIG_SMP is not set"}
BUILD = f"""#!/bin/sh
set -e
echo "$BOOTSCOPE_VARIANT" >> builds
mkdir -p images
cat plain.config > {IMAGE}
cat "$BOOTSCOPE_CHANGES"/*.config >> {IMAGE} 2>/dev/null || true
cp {IMAGE} u-boot/.config
"""


@dataclass
class Desk:
    """A user's tree and board: `board` is the file that it boots."""

    folder: Path
    board: Path
    trial: Trial = field(default_factory=lambda: Trial(products=(IMAGE,)))
    build: tuple[str, ...] = ("./build.sh",)
    shell: bool = False
    told: list[str] = field(default_factory=list)

    def script(self, text: str, name: str = "build.sh") -> None:
        """Writes a script of the user's; build.sh builds the tree."""
        (self.folder / name).write_text(text)
        (self.folder / name).chmod(0o755)

    def shop(self, brings: Callable[[], None] | None = None) -> Workshop:
        """The tree as a new call of bootscope opens it."""
        wish = Wish(build=self.build, shell=self.shell, trial=self.trial)
        tree = import_tree("mine", self.folder, wish)
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
    (made.folder / "plain.config").write_bytes((made.folder / "u-boot/.config").read_bytes())
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


# ---- images that are kept ----


def images(desk: Desk) -> tuple[dict[str, str], dict[str, str]]:
    """The images without and with a technique as a new run has them: built, or kept by an earlier one."""
    shop = desk.shop()
    return shop.make(shop.variants.base).hashes, shop.make(shop.variants.of([DELAY])).hashes


def test_images_that_were_built_are_used_again(desk: Desk) -> None:
    assert images(desk) == images(desk)
    assert desk.told[-1] == f"{DELAY}: already built, and the base has not changed"
    assert desk.builds == 3


@pytest.mark.parametrize("name", ["build.sh", "inner.sh"])
def test_a_build_that_ignored_the_changes_is_repaired(desk: Desk, name: str) -> None:
    if name == "inner.sh":
        desk.script("#!/bin/sh\nexec ./inner.sh\n")
    desk.script(BUILD.replace("$BOOTSCOPE_CHANGES", "nowhere"), name)
    without, with_it = images(desk)
    assert with_it == without
    desk.script(BUILD, name)
    without, with_it = images(desk)
    assert with_it != without


@pytest.mark.parametrize(
    ("build", "shell"),
    [
        (("./build.sh",), False),
        (("/bin/sh", "-c", "./build.sh && true"), False),
        (("nice ./build.sh; true",), True),
        (("sh 'build.sh' # it's mine",), True),
        (("true 'it is' && (./build.sh)",), True),
    ],
)
def test_a_script_that_has_changed_builds_variants_again(
    desk: Desk, build: tuple[str, ...], shell: bool
) -> None:
    desk.build, desk.shell = build, shell
    without = images(desk)[0]
    # It makes the same of the tree without changes.
    desk.script(BUILD.replace('cat "$B', 'tail -n 1 "$B').replace("*.config", "kernel.config"))
    assert images(desk)[0] == without
    assert desk.builds == 4


def test_images_that_lack_changes_are_built_again(desk: Desk) -> None:
    desk.script(BUILD.replace(f"cp {IMAGE} u-boot/.config", ""))
    for _ in range(2):
        shop = desk.shop()
        assert "does the build use these changes" in shop.make(shop.variants.of([DELAY])).missed[0]
        shop.deploy(shop.variants.base)
    assert desk.told.count(f"{DELAY}: building") == 2


def test_changes_that_are_written_otherwise_are_built_again(desk: Desk, tmp_path: Path) -> None:
    desk.folder = trees.yocto(tmp_path / "yocto")
    desk.script(
        f'#!/bin/sh\nmkdir -p images\ncd "$BOOTSCOPE_CHANGES"\nfind . | sort > "$BOOTSCOPE_TREE/{IMAGE}"\n'
    )
    found = {}
    for recipe in ("linux-one", "linux-two"):
        desk.trial = Trial(products=(IMAGE,), series="scarthgap", kernel_recipe=recipe)
        shop = desk.shop()
        variant = shop.variants.of([SMP])
        found[variant.key, recipe] = shop.make(variant).hashes[IMAGE]
    assert len({key for key, _ in found}) == 1
    assert len(set(found.values())) == 2


# ---- the end ----


def half_put_back(desk: Desk) -> Workshop:
    """A run that put back only the first of two images of a variant."""
    desk.script(f"{BUILD}cp {IMAGE} images/second\n")
    desk.trial = Trial(products=(IMAGE, "images/second"), deploy=("true",))
    images(desk)
    shop = desk.shop()
    variant = shop.variants.of([DELAY])
    shop.make(variant)
    for path in (desk.folder.parent / "cache").glob("steps/*/files/images/second"):
        if WRITES[DELAY] in path.read_text():
            path.unlink()
    with pytest.raises(ToolError, match="second"):
        shop.deploy(variant)
    return shop


def of_variant(desk: Desk) -> list[bool]:
    """Whether the images in the tree are those of the variant."""
    return [WRITES[DELAY] in (desk.folder / name).read_text() for name in (IMAGE, "images/second")]


def test_images_that_were_put_back_halfway_are_replaced_at_the_end(desk: Desk) -> None:
    shop = half_put_back(desk)
    assert of_variant(desk) == [True, False]
    shop.back()
    assert of_variant(desk) == [False, False]
    assert not any("could not be restored" in line for line in desk.told)


def test_images_that_cannot_be_replaced_at_the_end_are_told(desk: Desk) -> None:
    shop = half_put_back(desk)
    for path in (desk.folder.parent / "cache").glob("steps/*/files/images/*"):
        path.unlink()
    for end in (shop.back, shop.leave):
        desk.told.clear()
        end()
        assert any("of different builds; to build without changes: boot" in line for line in desk.told)
    assert of_variant(desk) == [True, False]
