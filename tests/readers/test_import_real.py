# SPDX-License-Identifier: Apache-2.0
"""A real boot seen by grabserial and by its own dmesg, joined; and what the documentation says of formats."""

from __future__ import annotations

import re
from pathlib import Path

from bootscope.capture.imported import Answers
from bootscope.importing.files import Understood, understand
from bootscope.readers import link as on
from bootscope.readers.registry import readers
from bootscope.readers.source import gather

from .fuzzing import FIXTURES

DOCS = Path(__file__).parents[2] / "docs" / "import.md"
MS, S = 1_000_000, 1_000_000_000


def joined(*names: str) -> Understood:
    return understand(gather([str(FIXTURES / "join" / n) for n in names]), Answers(), strict=True)


def test_a_console_log_and_the_dmesg_of_the_same_boot_are_one() -> None:
    found = joined("console.log", "dmesg.txt")
    assert [(f.reader.name, f.reading.lines_total, len(f.reading.missed)) for f in found.files] == [
        ("grabserial", 355, 0),
        ("dmesg", 303, 0),
    ]
    assert found.boots == 1
    (link,) = found.joined.groups[0].links
    assert (link.how, link.matched, link.map.drift_ppt) == (on.SAME_STAMPS, 227, 0)
    # 4.127133 s by the kernel came at 13.581548 s, after a pause, and 15 lines agree with that.
    assert link.map.at(4_127_133_000) - 13_581_548_000 in range(-MS, 1)
    assert link.map.at(0) == 9_454_273_000
    assert (link.used, link.error_ns) == (15, 1_981_000)


def test_the_kernel_began_before_its_console() -> None:
    """By the console alone it begins 2.5 s late: its first lines come when its console starts."""
    alone, both = joined("console.log").trace(1), joined("console.log", "dmesg.txt").trace(1)
    assert alone.milestones()["kernel-entry"] == 11_984_646_000
    assert both.milestones()["kernel-entry"] == 9_454_273_000
    phases = both.track("phases")
    assert phases
    assert [(s.name, s.start_ns // MS) for s in phases.spans] == [
        ("spl", 0), ("bootloader", 486), ("decompress+early-kernel", 8416), ("kernel", 9454),
        ("init", 14265), ("application", 27057),
    ]  # fmt: skip
    assert both.total_ns == 27_057_707_000


def test_every_line_of_both_is_there_once() -> None:
    both = joined("console.log", "dmesg.txt").trace(1)
    lines = [p for p in both.points if p.kind == "line"]
    # The 303 lines of the dmesg, but for those that the console shows too; 227 of them only once in each.
    assert 355 <= len(lines) <= 355 + 303 - 227
    assert [p.at_ns for p in lines] == sorted(p.at_ns for p in lines)


def test_the_documented_formats_are_those_that_there_are() -> None:
    """docs/import.md has a row for every reader, and no other."""
    text = DOCS.read_text().split("<!-- formats:")[1].split("<!-- end of formats -->")[0]
    cells = [re.split(r"(?<!\\)\|", line) for line in text.splitlines() if line.startswith("| `")]
    rows = [tuple(cell.strip().replace("\\|", "|") for cell in row[1:4]) for row in cells]
    wanted = [(f"`{r.name}`", r.title, f"`{r.made_by}`") for r in readers()]
    table = "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in wanted)
    assert rows == wanted, f"the rows ought to be:\n{table}"
