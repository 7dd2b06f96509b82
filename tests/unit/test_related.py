# SPDX-License-Identifier: Apache-2.0
"""Symbols that differ between two configurations: which have to change before which."""

from __future__ import annotations

from pathlib import Path

import pytest

from bootscope.arch.arm import ARM
from bootscope.capture.store import Store
from bootscope.kbuild import kconfig
from bootscope.kbuild.symbols import Symbols, read
from bootscope.regression.configs import Configs, changed, value_of, with_config
from bootscope.regression.related import related
from bootscope.regression.units import united
from bootscope.system.load import load_system

KCONFIG = """\
config BUS
	tristate "bus"

config HELPER
	bool

config CHIP
	bool "chip"
	depends on BUS
	select HELPER
	select LIBRARY

config LIBRARY
	tristate "library"

config FOLLOWS
	def_bool y
	depends on CHIP

config LATE
	bool "needs the chip through what follows from it"
	depends on FOLLOWS

config SIZE
	int "size"
	depends on CHIP
	default 4

choice
	prompt "speed"

config SLOW
	bool "slow"

config FAST
	bool "fast"

endchoice

config OLD_WAY
	bool "old way"
	depends on !NEW_WAY

config NEW_WAY
	bool "new way"
"""


@pytest.fixture
def tree(tmp_path: Path) -> Symbols:
    (tmp_path / "Kconfig").write_text(KCONFIG)
    return read(tmp_path, ARM)


OFF = {"BUS": "n", "CHIP": "n", "LIBRARY": "n", "SLOW": "y", "FAST": "n", "OLD_WAY": "y", "NEW_WAY": "n"}
ON = {
    "BUS": "y", "CHIP": "y", "LIBRARY": "y", "HELPER": "y", "FOLLOWS": "y", "LATE": "y", "SIZE": "8",
    "SLOW": "n", "FAST": "y", "OLD_WAY": "n", "NEW_WAY": "y",
}  # fmt: skip


def test_what_is_switched_on_comes_after_what_it_needs(tree: Symbols) -> None:
    differing = changed(OFF, ON)
    assert differing["SIZE"] == "n -> 8"
    needs = related(tree, OFF, ON, list(differing))
    # What nobody is asked for follows from others.
    assert needs.keys() == differing.keys() - {"HELPER", "FOLLOWS"}
    assert needs["CHIP"] == {"BUS", "LIBRARY"}
    assert needs["SIZE"] == {"CHIP"}
    assert "CHIP" in needs["LATE"]
    assert needs["SLOW"] == {"FAST"} and needs["FAST"] == {"SLOW"}
    # The old way must be off before the new one is on.
    assert needs["NEW_WAY"] == {"OLD_WAY"} and not needs["OLD_WAY"]
    units, groups = united(list(needs), needs, differing)
    assert ["SLOW", "FAST"] in [sorted(group, reverse=True) for group in groups]
    order = [unit.name for unit in units]
    assert order.index("BUS") < order.index("CHIP") < order.index("SIZE")


def test_what_is_switched_off_goes_before_what_it_needs(tree: Symbols) -> None:
    needs = related(tree, ON, OFF, list(changed(ON, OFF)))
    assert not needs["SIZE"]
    assert {"CHIP"} <= needs["BUS"] and {"CHIP"} <= needs["LIBRARY"]
    assert "LATE" in needs["CHIP"] and "SIZE" in needs["CHIP"]


def test_a_module_is_a_level_between(tree: Symbols) -> None:
    # A chip that is built in needs the bus built in: the bus rises first, and falls last.
    low, high = {"BUS": "m", "LIBRARY": "m"}, {"BUS": "y", "LIBRARY": "y", "CHIP": "y", "HELPER": "y"}
    assert related(tree, low, high, list(changed(low, high)))["CHIP"] == {"BUS", "LIBRARY"}
    assert related(tree, high, low, list(changed(high, low)))["BUS"] == {"CHIP"}


def test_symbols_that_no_file_declares_and_those_to_set_too_can_be_set(tree: Symbols) -> None:
    old, new = {"STRANGE": "n"}, {"STRANGE": "y", "HELPER": "y"}
    assert related(tree, old, new, list(changed(old, new))) == {"STRANGE": set()}
    assert related(tree, old, new, list(changed(old, new)), {"HELPER"}).keys() == {"STRANGE", "HELPER"}


@pytest.mark.parametrize(
    "line", ["y", "n", "m", "100", "-5", "0x4a000000", '"a=b \\"c\\" \\\\"', '""', '"12"']
)
def test_values_are_written_as_they_were(line: str) -> None:
    assert kconfig.written(value_of(line)) == line


def test_a_system_with_its_own_configuration_is_that_system() -> None:
    stock = load_system("stock")
    own = {"FB": "y", "FB_SIMPLE": "y", "DRM_SUN4I": "n", "NET": "y", "HZ": "100"}
    assert with_config(stock, own, own) == stock
    # What its file asks for and the other has otherwise is not insisted on.
    other = with_config(stock, own, {**own, "FB_SIMPLE": "n", "NET": "n", "HZ": "250", "NEW": "n"})
    assert other.system.kernel.config == {"FB": True, "DRM_SUN4I": False}
    assert other.system.kernel.wishes == {"FB_SIMPLE": "n", "NET": "n", "HZ": 250, "NEW": "n"}


def test_a_combination_of_symbols_leaves_the_rest_to_kconfig(tree: Symbols, store: Store) -> None:
    stock = load_system("stock")
    rest = {"FB": "y", "FB_SIMPLE": "y", "DRM_SUN4I": "n"}
    old, new = {**rest, **OFF}, {**rest, **ON, "EXTRA": "n"}
    inputs = Configs(stock, "good", "bad", (old, new), old, tree, store, (old, {**new, "SIZE": "9"}))
    assert inputs.notes == ("bad: Kconfig has other values for 1 symbols: SIZE",)
    assert inputs.count == len(changed(OFF, ON))
    with inputs.system(frozenset()) as loaded:
        assert loaded == stock
    with inputs.system(inputs.units.all) as loaded:
        wishes = loaded.system.kernel.wishes
    # Not what follows, and what is off in the bad one and would come on by itself.
    assert wishes == {
        "BUS": "y", "CHIP": "y", "LIBRARY": "y", "LATE": "y", "SIZE": 8, "SLOW": "n", "FAST": "y",
        "OLD_WAY": "n", "NEW_WAY": "y", "EXTRA": "n",
    }  # fmt: skip
    (chip,) = (n for n in range(len(inputs.units)) if inputs.units[n].name == "CHIP")
    with inputs.system(inputs.units.down({chip})) as loaded:
        wishes = loaded.system.kernel.wishes
    # What is not switched on is off, also where its default would be something else.
    assert wishes == {"BUS": "y", "CHIP": "y", "LIBRARY": "y", "LATE": "n", "SIZE": "n", "EXTRA": "n"}
