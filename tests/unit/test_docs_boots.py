# SPDX-License-Identifier: Apache-2.0
"""The pages on boots that vary: their commands do what the pages show."""

from __future__ import annotations

import random
import re
import shlex
import shutil
from pathlib import Path

import pytest

from .boot_noise import Board
from .builders import ROOT
from .conftest import Command
from .test_boot_samples import log

BOOTS = ROOT / "tests" / "fixtures" / "boots"
_RUN = re.compile(r"\b\d{8}-\d{6}-")


def blocks(page: str) -> list[list[str]]:
    """The indented blocks of a page, without their indentation."""
    found: list[list[str]] = [[]]
    for line in page.splitlines():
        if line.startswith("    ") or (not line and found[-1]):
            found[-1].append(line[4:])
        else:
            found.append([])
    return [block for block in ("\n".join(b).strip("\n").splitlines() for b in found) if block]


def shown(text: str) -> list[str]:
    """What was printed, with the times in the names of runs left out."""
    return [_RUN.sub("RUN-", line.rstrip()) for line in text.strip("\n").splitlines()]


@pytest.mark.parametrize("name", ["statistics.md", "ci.md"])
def test_a_page_shows_what_its_commands_print(main_here: Command, tmp_path: Path, name: str) -> None:
    for path in BOOTS.glob("*.log"):
        shutil.copy(path, tmp_path)
    compared = 0
    for block in blocks((ROOT / "docs" / name).read_text()):
        if block[0].startswith("milestone ="):
            (tmp_path / "bootscope-check.toml").write_text("\n".join(block))
        for place, line in enumerate(block):
            if line.startswith("bootscope import"):
                assert main_here(*shlex.split(line)[1:]).returncode == 0, line
            elif line.startswith("$ bootscope "):
                done = main_here(*shlex.split(line)[2:])
                assert done.returncode in (0, 3), done.stderr
                assert shown("\n".join(block[place + 1 :])) == shown(done.stdout)
                compared += 1
    assert compared >= 2


def test_the_logs_are_what_their_page_says() -> None:
    for name, seed, times in (("before", 1, 1.0), ("after", 2, 0.98), ("same", 3, 1.0), ("slower", 6, 1.05)):
        boots = Board(30, 4).boots(random.Random(seed), 10, times)
        assert (BOOTS / f"{name}.log").read_text() == log(boots)
