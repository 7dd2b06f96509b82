# SPDX-License-Identifier: Apache-2.0
"""Which published comparisons are of the same work: every time is judged once, for a reason."""

from __future__ import annotations

import pytest

from bootscope.core.errors import UserError
from bootscope.published.agreement import pairs
from bootscope.published.reproduced import Result
from bootscope.published.tables import Compared, table, table_ids
from bootscope.published.work import FITTED, Work, all_judged, judgements, work_of
from bootscope.report.reproduced import fitted_apart, not_the_same, tallied_by_work


def _times() -> set[tuple[str, str, str]]:
    found = set()
    for name in table_ids():
        for pair in pairs(table(name), Result(name, "", "", {}, {})):
            if pair.compared is Compared.TIME:
                found.add((name, pair.row, pair.measure))
    return found


def test_every_time_is_judged_and_nothing_else() -> None:
    judged = all_judged()
    assert len(judged) == len(set(judged))
    assert set(judged) == _times()


def test_every_reason_is_a_sentence_that_fits() -> None:
    for key in all_judged():
        judged = work_of(*key)
        assert judged and 20 < len(judged.reason) <= 180 and not judged.reason.endswith("."), key


def test_sizes_are_not_judged() -> None:
    assert work_of("compression-2014-am335x", "lzma", "size") is None
    assert work_of("nowhere", "row", "total") is None


def test_columns_that_were_fitted_are_there() -> None:
    assert {(name, measure) for name, _, measure in _times()} >= FITTED


def test_times_are_counted_by_class() -> None:
    tables = [table(name) for name in ("forking", "uboot-image")]
    found = [(t, pair) for t in tables for pair in pairs(t, Result(t.id, "", "", {}, {}))]
    tallies = tallied_by_work(found)
    assert {kind: tally.compared for kind, tally in tallies.items()} == {Work.SAME: 2, Work.UNKNOWN: 2}
    assert [tally.compared for tally in fitted_apart(found)] == [0, 2]


def test_what_is_not_the_same_is_said_with_its_rows() -> None:
    t = table("uboot-image")
    (told,) = not_the_same(t, pairs(t, Result(t.id, "", "", {}, {})))
    assert told.startswith("cached, ") and "the work is not described by the document (000:449" in told


@pytest.mark.parametrize(
    "text", ["[a", '[a]\n"row" = ["same", "x"]', '[a]\n"r m" = ["alike", "x"]', '[a]\n"r m" = ["same"]']
)
def test_a_damaged_file_is_named(text: str) -> None:
    with pytest.raises(UserError, match=r"work\.toml: "):
        judgements(text)
