# SPDX-License-Identifier: Apache-2.0
"""Published tables: whole, of figures that there are, and every row makes a system."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bootscope.capture.store import Store
from bootscope.changes.experiment import check
from bootscope.core.errors import UserError
from bootscope.inventory.recorded import Recorded
from bootscope.loaders.uboot import UBOOT
from bootscope.published import tables as module
from bootscope.published.agreement import orders, pairs
from bootscope.published.figures import PERCENT, unit
from bootscope.published.reproduce import system_of_row
from bootscope.published.reproduced import RESULTS, Result, RowResult, Value, result
from bootscope.published.tables import Table, table, table_ids
from bootscope.system import load
from bootscope.system.changes import apply
from bootscope.system.load import LoadedSystem, load_system, milestones
from bootscope.techniques.model import figures

from .lab_scenes import known

ALL = [table(name) for name in table_ids()]
every = pytest.mark.parametrize("t", ALL, ids=table_ids())


@pytest.fixture(scope="module")
def stock_facts(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    """A boot of the stock system."""
    return known(Store(tmp_path_factory.mktemp("tables") / "store"))


def test_there_are_tables_of_every_part_of_a_boot() -> None:
    assert len(ALL) >= 20
    used = {name for t in ALL for name in t.figure_ids()}
    assert len(used) >= 150
    assert {figures()[name].seed for name in used} == {"000", "001", "002", "003", "004"}


@every
def test_a_table_says_what_every_table_says(t: Table) -> None:
    assert t.id == table(t.id).id
    assert 0 < len(t.title) <= 70
    for text in (t.title, t.differs, t.why, *t.left_out, *(m.title for m in t.measures.values())):
        assert text.strip()
        assert text.replace("\n", "").isprintable()
    assert not t.until or t.until in milestones(load_system(t.system).system, UBOOT)
    assert (module.TABLES / f"{t.id}.toml").read_text().startswith("# SPDX-License-Identifier: Apache-2.0\n")


@every
def test_its_figures_are_of_what_is_measured(t: Table) -> None:
    for row in t.rows.values():
        for measure, ids in row.published.items():
            for name in ids:
                assert unit(figures()[name]) in (t.measures[measure].unit, PERCENT), name


@every
def test_every_published_figure_is_compared_or_compared_with(t: Table) -> None:
    """One that is neither would be read by nobody."""
    value = RowResult("r", "", {name: Value(1000) for name in t.measures})
    found = Result(t.id, "", "", {}, dict.fromkeys(t.rows, value))
    compared = {pair.figure.id for pair in pairs(t, found)}
    bases = {
        name
        for row in t.rows
        for other in t.rows
        if t.against(other) == row != other
        for measure, ids in t.rows[row].published.items()
        if measure in t.rows[other].published
        for name in ids
    }
    assert compared
    assert set(t.figure_ids()) <= compared | bases


@every
def test_figures_that_are_left_out_are_not_used(t: Table) -> None:
    """And those that are used elsewhere in the same table say so in words, not by their number."""
    for text in t.left_out:
        for first, _, last in re.findall(r"\b(\d{3}:\d+)(-(\d+))?", text.partition(":")[0]):
            assert first in figures()
            assert not last or f"{first[:4]}{last}" in figures()


@every
def test_every_row_makes_a_system(t: Table, stock_facts: Recorded) -> None:
    loaded = load_system(t.system)
    base = LoadedSystem(apply(loaded.system, {"the base": t.base}), loaded.path)
    made = {"": base}
    for name, row in t.rows.items():
        made[name] = system_of_row(made[row.on], row, (stock_facts,))
    del made[""]
    for name, system in made.items():
        load.check_system(system.system, system.path)
        assert system.beside(system.system.application.sources).is_dir()
        check(list(t.rows[name].techniques))
        against = t.against(name)
        assert against == name or made[against].system != system.system, name


@every
def test_a_table_is_measured_from_its_reference(t: Table) -> None:
    for name in t.rows:
        chain = [name]
        while t.against(chain[-1]) not in chain:
            chain.append(t.against(chain[-1]))
        assert t.against(chain[-1]) in (chain[-1], t.reference, *chain[:-1])


@pytest.mark.parametrize("path", sorted(RESULTS.glob("*.json")), ids=lambda p: p.stem)
def test_what_came_of_a_table_fits_it(path: Path) -> None:
    found, t = result(path.stem), table(path.stem)
    assert found
    assert found.table == t.id
    assert found.date
    assert found.command == f"bootscope reproduce {t.id}"
    assert list(found.rows) == list(t.rows)
    assert {"board", "cpu", "card", "linux", "arm-linux-gnueabihf-gcc"} <= found.here.keys()
    for row in found.rows.values():
        assert row.run_id or row.error
        assert row.values.keys() <= t.measures.keys()
        for value in row.values.values():
            assert not value.split or sum(value.split.values()) == value.value
    assert len(pairs(t, found)) >= 1
    assert all(0 <= order.same <= order.pairs for order in orders(t, found))


# ---- damaged files ----


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("schema = 1", "schema = 2", "expected schema 1"),
        ('id = "quiet"', 'id = "silent"', "and id 'quiet'"),
        (
            'reference = "messages"',
            'reference = "nothing"',
            "reference: expected a row without techniques, got 'nothing'",
        ),
        ('reference = "messages"', 'reference = "quiet"', "reference: expected a row without techniques"),
        ('until = "end"', 'until = "dinner"', "measures.total: expected one way to measure"),
        ('until = "end"', "", "measures.total: expected one way to measure"),
        ('until = "end"', 'until = "end"\nfunction = "main"', "measures.total: expected one way to measure"),
        ('until = "end"', 'lines = ["one"]', "measures.total: expected one way to measure"),
        (
            'reference = "messages"',
            'reference = "messages"\nparts = ["../quiet"]',
            "parts: there is no ../quiet.toml in parts/",
        ),
        (
            'until = "end"',
            'lines = ["one", "two"]\nwithout = ["main"]',
            "measures.total.without: only time up to",
        ),
        (
            'until = "end"',
            'parts = ["kernel/zImage"]\nnoise_ns = { value = 1, source = "made up" }',
            "measures.total.noise_ns: sizes do not vary",
        ),
        (
            "[measures.kernel]",
            '[kernel_files]\n"init/main.c" = "../quiet.toml"\n\n[measures.kernel]',
            "kernel_files: there is no ../quiet.toml in kernel/",
        ),
        ("[rows.quiet]", '[rows.quiet]\nagainst = "none"', "rows.quiet: expected"),
        ("[rows.quiet]", '[rows.quiet]\non = "small"', "rows.quiet.on: expected a row above"),
        ("[rows.quiet]", '[rows."\\u001b"]', "rows."),
        ('"000:354"]', '"000:3540"]', "rows.quiet.published.kernel: expected"),
        ("total = [", "sum = [", "rows.small-quiet.published.sum: expected a measure"),
        (
            "[rows.messages]",
            '[rows.messages]\nless_ns = { "000:354" = { value = 1, source = "made up" } }',
            "rows.messages.less_ns: 000:354 is no figure of this row",
        ),
        ("title =", "tittle =", "unknown key"),
    ],
)
def test_a_damaged_file_is_named_with_what_is_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str, said: str
) -> None:
    text = (module.TABLES / "quiet.toml").read_text()
    assert old in text
    (tmp_path / "quiet.toml").write_text(text.replace(old, new, 1))
    monkeypatch.setattr(module, "TABLES", tmp_path)
    with pytest.raises(UserError) as error:
        table("quiet")
    assert said in error.value.message
    assert str(tmp_path / "quiet.toml") in error.value.message
    assert error.value.message.replace("\n", "").isprintable()


def test_an_unknown_table_is_told_with_those_that_there_are() -> None:
    with pytest.raises(UserError, match="unknown table 'nonsense'") as error:
        table("nonsense")
    assert "quiet" in str(error.value.hint)
