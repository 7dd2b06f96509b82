# SPDX-License-Identifier: Apache-2.0
"""From moments on two clocks to the line between the clocks, however late the moments were seen."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bootscope.readers.fit import EARLY, EITHER, LATE, TRILLION, Map, fit

MS, S = 1_000_000, 1_000_000_000


def console(
    count: int, drift_ppm: int, offset_ns: int, seed: int, jitter_ns: int = 300_000
) -> list[tuple[int, int]]:
    """Kernel stamps over 8 s, and when a host saw these lines: the first 40 percent all at once when the
    console started, at 115200 baud; later ones with a jitter that is never negative."""
    rng = random.Random(seed)
    kernel = sorted(rng.randrange(8 * S) for _ in range(count))
    start_ns = kernel[count * 2 // 5]
    pairs, free_ns = [], 0
    for at_ns in kernel:
        true_ns = offset_ns + at_ns + at_ns * drift_ppm // 1_000_000
        queued_ns = max(true_ns, free_ns, offset_ns + start_ns)
        free_ns = queued_ns + 4 * MS  # 46 characters
        pairs.append((at_ns, queued_ns + abs(int(rng.gauss(0, jitter_ns)))))
    return pairs


@pytest.mark.parametrize("drift_ppm", [0, 150, -400, 2_000_000])
@pytest.mark.parametrize("seed", range(5))
def test_offset_and_drift_are_found_although_many_lines_come_late(drift_ppm: int, seed: int) -> None:
    pairs = console(600, drift_ppm, 3 * S, seed)
    found = fit(pairs, LATE, 1000)
    for at_ns in (0, 4 * S, 8 * S):
        truth_ns = 3 * S + at_ns + at_ns * drift_ppm // 1_000_000
        assert abs(found.map.at(at_ns) - truth_ns) < 2 * MS, (at_ns, found)
    assert found.credible
    assert found.used >= 100
    assert found.error_ns < 8 * MS


def test_no_drift_is_made_up_from_noise() -> None:
    for seed in range(10):
        assert fit(console(60, 0, S, seed), LATE, 1000).map.drift_ppt == 0


def test_lines_stamped_too_early_are_the_mirror_image() -> None:
    late = console(600, 150, 3 * S, 1)
    early = sorted((-x, -y) for x, y in late)
    a, b = fit(late, LATE, 0), fit(early, EARLY, 0)
    assert abs(b.error_ns - a.error_ns) <= 2
    for at_ns in (0, 4 * S):
        assert abs(a.map.at(at_ns) + b.map.at(-at_ns)) <= 2


def test_noise_to_both_sides_is_averaged() -> None:
    rng = random.Random(3)
    pairs = [(n * 20 * MS, S + n * 20 * MS + int(rng.gauss(0, MS))) for n in range(300)]
    found = fit(pairs, EITHER, 0)
    assert abs(found.map.at(0) - S) < MS
    assert found.used > 280


def test_a_few_wrong_pairs_change_nothing() -> None:
    pairs = console(400, 0, S, 2)
    wrong = sorted([*pairs, (2 * S, 100 * MS), (5 * S, 2 * S)])
    assert abs(fit(wrong, LATE, 0).map.at(0) - S) < 2 * MS


def test_a_lone_pair_is_an_offset() -> None:
    found = fit([(5, 12)], LATE, 3)
    assert (found.map.at(5), found.used, found.error_ns) == (12, 1, 3)


# ---- maps ----

maps = st.builds(
    Map,
    st.integers(-10 * S, 10 * S),
    st.integers(-(1 << 61), 1 << 61),
    st.integers(-TRILLION // 2, 2 * TRILLION),
)


@given(maps, st.integers(-1000 * S, 1000 * S))
def test_there_and_back_is_where_one_was(way: Map, ns: int) -> None:
    # A thousand seconds at 1e-12, twice.
    assert abs(way.inverse().at(way.at(ns)) - ns) <= 10_000


@given(maps, maps, st.integers(-10 * S, 10 * S))
def test_one_way_after_another_is_both(one: Map, two: Map, ns: int) -> None:
    assert abs(one.then(two).at(ns) - two.at(one.at(ns))) <= 100


@given(maps, st.integers(-1000 * S, 1000 * S), st.integers(0, 1000 * S))
def test_order_is_kept(way: Map, ns: int, later_ns: int) -> None:
    assert way.at(ns) <= way.at(ns + later_ns)


@given(
    st.lists(st.tuples(st.integers(0, 1 << 62), st.integers(-(1 << 62), 1 << 62)), min_size=1, max_size=60)
)
def test_any_pairs_give_an_answer(pairs: list[tuple[int, int]]) -> None:
    for side in (LATE, EITHER, EARLY):
        found = fit(sorted(pairs), side, 1)
        assert 1 <= found.used <= found.matched == len(pairs)
        assert found.error_ns >= 1


def test_a_console_that_never_catches_up_is_no_clock() -> None:
    """Twelve seconds of output in eight: the queue only grows, and no moment is on time."""
    for seed in range(3):
        assert not fit(console(3000, 0, S, seed), LATE, 1000).credible
