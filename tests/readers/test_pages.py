# SPDX-License-Identifier: Apache-2.0
"""Consoles that were cut out of pages: HTML with its tags and escapes, lists that number the lines.

Each case is the smallest one that shows it; the times are ours.
"""

from __future__ import annotations

import pytest

from .test_stages import FIRST_LINES, imported

SECOND = 1_000_000_000
KERNEL = [
    "[    0.000000] Linux version 6.1.0 (a@b) (gcc) #1",
    "[    2.000000] Run /sbin/init as init process",
]


def _repairs(data: bytes) -> list[tuple[str, int, int]]:
    return [(r.what, r.count, r.first_line) for r in imported(data).files[0].reading.repairs]


@pytest.mark.parametrize("tag", ['<pre class="code">', "<code>"])
def test_a_tag_before_a_loaders_first_words(tag: str) -> None:
    lines = ["<p>", tag + FIRST_LINES["bootloader"], "Starting kernel \u2026", *KERNEL, "</pre>"]
    page = "\n".join([*lines, ""]).encode()
    rows = imported(page).trace(1).tables[0].rows
    assert [row[0] for row in rows] == ["bootloader", "kernel-start"]
    assert _repairs(page)[0] == ("tags and escapes of HTML read as text", 1, 2)


def test_escaped_levels_of_a_kernel() -> None:
    lines = [f"&lt;{level}&gt;{line}" for level, line in zip("56", KERNEL, strict=True)]
    found = imported("\n".join([*lines, ""]).encode()).trace(1)
    assert found.milestones() == {"kernel-entry": 0, "init": 2 * SECOND}


def test_a_console_that_names_tags_is_no_page() -> None:
    lines = [*KERNEL[:1], "[    1.000000] [<c0016c04>] (dump) from <a> &amp; <pre", *KERNEL[1:], ""]
    found = imported("\n".join(lines).encode())
    assert found.trace(1).milestones() == {"kernel-entry": 0, "init": 2 * SECOND}
    assert not found.files[0].reading.repairs


def test_numbers_of_lines_on_rows_of_their_own() -> None:
    lines = ["Linux version 2.6.26 (a@b) (gcc) #4", "CPU revision is: 00018448", "Calibrating", "Mount-cache"]
    lines += ["NET: Registered", "Freeing unused kernel memory: 120k freed", "hush: started"]
    rows = [f"{number:4}.\r\n      {line}\r\n" for number, line in enumerate(lines, 1)]
    page = "".join(rows).encode()
    found = imported(page).trace(1)
    assert [row[0] for row in found.tables[0].rows] == ["kernel-entry", "kernel-done"]
    assert _repairs(page)[0] == ("numbers of lines, on rows of their own, left out", 7, 1)


def test_rows_of_a_screen_are_filled_with_blanks_that_nobody_sent() -> None:
    lines = ["Linux version 2.6.21 (a@b) (gcc) #2", *(f"line {n}" for n in range(30)), "board login: root"]
    screen = "".join(f"{line:80}\n" for line in lines).encode()
    log = imported(screen).files[0].reading.boots[0].log
    assert [log.text(i) for i in range(len(log))] == lines
    assert _repairs(screen)[0] == ("blanks up to a screen's edge left out", 32, 1)
    ragged = "".join(f"{line}  \n" for line in lines).encode()
    assert not [what for what, _, _ in _repairs(ragged) if "blanks" in what]
