# SPDX-License-Identifier: Apache-2.0
"""The page on how true a core's model is: made from what was counted and from the profiles of today."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from bootscope.builder.steps.unpackers import COMPRESSORS
from bootscope.core.paths import docs_dir
from bootscope.cores.profile import core_dir, load_core
from bootscope.published import alternatives, held_out
from bootscope.published.decompressors import NEAR, TABLES, Table, image_bytes, kept, ours_ms, rows


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


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.id)
def test_all_rows_are_within_fifteen_percent_and_without_a_model_most_are_not(table: Table) -> None:
    found = list(rows(table, kept()))
    assert [row.name for row in found] == list(COMPRESSORS)
    assert all(row.published_ms > 0 and abs(row.ratio - 1) <= NEAR for row in found)
    assert sum(abs(row.flat_ratio - 1) <= NEAR for row in found) < 2


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.id)
def test_content_packs_as_published(table: Table) -> None:
    for name in COMPRESSORS:
        counted = kept().counted[table.id][name]
        assert counted.image_bytes == pytest.approx(image_bytes(table, name), rel=0.05), name


def test_half_of_the_tables_predicts_the_other_half() -> None:
    found = list(held_out.outcomes(TABLES, kept()))
    assert len(found) == 4
    for one in found:
        assert (one.fitted is not one.predicted and not set(one.errors[0]) & set(one.errors[1])) or (
            one.fitted.table is not one.predicted.table
        )
        assert max(one.medians) < NEAR


def test_a_fit_finds_what_was_put_in() -> None:
    """Times of a core with 1.23 cycles an instruction, and a constant, are found again."""
    table, measured = TABLES[2], kept()

    def ours(millicycles: int) -> dict[str, float]:
        core = held_out.with_instruction(load_core(table.core), millicycles)
        return {name: sum(ours_ms(table, name, measured, core)[:2]) for name in COMPRESSORS}

    told = {name: time + 200 for name, time in ours(1230).items()}
    found = held_out.fit(lambda n: {k: (v, told[k]) for k, v in ours(n).items()}, held_out.CONSTANTS_MS)
    assert found == (1230, 200)


def test_profiles_hold_what_was_fitted_and_nothing_else_is() -> None:
    am335x, bbb, at91 = (held_out.Half(table, COMPRESSORS) for table in TABLES)
    for half in (am335x, at91):
        figure = load_core(half.table.core).costs.instruction_millicycles
        assert held_out.fitted_to(half, kept()) == (figure.value, half.table.constant_ms)
        assert figure.source.startswith("fitted")
    a8 = load_core(bbb.table.core).costs.instruction_millicycles.value
    assert held_out.constant(bbb, kept(), a8) == bbb.table.constant_ms
    for name in ("cortex-a8", "arm926ej-s"):
        assert (core_dir() / f"{name}.toml").read_text().count('source = "fitted') == 1


def test_each_part_of_the_comparison_matters() -> None:
    """Without any one of them some row is further off than 15 %."""
    found = list(alternatives.compared(kept()))
    for title in {one.title for one in found}:
        rows_ = [one for one in found if one.title == title]
        assert any(abs(one.otherwise - 1) > NEAR for one in rows_), title
