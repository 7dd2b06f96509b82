# SPDX-License-Identifier: Apache-2.0
"""What a soak came to, as people and programs are told."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from msgspec.structs import replace as changed
from rich.console import Console

from bootscope.capture.record import BootEnd
from bootscope.capture.store import Store
from bootscope.report.soaked import document, show
from bootscope.soak.card import Checked, Region
from bootscope.soak.soaking import Cut, Plan, Soaked
from bootscope.soak.states import State, Verdict
from tests.fixtures.stock_boot import unpack

BOOT, ROOT = Region("p1", 1 << 20, 1 << 25, "FAT"), Region("p2", 1 << 26, 1 << 26, "ext4")
UNCHANGED = Checked(BOOT, State(Verdict.UNCHANGED))
FIRST_NS = 10_629_284_201
PANICKED = "the kernel panicked at 4.000 s, in init"


def left(verdict: Verdict, words: str = "", lost: tuple[str, ...] = ()) -> tuple[Checked, ...]:
    return UNCHANGED, Checked(ROOT, State(verdict, words), lost)


PENDING = left(Verdict.PENDING, "journal to replay")


@pytest.fixture
def soaked(store: Store) -> Soaked:
    """A soak of two cuts that went well."""
    run = store.load(unpack(store))
    first = run.boots[0].info
    cut = changed(first, ended=BootEnd.LIMIT, number=2, message="the power was cut at 9.500 s, in init")
    after = changed(first, number=3)
    one = Cut(cut, 9_500_000_000, "init", PENDING, after, FIRST_NS + 21_000_000, PENDING)
    two = Cut(cut, 2_000_000_000, "bootloader", left(Verdict.CLEAN), after, FIRST_NS, PENDING)
    return Soaked(run, Plan(cuts=2), first, FIRST_NS, PENDING, (one, two))


def told(found: Soaked) -> str:
    out = io.StringIO()
    show(Console(file=out, width=80, color_system=None), found)
    lines = out.getvalue().splitlines()
    assert all(len(line) <= 80 for line in lines)
    return "\n".join(line.rstrip() for line in lines)


def spaced(text: str) -> str:
    return " ".join(text.split())


def test_a_soak_that_went_well(soaked: Soaked) -> None:
    assert soaked.good
    text = told(soaked)
    assert "soak of stock on cubieboard, seed 1" in text
    assert "1 9.500 s init p2 ext4: journal to replay 10.650 s +21.0 ms" in spaced(text)
    assert "2 2.000 s bootloader clean 10.629 s 0" in spaced(text)
    assert "2 of 2 cuts: the next boot reached first-frame after 2 of them" in text
    assert "after a cut: 1 to be recovered, 0 mended by fsck, 0 damaged" in text
    assert "the slowest next boot came after cut 1: +21.0 ms against boot 1" in text
    found = document(soaked)
    assert (found["good"], found["reached_ns"], found["from"]) == (True, FIRST_NS, None)
    cuts = found["cuts"]
    assert isinstance(cuts, list)
    assert [(one["at_ns"], one["next_reached_ns"]) for one in cuts] == [
        (9_500_000_000, FIRST_NS + 21_000_000),
        (2_000_000_000, FIRST_NS),
    ]
    assert cuts[0]["left"][1] == {
        "where": "p2", "kind": "ext4", "state": "pending", "words": "journal to replay", "lost": [],
    }  # fmt: skip


def with_last(soaked: Soaked, **what: object) -> Soaked:
    return replace(soaked, cuts=(soaked.cuts[0], replace(soaked.cuts[1], **what)))  # type: ignore[arg-type]


def test_a_boot_that_does_not_come_up_again(soaked: Soaked) -> None:
    assert soaked.cuts[1].after
    stuck = changed(soaked.cuts[1].after, ended=BootEnd.PANIC, message=PANICKED)
    found = with_last(soaked, after=stuck, reached_ns=None)
    assert not found.good
    text = told(found)
    assert "2 of 2 cuts: the next boot reached first-frame after 1 of them" in text
    assert "after cut 2: the kernel panicked at 4.000 s, in init" in text
    assert "2 2.000 s bootloader clean panic" in spaced(text)


def test_damage_is_told_with_what_fsck_said(soaked: Soaked) -> None:
    bad = left(Verdict.DAMAGED, "Entry 'x' in / (2) has deleted/unused inode 12.  Clear? no")
    found = with_last(soaked, left=bad, after=None, reached_ns=None, left_after=())
    assert not found.good
    assert "after cut 2: p2 ext4: damaged (Entry 'x' in / (2) has deleted/unused" in told(found)


def test_a_boot_that_ends_before_its_cut_is_no_success(soaked: Soaked) -> None:
    early = changed(soaked.cuts[1].boot, ended=BootEnd.PANIC, message=PANICKED)
    found = with_last(soaked, boot=early)
    assert not found.good
    assert "cut 2 found no boot to cut: the kernel panicked at 4.000 s, in init" in told(found)


def test_a_card_that_does_not_boot_as_it_was_built(soaked: Soaked) -> None:
    found = replace(soaked, reached_ns=None, cuts=())
    assert not found.good
    assert "the card as built does not reach first-frame: nothing to soak" in told(found)


def test_lost_files_are_named_once_with_when(soaked: Soaked) -> None:
    lost = left(Verdict.CLEAN, lost=("/a\x1b[31m", "/b", "/c", "/d", "/e"))
    first = replace(soaked.cuts[0], left=lost, left_after=lost)
    text = told(replace(soaked, cuts=(first, replace(soaked.cuts[1], left=lost))))
    assert "since cut 1, gone or empty in p2: " in text
    assert "/b, /c and 2 more" in text
    assert text.count("gone or empty") == 1
    assert "\x1b" not in text


def test_a_card_that_nothing_writes_to(soaked: Soaked) -> None:
    same = tuple(replace(cut, left=left(Verdict.UNCHANGED)) for cut in soaked.cuts)
    assert "nothing was written to any partition" in told(replace(soaked, cuts=same))
