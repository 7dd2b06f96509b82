# SPDX-License-Identifier: Apache-2.0
"""Waits for random numbers, as the kernel's samples show them."""

from __future__ import annotations

from bootscope.capture import objects
from bootscope.capture.store import Store
from bootscope.inventory.entropy import shown
from bootscope.inventory.recorded import Recorded

from .lab_scenes import MS, known
from .scenes import Story

GATHERS, OTHER = 0xC0100000, 0xC0200000
SYMBOLS = f"{GATHERS:x} t try_to_generate_entropy\n{GATHERS + 512:x} t other\n{OTHER:x} t end\n".encode()


def booted(store: Store, *steps: tuple[int, int], symbols: bytes = SYMBOLS) -> Recorded:
    """A boot with samples: (address, ms of work before it)."""
    story = Story().hook("kernel.start").switch(1)
    for address, worked_ms in steps:
        story.work(worked_ms * MS).sample(address)
    story.hook("kernel.init", text=b"/init").work(MS).hook("application.start").work(MS).sample(OTHER)
    return known(store, story.records, objects={objects.KERNEL_SYMBOLS: symbols})


def test_a_wait_lasts_from_its_first_sample_to_its_last(store: Store) -> None:
    one = ((GATHERS, 5), (OTHER, 10), (GATHERS + 8, 30))
    assert shown(booted(store, *one)) == "the kernel gathers random numbers for 40.0 ms"
    # What lies far apart is two waits.
    two = (*one, (GATHERS, 500), (GATHERS, 20))
    assert shown(booted(store, *two)) == "the kernel gathers random numbers for 60.0 ms"


def test_what_is_brief_is_none_and_without_symbols_nobody_knows(store: Store) -> None:
    assert shown(booted(store, (GATHERS, 5), (GATHERS, 2))) == ""
    assert shown(booted(store, (OTHER, 5))) == ""
    assert shown(booted(store, (GATHERS, 5), symbols=f"{OTHER:x} t end\n".encode())) is None
