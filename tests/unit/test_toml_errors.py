# SPDX-License-Identifier: Apache-2.0
"""What is wrong in a TOML file is said in plain words, with file, line and column, whichever file it is."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bootscope.capture.store import Store
from bootscope.core.toml_lines import line_of, spot

from .builders import BOOT, keep_run
from .conftest import Command
from .test_cli import assert_refused

BUDGET = '[budget]\n"app-ready" = "2 s" # fine\n'

CHECK_FILES = [
    (
        f"{BUDGET}first-frame = 500\n",
        "c.toml:3: budget.first-frame: expected a string in quotes or a table, got a whole number",
        'for example: "first-frame" = "2.5 s"',
    ),
    (f'{BUDGET}first-frame = "2.5"\n', "c.toml:3: budget 'first-frame': '2.5' is no time", "such as 2.5 s"),
    (f"{BUDGET}x = {{ limit = 2 }}\n", "c.toml:3: budget.x.limit: expected a string in quotes", ""),
    (f'{BUDGET}x = {{ limt = "2 s" }}\n', "c.toml:3: budget.x: unknown key `limt`", ""),
    (f'{BUDGET}\n[budget.x]\nlimt = "2 s"\n', "c.toml:5: budget.x: unknown key `limt`", ""),
    (f'{BUDGET}\n[budget.x]\nof = "p95"\n', "c.toml:4: budget.x: missing value for `limit`", ""),
    ('[budgets]\nx = "5 s"\n', "c.toml:1: top level: unknown key `budgets`", ""),
    ("budget = 5\n", "c.toml:1: budget: expected a table, got a whole number", ""),
    (
        '[baseline]\nfile = ["a"]\nmax_regression = "2 %"\n',
        "c.toml:2: baseline.file: expected a string in quotes, got a list",
        'for example: file = "boot-baseline.json"',
    ),
    (
        '[baseline]\nfile = "a"\nmax_regression = "lots"\n',
        "c.toml:3: baseline.max_regression: 'lots' is no time",
        "",
    ),
    (
        f"{BUDGET}first-frame = 2.5 s\n",
        "c.toml:3:19: not valid TOML: expected the end of the line after a value; strings need quotes",
        "line 3 is: first-frame = 2.5 s",
    ),
    (f"{BUDGET}x 5\n", "c.toml:3:3: not valid TOML: expected '=' after a key", "line 3 is: x 5"),
    (f"{BUDGET}x = s\n", "c.toml:3:5: not valid TOML: expected a value: a string in quotes, a number", ""),
    (f'{BUDGET}x = "2 s\n', "c.toml:3:9: not valid TOML: the string does not end on its line", ""),
    (f'{BUDGET}x = """2 s\n', "c.toml:3: not valid TOML: a string has no closing quotes", ""),
    (f"{BUDGET}[budget]\n", "c.toml:3:8: not valid TOML: duplicate table or key", ""),
    (f"{BUDGET}[other\n", "c.toml:3:7: not valid TOML: expected ']'", "line 3 is: [other"),
]


@pytest.mark.parametrize(("text", "message", "hint"), CHECK_FILES)
def test_a_check_file_is_mended_by_what_is_said_of_it(
    main_here: Command, tmp_path: Path, text: str, message: str, hint: str
) -> None:
    (tmp_path / "c.toml").write_text(text)
    assert_refused(main_here("check", "-f", "c.toml"), message, hint)


def test_what_is_no_utf_8_has_its_line(main_here: Command, tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_bytes(b"[budget]\n# caf\xe9\n")
    assert_refused(main_here("check", "-f", "c.toml"), "c.toml:2: not valid TOML: it is not UTF-8 text")


# ---- --board ----


BOARDS = [
    (None, "cannot read b.toml: No such file or directory"),
    ('[console]\nkind = "serial\n', "b.toml:2:15: not valid TOML: the string does not end on its line"),
    (
        '[console]\nkind = "serial"\nport = 5\n',
        "b.toml:3: console.port: expected a string in quotes, got a whole",
    ),
    (
        '[console]\nport = "x"\nrate = "115200"\n',
        "b.toml:3: console.rate: expected a whole number, got a string",
    ),
    ('[console]\nport = "x"\nspeed = 1\n', "b.toml:3: console: unknown key `speed`"),
    ('[console]\nkind = "serail"\n', "b.toml:2: console.kind: expected one of serial, tcp"),
    ('[console]\nport = "x"\n[power]\non = ["a"]\n', "b.toml:3: power: expected both on and off, or neither"),
    (
        '[console]\nport = "x"\n[power]\non = "a"\noff = "b"\n',
        "b.toml:4: power.on: expected a list, got a string",
    ),
    (
        'title = "an emulated board"\n',
        "name a system to boot (the file of a real board has a [console])",
    ),
]


@pytest.mark.parametrize(("text", "message"), BOARDS)
def test_a_board_that_cannot_be_read_is_said(
    main_here: Command, tmp_path: Path, text: str | None, message: str
) -> None:
    if text is not None:
        (tmp_path / "b.toml").write_text(text)
    assert_refused(main_here("record", "--board", "b.toml"), message)


@pytest.mark.parametrize("verb", [["record", "stock"], ["show", "last"], ["what-if", "last", "quiet"]])
def test_an_emulated_board_that_cannot_be_read_is_said_by_all_who_take_one(
    main_here: Command, store: Store, verb: list[str]
) -> None:
    keep_run(store, BOOT)
    assert_refused(main_here(*verb, "--board", "gone.toml"), "cannot read gone.toml: No such file")


def test_a_kind_of_console_that_there_is_not_is_no_missing_system(main_here: Command) -> None:
    done = main_here("record", "--board", "seral:/dev/ttyUSB0")
    assert_refused(done, "unknown kind of console 'seral'", "did you mean serial?")


# ---- lines ----

TEXT = '''\
top = 1
"quoted key" = 2
[a]
b.c = """
[not.a.table]
d = 1
"""
d = 2
list = [
  "x",
]
'single' = 1
[ a . "b b" ]  # comment
x = { y = 1 }
[[many]]
n = 1
[[many]]
n = 2
[many.inner]
n = 3
["odd\\u0041"]
z = 1
'''


@pytest.mark.parametrize(("path", "line"), [
    (["top"], 1), (["quoted key"], 2), (["a"], 3), (["a", "b", "c"], 4), (["a", "d"], 8), (["a", "list"], 9),
    (["a", "list", "0"], 9), (["a", "single"], 12), (["a", "b b"], 13), (["a", "b b", "x", "y"], 14),
    (["many", "0", "n"], 16), (["many", "1", "n"], 18), (["many", "1", "inner", "n"], 20), (["many"], 15),
    (["oddA", "z"], 22), (["not", "a", "table"], None), (["gone"], None), ([], None),
    (["a", "gone"], 3),
])  # fmt: skip
def test_the_line_of_a_value_is_found(path: list[str], line: int | None) -> None:
    assert line_of(TEXT, path) == line


def test_a_file_that_is_gone_has_no_line(tmp_path: Path) -> None:
    assert spot(tmp_path / "gone.toml", ["a"]) == str(tmp_path / "gone.toml")


@given(st.text(), st.lists(st.text(max_size=5), max_size=3))
def test_any_text_has_lines_of_its_own(text: str, path: list[str]) -> None:
    line = line_of(text, path)
    assert line is None or 1 <= line <= len(text.split("\n"))
