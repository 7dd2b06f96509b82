# SPDX-License-Identifier: Apache-2.0
"""Techniques tried together: each is asked of what the others make of the system."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from typing import Any, cast

import msgspec
import pytest

from bootscope.capture.store import Store
from bootscope.changes.applies import why_not
from bootscope.changes.compose import with_values
from bootscope.changes.experiment import title, variant
from bootscope.changes.in_list import refused
from bootscope.core.errors import UserError
from bootscope.inventory.closure import Closures, Lost
from bootscope.inventory.recorded import Recorded
from bootscope.search.emulated import EmulatedBench
from bootscope.system.changes import Change
from bootscope.techniques.model import Applies, Recipe, techniques

from .lab_scenes import CONFIGS, MS, boot, known, stock
from .test_applied import OPTIMIZED, PROFILE, RECIPES

KEPT = json.loads(OPTIMIZED.read_text())
BESIDE = {"beside": KEPT["beside"]["accepted"]} if KEPT.get("beside") else {}
ACCEPTED = {"all": KEPT["accepted"], **BESIDE}
THERE = ("USB_SUPPORT", "USB", "SYSFS", "NET", "BLOCK", "MMC", "EXT4_FS", "FB", "CC_OPTIMIZE_FOR_PERFORMANCE")

IN_PROGRAM = 0x10400


@pytest.fixture
def built(store: Store) -> Recorded:
    """A boot of the stock system, whose kernel has what the reference system's has, and whose application
    computes."""
    kernel = {**CONFIGS["kernel"], "LOG_BUF_SHIFT": "17", **dict.fromkeys(THERE, "y")}
    configs = {**CONFIGS, "kernel": kernel, "uboot": {**CONFIGS["uboot"], "SPL_SERIAL": "y"}}
    story = boot(slow_loader=True).switch(10, name=b"testcard")
    for _ in range(40):
        story.work(MS).sample(IN_PROGRAM)
    return replace(known(store, story.records, configs=configs), profile=PROFILE)


def recipes(*specs: str) -> dict[str, Recipe]:
    return {spec: RECIPES[spec] for spec in specs}


# ---- what a search accepted ----


@pytest.mark.parametrize("name", ACCEPTED)
def test_what_a_search_accepted_is_tried_and_gives_the_same_system(built: Recorded, name: str) -> None:
    """In whatever order it is given: nobody types it in that of the search."""
    accepted = ACCEPTED[name]
    bench = EmulatedBench(cast(Any, None), stock())
    searched = bench.system({spec: with_values(RECIPES[spec].change, built) for spec in accepted}).system
    shuffled = random.Random(15).sample(accepted, len(accepted))
    for order in (accepted, accepted[::-1], shuffled):
        tried = variant(stock(), built, order).system
        assert msgspec.structs.replace(tried, name=searched.name) == searched


def test_what_it_needed_is_refused_alone(built: Recorded) -> None:
    """The test above would pass for a rule that refuses nothing."""
    alone = {spec: why_not(RECIPES[spec], built) for spec in ACCEPTED["all"]}
    assert alone["kernel-no-sysfs"] == "kernel has USB=y, it is for USB=n"
    assert alone["kernel-no-block"] == "initramfs.place is not set, it is for built-in"
    with pytest.raises(UserError) as caught:
        variant(stock(), built, ["kernel-no-sysfs"])
    assert caught.value.message == f"kernel-no-sysfs does not apply to stock: {alone['kernel-no-sysfs']}"


# ---- one needs another ----


def test_one_that_applies_in_no_order_is_named(built: Recorded) -> None:
    with pytest.raises(UserError) as caught:
        variant(stock(), built, ["kernel-quiet", "kernel-no-block", "uboot-bootdelay"])
    assert caught.value.message == (
        "kernel-no-block does not apply to stock, also with the others: "
        "initramfs.place is not set, it is for built-in"
    )
    assert "--force" in str(caught.value.hint)


def test_each_that_applies_in_no_order_is_named(built: Recorded) -> None:
    found = refused(recipes("kernel-no-block", "kernel-no-sysfs", "kernel-quiet"), built)
    assert list(found) == ["kernel-no-block", "kernel-no-sysfs"]


@pytest.mark.parametrize("first", ["kernel-allnoconfig-up", "kernel-no-usb"])
def test_usb_goes_before_sysfs_whichever_is_named_first(built: Recorded, first: str) -> None:
    specs = ["kernel-no-sysfs", "init-replace-by-app", first]
    assert refused(recipes(*specs), built) == refused(recipes(*reversed(specs)), built) == {}


def test_the_sources_tell_what_goes_with_a_symbol(built: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where they do not name USB, it stays."""
    specs = recipes("kernel-no-sysfs", "init-replace-by-app", "kernel-no-usb")
    asked: list[list[str]] = []

    def lost(gone: tuple[str, ...]) -> Closures:
        def answer(_: Closures, off: list[str]) -> Lost:
            asked.append(sorted(off))
            return Lost(gone, (), 0)

        monkeypatch.setattr(Closures, "lost", answer)
        return Closures(cast(Any, None), cast(Any, None), cast(Any, None))

    assert refused(specs, replace(built, closures=lost(("USB_SUPPORT", "USB")))) == {}
    found = refused(specs, replace(built, closures=lost(("USB_SUPPORT",))))
    assert found == {"kernel-no-sysfs": "kernel has USB=y, it is for USB=n"}
    assert asked[0] == ["USB_SUPPORT"]


def test_the_first_process_of_a_root_in_memory_is_one_too(built: Recorded) -> None:
    """What came in the place of init= does not take along what was for it."""
    specs = ["kernel-no-sysfs", "kernel-no-usb", "initramfs-minimal-content"]
    assert refused(recipes(*specs), built) == {}
    other = Recipe(change=Change(command_line=("rdinit=/init",)))
    found = refused({**recipes(*specs[:2]), "other": other}, built)
    assert found == {"kernel-no-sysfs": "the command line lacks init=/usr/bin/testcard"}


def test_needs_may_go_round_several_corners_but_not_in_a_circle(built: Recorded) -> None:
    def needs(own: str, other: str) -> Recipe:
        return Recipe(change=Change(kernel={own: True}), applies=Applies(kernel={other: True}))

    chain = {"c": needs("C", "B"), "b": needs("B", "A"), "a": Recipe(change=Change(kernel={"A": True}))}
    assert refused(chain, built) == {}
    circle = {"c": needs("C", "B"), "b": needs("B", "C"), "a": chain["a"]}
    assert list(refused(circle, built)) == ["c", "b"]


@pytest.mark.parametrize("change", [
    Change(settings={"card.raw_sector": 7}),
    Change(command_line=("needed",)),
    Change(write={"/etc/needed": "text"}),
    Change(link={"/etc/needed": "text"}),
    Change(compiler_options=("-needed",)),
])  # fmt: skip
def test_every_kind_of_change_may_be_what_another_one_waits_for(built: Recorded, change: Change) -> None:
    wanted = Applies(
        settings={"card.raw_sector": 7} if change.settings else {},
        command_line=change.command_line,
        files=("/etc/needed",) if change.write or change.link else (),
        compiler_options=change.compiler_options,
    )
    waits = Recipe(change=Change(kernel={"WAITS": True}), applies=wanted)
    assert list(refused({"waits": waits}, built)) == ["waits"]
    assert refused({"waits": waits, "other": Recipe(change=change)}, built) == {}


def test_what_another_one_takes_away_is_not_there_any_more(built: Recorded) -> None:
    waits = Recipe(change=Change(kernel={"WAITS": True}), applies=Applies(command_line_lacks=("root",)))
    assert list(refused({"waits": waits}, built)) == ["waits"]
    assert refused({"waits": waits, "other": Recipe(change=Change(command_line_drop=("root",)))}, built) == {}


def test_two_that_do_the_same_are_no_reason_to_refuse_one(built: Recorded) -> None:
    same = Recipe(change=Change(kernel={"SAME": True}))
    assert refused({"one": same, "two": same}, built) == {}


def test_what_is_so_already_is_still_refused(built: Recorded) -> None:
    done = Recipe(change=Change(kernel={"SMP": True}))
    assert refused({"done": done, **recipes("kernel-quiet")}, built) == {"done": "already in effect"}


def test_all_accepted_names_are_ways_of_techniques() -> None:
    every = {title(t, recipe) for t in techniques().values() for recipe in t.recipes}
    assert {spec for accepted in ACCEPTED.values() for spec in accepted} <= every
