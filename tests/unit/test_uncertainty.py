# SPDX-License-Identifier: Apache-2.0
"""How far off a model's times may be: from comparisons that are kept, and only where there are some."""

from __future__ import annotations

import msgspec
import pytest

from bootscope.analysis.uncertainty import brief, uncertainty, words
from bootscope.core.settings import Sourced
from bootscope.cores import accuracy
from bootscope.cores.accuracy import KEPT, UNPACKING, validated
from bootscope.cores.profile import Core, load_core
from bootscope.published import decompressors
from bootscope.published.errors import FITTED, written
from bootscope.timeline.model import Phase, Timeline

MS = 1_000_000


def boot(**cpu_ms: int) -> Timeline:
    """A boot with phases of so many ms of CPU time, a tenth of it in loops that wait for a clock."""
    start, phases = 0, []
    for name, ms in cpu_ms.items():
        ns = ms * MS
        phases.append(Phase(name, start, start + ns, ns, 0, 0, 0, 0, "", ns // 2, ns // 10))
        start += ns
    return Timeline("x/001", start, tuple(phases), {}, (), (), (), (), (), (), 0, 0, 0)


def test_what_is_kept_is_made_from_the_comparisons_of_today() -> None:
    said = "python tools/accuracy_figures.py makes it anew"
    assert KEPT.read_bytes() == written(decompressors.kept()), said


def test_each_row_of_the_page_is_in_it_with_its_error() -> None:
    rows = {(row.table, row.row): row for row in accuracy.kept().rows}
    for table in decompressors.TABLES:
        for row in decompressors.rows(table, decompressors.kept()):
            kept = rows[table.id, row.name]
            assert kept.ours_us - kept.published_us == pytest.approx(
                1000 * (row.ours_ms - row.published_ms), abs=1
            )
            assert kept.error_ppm == pytest.approx((row.ratio - 1) * 1e6, abs=20)
    assert set(FITTED) <= {table.id for table in decompressors.TABLES}


def test_the_largest_error_that_was_seen_is_what_is_told() -> None:
    found = validated("cortex-a8", UNPACKING)
    errors = [abs(row.error_ppm) for row in accuracy.kept().rows if row.core == "cortex-a8"]
    assert found is not None and found.compared == len(errors) and found.worst_ppm == max(errors)
    assert found.held_out and found.held_out_worst_ppm
    assert found.median_ppm <= found.worst_ppm
    assert validated("cortex-a8", "kernel") is None and validated("cortex-a72", UNPACKING) is None


def test_what_was_compared_with_nothing_is_not_known() -> None:
    core = load_core("cortex-a8")
    found = uncertainty(boot(spl=100, decompress=1000, kernel=500, init=200), core)
    compared = validated("cortex-a8", UNPACKING)
    assert compared is not None
    assert found.known_ns == 900 * MS and found.error_ns == 900 * MS * compared.worst_ppm // 1_000_000
    assert found.unknown_ns == (90 + 450 + 180) * MS and found.clocked_ns == 180 * MS
    assert found.known_ns + found.unknown_ns + found.clocked_ns == 1800 * MS
    assert brief(found).endswith(" or more")
    told = words(found)
    assert "unpacking ±" in told[0] and "boot loader, kernel, user space: error not known" in told[1]
    assert "as recorded" in told[2]
    only = uncertainty(boot(decompress=1000), core)
    assert "or more" not in brief(only) and brief(only).startswith("± ")


@pytest.mark.parametrize("core", [load_core("cortex-a72"), None])
def test_a_core_that_was_not_compared_has_no_known_error(core: Core | None) -> None:
    if core is None:
        a8 = load_core("cortex-a8")
        faster = msgspec.structs.replace(a8.costs, read_ns=Sourced(value=90, source="mine"))
        core = msgspec.structs.replace(a8, costs=faster)
    found = uncertainty(boot(decompress=1000, kernel=500), core)
    assert found.known_ns == found.error_ns == 0 and found.unknown_ns == 1350 * MS
    assert brief(found) == "(error of the model not known)"
    assert "error not known" in words(found)[0]
