# SPDX-License-Identifier: Apache-2.0
"""Hints on a terminal of 80 columns, and in what a program reads."""

from __future__ import annotations

import pytest

from .conftest import Command
from .on_a_terminal import on_a_terminal


@pytest.mark.parametrize(
    "words",
    [["shwo"], ["record", "--plan"], ["record", "stok"], ["export", "last", "--format", "csw", "-o", "x"]],
)
def test_a_list_of_names_continues_below_itself(words: list[str]) -> None:
    text = on_a_terminal(*words, status=2)
    lines = text.splitlines()
    assert max(map(len, lines)) <= 80
    hint = next(at for at, line in enumerate(lines) if line.startswith("  hint: "))
    assert len(lines) > hint + 1
    for line in lines[hint + 1 :]:
        assert line.startswith("        ")
    assert all(line.endswith(",") for line in lines[hint:-1])


def test_a_program_reads_the_hint_in_one_line(main_here: Command) -> None:
    lines = main_here("shwo").stderr.splitlines()
    assert len(lines) == 2
    assert len(lines[1]) > 200


def test_a_command_to_copy_stays_whole() -> None:
    text = on_a_terminal("system", "copy", columns=30, status=2)
    assert "  hint: bootscope system copy stock my-product\n" in text


def test_record_without_a_system_names_one_that_needs_no_compiling(main_here: Command) -> None:
    done = main_here("record")
    assert done.returncode == 2
    assert "hint: bootscope record debian" in done.stderr
