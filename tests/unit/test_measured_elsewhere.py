# SPDX-License-Identifier: Apache-2.0
"""What was measured on another system than the reference system is told with that system's name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bootscope.techniques import model
from bootscope.techniques.model import measured
from bootscope.techniques.words import measured_text

ROW = {"date": "2026-11-26", "works": True, "base_ns": 8_000_000_000, "saving_ns": 2_000_000_000}


@pytest.fixture
def tables(tmp_path: Path) -> Path:
    rows = {"measured": ("stock", ["a", "b"]), "measured-amd64": ("debian-amd64", ["b", "c"])}
    for name, (system, techniques) in rows.items():
        table = {"system": system, "rows": [{"technique": t, **ROW} for t in techniques]}
        (tmp_path / f"{name}.json").write_text(json.dumps(table))
    return tmp_path


def test_the_reference_system_comes_first(tables: Path) -> None:
    found = {name: row.system for name, row in measured(tables).items()}
    assert found == {"a": "stock", "b": "stock", "c": "debian-amd64"}


def test_another_system_is_named(tables: Path) -> None:
    assert measured_text(measured(tables)["b"]) == "b: saves 2.000 s of 8.000 s"
    assert measured_text(measured(tables)["c"]) == "c: saves 2.000 s of 8.000 s on debian-amd64"


def test_every_table_says_of_which_system_it_is() -> None:
    for path in model.HERE.glob("measured-*.json"):
        table = json.loads(path.read_text())
        assert table["system"] not in ("", "stock")
        assert table["rows"]
        assert all(table["system"] in row["base"] for row in table["rows"] if row.get("base"))


def test_what_was_tried_together_is_known_by_what_came_of_it() -> None:
    for table in model.tables():
        for group in table.together:
            assert set(group.in_place) <= set(group.techniques)
            assert {spec.partition("=")[0] for spec in group.techniques} <= set(model.techniques())
            assert table.system in group.base
            assert group.works == (group.saving_ns is not None and not group.faults)
