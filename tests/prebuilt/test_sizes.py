# SPDX-License-Identifier: Apache-2.0
"""`show --view sizes`: bytes of what booted, the largest first."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from tests.command import Bootscope

pytestmark = pytest.mark.boot


def test_symbols_are_ranked_and_lie_in_their_sections(debian: tuple[Bootscope, dict[str, Any]]) -> None:
    shown = debian[0].json("show", "--view", "sizes")
    tables = {table["name"]: table["rows"] for table in shown["tables"]}
    assert list(tables) == ["sizes-sections", "sizes-folders", "sizes-files", "sizes-symbols"]
    symbols = tables["sizes-symbols"]
    found = [row["size_bytes"] for row in symbols]
    assert found == sorted(found, reverse=True) and len(found) > 10_000
    (probe,) = [row for row in symbols if row["what"] == "really_probe"]
    assert probe["program"] == "kernel" and probe["kind"] == "code" and probe["section"] == ".text"
    of_programs, sections = Counter[str](), Counter[str]()
    for row in symbols:
        of_programs[row["program"]] += row["size_bytes"]
    for row in tables["sizes-sections"]:
        sections[row["program"]] += row["size_bytes"]
    assert 0 < of_programs["kernel"] <= sections["kernel"]
    # Nothing was compiled here, so that no program has a map of its object files.
    assert tables["sizes-files"] == []


def test_sizes_have_no_phases(debian: tuple[Bootscope, dict[str, Any]]) -> None:
    done = debian[0].run("show", "--view", "sizes", "--phase", "kernel")
    assert done.returncode == 2
    assert "--phase" in done.stderr
