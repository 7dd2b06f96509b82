# SPDX-License-Identifier: Apache-2.0
"""Symbols in .config files: read, written, replaced, checked."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bootscope.core.errors import UserError
from bootscope.kbuild.kconfig import apply, check, parse, written
from bootscope.system.model import Symbols

CONFIG = """\
# Automatically generated file; DO NOT EDIT.
CONFIG_ARM=y
CONFIG_FB=m
# CONFIG_DRM is not set
CONFIG_HZ=100
CONFIG_CMDLINE="a=b \\"c\\""
CONFIG_BASE=0x4a000000
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / ".config"
    path.write_text(CONFIG)
    return path


def test_symbols_are_read_as_written() -> None:
    assert parse(CONFIG) == {
        "ARM": "y",
        "FB": "m",
        "DRM": "n",
        "HZ": "100",
        "CMDLINE": '"a=b \\"c\\""',
        "BASE": "0x4a000000",
    }


@pytest.mark.parametrize(
    "line",
    ["", "# a comment", "config_x=y", "CONFIG_=y", " CONFIG_X=y", "# CONFIG_X=y", "CONFIG_X is not set"],
)
def test_a_line_that_sets_nothing_is_left_out(line: str) -> None:
    assert parse(line) == {}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (True, "y"),
        (False, "n"),
        ("m", "m"),
        (0, "0"),
        (-5, "-5"),
        ("0x1F", "0x1F"),
        ("text", '"text"'),
        ("", '""'),
        ("115200", '"115200"'),
        ('say "hi" \\', '"say \\"hi\\" \\\\"'),
    ],
)
def test_a_value_is_written_as_kconfig_writes_it(value: str | int | bool, expected: str) -> None:
    assert written(value) == expected


def test_symbols_are_replaced_or_added_and_the_rest_stays(config: Path) -> None:
    apply(config, {"FB": True, "ARM": False, "DRM": "m", "NEW": "x"})
    assert config.read_text().splitlines() == [
        "# Automatically generated file; DO NOT EDIT.",
        "CONFIG_HZ=100",
        'CONFIG_CMDLINE="a=b \\"c\\""',
        "CONFIG_BASE=0x4a000000",
        "CONFIG_FB=y",
        "# CONFIG_ARM is not set",
        "CONFIG_DRM=m",
        'CONFIG_NEW="x"',
    ]


def test_a_symbol_whose_name_begins_like_another_is_left_alone(config: Path) -> None:
    apply(config, {"H": True})
    assert parse(config.read_text())["HZ"] == "100"


def test_applying_nothing_changes_nothing(config: Path) -> None:
    apply(config, {})
    assert config.read_text() == CONFIG


VALUES = st.one_of(
    st.booleans(), st.integers(0, 1 << 32), st.text(st.characters(codec="ascii", categories=["L", "P"]))
)


@given(st.dictionaries(st.from_regex(r"[A-Z][A-Z0-9_]{0,10}", fullmatch=True), VALUES, max_size=8))
def test_what_was_applied_is_found_again(tmp_path_factory: pytest.TempPathFactory, symbols: Symbols) -> None:
    path = tmp_path_factory.mktemp("kconfig") / ".config"
    path.write_text(CONFIG)
    apply(path, symbols)
    check(path, symbols, "here")
    once = path.read_text()
    apply(path, symbols)
    assert parse(path.read_text()) == parse(once)


def test_what_landed_passes_the_check(config: Path) -> None:
    check(config, {"ARM": True, "DRM": False, "ABSENT": False, "HZ": 100, "CMDLINE": 'a=b "c"'}, "kernel")


def test_what_did_not_land_is_named_with_what_it_became(config: Path) -> None:
    with pytest.raises(UserError) as caught:
        check(config, {"ARM": True, "FB": True, "HZ": 250, "ABSENT": "x"}, "kernel.config")
    assert caught.value.message == (
        "kernel.config: these symbols have other values: FB=y became m, HZ=250 became 100, "
        'ABSENT="x" became n'
    )
    assert caught.value.hint
