# SPDX-License-Identifier: Apache-2.0
"""Which printk call wrote which console line."""

from __future__ import annotations

import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bootscope.analysis.messages import BAND, Format, align


@pytest.mark.parametrize(
    ("form", "body"),
    [
        ("usb: %s found\n", "usb: keyboard found"),
        ("%pa at %pOF", "0x01c28000 at /soc/serial@1c28000"),
        ("%pI4:%d", "192.0.2.1:80"),
        ("%-*s|%5.3d|%#x|%+ld|%zu|%hhu\n", "name  |  007|0xff|+12|4|5"),
        ("%*d blocks", "    12 blocks"),
        ("%*ph", "de ad be ef"),
        ("%.*s end", "text end"),
        ("100%% of %u", "100% of 7"),
        ("plain text\n", "plain text"),
        ("plain text ", "plain text"),
        ("continued: ", "continued: and what pr_cont added"),
        ("%s", ""),
        ("", ""),
        ("first\nsecond\n", "first"),
        ("\nsecond\n", ""),
        ("level %llu.%06lu", "level 1.000002"),
        ("50%", "50%"),
    ],
)
def test_a_format_fits_what_it_prints(form: str, body: str) -> None:
    assert Format(form).fits(body)


@pytest.mark.parametrize(
    ("form", "body"),
    [
        ("usb: %s found", "pci: keyboard found"),
        ("usb: %s found", "usb: keyboard lost"),
        ("a %d b %d c", "a 1 c 2 b"),
        ("anchored", "not anchored"),
        ("", "something"),
        ("\n", "something"),
    ],
)
def test_a_format_fits_nothing_else(form: str, body: str) -> None:
    assert not Format(form).fits(body)


def test_messages_without_a_line_and_lines_without_a_message_are_passed_over() -> None:
    formats = ["debug only %d", "usb: %s found", "never shown", "mmc0: new card", "%s"]
    bodies = ["usb: mouse found", "from nowhere", "mmc0: new card at 1", "tail"]
    assert align(bodies, formats) == {0: 1, 2: 3, 3: 4}


def test_the_format_with_more_in_common_is_preferred() -> None:
    assert align(["mmc0: new card"], ["%s: %s", "mmc0: new %s", "%s"]) == {0: 1}


def test_the_same_message_twice_is_two_lines() -> None:
    assert align(["again", "again"], ["again", "again"]) == {0: 0, 1: 1}


WORDS = st.sampled_from(
    ["usb", "mmc0: %d", "%s", "", "\n", "%", "%%", "card %pa", "a\x01b", "\u00e9%*d", "card"]
)
BODIES = st.sampled_from(["usb", "mmc0: 7", "", "card 0x1", "card", "%", "x", "\u00e9 12"])


@given(st.lists(BODIES, max_size=30), st.lists(WORDS, max_size=30))
def test_pairs_are_in_order_and_fit(bodies: list[str], formats: list[str]) -> None:
    pairs = align(bodies, formats)
    assert list(pairs) == sorted(pairs, reverse=True) or list(pairs) == sorted(pairs)
    ordered = [pairs[line] for line in sorted(pairs)]
    assert ordered == sorted(set(ordered))
    for line, message in pairs.items():
        assert Format(formats[message]).fits(bodies[line])


def best(bodies: list[str], formats: list[str]) -> int:
    """The most that pairs in order can weigh, by trying everything."""
    sums = [[0] * (len(formats) + 1) for _ in range(len(bodies) + 1)]
    for i, body in enumerate(bodies, 1):
        for j, form in enumerate(map(Format, formats), 1):
            pair = sums[i - 1][j - 1] + form.weight if form.fits(body) else 0
            sums[i][j] = max(sums[i - 1][j], sums[i][j - 1], pair)
    return sums[-1][-1]


@given(st.lists(BODIES, max_size=12), st.lists(WORDS, max_size=12))
def test_no_other_pairs_have_more_in_common(bodies: list[str], formats: list[str]) -> None:
    pairs = align(bodies, formats)
    assert sum(Format(formats[message]).weight for message in pairs.values()) == best(bodies, formats)


def test_a_long_gap_on_either_side_is_bridged_up_to_the_band() -> None:
    formats = [*(f"hidden {n}" for n in range(BAND - 10)), "usb: found"]
    assert align(["usb: found"], formats) == {0: BAND - 10}


def test_five_thousand_lines_are_quick() -> None:
    rng = random.Random(1)
    formats = [f"driver{rng.randrange(60)}: %s probe {n % 7} of %d\n" for n in range(5000)]
    bodies = [f.strip().replace("%s", "eth0").replace("%d", "3") for f in formats]
    began = time.process_time()
    pairs = align(bodies, formats)
    assert time.process_time() - began < 5
    assert len(pairs) == 5000


@pytest.mark.parametrize("form", ["%" * 20_000, "%*" * 10_000, "%-" * 10_000 + "x", "%5.%5.%5." * 5000])
def test_a_hostile_format_is_no_work(form: str) -> None:
    began = time.process_time()
    Format(form).fits("x" * 20_000)
    assert time.process_time() - began < 1


def test_a_hostile_pair_of_long_texts_is_no_work() -> None:
    began = time.process_time()
    Format("a%s" * 60 + "b").fits("a" * 100_000)
    assert time.process_time() - began < 1
