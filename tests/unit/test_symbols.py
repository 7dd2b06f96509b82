# SPDX-License-Identifier: Apache-2.0
"""Symbol tables: functions by name and by address."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bootscope.arch.arm import ARM
from bootscope.image.symbols import Symbols

TABLE = """\
         U memcpy
c0008000 T stext
c0008040 t __create_page_tables
c0008100 W weak_one
c0008200 D not_code
c0008300 r not_code_either
c0009001 T thumb_function
c000a000 t $a
c000a000 t .L12
c000a000 t __compound_literal.0
c000b000 T last
c000b000 T alias_of_last
not a line
C000C000 T upper_case
c000d000 T two words
"""


@pytest.fixture
def symbols() -> Symbols:
    return Symbols.parse(TABLE, ARM)


def test_only_functions_are_kept(symbols: Symbols) -> None:
    assert len(symbols) == 6
    for name in ("memcpy", "not_code", "not_code_either", "$a", ".L12", "upper_case", "two"):
        assert symbols.address(name) is None


def test_a_function_is_found_by_name(symbols: Symbols) -> None:
    assert symbols.address("stext") == 0xC0008000
    assert symbols.address("weak_one") == 0xC0008100


def test_the_mark_of_thumb_code_is_no_part_of_the_address(symbols: Symbols) -> None:
    assert symbols.address("thumb_function") == 0xC0009000
    assert symbols.name_at(0xC0009000) == "thumb_function"


def test_of_several_names_the_first_that_exists_counts(symbols: Symbols) -> None:
    assert symbols.address("renamed", "last", "stext") == 0xC000B000
    assert symbols.address("renamed") is None
    assert symbols.address() is None


@pytest.mark.parametrize(
    ("address", "name"),
    [
        (0, None),
        (0xC0007FFF, None),
        (0xC0008000, "stext"),
        (0xC000803F, "stext"),
        (0xC0008040, "__create_page_tables"),
        (0xC0008FFF, "weak_one"),
        (0xC000B000 + (1 << 16), "last"),
        (0xC000B001 + (1 << 16), None),
    ],
)
def test_an_address_lies_in_the_function_that_begins_before_it(
    symbols: Symbols, address: int, name: str | None
) -> None:
    assert symbols.name_at(address) == name


def test_a_name_that_occurs_twice_is_the_lower_address() -> None:
    assert Symbols([(20, "init"), (10, "init")]).address("init") == 10


def test_an_empty_table_knows_nothing() -> None:
    empty = Symbols.parse("", ARM)
    assert (len(empty), empty.address("x"), empty.name_at(5)) == (0, None, None)


@given(st.text(max_size=200))
def test_any_text_can_be_parsed(text: str) -> None:
    assert len(Symbols.parse(text, ARM)) >= 0


@given(st.dictionaries(st.integers(0, 1 << 32), st.from_regex(r"[a-z]{3,8}", fullmatch=True), min_size=1))
def test_every_function_begins_in_itself(table: dict[int, str]) -> None:
    symbols = Symbols(table.items())
    assert all(symbols.name_at(address) == name for address, name in table.items())
