# SPDX-License-Identifier: Apache-2.0
"""Edits of U-Boot's sources: what they change, where they cannot be had, what is said of them elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from bootscope.builder.cache import Cache
from bootscope.builder.plan import outlook
from bootscope.builder.steps import loader_tree
from bootscope.buildtrees import loader_code
from bootscope.core.errors import UserError
from bootscope.system.changes import Change, Settings, apply
from bootscope.system.load import LoadedSystem, check_system, load_system
from bootscope.system.model import System
from bootscope.techniques.model import techniques

I2C, MMC = "drivers/i2c/mvtwsi.c", "drivers/mmc/mmc.c"
RECIPES = {"uboot-i2c-reset-wait": "two-ms", "uboot-card-waits": "standard"}
# The shape of U-Boot's functions, in words of our own.
SOURCES = {
    I2C: "reset(void)\n{\n\tudelay(20000);\n}\n",
    MMC: "idle(void)\n{\n\tudelay(1000);\n\tgo();\n\tudelay(2000);\n\n\treturn 0;\n}\n"
    "cycle(void)\n{\n\toff();\n\tudelay(2000);\n\treturn mmc_power_on(mmc);\n}\n",
}


def changed(**settings: Settings) -> System:
    changes = {name: Change(settings=one) for name, one in settings.items()}
    return apply(load_system("stock").system, changes)


def recipes(*ids: str) -> System:
    changes = {name: techniques()[name].recipes[RECIPES[name]].change for name in ids}
    return apply(load_system("stock").system, changes)


def edit(file: str = I2C, before: str = "udelay(20000);", after: str = "udelay(7);") -> Settings:
    return {f"uboot.edits.it.{key}": text for key, text in locals().items()}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """What of U-Boot's sources the recipes change."""
    found = tmp_path / "u-boot"
    for name, text in SOURCES.items():
        (found / name).parent.mkdir(parents=True, exist_ok=True)
        (found / name).write_text(text)
    return found


def test_the_recipes_change_their_places_and_no_other(tree: Path, tmp_path: Path) -> None:
    loader_tree.write(recipes(*RECIPES), tree, tmp_path / "view")
    assert (tmp_path / "view" / I2C).read_text() == SOURCES[I2C].replace("20000", "2000")
    assert (tmp_path / "view" / MMC).read_text() == SOURCES[MMC].replace("2000", "1000")
    assert {name: (tree / name).read_text() for name in SOURCES} == SOURCES


def test_a_file_of_the_system_is_edited_as_well(tree: Path, tmp_path: Path) -> None:
    files: Settings = {"uboot.files": {I2C: "udelay(20000); /* ours */\n"}}
    loader_tree.write(changed(a=files, b=edit()), tree, tmp_path / "view")
    assert (tmp_path / "view" / I2C).read_text() == "udelay(7); /* ours */\n"


@pytest.mark.parametrize("text", ["udelay(2000);\n", "udelay(20000);\nudelay(20000);\n"])
def test_another_source_is_refused_by_the_name_of_the_edit(tree: Path, tmp_path: Path, text: str) -> None:
    (tree / I2C).write_text(text)
    with pytest.raises(UserError) as told:
        loader_tree.write(changed(a=edit()), tree, tmp_path / "view")
    assert str(told.value) == (
        f"uboot.edits.it cannot be had: {I2C} of this source tree has not exactly one place with "
        "'udelay(20000);'"
    )
    assert told.value.hint == (
        "this U-Boot is of another version, or of another driver; leave uboot.edits.it out"
    )


@pytest.mark.parametrize(
    ("settings", "key"),
    [
        (edit(file="/etc/passwd"), "uboot.edits.it.file"),
        (edit(file="../../x.c"), "uboot.edits.it.file"),
        (edit(file=""), "uboot.edits.it.file"),
        (edit(before=" \n"), "uboot.edits.it.before"),
    ],
)
def test_what_is_no_place_in_the_tree_is_refused(settings: Settings, key: str) -> None:
    with pytest.raises(UserError, match=key):
        check_system(changed(a=settings), load_system("stock").path)


def test_only_a_system_with_edits_has_a_tree_of_its_own(tmp_path: Path) -> None:
    assert loader_tree.source_of(changed()) == "uboot"
    found = loader_tree.source_of(recipes("uboot-card-waits"))
    loaded = LoadedSystem(recipes("uboot-card-waits"), load_system("stock").path)
    needs = {step.name: step.needs for step in outlook(loaded, Cache(tmp_path)).planned()}
    assert f"unpack-{found}" in needs["uboot"]
    one, both = loader_tree.step(recipes("uboot-card-waits")), loader_tree.step(recipes(*RECIPES))
    assert one.step_id({"unpack-uboot": "x"}) != both.step_id({"unpack-uboot": "x"})


def test_somebody_elses_build_is_told_what_to_change() -> None:
    settings: dict[str, object] = {**edit(), "uboot.edits.half.file": "x.c", "kernel.load_address": "1"}
    files, steps = loader_code.by_hand(settings)
    assert steps == [f"change {I2C} of U-Boot's sources as DIR/uboot-code/2.txt says"]
    assert files == {"uboot-code/2.txt": f"In {I2C}:\n\nudelay(20000);\n\nbecomes:\n\nudelay(7);\n"}
    assert sorted(settings) == ["kernel.load_address", "uboot.edits.half.file"]
