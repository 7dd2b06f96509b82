# SPDX-License-Identifier: Apache-2.0
"""The edit of the tutorial does what it says, done to the letter."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import msgspec
import pytest

from bootscope.core.errors import UserError
from bootscope.system.load import load_system
from tests.command import Bootscope

from .builders import ROOT

TUTORIAL = (ROOT / "docs" / "tutorial.md").read_text()
STEP = TUTORIAL.partition("Derive your own system")[2].partition("What must be built?")[0]
TEXT, PLACE = re.findall(r"((?:    .+\n)+)", STEP)[-1], "add at the end of the file:"


@pytest.fixture
def product(tmp_path: Path) -> Path:
    """The system file as the tutorial's command makes it."""
    (command,) = re.findall(r"^    \$ bin/bootscope (.+)$", STEP, re.MULTILINE)
    what, action, *words = shlex.split(command)
    folder, *options = words[1:]
    done = Bootscope(tmp_path / "store").run(what, action, words[0], tmp_path / folder, *options)
    assert done.returncode == 0, done.stderr
    return tmp_path / "my" / "product.toml"


def test_the_change_is_made_where_the_tutorial_says(product: Path) -> None:
    assert PLACE in STEP
    product.write_text(product.read_text() + re.sub(r"^    ", "", TEXT, flags=re.MULTILINE))
    system, stock = load_system(str(product)).system, load_system("stock").system
    assert system.uboot.config == {"BOOTDELAY": 0}
    same = msgspec.structs.replace(stock.uboot, config=system.uboot.config)
    assert system == msgspec.structs.replace(stock, name="product", uboot=same)


def test_who_adds_it_just_below_the_table_is_told_the_line(product: Path) -> None:
    """As the tutorial once had it: what stands below a new table belongs to that."""
    own = re.sub(r"^    ", "", TEXT, flags=re.MULTILINE)
    product.write_text(product.read_text().replace("[uboot]\n", f"[uboot]\n{own}", 1))
    line = product.read_text().split("\n").index("[uboot]") + 1
    with pytest.raises(UserError) as caught:
        load_system(str(product))
    assert caught.value.message.startswith(f"{product}:{line}: uboot.source: expected a name under [sources]")
