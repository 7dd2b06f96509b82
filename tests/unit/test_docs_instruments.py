# SPDX-License-Identifier: Apache-2.0
"""docs/instruments.md: what is said of the documents' instruments, and that the commands there exist."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from pathlib import Path

import pytest

from bootscope.cli.parsers import parser

PAGE = Path(__file__).resolve().parents[2] / "docs" / "instruments.md"
_, _, TABLE = PAGE.read_text().partition("## The instruments of the documents")
ROWS = [line.strip("| ").split(" | ") for line in TABLE.splitlines() if line.startswith("| ")][1:]
COMMANDS = sorted(set(re.findall(r"`bootscope ([^`]+)`", TABLE)))
STATES = {"works": "work", "has an equal": "have an equal", "is read": "are read", "not": "are not there"}


def test_every_instrument_has_one_row_and_the_sums_are_right() -> None:
    assert len({row[0] for row in ROWS}) == len(ROWS) == 53
    for state, number in Counter(row[1] for row in ROWS).items():
        assert f"{number} {STATES[state]}" in " ".join(TABLE.split())
        # Who says that it is there says by which command.
        assert state == "not" or all("`bootscope " in row[2] for row in ROWS if row[1] == state)


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_are_those_that_bootscope_has(command: str) -> None:
    words = shlex.split(command)
    parser([words[0]]).parse_args(words)
