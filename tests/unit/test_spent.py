# SPDX-License-Identifier: Apache-2.0
"""What each moment of a boot went into, against the figures of its phases."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest

from bootscope.analysis import spent
from bootscope.analysis.evidence import Evidence
from bootscope.analysis.views import view
from bootscope.capture.store import Store
from bootscope.timeline.trace import Span
from tests.fixtures import stock_boot


@pytest.fixture(scope="module")
def stock(tmp_path_factory: pytest.TempPathFactory) -> Evidence:
    store = Store(tmp_path_factory.mktemp("store"))
    return view(store, store.load(stock_boot.unpack(store))).evidence


@pytest.fixture(scope="module")
def spans(stock: Evidence) -> tuple[Span, ...]:
    return spent.spans(stock)


def test_it_is_the_whole_boot_without_a_gap(stock: Evidence, spans: tuple[Span, ...]) -> None:
    assert (spans[0].start_ns, spans[-1].end_ns) == (0, stock.timeline.total_ns)
    assert all(a.end_ns == b.start_ns for a, b in pairwise(spans))
    assert len(spans) < 2_000


def test_lengths_add_up_to_the_figures_of_each_phase(stock: Evidence, spans: tuple[Span, ...]) -> None:
    for phase in stock.timeline.phases:
        sums: Counter[str] = Counter()
        for s in (s for s in spans if phase.start_ns <= s.start_ns < phase.end_ns):
            assert s.end_ns <= phase.end_ns
            inside_ns = int(s.detail.get("cpu_ns", 0))
            sums[s.name] += s.duration_ns - inside_ns
            sums["cpu"] += inside_ns
        kinds = ("cpu", "storage", "console", "idle", "fixed")
        assert [sums[kind] for kind in kinds] == [getattr(phase, f"{kind}_ns") for kind in kinds]


def test_a_wait_is_where_it_was(stock: Evidence, spans: tuple[Span, ...]) -> None:
    """Stacked from the beginning of its phase, the storage of `load` does not lie where the card was read."""
    reads = [(t.start_ns, t.start_ns + t.cost_ns) for t in stock.timeline.transfers if t.cost_ns]
    storage = [(s.start_ns, s.end_ns) for s in spans if s.name == "storage"]
    assert set(reads) <= set(storage)
