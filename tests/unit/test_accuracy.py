# SPDX-License-Identifier: Apache-2.0
"""The page on how true a core's model is: made from what was counted and from the profiles of today."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from bootscope.core.paths import docs_dir
from bootscope.published import decompressors
from bootscope.published.decompressors import NEAR, TABLES, kept, rows


def test_the_page_is_made_from_what_is_kept() -> None:
    script = "import accuracy; print('\\n'.join(accuracy.page(accuracy.published.kept())))"
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": str(docs_dir().parent / "tools")},
        text=True,
        capture_output=True,
        check=True,
    )
    told = (docs_dir() / "accuracy.md").read_text()
    assert told == done.stdout, "python tools/accuracy.py --page makes it anew"


def test_the_am335x_is_within_fifteen_percent_and_without_a_model_is_not() -> None:
    table = next(table for table in TABLES if table.id == "am335x-2014")
    found = list(rows(table, kept()))
    assert [row.name for row in found] == list(decompressors.COMPRESSORS)
    assert all(abs(row.ratio - 1) <= NEAR for row in found)
    assert sum(abs(row.flat_ratio - 1) <= NEAR for row in found) < 3


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.id)
def test_rows_are_told_of_figures_that_were_published(table: decompressors.Table) -> None:
    found = list(rows(table, kept()))
    assert len(found) == len(decompressors.COMPRESSORS) - bool(table.against)
    for row in found:
        # Differences may be below 0, but theirs and ours in the same direction.
        assert row.ratio > 0 and row.flat_ratio > 0
