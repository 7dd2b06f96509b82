# SPDX-License-Identifier: Apache-2.0
"""Kconfig files: expressions, symbols, and what goes with a symbol."""

from __future__ import annotations

from pathlib import Path

import pytest

from bootscope.arch.arm import ARM
from bootscope.core.errors import UserError
from bootscope.kbuild import expressions
from bootscope.kbuild.graph import Configuration
from bootscope.kbuild.symbols import Symbols, read


@pytest.mark.parametrize(
    ("text", "config", "value"),
    [
        ("A", {"A": "y"}, 2),
        ("A", {"A": "m"}, 1),
        ("A", {}, 0),
        ("!A", {"A": "m"}, 1),
        ("A && B", {"A": "y", "B": "m"}, 1),
        ("A || B && C", {"A": "n", "B": "y", "C": "y"}, 2),
        ("(A || B) && !C", {"B": "y", "C": "y"}, 0),
        ("A = y", {"A": "y"}, 2),
        ("A=n", {}, 2),
        ("A != n", {"A": "m"}, 2),
        ('ARCH = "arm"', {"ARCH": '"arm"'}, 2),
        ("PAGES >= 0x10", {"PAGES": "16"}, 2),
        ("PAGES < 9", {"PAGES": "10"}, 0),
        ("y", {}, 2),
        ("$(cc-option,-mfoo=$(bar)) && A", {"A": "y"}, 2),
        ('$(success,test "x" = "y")', {}, 2),
        ("A ?? B", {}, 2),
        ("(A", {}, 2),
        ("A &&", {}, 2),
        ("", {}, 2),
    ],
)
def test_expressions_have_three_values(text: str, config: dict[str, str], value: int) -> None:
    assert expressions.parse(text).value(config) == value


def test_an_expression_names_its_symbols() -> None:
    found = expressions.parse('A && (B = y || !C) && D != "x" && $(macro,E)')
    assert set(found.symbols()) >= {"A", "B", "C", "D"}
    assert "E" not in set(found.symbols())


KCONFIG = """
# A tree in small.
mainmenu "Small"

config EXPERT
\tbool "Expert"

menu "Network"

menuconfig NET
\tbool "Networking support"
\tdefault n
\tselect CRC
\thelp
\t  config THIS_IS_HELP
\t  Not a symbol.

\t  After a blank line, still help.

if NET
config INET
\tbool "TCP/IP" # a comment
\tdepends on !BROKEN && \\
\t\t(A || B)
\timply FAST
source "net/Kconfig"
endif # NET
endmenu

config CRC
\ttristate

config BLOCK
\tbool "Block layer" if EXPERT
\tdefault y
\tselect CRC if NET

choice
\tprompt "Compression"
\tdepends on BLOCK
\tdefault GZIP
config GZIP
\tbool "gzip"
config XZ
\tbool "xz"
endchoice

config NAME
\tstring "Name"
\tdefault "a if b"

config HIDDEN
\tdef_bool y if BLOCK

config A
\tdef_bool $(cc-option,-mfoo)
"""


@pytest.fixture
def tree(tmp_path: Path) -> Symbols:
    (tmp_path / "Kconfig").write_text(KCONFIG)
    (tmp_path / "net").mkdir()
    (tmp_path / "net" / "Kconfig").write_text('config UNIX\n\ttristate "Unix"\n\nsource "gone/Kconfig"\n')
    return read(tmp_path, ARM)


def test_symbols_are_read_with_what_they_hang_on(tree: Symbols) -> None:
    assert set(tree) == {
        "EXPERT", "NET", "INET", "UNIX", "CRC", "BLOCK", "GZIP", "XZ", "NAME", "HIDDEN", "A",
    }  # fmt: skip
    assert len(tree["NET"].prompts) == 1
    assert tree["NET"].selects == [("CRC", tree["NET"].selects[0][1])]
    on = {"NET": "y", "A": "y"}
    assert tree["INET"].needs().value(on) == 2
    assert tree["INET"].needs().value({**on, "BROKEN": "y"}) == 0
    assert tree["INET"].needs().value({"A": "y"}) == 0
    assert tree["UNIX"].needs().value({}) == 0
    assert len(tree["UNIX"].prompts) == 1
    assert (tree["CRC"].type, tree["CRC"].prompts) == ("tristate", [])
    assert tree["GZIP"].choice == tree["XZ"].choice != 0
    assert tree["GZIP"].needs().value({}) == 0
    assert tree["NAME"].defaults[0][0] == '"a if b"'
    assert tree["HIDDEN"].type == "bool"
    assert not tree["HIDDEN"].prompts


def test_a_symbol_defined_twice_depends_on_either(tmp_path: Path) -> None:
    (tmp_path / "Kconfig").write_text(
        'config X\n\tbool "x"\n\tdepends on A\n\nconfig X\n\tbool "x"\n\tdepends on B\n'
    )
    symbol = read(tmp_path, ARM)["X"]
    assert [symbol.needs().value(c) for c in ({}, {"A": "y"}, {"B": "y"})] == [0, 2, 2]


def test_busybox_keeps_its_symbols_in_its_sources(tmp_path: Path) -> None:
    (tmp_path / "Config.in").write_text("source coreutils/Config.in\n")
    folder = tmp_path / "coreutils"
    folder.mkdir()
    (folder / "Config.src").write_text('menu "Coreutils"\nINSERT\nendmenu\n')
    (folder / "cat.c").write_text(
        '//config:config CAT\n//config:\tbool "cat (5 kb)"\n//config:\tdefault y\n//kbuild:lib-y += cat.o\n'
    )
    found = read(tmp_path, ARM, "Config.in")
    assert len(found["CAT"].prompts) == 1
    assert set(found) == {"CAT"}


def test_a_tree_without_kconfig_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no Kconfig in"):
        read(tmp_path, ARM)


CONFIG = {
    "EXPERT": "n", "NET": "y", "INET": "y", "UNIX": "y", "CRC": "y", "BLOCK": "y", "GZIP": "y", "XZ": "n",
    "HIDDEN": "y", "A": "y",
}  # fmt: skip


def test_what_depends_on_a_symbol_goes_with_it(tree: Symbols) -> None:
    made = Configuration(tree, CONFIG)
    assert made.without(["NET"]) == {"NET", "INET", "UNIX", "CRC"}
    assert made.without(["INET"]) == {"INET"}
    assert made.without(["BLOCK"]) == {"BLOCK", "HIDDEN", "GZIP"}


def test_what_others_select_stays_until_they_go(tree: Symbols) -> None:
    made = Configuration(tree, {**CONFIG, "CRC": "y"})
    assert made.without(["CRC"]) == set()
    assert made.holders("CRC") == ["BLOCK", "NET"]
    assert "CRC" in made.without(["CRC", "NET"])


def test_people_are_asked_for_what_has_a_question(tree: Symbols) -> None:
    made = Configuration(tree, CONFIG)
    assert made.askable() == ["BLOCK", "INET", "NET", "UNIX"]
    assert made.hidden("BLOCK")
    assert not made.hidden("NET")
