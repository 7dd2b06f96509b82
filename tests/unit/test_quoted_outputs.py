# SPDX-License-Identifier: Apache-2.0
"""Outputs that documents quote of files in the repository are those of today."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from .builders import ROOT
from .conftest import Command

READERS = ROOT / "tests/fixtures/readers"
_RUN = re.compile(r"\d{8}-\d{6}-console")


def quoted(page: str, command: str) -> Iterator[str]:
    """The output below a command, word by word, in pieces where the page leaves lines out."""
    text = (ROOT / "docs" / page).read_text()
    block = text[text.index(f"    $ {command}") :].partition("\n")[2]
    lines = []
    for line in block.splitlines():
        if line and (not line.startswith("    ") or line.startswith("    $ ")):
            break
        lines.append(line.strip())
    for piece in "\n".join(lines).split("\n...\n"):
        yield _RUN.sub("RUN", " ".join(piece.split()))


@pytest.mark.parametrize(
    ("page", "command", "arguments", "files"),
    [
        (
            "shrink.md",
            "bin/bootscope audit console.log",
            "audit console.log",
            {"console.log": "grabserial/t.log"},
        ),
        (
            "import.md",
            "bootscope import console.log dmesg.txt",
            "import console.log dmesg.txt",
            {"console.log": "join/console.log", "dmesg.txt": "join/dmesg.txt"},
        ),
        (
            "import.md",
            "bootscope show",
            "show",
            {"console.log": "join/console.log", "dmesg.txt": "join/dmesg.txt"},
        ),
    ],
)
def test_a_quoted_output_is_todays(
    main_here: Command, tmp_path: Path, page: str, command: str, arguments: str, files: dict[str, str]
) -> None:
    for name, source in files.items():
        shutil.copy(READERS / source, tmp_path / name)
    if arguments == "show":
        main_here("import", *files)
    printed = _RUN.sub("RUN", " ".join(main_here(*arguments.split()).stdout.split()))
    pieces = list(quoted(page, command))
    assert pieces
    for piece in pieces:
        assert piece in printed
